//! Refunds of shipping alone: in parts, by several merchants at once, repeated, and cut at every command.

use docgate::{config::Config, graphql::node_id::NodeKind};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{
    cancel,
    quotes::{checkout, chosen, quoted, with_tables},
};
use crate::{
    orders::adjust,
    shop::{account, balance, cart, complete, settled, stocked, stored},
    support::{Client, Gateway, cuts, short_bounds},
};

const REFUND: &str = "mutation($input: RefundShippingInput!) { refundShipping(input: $input) { __typename \
    ... on Order { total { minorUnits } refunded { minorUnits } shippingRefunded { minorUnits } \
        charges { shipping { minorUnits } shippingTax { minorUnits } tax { minorUnits } } } \
    ... on RefundTooLarge { requested { minorUnits } available { minorUnits } } \
    ... on OrderNotOpen { state } ... on InvalidInput { field } ... on UserError { code message } } }";

/// Gives shipping back. Without an amount, all that is left.
async fn refund(client: &Client, order: &str, amount: Option<i64>, op: &str) -> Value {
    let mut input = json!({ "orderId": order, "idempotencyKey": op });
    if let Some(amount) = amount {
        input["amount"] = amount.into();
    }
    client.field(REFUND, json!({ "input": input })).await
}

/// Total, shipping, the tax on it, all tax, what was given back of shipping, and what was refunded.
fn sums(order: &Value) -> [i64; 6] {
    let charges = &order["charges"];
    [
        &order["total"],
        &charges["shipping"],
        &charges["shippingTax"],
        &charges["tax"],
        &order["shippingRefunded"],
        &order["refunded"],
    ]
    .map(|of| of["minorUnits"].as_i64().unwrap_or_else(|| panic!("{order:#}")))
}

/// `[requested, available]` of a refusal.
fn too_large(answer: &Value) -> [i64; 2] {
    assert_eq!(answer["code"], "REFUND_TOO_LARGE", "{answer:#}");
    ["requested", "available"].map(|of| answer[of]["minorUnits"].as_i64().expect("money"))
}

