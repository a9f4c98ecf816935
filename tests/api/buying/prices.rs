//! Prices that changed since lines were added.

use docgate::config::ChangedPrices;
use serde_json::{Value, json};

use super::{checkout, checkout_query, flows::paid_outside};
use crate::{
    commands::sends_only,
    shop::{account, cart, checkout_input, settled, state, stocked},
    support::{Client, Gateway, cuts, long_bounds, proxy::Cut, short_bounds},
};

/// The lines of a cart with their prices.
async fn lines(client: &Client, id: &str) -> Vec<(i64, Value, bool)> {
    let query = "query($id: ID!) { cart(id: $id) { lines { sku unitPrice { minorUnits } \
        priceNow { minorUnits } priceChanged } } }";
    let cart = client.field(query, json!({ "id": id })).await;
    let lines = cart["lines"].as_array().unwrap_or_else(|| panic!("{cart:#}"));
    let line = |line: &Value| {
        let unit = line["unitPrice"]["minorUnits"].as_i64().expect("a price");
        (unit, line["priceNow"]["minorUnits"].clone(), line["priceChanged"] == true)
    };
    lines.iter().map(line).collect()
}

const ACCEPT: &str = "mutation($id: ID!, $op: ID) { \
    acceptPrices(input: {cartId: $id, idempotencyKey: $op}) { __typename \
        ... on Cart { total { minorUnits } } ... on UserError { code message } } }";

