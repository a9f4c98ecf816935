//! The tax of orders with a voucher, whose lines are raised and lowered: it follows what is paid for the goods.

use docgate::config::Config;
use mongodb::bson::{Bson, doc};
use serde_json::json;

use super::{
    applied, cancel, created,
    quotes::{checkout_query, chosen, sums, with_tables},
};
use crate::{
    orders::{
        adjust,
        fulfilment::{change, shipped},
    },
    shop::{account, balance, cart, checkout_input, settled, stocked},
    support::{Client, Gateway, faults::Fault, key},
};

/// A shop with a tax that is added in France, and one that prices include in Germany.
fn with_taxes(config: &mut Config) {
    with_tables(config);
    let taxes = json!({ "FR": { "rate": 20_000 }, "DE": { "rate": 19_000, "included": true } });
    config.taxes = serde_json::from_value(taxes).expect("taxes");
}

/// An order of one `x` and one `y` at 1,000 each to this country, with half off.
async fn halved(shopper: &Client, purse: &str, country: &str) -> String {
    let id = cart(shopper, "AT_CHECKOUT", &[("x", 1), ("y", 1)]).await;
    applied(shopper, &id, "HALF").await;
    chosen(shopper, &id, "standard", json!({ "country": country })).await;
    let mut input = checkout_input(&id, purse, country);
    input["shipping"]["country"] = country.into();
    let placed = shopper.field(&checkout_query(), json!({ "input": input })).await;
    placed["id"].as_str().unwrap_or_else(|| panic!("{placed:#}")).to_owned()
}

/// A shop that has both products and the voucher, and a shopper's purse of 10,000.
async fn shop() -> (Gateway, Client, String) {
    let gateway = Gateway::with(with_taxes).await;
    stocked(&gateway, "x", 1_000, 100).await;
    stocked(&gateway, "y", 1_000, 100).await;
    created(&gateway, "HALF", json!({ "percent": 50 })).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 10_000).await;
    (gateway, shopper, purse)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_piece_that_takes_the_place_of_another_line_is_taxed_less_its_discount() {
    let (gateway, shopper, purse) = shop().await;
    // Total, tax with that on shipping, discount and refunded sum: placed, and after each change.
    let changes = [("y", 2), ("x", 0), ("y", 1), ("y", 0)];
    for (country, expected) in [
        (
            "FR",
            [
                [1_800, 200 + 100, 1_000, 0],
                [3_000, 400 + 100, 1_000, 0],
                // What was added to `y` has the discount of `x` now: of 2,000 at half the price, the tax is 200.
                [1_800, 200 + 100, 1_000, 1_200],
                [1_200, 100 + 100, 500, 1_800],
                [600, 100, 0, 2_400],
            ],
        ),
        (
            "DE",
            [
                [1_500, 160 + 80, 1_000, 0],
                [2_500, 320 + 80, 1_000, 0],
                [1_500, 160 + 80, 1_000, 1_000],
                [1_000, 80 + 80, 500, 1_500],
                [500, 80, 0, 2_000],
            ],
        ),
    ] {
        let before = balance(&gateway, &purse).await;
        let order = halved(&shopper, &purse, country).await;
        settled(&gateway).await;
        assert_eq!(sums(&shopper, &order).await, expected[0], "{country}");
        for (n, (sku, quantity)) in changes.into_iter().enumerate() {
            // A repeat changes nothing.
            for _ in 0..2 {
                adjust(&shopper, &order, sku, quantity, &format!("{n}")).await;
                settled(&gateway).await;
                let found = sums(&shopper, &order).await;
                assert_eq!(found, expected[n + 1], "{country}: {sku} to {quantity}");
            }
            assert_eq!(balance(&gateway, &purse).await, before - expected[n + 1][0]);
            gateway.assert_sound().await;
        }
        assert_eq!(cancel(&shopper, &order, "cancel").await["state"], "CANCELLED");
        settled(&gateway).await;
        assert_eq!(balance(&gateway, &purse).await, before);
        gateway.assert_sound().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_return_gives_its_discount_to_what_was_added() {
    let (gateway, shopper, purse) = shop().await;
    let order = halved(&shopper, &purse, "FR").await;
    assert_eq!(shipped(&gateway, &order, "x", 1).await, 1);
    adjust(&shopper, &order, "y", 2, "more").await;
    change(&shopper, "requestReturn", &order, json!({ "shipmentNumber": 1 })).await;
    let input = json!({ "returnNumber": 1, "idempotencyKey": "accept" });
    let accepted = change(&gateway.merchant(), "acceptReturn", &order, input).await;
    assert_eq!(accepted["__typename"], "Order", "{accepted:#}");
    settled(&gateway).await;
    assert_eq!(sums(&shopper, &order).await, [1_800, 200 + 100, 1_000, 1_200]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tax_above_what_is_paid_is_found() {
    const CHARGES: &str = "orders: no tax is below zero or more than what is taxed, and no more of shipping is given \
                           back than was refunded";
    let (gateway, shopper, purse) = shop().await;
    let order = halved(&shopper, &purse, "DE").await;
    settled(&gateway).await;
    gateway.assert_sound().await;
    for (field, value) in [
        // The line costs 500 after its discount. The part of the discount may be rounded.
        ("charges.lines.0.tax", Bson::from(502_i64)),
        // Nothing was added.
        ("charges.lines.1.fullPrice", doc! { "goods": 1_i64, "tax": 0_i64 }.into()),
    ] {
        let fault = Fault::Changed(doc! { "$set": { field: &value } });
        let broken = gateway.broken_by("orders", &key(&order), fault).await;
        assert_eq!(broken, [CHARGES], "{field}: {value}");
    }
}
