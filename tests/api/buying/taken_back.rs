//! Shipping methods that are taken back, in shops whose checkouts need none.

use docgate::{config::Config, domains};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::quotes::{CHARGES, OFFERED, checkout, choose, chosen, with_tables};
use crate::{
    commands::sends_only,
    shop::{account, balance, cart, settled, stocked},
    support::{self, Client, Gateway, cuts, long_bounds, proxy::Cut, short_bounds},
};

/// A shop that needs no shipping method, and has one for France alone.
fn with_choice(config: &mut Config) {
    with_tables(config);
    config.taxes.get_mut("DE").expect("a country").included = true;
    config.shipping_methods.remove("express");
    config.shipping_methods.get_mut("standard").expect("a method").countries = vec!["FR".into()];
    config.shipping_required = false;
}

/// Chooses the method for France.
async fn to_france(client: &Client, cart: &str, more: Value) -> i64 {
    let mut input = json!({ "country": "FR" });
    input.as_object_mut().expect("an object").extend(more.as_object().expect("fields").clone());
    chosen(client, cart, "standard", input).await
}

/// The document that takes the method back.
fn take_back_query() -> String {
    format!(
        "mutation($input: RemoveShippingMethodInput!) {{ removeShippingMethod(input: $input) {{ __typename \
         ... on Cart {{ total {{ minorUnits }} quote {{ {CHARGES} }} }} \
         ... on UserError {{ code message }} ... on InvalidInput {{ field }} }} }}"
    )
}

/// Takes the method back.
async fn take_back(client: &Client, cart: &str, op: Option<&str>) -> Value {
    let input = json!({ "cartId": cart, "idempotencyKey": op });
    client.field(&take_back_query(), json!({ "input": input })).await
}

/// As [`take_back`], and the cart must have no quote afterwards.
async fn taken_back(client: &Client, cart: &str, op: Option<&str>) {
    let cart = take_back(client, cart, op).await;
    assert_eq!((&cart["total"]["minorUnits"], &cart["quote"]), (&json!(100), &json!(null)));
}

