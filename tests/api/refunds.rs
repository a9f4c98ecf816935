//! Refunds that the merchant's account can't pay yet: the order is decided, the money follows.

use std::{cell::RefCell, collections::HashSet, time::Instant};

use docgate::config::PaymentProvider;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::{
    orders::{Subject, adjust, cancel, cancel_query, delete, order_query, shop, subject},
    shop::{balance, count, placed, settled, state, stock},
    support::{Client, Gateway, cuts, short_bounds, until},
};

/// Refunded and still due, of an order.
fn back(order: &Value) -> (i64, i64) {
    let of = |field: &str| {
        let amount = order[field]["minorUnits"].as_i64();
        amount.unwrap_or_else(|| panic!("an amount in {field}: {order:#}"))
    };
    (of("refunded"), of("refundDue"))
}

/// The order as its shopper sees it.
async fn seen(client: &Client, order: &str) -> Value {
    client.field(&order_query(), json!({ "id": order })).await
}

/// The account on which the merchant receives.
async fn till(gateway: &Gateway) -> String {
    let merchant = gateway.shopper(&gateway.app.config().payments_merchant);
    let accounts = merchant.field("{ myAccounts { nodes { id } } }", json!({})).await;
    accounts["nodes"][0]["id"].as_str().expect("an account").to_owned()
}

/// Moves money between the outside world and an account, by the mutation of that name.
async fn pass(gateway: &Gateway, name: &str, input: &str, account: &str, amount: i64) {
    let query = format!(
        "mutation($input: {input}!) {{ {name}(input: $input) {{ __typename \
         ... on UserError {{ message }} }} }}"
    );
    let variables = json!({ "input": { "accountId": account, "amount": amount } });
    let moved = gateway.service().field(&query, variables).await;
    assert_eq!(moved["__typename"], "Transfer", "{moved:#}");
}

async fn withdraw(gateway: &Gateway, account: &str, amount: i64) {
    pass(gateway, "withdraw", "WithdrawInput", account, amount).await;
}

