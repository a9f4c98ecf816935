//! Stock: what comes in, what is shown, and what is told to those who follow it.

mod availability;
mod receipts;
mod shelves;

use docgate::domains::inventory::import::{ImportStock, import};
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};

use crate::support::{
    Gateway, commands,
    cuts::{self, Case},
    long_bounds, short_bounds,
};

const RECEIVE: &str = "mutation($sku: ID!, $quantity: Int!, $op: ID) {
    receiveStock(input: { sku: $sku, quantity: $quantity, idempotencyKey: $op }) {
        __typename ... on Stock { available }
    }
}";

const WRITE_OFF: &str = "mutation($sku: ID!, $quantity: Int!, $op: ID) {
    writeOffStock(input: { sku: $sku, quantity: $quantity, idempotencyKey: $op }) {
        __typename ... on Stock { available reserved sold received }
        ... on WriteOffShort { requested free } ... on InvalidInput { field }
    }
}";

#[tokio::test(flavor = "multi_thread")]
async fn pieces_that_are_free_can_be_written_off() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    gateway.product("empty", 100, "EUR").await;
    let shopper = gateway.shopper("someone");
    let cart = shopper.open_cart("RESERVE").await;
    shopper.add(&cart, "a", 3).await;
    let merchant = gateway.merchant();
    let write_off = async |sku: &str, quantity: i64, op: &str| {
        let input = json!({ "sku": sku, "quantity": quantity, "op": op });
        merchant.field(WRITE_OFF, input).await
    };
    let before = gateway.snapshot().await;
    let short = |requested: i64, free: i64| json!({ "__typename": "WriteOffShort", "requested": requested, "free": free });
    assert_eq!(write_off("a", 3, "too-many").await, short(3, 2), "three are reserved");
    assert_eq!(write_off("empty", 1, "none").await, short(1, 0));
    assert_eq!(write_off("unknown", 1, "unknown").await["__typename"], "NotFound");
    assert_eq!(write_off("a", 0, "nothing").await["field"], "input.quantity");
    assert_eq!(write_off("a", -1, "negative").await["field"], "input.quantity");
    let input = json!({ "sku": "a", "quantity": 1 });
    assert_eq!(shopper.error_code(WRITE_OFF, input.clone()).await, "FORBIDDEN");
    assert_eq!(gateway.anonymous().error_code(WRITE_OFF, input).await, "UNAUTHENTICATED");
    assert_eq!(gateway.snapshot().await, before);

    let left = json!({
        "__typename": "Stock", "available": 0, "reserved": 3, "sold": 0, "received": 3,
    });
    for _ in 0..3 {
        assert_eq!(write_off("a", 2, "damaged").await, left);
    }
    assert_eq!(write_off("a", 1, "damaged").await["__typename"], "Conflict");
    // A receipt under the same key is another call.
    let more = json!({ "sku": "a", "quantity": 1, "idempotencyKey": "damaged" });
    assert_eq!(merchant.receive_stock(more).await["available"], 1);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn write_offs_at_the_same_moment_take_no_piece_twice() {
    let gateway = Gateway::with(long_bounds).await;
    gateway.stocked("a", 10).await;
    let calls = (0..16).map(|n| {
        let merchant = gateway.merchant();
        let input = json!({ "sku": "a", "quantity": 1, "op": format!("op-{n}") });
        tokio::spawn(async move { merchant.field(WRITE_OFF, input).await })
    });
    let mut taken = 0;
    for call in calls.collect::<Vec<_>>() {
        let answer = call.await.expect("an answer");
        match answer["__typename"].as_str() {
            Some("Stock") => taken += 1,
            Some("WriteOffShort") => assert_eq!(answer["free"], 0, "{answer:#}"),
            _ => panic!("{answer:#}"),
        }
    }
    assert_eq!((taken, gateway.available("a").await), (10, 0));
    gateway.assert_sound().await;
}

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
        gateway.anonymous().explained("{ stock(sku: \"a\") { sku available } }", json!({})).await;
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
    let gateway = Gateway::with(long_bounds).await;
    gateway.product("a", 100, "EUR").await;
    let merchant = gateway.merchant();
    let receipt =
        |op: &str, quantity: i64| json!({ "sku": "a", "quantity": quantity, "idempotencyKey": op });
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
    // Idempotency keys are a subject's own.
    let another = gateway.user("another-merchant", &["merchant"]);
    assert_eq!(another.receive_stock(receipt("first", 6)).await["available"], 13);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn first_receipts_at_the_same_moment_are_all_booked() {
    let gateway = Gateway::with(long_bounds).await;
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
    let now = gateway.begin().await.now();
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
        (json!({ "sku": "a", "quantity": i32::MAX }), "InvalidInput", "input.quantity"),
        (json!({ "sku": "$a.b", "quantity": 1 }), "NotFound", ""),
        (json!({ "sku": "", "quantity": 1 }), "NotFound", ""),
        (json!({ "sku": huge, "quantity": 1 }), "NotFound", ""),
        (
            json!({ "sku": "a", "quantity": 1, "idempotencyKey": "" }),
            "InvalidInput",
            "input.idempotencyKey",
        ),
        (
            json!({ "sku": "a", "quantity": 1, "idempotencyKey": huge }),
            "InvalidInput",
            "input.idempotencyKey",
        ),
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
    // An `Int` is a number of 32 bits, and no text.
    for quantity in [json!("1"), json!(i64::from(i32::MAX) + 1), json!(1.5)] {
        let beyond = json!({ "sku": "a", "quantity": quantity });
        assert_eq!(merchant.error_code(RECEIVE, beyond).await, "BAD_USER_INPUT", "{quantity}");
    }
    assert_eq!(gateway.snapshot().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_document_full_of_receipts_asks_for_patience() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    let now = gateway.begin().await.now();
    let records: Vec<_> =
        (0..3_000).map(|n| doc! { "tag": n.to_string(), "id": n.to_string(), "at": now }).collect();
    let full = doc! { "$set": { "ops": records } };
    gateway.raw("inventory").update_one(doc! { "_id": "a" }, full).await.expect("filled");
    let before = gateway.snapshot().await;
    let variables = json!({ "sku": "a", "quantity": 1 });
    let response = gateway.merchant().run(RECEIVE, variables).await;
    let error = &response["errors"][0];
    assert_eq!(error["message"], "too many goods receipts of this SKU; try again in 60 minutes");
    assert_eq!(error["extensions"]["code"], "RATE_LIMITED", "{response:#}");
    assert_eq!(error["extensions"]["retryable"], true);
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
    let report = gateway.check().await;
    let own = report.rules.iter().filter(|(rule, _)| rule.starts_with("inventory"));
    let broken: Vec<_> = own.flat_map(|(_, broken)| broken).collect();
    // The reservation that was written directly isn't in the time of the sweep either.
    assert_eq!(broken.len(), 4, "{broken:#?}");
    assert!(broken.iter().any(|what| what.contains("isLate")), "{broken:#?}");
    for sku in ["short", "negative", "reserved"] {
        assert!(broken.iter().any(|what| what.contains(sku)), "{sku}: {broken:#?}");
    }
}

/// Of each line whether it was booked, or why not.
async fn bring(
    gateway: &Gateway,
    lines: Value,
) -> Result<Vec<Result<(), String>>, docgate::error::Error> {
    let lines: Vec<ImportStock> = serde_json::from_value(lines).expect("lines");
    let said = import(&gateway.app, &lines, &mut None).await?;
    Ok(said.into_iter().map(|said| said.map(drop).map_err(|invalid| invalid.message)).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_receipt_is_booked_once_for_good() {
    let gateway = Gateway::with(long_bounds).await;
    for sku in ["a", "b"] {
        gateway.product(sku, 100, "EUR").await;
    }
    let lines = json!([
        { "sku": "a", "quantity": 5 },
        { "sku": "a", "quantity": 2, "receipt": "second" },
        { "sku": "b", "quantity": 1 },
    ]);
    // Also by several importers at once.
    let runs = (0..4).map(|_| bring(&gateway, lines.clone()));
    for said in futures_util::future::join_all(runs).await {
        assert_eq!(said.expect("imported"), [Ok(()), Ok(()), Ok(())]);
    }
    assert_eq!((gateway.available("a").await, gateway.available("b").await), (7, 1));
    // Ops are forgotten after an hour; an imported receipt isn't.
    let inventory = gateway.database.collection::<mongodb::bson::Document>("inventory");
    let long_ago = doc! { "$set": { "imported.$[].at": DateTime::from_millis(0) } };
    inventory.update_one(doc! { "_id": "a" }, long_ago).await.expect("changed");
    let before = gateway.snapshot().await["inventory"].clone();
    let again = bring(&gateway, lines).await.expect("imported");
    assert!(again.iter().all(Result::is_ok));
    let other = json!([{ "sku": "a", "quantity": 6 }, { "sku": "c", "quantity": 6 }]);
    let refused = bring(&gateway, other).await.expect("imported");
    assert!(refused[0].as_ref().expect_err("another").starts_with("input.quantity: "));
    assert!(refused[1].as_ref().expect_err("no product").starts_with("input.sku: "));
    assert!(gateway.snapshot().await["inventory"] == before);

    // A merchant's own receipts are told apart from it, and there is a bound.
    gateway.merchant().receive_stock(json!({ "sku": "b", "quantity": 4 })).await;
    let many: Vec<Value> = (0..201)
        .map(|n| json!({ "sku": "b", "quantity": 1, "receipt": format!("r-{n}") }))
        .collect();
    let said = bring(&gateway, many.into()).await.expect("imported");
    assert_eq!(said.iter().filter(|said| said.is_ok()).count(), 199);
    assert_eq!(gateway.available("b").await, 1 + 4 + 199);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stock_that_is_imported_for_a_new_product_opens_it_again() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    gateway.product("a", 100, "EUR").await;
    bring(&gateway, json!([{ "sku": "a", "quantity": 5 }])).await.expect("imported");
    let delete = "mutation { deleteProduct(input: { sku: \"a\" }) { __typename } }";
    gateway.merchant().field(delete, json!({})).await;
    let line = json!([{ "sku": "a", "quantity": 3, "receipt": "new" }]);
    assert!(bring(&gateway, line.clone()).await.expect("imported")[0].is_err());
    gateway.sweep().await;
    gateway.product("a", 100, "EUR").await;
    assert!(bring(&gateway, line).await.expect("imported")[0].is_ok());
    assert_eq!(gateway.available("a").await, 8);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_an_import_of_stock_books_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sku = format!("sku-{n}");
            gateway.product(&sku, 100, "EUR").await;
            sku
        },
        async |gateway, sku| {
            for (quantity, receipt) in [(5, "one"), (2, "two")] {
                let line = json!([{ "sku": sku, "quantity": quantity, "receipt": receipt }]);
                let _cut = bring(gateway, line).await;
            }
        },
        async |gateway, Case { at, way, subject }| {
            assert_eq!(gateway.available(subject).await, 7, "{way:?} at {at}");
        },
    )
    .await;
}