/// A tax that is added would be lost with an order that has no method.
#[test]
fn a_shop_that_needs_no_method_adds_no_tax() {
    let faults = |rate: u32, of_books: u32, is_included: bool, is_required: bool| {
        let mut config = support::config("any");
        with_choice(&mut config);
        config.shipping_required = is_required;
        let taxes = config.taxes.get_mut("DE").expect("a country");
        (taxes.rate, taxes.included) = (rate, is_included);
        taxes.types.insert("book".into(), of_books);
        domains::setting_faults(&config).join("\n")
    };
    let sound = domains::setting_faults(&support::config("any")).join("\n");
    assert_eq!(faults(19_000, 7_000, true, false), sound);
    assert_eq!(faults(0, 0, false, false), sound);
    assert_eq!(faults(19_000, 7_000, false, true), sound);
    for (rate, of_books) in [(19_000, 7_000), (19_000, 0), (0, 7_000)] {
        let found = faults(rate, of_books, false, false);
        assert!(found.contains("set included = true for each country"), "{found}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_is_taken_back_where_nothing_is_offered() {
    let gateway = Gateway::with(with_choice).await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    assert_eq!(to_france(&shopper, &id, json!({})).await, 600);
    // The goods go to Germany after all, for which there is no method.
    let there = json!({ "id": id, "country": "DE" });
    assert_eq!(shopper.field(OFFERED, there).await, json!([]));
    let stuck = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(stuck["quoteFault"], "OTHER_DESTINATION", "{stuck:#}");
    let required = gateway.sibling_with(|config| config.shipping_required = true).await;
    for (client, code) in [
        (gateway.shopper("bob"), "NOT_FOUND"),
        (gateway.anonymous(), "NOT_FOUND"),
        (required.shopper("ann"), "INVALID_INPUT"),
    ] {
        let before = gateway.snapshot().await;
        let refused = take_back(&client, &id, Some("back")).await;
        assert_eq!(refused["code"], code, "{refused:#}");
        if code == "INVALID_INPUT" {
            assert_eq!(refused["field"], "input.cartId", "{refused:#}");
        }
        assert!(gateway.snapshot().await == before, "{code}");
    }
    taken_back(&shopper, &id, Some("back")).await;
    taken_back(&shopper, &id, Some("back")).await;
    taken_back(&shopper, &id, None).await;
    // A repeat doesn't take back what was chosen in between, also where a method is required by now.
    assert_eq!(to_france(&shopper, &id, json!({})).await, 600);
    for client in [&shopper, &required.shopper("ann")] {
        let repeat = take_back(client, &id, Some("back")).await;
        assert_eq!(repeat["total"]["minorUnits"], 600, "{repeat:#}");
    }
    taken_back(&shopper, &id, Some("again")).await;
    let order = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!((&order["total"]["minorUnits"], &order["charges"]), (&json!(100), &json!(null)));
    settled(&gateway).await;
    let late = take_back(&shopper, &id, None).await;
    assert_eq!(late["code"], "CART_NOT_ACTIVE", "{late:#}");
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 100);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_at_once_leave_a_method_or_none() {
    let gateway = Gateway::with(with_choice).await;
    stocked(&gateway, "a", 100, 100).await;
    let guest = gateway.anonymous();
    let id = cart(&guest, "AT_CHECKOUT", &[("a", 1)]).await;
    let there = || json!({ "country": "FR" });
    let calls = (0..12).map(async |n| {
        if n % 2 == 0 {
            choose(&guest, &id, "standard", there()).await
        } else {
            take_back(&guest, &id, None).await
        }
    });
    let all = join_all(calls).await;
    assert!(all.iter().all(|cart| cart["__typename"] == "Cart"), "{all:#?}");
    let seen = format!(
        "query($id: ID!) {{ cart(id: $id) {{ total {{ minorUnits }} quote {{ {CHARGES} }} }} }}"
    );
    let seen = guest.field(&seen, json!({ "id": id })).await;
    let total = if seen["quote"].is_null() { 100 } else { 600 };
    assert_eq!(seen["total"]["minorUnits"], total, "{seen:#}");
    gateway.assert_sound().await;
}

/// The decision is held back while the method is taken back: it isn't charged then.
#[tokio::test(flavor = "multi_thread")]
async fn a_method_that_is_taken_back_while_the_checkout_reserves_is_not_paid() {
    let gateway = Gateway::behind_proxy(|config| {
        long_bounds(config);
        with_choice(config);
    })
    .await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let other = gateway.sibling().await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    to_germany(&gateway, &id).await;
    settled(&gateway).await;
    proxy.count_only(|seen| seen.collection == "carts" && seen.command == "update");
    proxy.cut(0, Cut::Hold);
    let (answer, ()) = tokio::join!(checkout(&shopper, &id, &purse, "op"), async {
        proxy.reached().await;
        taken_back(&other.shopper("ann"), &id, None).await;
        proxy.release().await;
    });
    proxy.heal();
    settled(&gateway).await;
    assert_eq!((&answer["total"]["minorUnits"], &answer["charges"]), (&json!(100), &json!(null)));
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 100);
    gateway.assert_sound().await;
}

/// Chooses the method for Germany, at a gateway that offers it there.
async fn to_germany(gateway: &Gateway, cart: &str) {
    let everywhere = |config: &mut Config| {
        config.shipping_methods.get_mut("standard").expect("a method").countries.clear();
    };
    let offering = gateway.sibling_with(everywhere).await;
    assert_eq!(chosen(&offering.shopper("ann"), cart, "standard", json!({})).await, 600);
}

#[tokio::test(flavor = "multi_thread")]
async fn taking_back_is_a_read_and_a_write_of_the_cart() {
    let base = Gateway::with(with_choice).await;
    stocked(&base, "a", 100, 10).await;
    let id = cart(&base.shopper("ann"), "AT_CHECKOUT", &[("a", 1)]).await;
    to_france(&base.shopper("ann"), &id, json!({})).await;
    let back = async |gateway: &Gateway| taken_back(&gateway.shopper("ann"), &id, None).await;
    sends_only(&base, back, &["find carts", "findAndModify carts"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_method_is_taken_back_once() {
    cuts::everywhere(
        |config| {
            short_bounds(config);
            with_choice(config);
        },
        async |gateway, n| {
            let sku = format!("sku-{n}");
            stocked(gateway, &sku, 100, 10).await;
            let shopper = gateway.shopper("ann");
            let id = cart(&shopper, "AT_CHECKOUT", &[(&sku, 1)]).await;
            to_france(&shopper, &id, json!({})).await;
            id
        },
        async |gateway, id: &String| {
            let input = json!({ "input": { "cartId": id, "idempotencyKey": "op" } });
            let shopper = gateway.shopper("ann");
            let _answer_or_trouble = shopper.send(&take_back_query(), input).await;
        },
        async |gateway, case| {
            let shopper = gateway.shopper("ann");
            taken_back(&shopper, &case.subject, Some("op")).await;
            // The op is over: the method that is chosen now stays.
            to_france(&shopper, &case.subject, json!({ "idempotencyKey": "then" })).await;
            let repeat = take_back(&shopper, &case.subject, Some("op")).await;
            assert_eq!(repeat["total"]["minorUnits"], 600, "{case:?}: {repeat:#}");
        },
    )
    .await;
}
