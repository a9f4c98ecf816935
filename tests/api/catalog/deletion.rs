//! Deleting products: the stock decides, the catalog follows.

use std::time::Duration;

use docgate::{
    background,
    domains::{
        ROOMS,
        inventory::operations::{self as inventory, Holder, Reserved},
    },
};
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{
    category, change, create, person, product, thing,
    variants::{added, variant},
    works,
};
use crate::support::{
    Client, Gateway, cuts, direct::in_time, long_bounds, proxy::Cut, short_bounds,
};

const DELETE: &str = "mutation($input: DeleteProductInput!) { deleteProduct(input: $input) {
    __typename ... on DeletedProduct { sku } ... on UserError { code message } } }";
const RECEIVE: &str = "mutation($input: ReceiveStockInput!) { receiveStock(input: $input) {
    __typename ... on Stock { available received } } }";

async fn delete(client: &Client, sku: &str) -> Value {
    client.field(DELETE, json!({ "input": { "sku": sku } })).await
}

async fn receive(client: &Client, sku: &str, quantity: i64) -> Value {
    client.field(RECEIVE, json!({ "input": { "sku": sku, "quantity": quantity } })).await
}

async fn stock(gateway: &Gateway, sku: &str) -> Option<Document> {
    let stocks = gateway.database.collection::<Document>("inventory");
    stocks.find_one(doc! { "_id": sku }).await.expect("read")
}

