//! Stock: what comes in, what is shown, and what is told to those who follow it.

mod receipts;
mod shelves;

use mongodb::bson::{DateTime, doc};
use serde_json::json;

use crate::support::{
    Gateway, commands,
    cuts::{self, Case},
    short_bounds,
};

const RECEIVE: &str = "mutation($sku: ID!, $quantity: Long!, $op: ID) {
    receiveStock(input: { sku: $sku, quantity: $quantity, opId: $op }) {
        __typename ... on Stock { available }
    }
}";

#[tokio::test(flavor = "multi_thread")]
async fn receipts_add_up() {
    let gateway = Gateway::start().await;
    gateway.product("a", 100, "EUR").await;
    let merchant = gateway.merchant();
    for (quantity, sum) in [(3, 3), (4, 7), (1_000_000_000, 1_000_000_007)] {
        let stock = merchant.receive_stock(json!({ "sku": "a", "quantity": quantity })).await;
        assert_eq!(stock["available"], sum, "{stock:#}");
        assert_eq!(stock["received"], sum);
        assert_eq!((&stock["sold"], &stock["reserved"]), (&json!(0), &json!(0)));
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everyone_sees_what_is_free_and_merchants_the_rest() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    let response =
        gateway.anonymous().run("{ stock(sku: \"a\") { sku available } }", json!({})).await;
    assert_eq!(response["data"]["stock"], json!({ "sku": "a", "available": 5 }));
    assert_eq!(commands(&response), ["find inventory"]);
    for field in ["reserved", "sold", "received"] {
        let query = format!("{{ stock(sku: \"a\") {{ {field} }} }}");
        assert_eq!(gateway.anonymous().error_code(&query, json!({})).await, "UNAUTHENTICATED");
        assert_eq!(gateway.shopper("s").error_code(&query, json!({})).await, "FORBIDDEN");
        gateway.merchant().data(&query, json!({})).await;
    }
    assert_eq!(
        gateway.anonymous().field("{ stock(sku: \"unknown\") { sku } }", json!({})).await,
        json!(null)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_receipt_is_booked_once() {
    let gateway = Gateway::start().await;
    gateway.product("a", 100, "EUR").await;
    let merchant = gateway.merchant();
    let receipt = |op: &str, quantity: i64| json!({ "sku": "a", "quantity": quantity, "opId": op });
    // The very first receipt, sixteen times at once.
    let repeats = (0..16).map(|_| {
        let (merchant, input) = (merchant.clone(), receipt("first", 5));
        tokio::spawn(async move { merchant.receive_stock(input).await })
    });
    for repeat in repeats.collect::<Vec<_>>() {
        assert_eq!(repeat.await.expect("an answer")["available"], 5);
    }
    assert_eq!(merchant.receive_stock(receipt("second", 2)).await["available"], 7);
    assert_eq!(merchant.receive_stock(receipt("first", 5)).await["available"], 7);
    let before = gateway.snapshot().await;
    let other_input = merchant.receive_stock(receipt("first", 6)).await;
    assert_eq!(other_input["__typename"], "Conflict");
    assert_eq!(gateway.snapshot().await, before);
    // Op ids are a subject's own.
    let another = gateway.user("another-merchant", &["merchant"]);
    assert_eq!(another.receive_stock(receipt("first", 6)).await["available"], 13);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn first_receipts_at_the_same_moment_are_all_booked() {
    let gateway = Gateway::start().await;
    gateway.product("a", 100, "EUR").await;
    let receipts = (1..=16).map(|quantity| {
        let merchant = gateway.merchant();
        let input = json!({ "sku": "a", "quantity": quantity });
        tokio::spawn(async move { merchant.receive_stock(input).await })
    });
    for receipt in receipts.collect::<Vec<_>>() {
        let stock = receipt.await.expect("an answer");
        assert_eq!(stock["__typename"], "Stock", "{stock:#}");
    }
    assert_eq!(gateway.available("a").await, (1..=16).sum::<i64>());
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_receipt_changes_nothing() {
    let gateway = Gateway::with(|config| config.body_bytes = 20 << 20).await;
    gateway.stocked("a", 5).await;
    gateway.stocked("leaving", 5).await;
    let now = gateway.app.begin().await.expect("a run").now();
    let leaving = doc! { "$set": { "deletedAt": now } };
    gateway.raw("products").update_one(doc! { "_id": "leaving" }, leaving).await.expect("marked");
    let before = gateway.snapshot().await;
    let merchant = gateway.merchant();
    let huge = "x".repeat(16 << 20);
    for (input, refusal, field) in [
        (json!({ "sku": "unknown", "quantity": 1 }), "NotFound", ""),
        (json!({ "sku": "leaving", "quantity": 1 }), "NotFound", ""),
        (json!({ "sku": "a", "quantity": 0 }), "InvalidInput", "input.quantity"),
        (json!({ "sku": "a", "quantity": -1 }), "InvalidInput", "input.quantity"),
        (json!({ "sku": "a", "quantity": 1_000_000_001 }), "InvalidInput", "input.quantity"),
        (json!({ "sku": "a", "quantity": i64::MAX.to_string() }), "InvalidInput", "input.quantity"),
        (json!({ "sku": "$a.b", "quantity": 1 }), "NotFound", ""),
        (json!({ "sku": "", "quantity": 1 }), "NotFound", ""),
        (json!({ "sku": huge, "quantity": 1 }), "NotFound", ""),
        (json!({ "sku": "a", "quantity": 1, "opId": "" }), "InvalidInput", "input.opId"),
        (json!({ "sku": "a", "quantity": 1, "opId": huge }), "InvalidInput", "input.opId"),
    ] {
        let refused = merchant.receive_stock(input).await;
        assert_eq!(refused["__typename"], refusal, "{refused:#}");
        if !field.is_empty() {
            assert_eq!(refused["field"], field);
        }
    }
    let variables = json!({ "sku": "a", "quantity": 1 });
    assert_eq!(gateway.shopper("s").error_code(RECEIVE, variables.clone()).await, "FORBIDDEN");
    assert_eq!(gateway.anonymous().error_code(RECEIVE, variables).await, "UNAUTHENTICATED");
    let beyond = json!({ "sku": "a", "quantity": "99999999999999999999" });
    assert_eq!(merchant.error_code(RECEIVE, beyond).await, "BAD_USER_INPUT");
    assert_eq!(gateway.snapshot().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_document_full_of_receipts_asks_for_patience() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    let now = gateway.app.begin().await.expect("a run").now();
    let records: Vec<_> =
        (0..3_000).map(|n| doc! { "tag": n.to_string(), "id": n.to_string(), "at": now }).collect();
    let full = doc! { "$set": { "ops": records } };
    gateway.raw("inventory").update_one(doc! { "_id": "a" }, full).await.expect("filled");
    let before = gateway.snapshot().await;
    let variables = json!({ "sku": "a", "quantity": 1 });
    let response = gateway.merchant().run(RECEIVE, variables).await;
    let extensions = &response["errors"][0]["extensions"];
    assert_eq!(extensions["code"], "RATE_LIMITED", "{response:#}");
    assert_eq!(extensions["retryable"], true);
    assert_eq!(gateway.snapshot().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn followers_see_the_stock_as_it_is_and_whenever_it_changed() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    gateway.stocked("b", 5).await;
    let follow = "subscription { stockChanged(sku: \"a\") { available } }";
    let mut live = gateway.anonymous().follow(follow, json!({})).await;
    // The same state may come twice: when the change stream opens, anything may have changed.
    let mut seen = async |awaited: i64| {
        for _ in 0..5 {
            let available = live.next().await["data"]["stockChanged"]["available"].as_i64();
            if available == Some(awaited) {
                return;
            }
        }
        panic!("{awaited} was never seen");
    };
    seen(5).await;
    let merchant = gateway.merchant();
    merchant.receive_stock(json!({ "sku": "b", "quantity": 1 })).await;
    merchant.receive_stock(json!({ "sku": "a", "quantity": 2 })).await;
    seen(7).await;
    let shopper = gateway.shopper("someone");
    let cart = shopper.open_cart("RESERVE").await;
    shopper.add(&cart, "a", 3).await;
    seen(4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sku = format!("sku-{n}");
            gateway.product(&sku, 100, "EUR").await;
            sku
        },
        async |gateway, sku| {
            let variables = json!({ "sku": sku, "quantity": 5, "op": "once" });
            // The first receipt of the SKU, and one more.
            gateway.merchant().send(RECEIVE, variables.clone()).await.ok();
            let more = json!({ "sku": sku, "quantity": 2, "op": "more" });
            gateway.merchant().send(RECEIVE, more).await.ok();
        },
        async |gateway, Case { at, way, subject }| {
            assert_eq!(gateway.available(subject).await, 7, "command {at} {way:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_finds_stock_that_does_not_add_up() {
    let gateway = Gateway::start().await;
    gateway.stocked("short", 5).await;
    gateway.stocked("negative", 5).await;
    gateway.stocked("reserved", 5).await;
    gateway.stocked("sound", 5).await;
    let inventory = gateway.raw("inventory");
    let entry = doc! {
        "holder": "order:x", "quantity": -1_i64, "takes": [], "gifts": [],
        "at": DateTime::from_millis(0),
    };
    for (sku, change) in [
        ("short", doc! { "$inc": { "available": -1_i64 } }),
        ("negative", doc! { "$inc": { "available": -6_i64, "sold": 6_i64 } }),
        ("reserved", doc! { "$inc": { "available": 1_i64 }, "$push": { "reservations": entry } }),
    ] {
        inventory.update_one(doc! { "_id": sku }, change).await.expect("changed");
    }
    let report = docgate::domains::check(&gateway.app).await.expect("the check runs");
    let own = report.rules.iter().filter(|(rule, _)| rule.starts_with("inventory"));
    let broken: Vec<_> = own.flat_map(|(_, broken)| broken).collect();
    assert_eq!(broken.len(), 3, "{broken:#?}");
    for sku in ["short", "negative", "reserved"] {
        assert!(broken.iter().any(|what| what.contains(sku)), "{sku}: {broken:#?}");
    }
}