async fn deposit(gateway: &Gateway, account: &str, amount: i64) {
    pass(gateway, "deposit", "DepositInput", account, amount).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_order_says_what_is_due_until_the_merchant_has_it() {
    let gateway = Gateway::with(short_bounds).await;
    let (shopper, purse, order) = shop(&gateway).await;
    let till = till(&gateway).await;
    withdraw(&gateway, &till, 350).await;
    settled(&gateway).await;

    let same = join_all((0..4).map(|_| cancel(&shopper, &order, "op"))).await;
    for answer in &same {
        assert_eq!(answer["state"], "CANCELLING", "{answer:#}");
        assert_eq!(back(answer), (0, 350));
    }
    assert_eq!(stock(&gateway, "a").await, (100, 0, 0), "everything else is given");
    assert_eq!(balance(&gateway, &purse).await, 650);
    gateway.assert_sound().await;
    // A repeat is answered at once, whoever carried it out.
    until("a repeat is answered at once", async || {
        let since = Instant::now();
        assert_eq!(back(&cancel(&shopper, &order, "op").await), (0, 350));
        since.elapsed() < gateway.app.bounds().attempt
    })
    .await;
    assert_eq!(cancel(&shopper, &order, "another").await["code"], "ORDER_NOT_OPEN");
    assert_eq!(delete(&gateway.admin(), &order).await["code"], "IN_USE");

    // The sweep comes to its end, however long that lasts.
    gateway.sweep().await;
    let waiting = seen(&shopper, &order).await;
    assert_eq!((&waiting["state"], back(&waiting)), (&json!("CANCELLING"), (0, 350)));
    gateway.assert_sound().await;

    deposit(&gateway, &till, 350).await;
    gateway.sweep().await;
    let paid = seen(&shopper, &order).await;
    assert_eq!((&paid["state"], back(&paid)), (&json!("CANCELLED"), (350, 0)));
    assert_eq!((balance(&gateway, &purse).await, balance(&gateway, &till).await), (1_000, 0));
    assert_eq!(back(&cancel(&shopper, &order, "op").await), (350, 0));
    gateway.assert_sound().await;
    gateway.sweep().await;
    assert_eq!(delete(&gateway.admin(), &order).await["__typename"], "DeletedOrder");
    gateway.assert_sound().await;
}

/// The shop has changed its setting since the order was paid. No gateway without a provider can pay the refund.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_provider_a_refund_of_what_was_paid_stays_due() {
    let gateway = Gateway::with(short_bounds).await;
    let (shopper, purse, order) = shop(&gateway).await;
    let without = gateway.sibling_with(|config| config.payments = PaymentProvider::None).await;
    let client = without.shopper("ann");
    let lowered = adjust(&client, &order, "a", 1, "down").await;
    assert_eq!((&lowered["state"], back(&lowered)), (&json!("PLACED"), (0, 200)), "{lowered:#}");
    let cancelled = cancel(&client, &order, "op").await;
    assert_eq!(cancelled["state"], "CANCELLING", "{cancelled:#}");
    settled(&without).await;
    without.sweep().await;
    let waiting = seen(&client, &order).await;
    assert_eq!((&waiting["state"], back(&waiting)), (&json!("CANCELLING"), (0, 350)));
    assert_eq!(balance(&gateway, &purse).await, 650);
    gateway.assert_sound().await;

    // With the provider it is paid.
    gateway.sweep().await;
    let paid = seen(&shopper, &order).await;
    assert_eq!((&paid["state"], back(&paid)), (&json!("CANCELLED"), (350, 0)));
    assert_eq!(balance(&gateway, &purse).await, 1_000);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lowered_line_is_refunded_once_the_merchant_has_the_money() {
    let gateway = Gateway::with(short_bounds).await;
    let (shopper, purse, order) = shop(&gateway).await;
    let till = till(&gateway).await;
    withdraw(&gateway, &till, 350).await;
    settled(&gateway).await;

    let lowered = adjust(&shopper, &order, "a", 1, "down").await;
    assert_eq!((&lowered["state"], back(&lowered)), (&json!("PLACED"), (0, 200)), "{lowered:#}");
    assert_eq!(lowered["total"]["minorUnits"], 150);
    assert_eq!(back(&adjust(&shopper, &order, "a", 1, "down").await), (0, 200));
    assert_eq!(stock(&gateway, "a").await, (99, 0, 1));
    gateway.assert_sound().await;

    // The order takes further changes; what they pay in is at the merchant's for the refund.
    let raised = adjust(&shopper, &order, "b", 5, "up").await;
    assert_eq!((raised["paid"]["minorUnits"].as_i64(), back(&raised)), (Some(550), (0, 200)));
    assert_eq!(balance(&gateway, &purse).await, 450);
    gateway.assert_sound().await;
    gateway.sweep().await;
    assert_eq!(back(&seen(&shopper, &order).await), (200, 0));
    assert_eq!((balance(&gateway, &purse).await, balance(&gateway, &till).await), (650, 0));
    gateway.assert_sound().await;

    // Cancelled with one refund made and one due before, and two more.
    assert_eq!(back(&adjust(&shopper, &order, "a", 0, "off").await), (200, 100));
    let cancelled = cancel(&shopper, &order, "cancel").await;
    assert_eq!((&cancelled["state"], back(&cancelled)), (&json!("CANCELLING"), (200, 350)));
    gateway.assert_sound().await;
    deposit(&gateway, &till, 350).await;
    gateway.sweep().await;
    let paid = seen(&shopper, &order).await;
    assert_eq!((&paid["state"], back(&paid)), (&json!("CANCELLED"), (550, 0)));
    assert_eq!((balance(&gateway, &purse).await, balance(&gateway, &till).await), (1_000, 0));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_refunds_those_are_made_that_can_be() {
    let gateway = Gateway::with(short_bounds).await;
    let (shopper, purse, order) = shop(&gateway).await;
    // A second payment, of 200.
    adjust(&shopper, &order, "a", 5, "up").await;
    let other = placed(&shopper, &purse, &[("b", 2)]).await;
    settled(&gateway).await;
    let till = till(&gateway).await;
    withdraw(&gateway, &till, 400).await;
    settled(&gateway).await;

    // 250 are there: for the 200, not for the 350.
    let cancelled = cancel(&shopper, &order, "op").await;
    assert_eq!((&cancelled["state"], back(&cancelled)), (&json!("CANCELLING"), (200, 350)));
    assert_eq!(balance(&gateway, &till).await, 50);
    gateway.assert_sound().await;
    // Of another order's two refunds of 50 the first is covered.
    let lowered = adjust(&shopper, &other, "b", 1, "down").await;
    assert_eq!(back(&lowered), (50, 0));
    let waiting = cancel(&shopper, &other, "op").await;
    assert_eq!((&waiting["state"], back(&waiting)), (&json!("CANCELLING"), (50, 50)));
    gateway.sweep().await;
    gateway.assert_sound().await;

    // What comes is for a refund that it covers; none is paid in part.
    deposit(&gateway, &till, 50).await;
    gateway.sweep().await;
    assert_eq!(state(&gateway, "orders", &other).await, "CANCELLED");
    assert_eq!(back(&seen(&shopper, &order).await), (200, 350));
    assert_eq!(balance(&gateway, &till).await, 0);
    gateway.assert_sound().await;
    deposit(&gateway, &till, 351).await;
    gateway.sweep().await;
    assert_eq!(back(&seen(&shopper, &order).await), (550, 0));
    assert_eq!((balance(&gateway, &purse).await, balance(&gateway, &till).await), (1_000, 1));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refund_reaches_an_account_that_was_closed_or_is_full() {
    let gateway = Gateway::with(short_bounds).await;
    let (shopper, purse, order) = shop(&gateway).await;
    let open = "mutation { openAccount(input: { currency: \"EUR\", largestBalance: 100 }) { \
        ... on Account { id } } }";
    let small = shopper.field(open, json!({})).await["id"].as_str().expect("an id").to_owned();
    deposit(&gateway, &small, 100).await;
    let of_small = placed(&shopper, &small, &[("a", 1)]).await;
    settled(&gateway).await;
    deposit(&gateway, &small, 100).await;
    withdraw(&gateway, &purse, 650).await;
    // The payer's account keeps the mark of the payment for two grace periods.
    gateway.sweep().await;
    let close = "mutation($id: ID!) { closeAccount(input: { accountId: $id }) { \
        ... on Account { state } } }";
    let closed = shopper.field(close, json!({ "id": purse })).await;
    assert_eq!(closed["state"], "CLOSED", "{closed:#}");

    for (order, refunded) in [(&order, 350), (&of_small, 100)] {
        let cancelled = cancel(&shopper, order, "op").await;
        assert_eq!((&cancelled["state"], back(&cancelled)), (&json!("CANCELLED"), (refunded, 0)));
    }
    assert_eq!((balance(&gateway, &purse).await, balance(&gateway, &small).await), (350, 200));
    settled(&gateway).await;
    gateway.assert_sound().await;
}

/// An order of 350, whose money has left the merchant's account.
async fn unfunded(gateway: &Gateway, n: usize) -> Subject {
    let subject = subject(gateway, n).await;
    withdraw(gateway, &till(gateway).await, 350).await;
    settled(gateway).await;
    subject
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_what_is_due_is_paid_once_the_merchant_has_it() {
    let paid = RefCell::new(HashSet::new());
    cuts::everywhere_apart(
        short_bounds,
        unfunded,
        async |gateway, subject: &Subject| {
            let input = json!({ "input": { "orderId": subject.order, "idempotencyKey": "op" } });
            let client = gateway.shopper(&subject.shopper);
            let _answer_or_trouble = client.send(&cancel_query(), input).await;
        },
        async |gateway, case| {
            let named = format!("{:?} at {}", case.way, case.at);
            let order = seen(&gateway.shopper(&case.subject.shopper), &case.subject.order).await;
            assert_eq!((&order["state"], back(&order)), (&json!("CANCELLED"), (350, 0)), "{named}");
            assert_eq!(balance(gateway, &case.subject.purse).await, 1_000, "{named}");
        },
        async |gateway| {
            gateway.sweep().await;
            gateway.assert_sound().await;
            let till = till(gateway).await;
            assert_eq!(balance(gateway, &till).await, 0);
            if paid.borrow_mut().insert(gateway.database.name().to_owned()) {
                // For all that was sold: what was cut before its decision is cancelled yet.
                let orders = i64::try_from(count(gateway, "orders").await).expect("few");
                deposit(gateway, &till, 350 * orders).await;
                gateway.sweep().await;
                gateway.assert_sound().await;
            }
        },
    )
    .await;
}
