//! Deletions of products that wait for reserved stock don't hold up those behind them.

use docgate::{
    background,
    domains::{
        ROOMS,
        inventory::operations::{Holder, Reserved},
    },
};
use mongodb::bson::{DateTime, Document, doc};
use serde_json::json;

use super::{
    create, product, thing,
    variants::{added, variant},
};
use crate::support::{Gateway, short_bounds, until};

/// More than one command of the sweep reads.
const MANY: i64 = 105;

/// A document of a collection.
async fn stored(gateway: &Gateway, collection: &str, id: &str) -> Option<Document> {
    gateway.raw(collection).find_one(doc! { "_id": id }).await.expect("read")
}

/// Sweeps until the condition holds.
async fn swept_until(gateway: &Gateway, holds: impl AsyncFn() -> bool) {
    until("the sweep gets there", async || {
        // No cart stands behind the reservations, and the sweep of carts would find that.
        let is_swept = |name: &str| ["catalog", "categories", "inventory"].contains(&name);
        let rooms = ROOMS.iter().copied().filter(|room| is_swept(room.name));
        // A pass that ran out of time is followed by another one.
        let _passed = background::sweep_each(&gateway.app, rooms).await;
        holds().await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deletions_behind_many_that_wait_are_finished() {
    let gateway = Gateway::with(short_bounds).await;
    let merchant = gateway.merchant();
    create(&merchant, thing("shirt", "A shirt")).await;
    added(&gateway, variant("shirt.a", ["red", "M"], 0)).await;
    for sku in ["shirt", "shirt.a"] {
        merchant.receive_stock(json!({ "sku": sku, "quantity": 5 })).await;
    }
    let patient = gateway.patient_sibling().await;
    let run = patient.begin().await;
    let holder = Holder { app: &patient.app, name: "cart", tag: "tag", attempt: &run };
    let reserved = holder.reserve("shirt.a", 2, 10).await.expect("an outcome");
    assert_eq!(reserved, Reserved::Reserved);
    create(&merchant, thing("late", "Deleted last")).await;
    merchant.receive_stock(json!({ "sku": "late", "quantity": 5 })).await;

    // Products that were deleted while a variant was added of which some is reserved.
    let [shirt, stock, of_variant] =
        [("products", "shirt"), ("inventory", "shirt"), ("inventory", "shirt.a")];
    let [shirt, stock, of_variant] = [
        stored(&gateway, shirt.0, shirt.1).await.expect("a product"),
        stored(&gateway, stock.0, stock.1).await.expect("its stock"),
        stored(&gateway, of_variant.0, of_variant.1).await.expect("stock of the variant"),
    ];
    let generation = shirt.get_str("incarnation").expect("a generation").to_owned();
    let (mut products, mut stocks) = (Vec::new(), Vec::new());
    for n in 0..MANY {
        let (sku, at) = (format!("p-{n}"), DateTime::from_millis(1_000 + n));
        let mut product = shirt.clone();
        product.extend(doc! { "_id": &sku, "deletedAt": at });
        let variants = product.get_array_mut("variants").expect("variants");
        let own = variants[0].as_document_mut().expect("a variant");
        own.insert("sku", format!("{sku}.a"));
        products.push(product);
        let mut closed = stock.clone();
        closed.extend(doc! {
            "_id": &sku, "deleting": true, "deleted": &generation, "deletionDue": at,
        });
        let mut held = of_variant.clone();
        held.insert("_id", format!("{sku}.a"));
        stocks.extend([closed, held]);
    }
    gateway.raw("products").insert_many(products).await.expect("inserted");
    gateway.raw("inventory").insert_many(stocks).await.expect("inserted");
    let late = stored(&gateway, "products", "late").await.expect("a product");
    let cut = doc! { "$set": {
        "deleting": true,
        "deleted": late.get_str("incarnation").expect("a generation"),
        "deletionDue": DateTime::from_millis(10_000),
    } };
    gateway
        .raw("inventory")
        .update_one(doc! { "_id": "late" }, cut)
        .await
        .expect("as after a crash");

    swept_until(&gateway, async || product(&gateway, "late").await.is_null()).await;
    // Neither do they hold up its removal.
    swept_until(&gateway, async || stored(&gateway, "products", "late").await.is_none()).await;
    let settled = stored(&gateway, "inventory", "late").await.expect("the stock stays");
    assert!(!settled.contains_key("deletionDue"), "{settled}");
    for n in [0, MANY - 1] {
        let waiting = stored(&gateway, "inventory", &format!("p-{n}")).await.expect("stock");
        assert!(waiting.contains_key("deletionDue"), "{waiting}");
        assert!(stored(&gateway, "products", &format!("p-{n}")).await.is_some());
    }
}
