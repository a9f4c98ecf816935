//! Receipts of one SKU by the thousand: what is remembered of them moves on, and none is booked twice.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use mongodb::bson::{Bson, DateTime, Document, doc};
use serde_json::{Value, json};

use super::RECEIVE;
use crate::{
    shop::{count, settled},
    support::{
        Client, Gateway,
        cuts::{self, Case},
        proxy::Cut,
        short_bounds,
    },
};

fn receipt(op: &str, quantity: i64) -> Value {
    json!({ "sku": "a", "quantity": quantity, "idempotencyKey": op })
}

/// How many ops the stock holds, and how many of them nothing else remembers.
async fn held(gateway: &Gateway, sku: &str) -> (usize, usize) {
    let stock = gateway.stock_document(sku).await;
    let ops = stock.get_array("ops").expect("ops");
    let is_kept = |op: &&Bson| op.as_document().is_some_and(|op| op.contains_key("kept"));
    (ops.len(), ops.len() - ops.iter().filter(is_kept).count())
}

/// Brings `ops` in, eight at a time.
async fn receive_all(merchant: &Client, ops: std::ops::Range<i64>) {
    let receipts = ops.map(async |n| merchant.receive_stock(receipt(&format!("op-{n}"), 1)).await);
    let mut answers = stream::iter(receipts).buffer_unordered(8);
    while let Some(stock) = answers.next().await {
        assert_eq!(stock["__typename"], "Stock", "{stock:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sku_takes_any_number_of_receipts_in_an_hour() {
    let gateway = Gateway::start().await;
    gateway.product("a", 100, "EUR").await;
    let merchant = gateway.merchant();
    receive_all(&merchant, 0..1_200).await;
    settled(&gateway).await;
    assert_eq!(gateway.available("a").await, 1_200);
    let moved = usize::try_from(count(&gateway, "stockReceipts").await).expect("few");
    let (_, own) = held(&gateway, "a").await;
    assert!(moved >= 900 && moved + own == 1_200, "{moved} moved, {own} didn't");
    // One bound later the stock has no need of them, and drops them with the next receipt.
    tokio::time::sleep(gateway.app.bounds().grace_period() + Duration::from_millis(100)).await;
    receive_all(&merchant, 1_200..1_201).await;
    settled(&gateway).await;
    assert!(held(&gateway, "a").await.0 <= 100, "the stock drops what moved");
    let before = gateway.snapshot().await;
    for n in [0, 1, 99, 100, 650, 1_199, 1_200] {
        let op = format!("op-{n}");
        assert_eq!(merchant.receive_stock(receipt(&op, 1)).await["available"], 1_201, "{op}");
        let other = merchant.receive_stock(receipt(&op, 2)).await;
        assert_eq!(other["__typename"], "Conflict", "{op}: {other:#}");
    }
    assert_eq!(gateway.snapshot().await, before);
    // The same idempotency key for another SKU is another receipt, and so is another subject's.
    gateway.product("b", 100, "EUR").await;
    let elsewhere = json!({ "sku": "b", "quantity": 1, "idempotencyKey": "op-0" });
    assert_eq!(merchant.receive_stock(elsewhere).await["available"], 1);
    let another = gateway.user("another-merchant", &["merchant"]);
    assert_eq!(another.receive_stock(receipt("op-0", 1)).await["available"], 1_202);
    gateway.assert_sound().await;
}

/// Stock of a hundred that remembers 99 receipts, the one under the idempotency key `known` among them.
async fn with_receipts(gateway: &Gateway, sku: &str) {
    gateway.stocked(sku, 99).await;
    let known = json!({ "sku": sku, "quantity": 1, "idempotencyKey": "known" });
    gateway.merchant().receive_stock(known).await;
    let now = gateway.begin().await.now();
    let others = (0..97).map(|n| {
        doc! { "tag": n.to_string(), "id": n.to_string(), "input": "other", "at": now }
    });
    let more = doc! { "$push": { "ops": { "$each": others.collect::<Vec<_>>() } } };
    gateway.raw("inventory").update_one(doc! { "_id": sku }, more).await.expect("filled");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hundredth_receipt_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sku = format!("sku-{n}");
            with_receipts(gateway, &sku).await;
            sku
        },
        async |gateway, sku| {
            for op in ["hundredth", "known"] {
                let input = json!({ "sku": sku, "quantity": 1, "op": op });
                gateway.merchant().send(RECEIVE, input).await.ok();
                // The second call meets what the first one has moved behind its answer.
                cuts::settled(gateway).await;
            }
        },
        async |gateway, Case { at, way, subject }| {
            assert_eq!(gateway.available(subject).await, 101, "command {at} {way:?}");
        },
    )
    .await;
}

/// The repeat looks for its receipt before it moved, and writes when the stock has dropped it.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_repeat_is_booked_no_second_time() {
    let gateway = Gateway::behind_proxy(short_bounds).await;
    let patient = |config: &mut docgate::config::Config| {
        (config.flow_run_millis, config.flow_command_millis) = (4_000, 2_000);
    };
    let sibling = gateway.sibling_with(patient).await;
    with_receipts(&sibling, "a").await;
    settled(&sibling).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "findAndModify");
    let slow = loop {
        proxy.cut(0, Cut::Hold);
        let merchant = gateway.merchant();
        let mut slow = tokio::spawn(async move {
            let input = json!({ "sku": "a", "quantity": 1, "op": "known" });
            merchant.run(RECEIVE, input).await
        });
        tokio::select! {
            () = proxy.reached() => break slow,
            // On a busy machine its time may be over before it gets there.
            answer = &mut slow => drop(answer.expect("an answer")),
        }
    };
    proxy.heal();
    let quick = sibling.merchant();
    assert_eq!(quick.receive_stock(receipt("hundredth", 1)).await["available"], 101);
    settled(&sibling).await;
    tokio::time::sleep(sibling.app.bounds().grace_period() + Duration::from_millis(100)).await;
    assert_eq!(quick.receive_stock(receipt("later", 1)).await["available"], 102);
    assert_eq!(held(&gateway, "a").await, (1, 1));
    proxy.release().await;
    let answer = slow.await.expect("an answer");
    assert_eq!(answer["errors"][0]["extensions"]["code"], "UNAVAILABLE", "{answer:#}");
    assert_eq!(gateway.available("a").await, 102);
    let again = json!({ "sku": "a", "quantity": 1, "op": "known" });
    assert_eq!(quick.field(RECEIVE, again).await["available"], 102);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_are_forgotten_with_their_op_ids() {
    let gateway = Gateway::with(short_bounds).await;
    let now = gateway.begin().await.now();
    let hour = 3_600_000;
    let receipts = [("old", hour + 1_000), ("young", hour - 60_000)].map(|(id, age)| {
        let at = DateTime::from_millis(now.timestamp_millis() - age);
        doc! { "_id": id, "input": "i", "at": at, "v": 1 }
    });
    let collection = gateway.raw("stockReceipts");
    collection.insert_many(receipts).await.expect("inserted");
    gateway.sweep_all().await;
    let left: Option<Document> = collection.find_one(doc! { "_id": "young" }).await.expect("read");
    assert!(left.is_some());
    assert_eq!(count(&gateway, "stockReceipts").await, 1);
}