/// An order of one piece at 100, with 7 of tax, for which shipping costs 500 and the tax on it 95.
async fn bought(gateway: &Gateway) -> (Client, String, String) {
    stocked(gateway, "a", 100, 100).await;
    let shopper = gateway.shopper("ann");
    let purse = account(gateway, "ann", 5_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    chosen(&shopper, &id, "standard", json!({})).await;
    let placed = checkout(&shopper, &id, &purse, "op").await;
    settled(gateway).await;
    let order = placed["id"].as_str().unwrap_or_else(|| panic!("{placed:#}")).to_owned();
    (shopper, purse, order)
}

#[tokio::test(flavor = "multi_thread")]
async fn shipping_is_given_back_in_parts_and_once() {
    let gateway = Gateway::with(with_tables).await;
    let (shopper, purse, order) = bought(&gateway).await;
    let merchant = gateway.merchant();
    // Of 595, 500 are left. So much of the tax stays: 79.83.
    let first = [607, 421, 79, 7 + 79, 95, 95];
    for _ in 0..2 {
        let answer = refund(&merchant, &order, Some(95), "first").await;
        assert_eq!(sums(&answer), first, "{answer:#}");
        settled(&gateway).await;
        assert_eq!(balance(&gateway, &purse).await, 5_000 - 607);
    }
    gateway.assert_sound().await;
    let before = gateway.snapshot().await;
    assert_eq!(refund(&merchant, &order, Some(96), "first").await["code"], "CONFLICT");
    let beyond = refund(&merchant, &order, Some(501), "beyond").await;
    assert_eq!(too_large(&beyond), [501, 500]);
    for amount in [0, -1] {
        let refused = refund(&merchant, &order, Some(amount), "none").await;
        assert_eq!(refused["field"], "input.amount", "{refused:#}");
    }
    for client in [&shopper, &gateway.shopper("bob"), &gateway.anonymous()] {
        let input = json!({ "input": { "orderId": order } });
        let code = client.error_code(REFUND, input).await;
        assert!(["FORBIDDEN", "UNAUTHENTICATED"].contains(&&*code), "{code}");
    }
    let unknown = NodeKind::ORDER.id("nothing");
    assert_eq!(refund(&merchant, &unknown, None, "op").await["code"], "NOT_FOUND");
    assert!(gateway.snapshot().await == before);

    // The rest; then nothing is left.
    let answer = refund(&merchant, &order, None, "rest").await;
    assert_eq!(sums(&answer), [107, 0, 0, 7, 595, 595], "{answer:#}");
    assert_eq!(too_large(&refund(&merchant, &order, None, "more").await), [0, 0]);
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 107);
    gateway.assert_sound().await;
    // A cancellation gives back what is left.
    let cancelled = cancel(&shopper, &order, "cancel").await;
    assert_eq!(cancelled["refunded"]["minorUnits"], 702, "{cancelled:#}");
    assert_eq!(balance(&gateway, &purse).await, 5_000);
    let late = refund(&merchant, &order, Some(1), "late").await;
    assert_eq!((&late["code"], &late["state"]), (&json!("ORDER_NOT_OPEN"), &json!("CANCELLED")));
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shipping_whose_price_includes_tax_is_given_back_with_it() {
    let gateway = Gateway::with(|config| {
        with_tables(config);
        config.taxes.get_mut("DE").expect("a country").included = true;
    })
    .await;
    let (_, purse, order) = bought(&gateway).await;
    let merchant = gateway.merchant();
    // Of 500, which include 80, 400 are left.
    let part = refund(&merchant, &order, Some(100), "part").await;
    assert_eq!(sums(&part), [500, 400, 64, 7 + 64, 100, 100], "{part:#}");
    let all = refund(&merchant, &order, None, "rest").await;
    assert_eq!(sums(&all), [100, 0, 0, 7, 500, 500], "{all:#}");
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 100);
    // An order without a shipping method has nothing to give back.
    let plain = gateway.sibling_with(|config| config.shipping_required = false).await;
    let shopper = plain.shopper("ann");
    let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
    let placed = checkout(&shopper, &id, &purse, "op").await;
    settled(&plain).await;
    let order = placed["id"].as_str().expect("an order");
    assert_eq!(too_large(&refund(&merchant, order, Some(1), "op").await), [1, 0]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_at_once_give_back_no_more_than_was_paid() {
    let gateway = Gateway::with(with_tables).await;
    let (_, purse, order) = bought(&gateway).await;
    let clients: Vec<_> = ["one", "two"].map(|name| gateway.user(name, &["merchant"])).into();
    // Each of eight calls gives back 100, of 595, and each is sent twice at once.
    let calls: Vec<_> = (0..16).map(|n| (&clients[n % 2], format!("op-{}", n / 4))).collect();
    let answers = join_all(calls.iter().map(|(client, op)| refund(client, &order, Some(100), op)));
    let answers = answers.await;
    let won = answers.iter().filter(|answer| answer["__typename"] == "Order").count();
    let refused = answers.iter().filter(|answer| answer["code"] == "REFUND_TOO_LARGE").count();
    assert_eq!((won, refused), (10, 6), "{answers:#?}");
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 5_000 - 202);
    gateway.assert_sound().await;
}

/// A merchant pays for a piece that is added. What is given back of shipping goes to the shopper, who paid for it.
#[tokio::test(flavor = "multi_thread")]
async fn shipping_is_given_back_to_the_payer_of_the_checkout() {
    let gateway = Gateway::with(with_tables).await;
    let (_, purse, order) = bought(&gateway).await;
    let merchant = gateway.user("max", &["merchant"]);
    let other = account(&gateway, "max", 1_000).await;
    let raise = "mutation($input: AdjustOrderLineInput!) { adjustOrderLine(input: $input) { __typename \
        ... on UserError { code message } } }";
    let input = json!({
        "orderId": order, "sku": "a", "quantity": 2, "payment": { "accountId": other },
        "idempotencyKey": "raise",
    });
    let raised = merchant.field(raise, json!({ "input": input })).await;
    assert_eq!(raised["__typename"], "Order", "{raised:#}");
    settled(&gateway).await;
    let purses = async || [balance(&gateway, &purse).await, balance(&gateway, &other).await];
    assert_eq!(purses().await, [5_000 - 702, 1_000 - 107]);
    for (amount, op, left) in [(Some(95), "part", 607), (None, "rest", 107)] {
        let answer = refund(&merchant, &order, amount, op).await;
        assert_eq!(answer["__typename"], "Order", "{answer:#}");
        settled(&gateway).await;
        assert_eq!(purses().await, [5_000 - left, 1_000 - 107], "{op}");
        gateway.assert_sound().await;
    }
    // The piece that was added goes first, to whom it was paid by.
    adjust(&merchant, &order, "a", 1, "less").await;
    settled(&gateway).await;
    assert_eq!(purses().await, [5_000 - 107, 1_000]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tax_does_not_depend_on_the_parts() {
    for (is_included, sum) in [(false, [697, 496, 94]), (true, [595, 495, 79])] {
        let gateway = Gateway::with(|config| {
            with_tables(config);
            config.taxes.get_mut("DE").expect("a country").included = is_included;
        })
        .await;
        let (shopper, purse, in_parts) = bought(&gateway).await;
        let id = cart(&shopper, "AT_CHECKOUT", &[("a", 1)]).await;
        chosen(&shopper, &id, "standard", json!({})).await;
        let at_once = checkout(&shopper, &id, &purse, "op").await;
        let at_once = at_once["id"].as_str().unwrap_or_else(|| panic!("{at_once:#}")).to_owned();
        settled(&gateway).await;
        let merchant = gateway.merchant();
        for part in 1..5 {
            refund(&merchant, &in_parts, Some(1), &format!("part-{part}")).await;
        }
        for (order, amount) in [(&in_parts, 1), (&at_once, 5)] {
            let answer = refund(&merchant, order, Some(amount), "op").await;
            assert_eq!(sums(&answer)[..3], sum, "{answer:#}");
            settled(&gateway).await;
        }
        for amount in [100, 1] {
            refund(&merchant, &in_parts, Some(amount), &format!("more-{amount}")).await;
        }
        let lowered = refund(&merchant, &in_parts, Some(3), "last").await;
        let expected = refund(&merchant, &at_once, Some(104), "last").await;
        assert_eq!(sums(&lowered)[..5], sums(&expected)[..5], "{lowered:#}");
        settled(&gateway).await;
        gateway.assert_sound().await;
    }
}

/// An order to be cut at.
struct Subject {
    purse: String,
    order: String,
}

async fn subject(gateway: &Gateway, n: usize) -> Subject {
    let (shopper, purse, id) = quoted(gateway, n).await;
    let client = gateway.shopper(&shopper);
    let placed = checkout(&client, &id, &purse, "op").await;
    complete(&client, &id).await;
    Subject { purse, order: placed["id"].as_str().expect("an order").to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_shipping_is_given_back_once() {
    let settings = |config: &mut Config| {
        short_bounds(config);
        with_tables(config);
    };
    cuts::everywhere(
        settings,
        subject,
        async |gateway, subject: &Subject| {
            let input = json!({ "orderId": subject.order, "amount": 95, "idempotencyKey": "op" });
            let _whatever = gateway.merchant().send(REFUND, json!({ "input": input })).await;
        },
        async |gateway, case| {
            let named = format!("{:?} at {}", case.way, case.at);
            let order = stored(gateway, "orders", &case.subject.order).await;
            assert_eq!(order.get_i64("total").expect("a total"), 607, "{named}");
            assert_eq!(balance(gateway, &case.subject.purse).await, 1_000 - 607, "{named}");
        },
    )
    .await;
}