fn is_closed(stock: &Document) -> bool {
    stock.get_bool("deleting").is_ok_and(|deleting| deleting)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_product_is_nowhere_and_its_sku_is_free_again() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    let merchant = gateway.merchant();
    let jazz = category(&merchant, "jazz", None).await;
    let mut input = thing("t-1", "A thing");
    input["categoryIds"] = json!([jazz]);
    create(&merchant, input.clone()).await;
    let someone = person(&merchant, "Someone").await;
    let credit = json!({ "sku": "t-1", "personId": someone, "role": "author" });
    change(&merchant, "creditPerson", credit.clone()).await;
    receive(&merchant, "t-1", 7).await;

    assert_eq!(
        delete(&merchant, "t-1").await,
        json!({ "__typename": "DeletedProduct", "sku": "t-1" })
    );
    assert_eq!(product(&gateway, "t-1").await, Value::Null);
    assert!(works(&gateway, &someone).await.is_empty());
    let offer = docgate::domains::catalog::operations::offer(&gateway.app, "t-1").await;
    assert!(offer.expect("read").is_none());
    let list =
        "{ products(by: { titleStartsWith: { prefix: \"a\" } }) { edges { node { sku } } } }";
    assert_eq!(gateway.anonymous().field(list, json!({})).await["edges"], json!([]));
    assert_eq!(
        gateway.anonymous().field("{ stock(sku: \"t-1\") { available } }", json!({})).await,
        Value::Null
    );
    assert_eq!(receive(&merchant, "t-1", 1).await["__typename"], "NotFound");
    for (name, input) in [
        ("setProductPrice", json!({ "sku": "t-1", "retail": 1 })),
        ("categorizeProduct", json!({ "sku": "t-1", "categoryIds": [jazz] })),
        ("creditPerson", credit.clone()),
        ("uncreditPerson", credit.clone()),
    ] {
        assert_eq!(super::refused(&gateway, name, input, "NotFound").await["what"], "product");
    }
    gateway.assert_sound().await;

    // The SKU is free when nobody can be left who knew the product.
    assert_eq!(change(&merchant, "createProduct", input.clone()).await["__typename"], "InUse");
    // Deleting it once more is as good while it lasts.
    assert_eq!(delete(&merchant, "t-1").await["__typename"], "DeletedProduct");
    gateway.sweep().await;
    assert_eq!(delete(&merchant, "t-1").await["__typename"], "NotFound");
    let kept = stock(&gateway, "t-1").await.expect("the stock stays");
    assert_eq!(kept.get_i64("available").expect("a number"), 7);
    assert!(is_closed(&kept));
    create(&merchant, input).await;
    change(&merchant, "creditPerson", credit).await;
    assert_eq!(works(&gateway, &someone).await.len(), 1);
    assert_eq!(receive(&merchant, "t-1", 3).await["available"], 10);
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_reserved_cant_be_deleted() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("t-1", "A thing")).await;
    receive(&merchant, "t-1", 7).await;
    let run = gateway.begin().await;
    let holder = Holder { app: &gateway.app, name: "cart", tag: "tag", attempt: &run };
    let reserved = holder.reserve("t-1", 2, 10).await;
    assert_eq!(reserved.expect("an outcome"), Reserved::Reserved);
    let before = gateway.snapshot().await;
    assert_eq!(delete(&merchant, "t-1").await["__typename"], "InUse");
    assert!(gateway.snapshot().await == before);
    inventory::release(&gateway.app, "t-1", "cart", "tag").await.expect("released");
    assert_eq!(delete(&merchant, "t-1").await["__typename"], "DeletedProduct");
    let reserved = Holder { tag: "tag-2", ..holder }.reserve("t-1", 2, 10).await;
    assert_eq!(reserved.expect("an outcome"), Reserved::Short { available: 0 });
    for sku in ["nothing", "$sku", ""] {
        assert_eq!(delete(&merchant, sku).await["__typename"], "NotFound");
    }
    let code =
        gateway.shopper("someone").error_code(DELETE, json!({ "input": { "sku": "t-1" } })).await;
    assert_eq!(code, "FORBIDDEN");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_deletion_and_a_take_at_once_one_wins() {
    let gateway = Gateway::with(long_bounds).await;
    let merchant = gateway.merchant();
    for n in 0..20 {
        let sku = format!("t-{n}");
        create(&merchant, thing(&sku, "A thing")).await;
        if n % 2 == 0 {
            receive(&merchant, &sku, 5).await;
        }
        let run = gateway.begin().await;
        let (deleted, other) = tokio::join!(delete(&merchant, &sku), async {
            if n % 2 == 0 {
                let holder = Holder { app: &gateway.app, name: "cart", tag: "tag", attempt: &run };
                holder.reserve(&sku, 2, 10).await.expect("an outcome") == Reserved::Reserved
            } else {
                // A first receipt of a product without stock; it may also lose to a race and say so.
                let input = json!({ "input": { "sku": sku, "quantity": 5 } });
                let said = merchant.run(RECEIVE, input).await;
                said["data"]["receiveStock"]["__typename"] == "Stock"
            }
        });
        if n % 2 == 0 {
            assert_ne!(deleted["__typename"] == "DeletedProduct", other, "{sku}: {deleted:#}");
            // No cart stands behind the take.
            let released = inventory::release(&gateway.app, &sku, "cart", "tag").await;
            released.expect("released");
        } else if deleted["__typename"] == "DeletedProduct" {
            let left = stock(&gateway, &sku).await.expect("a stone");
            assert!(is_closed(&left), "{sku}");
        }
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_may_be_cut_anywhere() {
    for stocked in [true, false] {
        cuts::everywhere(
            short_bounds,
            async |gateway, n| {
                let merchant = gateway.merchant();
                let sku = format!("t-{n}");
                create(&merchant, thing(&sku, "A thing")).await;
                let someone = person(&merchant, "Someone").await;
                let input = json!({ "sku": sku, "personId": someone, "role": "author" });
                change(&merchant, "creditPerson", input).await;
                if stocked {
                    receive(&merchant, &sku, 5).await;
                }
                (sku, someone)
            },
            async |gateway, (sku, _)| {
                gateway.merchant().send(DELETE, json!({ "input": { "sku": sku } })).await.ok();
            },
            async |gateway, case| {
                let (sku, someone) = &case.subject;
                assert_eq!(product(gateway, sku).await, Value::Null, "{case:?}");
                assert!(works(gateway, someone).await.is_empty(), "{case:?}");
                let left = stock(gateway, sku).await.expect("the stock stays");
                assert!(is_closed(&left), "{case:?}");
            },
        )
        .await;
    }
}

/// The decision is held back while a variant is added and some of its stock is reserved.
#[tokio::test(flavor = "multi_thread")]
async fn a_variant_that_is_added_during_the_deletion_follows() {
    let gateway = Gateway::behind_proxy(long_bounds).await;
    let sibling = gateway.sibling_with(short_bounds).await;
    let patient = sibling.patient_sibling().await;
    let merchant = patient.merchant();
    create(&merchant, thing("shirt", "A shirt")).await;
    receive(&merchant, "shirt", 5).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| {
        seen.collection == "inventory"
            && ["update", "findAndModify"].contains(&seen.command.as_str())
    });
    proxy.cut(0, Cut::Hold);
    let deleter = gateway.merchant();
    let (outcome, ()) = tokio::join!(delete(&deleter, "shirt"), async {
        proxy.reached().await;
        added(&patient, variant("shirt.red", ["red", "M"], 0)).await;
        receive(&merchant, "shirt.red", 5).await;
        let run = patient.begin().await;
        let holder = Holder { app: &patient.app, name: "cart", tag: "tag", attempt: &run };
        let reserved = holder.reserve("shirt.red", 2, 10).await.expect("an outcome");
        assert_eq!(reserved, Reserved::Reserved);
        proxy.release().await;
    });
    assert_eq!(outcome["__typename"], "DeletedProduct", "{outcome:#}");
    assert_eq!(product(&sibling, "shirt.red").await, Value::Null);

    // As long as some is reserved, the sweep closes nothing, and remembers the variant.
    let products = sibling.raw("products");
    let quiet = sibling.app.bounds().two_grace_periods();
    tokio::time::sleep(quiet + Duration::from_millis(100)).await;
    for _ in 0..3 {
        // No cart stands behind the reservation, and the sweep of carts would find that.
        let is_swept = |name: &str| ["catalog", "categories", "inventory"].contains(&name);
        let rooms = ROOMS.iter().copied().filter(|room| is_swept(room.name));
        in_time(async || background::sweep_each(&sibling.app, rooms.clone()).await).await;
    }
    assert!(!is_closed(&stock(&sibling, "shirt.red").await.expect("stock")));
    assert!(products.find_one(doc! { "_id": "shirt" }).await.expect("read").is_some());

    inventory::release(&patient.app, "shirt.red", "cart", "tag").await.expect("released");
    sibling.sweep().await;
    let left = stock(&sibling, "shirt.red").await.expect("the stock stays");
    assert!(is_closed(&left) && !left.contains_key("deletionDue"), "{left}");
    assert!(products.find_one(doc! { "_id": "shirt" }).await.expect("read").is_none());
    sibling.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_finishes_a_deletion_that_the_catalog_never_heard_of() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    let merchant = gateway.merchant();
    create(&merchant, thing("t-1", "A thing")).await;
    receive(&merchant, "t-1", 5).await;
    let products = gateway.database.collection::<Document>("products");
    let made = products.find_one(doc! { "_id": "t-1" }).await.expect("read").expect("there");
    let cut = vec![doc! { "$set": {
        "deleting": true, "deleted": made.get_str("incarnation").expect("one"), "deletionDue": "$$NOW",
    } }];
    let stocks = gateway.database.collection::<Document>("inventory");
    stocks.update_one(doc! { "_id": "t-1" }, cut).await.expect("as after a crash");
    gateway.sweep().await;
    assert_eq!(product(&gateway, "t-1").await, Value::Null);
    tokio::time::sleep(Duration::from_millis(100)).await;
    gateway.sweep().await;
    assert!(products.find_one(doc! { "_id": "t-1" }).await.expect("read").is_none());
    gateway.assert_sound().await;
}
