//! What is left of a flow that was cut at any of its commands, or overtaken.

use mongodb::bson::doc;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{RESERVE, marks};
use crate::support::{
    Client, Gateway,
    cuts::{self, Case},
    long_bounds,
    proxy::Cut,
    shop::line,
    short_bounds,
};

/// Sends a call until the command that is to be held is: with short bounds it may run out of time before. Its answer
/// comes later.
async fn held(gateway: &Gateway, call: &(String, Value)) -> JoinHandle<Value> {
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    for _ in 0..30 {
        let (shopper, (query, variables)) = (gateway.shopper("someone"), call.clone());
        let mut slow = tokio::spawn(async move { shopper.run(&query, variables).await });
        tokio::select! {
            biased;
            () = proxy.reached() => return slow,
            _too_early = &mut slow => {}
        }
    }
    panic!("the call never comes to its command");
}

/// Sends a call whose decision never arrives, until so much is left: with short bounds it may run out of time before it
/// takes anything.
async fn cut_when_taken(gateway: &Gateway, (query, variables): &(String, Value), left: i64) {
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.command != "find");
    for _ in 0..30 {
        proxy.cut_all_from(1, Cut::BeforeForwarding);
        let code = gateway.shopper("someone").error_code(query, variables.clone()).await;
        assert_eq!(code, "UNAVAILABLE");
        proxy.heal();
        if gateway.available("a").await == left {
            return;
        }
    }
    panic!("the call never takes anything");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_worker_that_was_overtaken_changes_nothing_more() {
    // Its take, or its decision, arrives when the sweep and a repeat are done.
    for (collection, at) in [("inventory", 0), ("carts", 0)] {
        for repeat_first in [true, false] {
            let gateway = Gateway::behind_proxy(short_bounds).await;
            gateway.stocked("a", 10).await;
            let proxy = gateway.proxy.as_ref().expect("a proxy");
            let shopper = gateway.shopper("someone");
            let id = shopper.open_cart(RESERVE).await;
            proxy.count_only(move |seen| seen.collection == collection && seen.command != "find");
            proxy.cut(at, Cut::Hold);
            let call = Client::adding(&id, "a", 2, Some("once"));
            let slow = held(&gateway, &call).await;
            proxy.heal();
            let sibling = gateway.sibling().await;
            let quick = sibling.shopper("someone");
            if repeat_first {
                assert_eq!(line(&quick.does(call.clone()).await, "a"), (2, 2));
            }
            sibling.sweep().await;
            sibling.assert_sound().await;
            proxy.release().await;
            slow.await.expect("an answer, whatever it is");
            sibling.assert_sound().await;
            let cart = quick.does(call).await;
            assert_eq!(line(&cart, "a"), (2, 2), "{collection}, {repeat_first}");
            assert_eq!(gateway.available("a").await, 8);
            sibling.sweep().await;
            sibling.assert_sound().await;
            assert_eq!(marks(&gateway.stock_document("a").await), 0);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_give_that_was_overtaken_gives_nothing_more() {
    let gateway = Gateway::behind_proxy(short_bounds).await;
    gateway.stocked("a", 10).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 5).await;
    proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "update");
    proxy.cut(0, Cut::Hold);
    let slow = held(&gateway, &Client::setting(&id, "a", 2, Some("once"))).await;
    proxy.heal();
    let sibling = gateway.sibling().await;
    sibling.sweep().await;
    assert_eq!(gateway.available("a").await, 8, "the sweep gave it");
    // Its mark is retired, too: only the deadline stands before the late give.
    sibling.sweep().await;
    assert_eq!(marks(&gateway.stock_document("a").await), 0);
    proxy.release().await;
    slow.await.expect("an answer, whatever it is");
    assert_eq!(gateway.available("a").await, 8);
    sibling.assert_sound().await;
    let cart = shopper.does(Client::setting(&id, "a", 2, Some("once"))).await;
    assert_eq!(line(&cart, "a"), (2, 2));
    sibling.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_and_never_decided_returns_and_the_op_can_be_repeated() {
    let gateway = Gateway::behind_proxy(short_bounds).await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 3).await;
    cut_when_taken(&gateway, &Client::adding(&id, "a", 4, Some("cut")), 3).await;
    let patient = gateway.sibling_with(long_bounds).await;
    patient.sweep_all().await;
    assert_eq!(gateway.available("a").await, 3, "its run may still go on");
    let sibling = gateway.sibling().await;
    sibling.sweep().await;
    sibling.assert_sound().await;
    assert_eq!(gateway.available("a").await, 7);
    assert_eq!(marks(&gateway.stock_document("a").await), 0);
    let shopper = sibling.shopper("someone");
    let cart = shopper.does(Client::adding(&id, "a", 4, Some("cut"))).await;
    assert_eq!(line(&cart, "a"), (7, 7));
    sibling.assert_sound().await;
}

/// A call reserves and is cut before its commit. The same idempotency key with another quantity must not commit
/// what that call reserved as its own.
#[tokio::test(flavor = "multi_thread")]
async fn another_quantity_under_the_key_of_a_cut_call_reserves_its_own() {
    type Call = fn(&str, i64) -> (String, Value);
    let adding: Call = |id, quantity| Client::adding(id, "a", quantity, Some("cut"));
    let setting: Call = |id, quantity| Client::setting(id, "a", 1 + quantity, Some("cut"));
    for call in [adding, setting] {
        let gateway = Gateway::behind_proxy(short_bounds).await;
        gateway.stocked("a", 20).await;
        let shopper = gateway.shopper("someone");
        let id = shopper.open_cart(RESERVE).await;
        shopper.add(&id, "a", 1).await;
        cut_when_taken(&gateway, &call(&id, 3), 16).await;

        let sibling = gateway.sibling().await;
        let other = sibling.shopper("someone");
        assert_eq!(line(&other.does(call(&id, 5)).await, "a"), (6, 6));
        assert_eq!(gateway.available("a").await, 11, "three are still reserved for the cut call");
        let repeated = other.does(call(&id, 3)).await;
        assert_eq!(repeated["__typename"], "Conflict", "{repeated:#}");
        sibling.sweep().await;
        sibling.assert_sound().await;
        assert_eq!(gateway.available("a").await, 14);
        assert_eq!(line(&other.cart(&id).await, "a"), (6, 6));
        other.does(Client::removing(&id, "a", None)).await;
        assert_eq!(gateway.available("a").await, 20);
        sibling.assert_sound().await;
    }
}

/// The same beside each other: the first call's commit comes after the second call's.
#[tokio::test(flavor = "multi_thread")]
async fn another_quantity_beside_a_slow_call_reserves_its_own() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    gateway.stocked("a", 20).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "carts" && seen.command != "find");
    proxy.cut(0, Cut::Hold);
    let (query, variables) = Client::adding(&id, "a", 3, Some("once"));
    let slow = tokio::spawn({
        let shopper = shopper.clone();
        async move { shopper.does((query, variables)).await }
    });
    proxy.reached().await;
    proxy.heal();
    let sibling = gateway.sibling().await;
    let quick = sibling.shopper("someone");
    let cart = quick.does(Client::adding(&id, "a", 5, Some("once"))).await;
    assert_eq!(line(&cart, "a"), (5, 5));
    proxy.release().await;
    assert_eq!(slow.await.expect("an answer")["__typename"], "Conflict");
    assert_eq!(gateway.available("a").await, 15);
    sibling.assert_sound().await;
    gateway.sibling_with(short_bounds).await.sweep().await;
    sibling.assert_sound().await;
}

