//! Carts with a quote: choices and checkouts that were cut at any of their commands, or overtaken.

use docgate::config::Config;
use serde_json::{Value, json};

use super::{
    flows::paid_outside,
    quotes::{checkout, checkout_query, chosen, quoted, with_tables},
};
use crate::{
    commands::sends_only,
    shop::{account, add, balance, cart, checkout_input, complete, settled, stocked},
    support::{Gateway, cuts, long_bounds, proxy::Cut, short_bounds},
};

/// The decision is held back while the cart changes: an order never has the amounts of another cart.
#[tokio::test(flavor = "multi_thread")]
async fn a_quote_that_changes_while_the_checkout_reserves_is_not_paid() {
    let gateway = Gateway::behind_proxy(|config| {
        long_bounds(config);
        with_tables(config);
    })
    .await;
    stocked(&gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 5_000).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let other = gateway.sibling().await;
    let others = other.shopper("ann");
    for is_line in [false, true] {
        let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
        chosen(&shopper, &id, "standard", json!({})).await;
        settled(&gateway).await;
        proxy.count_only(|seen| seen.collection == "carts" && seen.command == "update");
        proxy.cut(0, Cut::Hold);
        let (answer, ()) = tokio::join!(checkout(&shopper, &id, &purse, "op"), async {
            proxy.reached().await;
            if is_line {
                add(&others, &id, "a", 1).await;
            } else {
                chosen(&others, &id, "express", json!({})).await;
            }
            proxy.release().await;
        });
        proxy.heal();
        settled(&gateway).await;
        if is_line {
            assert_eq!(answer["quoteFault"], "OUTDATED", "{answer:#}");
        } else {
            assert_eq!(answer["total"]["minorUnits"], 100 + 7 + 1_785, "{answer:#}");
        }
    }
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 1_892);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_choice_is_a_read_and_a_write_of_the_cart() {
    let base = Gateway::with(with_tables).await;
    stocked(&base, "a", 100, 10).await;
    let id = cart(&base.shopper("ann"), "AT_CHECKOUT", &[("a", 1)]).await;
    let choice = async |gateway: &Gateway| {
        chosen(&gateway.shopper("ann"), &id, "standard", json!({})).await;
    };
    sends_only(&base, choice, &["find carts", "findAndModify carts"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_method_is_chosen_once() {
    cuts::everywhere(
        |config| {
            short_bounds(config);
            with_tables(config);
        },
        async |gateway, n| {
            let sku = format!("sku-{n}");
            stocked(gateway, &sku, 100, 10).await;
            cart(&gateway.shopper("ann"), "AT_CHECKOUT", &[(&sku, 1)]).await
        },
        async |gateway, id: &String| {
            let choose = "mutation($id: ID!) { setShippingMethod(input: {cartId: $id, \
                shippingMethod: \"standard\", country: \"DE\", idempotencyKey: \"op\"}) { __typename } }";
            let _answer_or_trouble = gateway.shopper("ann").send(choose, json!({ "id": id })).await;
        },
        async |gateway, case| {
            let once = json!({ "idempotencyKey": "op" });
            let total = chosen(&gateway.shopper("ann"), &case.subject, "standard", once).await;
            assert_eq!(total, 702, "{case:?}");
        },
    )
    .await;
}

/// Someone pays, so that the merchant has an account: the first payment opens it by further commands.
async fn pay_first(gateway: &Gateway, shopper: &str) {
    let client = gateway.shopper(shopper);
    let id = cart(&client, "AT_CHECKOUT", &[("a", 1)]).await;
    chosen(&client, &id, "standard", json!({})).await;
    checkout(&client, &id, &account(gateway, shopper, 1_000).await, "op").await;
    complete(&client, &id).await;
}

/// Cuts a checkout with a quote at each of its commands. `payment` is null if the ledger is paid from.
async fn cut_checkout(settings: impl Fn(&mut Config), payment: Value) {
    cuts::everywhere(
        |config| {
            settings(config);
            with_tables(config);
        },
        async |gateway, n| {
            let (shopper, purse, id) = quoted(gateway, n).await;
            let mut input = checkout_input(&id, &purse, "op");
            if payment.is_null() {
                if n == 1 {
                    pay_first(gateway, &shopper).await;
                }
            } else {
                input["payment"] = payment.clone();
            }
            (shopper, id, purse, json!({ "input": input }))
        },
        async |gateway, (shopper, .., input): &(String, String, String, Value)| {
            let client = gateway.shopper(shopper);
            let _answer_or_trouble = client.send(&checkout_query(), input.clone()).await;
        },
        async |gateway, case| {
            let (shopper, id, purse, input) = &case.subject;
            let named = format!("{:?} at {}", case.way, case.at);
            let client = gateway.shopper(shopper);
            let order = client.field(&checkout_query(), input.clone()).await;
            assert_eq!(order["total"]["minorUnits"], 702, "{named}: {order:#}");
            assert_eq!(order["charges"]["tax"]["minorUnits"], 102, "{named}: {order:#}");
            complete(&client, id).await;
            let left = if payment.is_null() { 1_000 - 702 } else { 1_000 };
            assert_eq!(balance(gateway, purse).await, left, "{named}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_checkout_pays_its_quote_once() {
    cut_checkout(short_bounds, json!(null)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_checkout_with_a_claim_pays_its_quote_once() {
    cut_checkout(paid_outside().await, json!({ "token": "tok" })).await;
}