async fn accept(client: &Client, id: &str, op: &str) -> Value {
    client.field(ACCEPT, json!({ "id": id, "op": op })).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_shows_changed_prices_and_accepts_them() {
    let gateway = Gateway::start().await;
    for sku in ["a", "b", "c"] {
        stocked(&gateway, sku, 100, 10).await;
    }
    let guest = gateway.anonymous();
    let id = cart(&guest, "RESERVE", &[("a", 1), ("b", 2), ("c", 1)]).await;
    assert_eq!(lines(&guest, &id).await, vec![(100, json!(100), false); 3]);
    gateway.reprice("a", 150).await;
    gateway.reprice("b", 90).await;
    let changed = vec![(100, json!(150), true), (100, json!(90), true), (100, json!(100), false)];
    assert_eq!(lines(&guest, &id).await, changed);
    assert_eq!(accept(&guest, &id, "op").await["total"]["minorUnits"], 150 + 180 + 100);
    gateway.reprice("a", 200).await;
    // A repeat accepts nothing more.
    assert_eq!(accept(&guest, &id, "op").await["total"]["minorUnits"], 430);
    assert_eq!(lines(&guest, &id).await[0], (150, json!(200), true));
    gateway.assert_sound().await;
    // Another's cart looks like none.
    let owned = cart(&gateway.shopper("ann"), "RESERVE", &[("a", 1)]).await;
    assert_eq!(accept(&guest, &owned, "op").await["code"], "NOT_FOUND");
    guest.cancel(&id).await;
    assert_eq!(accept(&guest, &id, "another").await["code"], "CART_NOT_ACTIVE");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_present_prices_of_all_lines_are_one_command() {
    let base = Gateway::start().await;
    for sku in ["a", "b", "c"] {
        stocked(&base, sku, 100, 10).await;
    }
    let id = cart(&base.shopper("ann"), "RESERVE", &[("a", 1), ("b", 2), ("c", 1)]).await;
    let read = async |gateway: &Gateway| {
        lines(&gateway.shopper("ann"), &id).await;
    };
    sends_only(&base, read, &["find carts", "find products"]).await;
    let accept = async |gateway: &Gateway| {
        let done = accept(&gateway.shopper("ann"), &id, "op").await;
        assert_eq!(done["__typename"], "Cart", "{done:#}");
    };
    sends_only(&base, accept, &["find carts", "find products", "findAndModify carts"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_product_has_no_price_and_keeps_its_line() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    let shopper = gateway.shopper("ann");
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    let delete = "mutation { deleteProduct(input: {sku: \"a\"}) { __typename } }";
    let deleted = gateway.merchant().field(delete, json!({})).await;
    assert_eq!(deleted["__typename"], "DeletedProduct", "{deleted:#}");
    assert_eq!(lines(&shopper, &id).await, [(100, json!(null), false)]);
    assert_eq!(accept(&shopper, &id, "op").await["total"]["minorUnits"], 100);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_charges_the_lines_price_or_is_refused() {
    let gateway = Gateway::start().await;
    for sku in ["a", "b"] {
        stocked(&gateway, sku, 100, 10).await;
    }
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 1_000).await;
    let strict =
        gateway.sibling_with(|config| config.checkout_changed_prices = ChangedPrices::Refuse).await;
    let strict_shopper = strict.shopper("ann");
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1), ("b", 1)]).await;
    gateway.reprice("b", 250).await;
    let refused = checkout(&strict_shopper, &id, &purse, "strict").await;
    assert_eq!(refused["code"], "PRICES_CHANGED", "{refused:#}");
    let lines = json!([{
        "sku": "b", "unitPrice": { "minorUnits": 100 }, "priceNow": { "minorUnits": 250 },
    }]);
    assert_eq!(refused["changedLines"], lines);
    // Without the setting, the shopper pays what the cart shows.
    let order = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(order["total"]["minorUnits"], 200, "{order:#}");
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    gateway.reprice("a", 120).await;
    assert_eq!(checkout(&strict_shopper, &id, &purse, "op").await["code"], "PRICES_CHANGED");
    accept(&strict_shopper, &id, "accept").await;
    let order = checkout(&strict_shopper, &id, &purse, "op").await;
    assert_eq!(order["total"]["minorUnits"], 120, "{order:#}");
    settled(&gateway).await;
    settled(&strict).await;
    gateway.assert_sound().await;
}

/// A checkout with a claim freezes the lines whose prices it has compared, and no others of the same total.
#[tokio::test(flavor = "multi_thread")]
async fn prices_are_compared_again_if_the_lines_change_before_the_freeze() {
    let outside = paid_outside().await;
    let gateway = Gateway::behind_proxy(|config| {
        outside(config);
        long_bounds(config);
        config.checkout_changed_prices = ChangedPrices::Refuse;
    })
    .await;
    for sku in ["a", "b"] {
        stocked(&gateway, sku, 100, 10).await;
    }
    let shopper = gateway.shopper("ann");
    let other = gateway.sibling().await;
    let others = other.shopper("ann");
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    let mut input = checkout_input(&id, "none", "op");
    input["payment"] = json!({ "token": "tok" });
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    // The freeze is held back.
    proxy.count_only(|seen| seen.collection == "carts" && seen.command == "findAndModify");
    proxy.cut(0, Cut::Hold);
    let meanwhile = async {
        proxy.reached().await;
        for changed in [others.remove(&id, "a").await, others.add(&id, "b", 1).await] {
            assert_eq!(changed["__typename"], "Cart", "{changed:#}");
        }
        other.reprice("b", 150).await;
        proxy.release().await;
    };
    let checkout = shopper.field(checkout_query(), json!({ "input": input }));
    let (refused, ()) = tokio::join!(checkout, meanwhile);
    proxy.heal();
    assert_eq!(refused["code"], "PRICES_CHANGED", "{refused:#}");
    assert_eq!(state(&gateway, "carts", &id).await, "ACTIVE");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_new_prices_are_accepted_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sku = format!("sku-{n}");
            stocked(gateway, &sku, 100, 10).await;
            let id = cart(&gateway.shopper("ann"), "RESERVE", &[(&sku, 1)]).await;
            gateway.reprice(&sku, 150).await;
            id
        },
        async |gateway, id: &String| {
            let variables = json!({ "id": id, "op": "op" });
            let _answer_or_trouble = gateway.shopper("ann").send(ACCEPT, variables).await;
        },
        async |gateway, case| {
            let accepted = accept(&gateway.shopper("ann"), &case.subject, "op").await;
            assert_eq!(accepted["total"]["minorUnits"], 150, "{case:?}: {accepted:#}");
        },
    )
    .await;
}