/// A repeat of a call whose commit is there returns the stock that the call still owes, without a sweep.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_of_a_lowering_that_was_cut_returns_the_stock() {
    let gateway = Gateway::behind_proxy(short_bounds).await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 7).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "update");
    proxy.cut_all_from(0, Cut::BeforeForwarding);
    let call = Client::setting(&id, "a", 2, Some("cut"));
    assert_eq!(shopper.error_code(&call.0, call.1.clone()).await, "UNAVAILABLE");
    proxy.heal();
    let sibling = gateway.sibling().await;
    assert_eq!(gateway.available("a").await, 3);
    assert_eq!(line(&sibling.shopper("someone").does(call).await, "a"), (2, 2));
    assert_eq!(gateway.available("a").await, 8);
    sibling.assert_sound().await;
}

/// A cart of its own with a SKU of its own, of which ten are there and `quantity` in the cart.
async fn prepared(gateway: &Gateway, n: usize, quantity: i64) -> (String, String) {
    let sku = format!("sku-{n}");
    gateway.stocked(&sku, 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    if quantity > 0 {
        shopper.add(&id, &sku, quantity).await;
    }
    (id, sku)
}

/// Cuts `call` everywhere; after sweeps and a repeat the line is `(quantity, held)`.
async fn cut_everywhere(before: i64, call: impl Fn(&str, &str) -> (String, Value), after: i64) {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| prepared(gateway, n, before).await,
        async |gateway, (id, sku)| {
            let (query, variables) = call(id, sku);
            gateway.shopper("someone").send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: (id, sku) }| {
            let cart = gateway.shopper("someone").cart(id).await;
            if after == 0 {
                assert_eq!(cart["lines"], json!([]), "command {at} {way:?}");
            } else {
                assert_eq!(line(&cart, sku), (after, after), "command {at} {way:?}");
            }
            assert_eq!(gateway.available(sku).await, 10 - after, "command {at} {way:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_survives_a_cut_at_every_command() {
    cut_everywhere(0, |id, sku| Client::adding(id, sku, 3, Some("op")), 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn raising_survives_a_cut_at_every_command() {
    cut_everywhere(2, |id, sku| Client::setting(id, sku, 7, Some("op")), 7).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lowering_survives_a_cut_at_every_command() {
    cut_everywhere(7, |id, sku| Client::setting(id, sku, 2, Some("op")), 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_survives_a_cut_at_every_command() {
    cut_everywhere(7, |id, sku| Client::removing(id, sku, Some("op")), 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_survives_a_cut_at_every_command() {
    const OPEN: &str = "mutation($op: ID!) {
        openCart(input: { policy: RESERVE, currency: \"EUR\", idempotencyKey: $op }) { ... on Cart { id } }
    }";
    cuts::everywhere(
        short_bounds,
        async |_, n| format!("op-{n}"),
        async |gateway, op| {
            gateway.shopper("someone").send(OPEN, json!({ "op": op })).await.ok();
        },
        async |gateway, Case { subject, .. }| {
            let cart = gateway.shopper("someone").field(OPEN, json!({ "op": subject })).await;
            assert!(cart["id"].is_string(), "{cart:#}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let (id, sku) = prepared(gateway, n, 7).await;
            // A return is still due: its give was cut.
            let shopper = gateway.shopper("someone");
            shopper.set(&id, &sku, 4).await;
            let due = doc! {
                "tag": "still-due", "sku": &sku, "quantity": 1_i64,
                "at": gateway.begin().await.now(),
            };
            let change = doc! { "$push": { "outbox": due }, "$set": {
                "lines.0.quantity": 3_i64, "lines.0.held": 3_i64,
            } };
            gateway
                .raw("carts")
                .update_one(doc! { "_id": crate::support::key(&id) }, change)
                .await
                .expect("changed");
            (id, sku)
        },
        async |gateway, (id, _)| {
            let (query, variables) = Client::cancelling(id);
            gateway.shopper("someone").send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: (id, sku) }| {
            let cart = gateway.shopper("someone").cart(id).await;
            assert_eq!(cart["state"], "CANCELLED", "command {at} {way:?}");
            assert_eq!(gateway.available(sku).await, 10, "command {at} {way:?}");
        },
    )
    .await;
}
