//! Stock of products of which nothing ever came in, and of SKUs that another product had before.

use mongodb::bson::doc;
use serde_json::{Value, json};

use super::RECEIVE;
use crate::{
    shop::{checkout, settled, stocked},
    support::{
        Client, Gateway, commands,
        cuts::{self, Case},
        shop::line,
        short_bounds,
    },
};

const STOCK: &str = "query($sku: ID!) { stock(sku: $sku) { sku available } }";
const MERCHANTS: &str =
    "query($sku: ID!) { stock(sku: $sku) { available reserved sold received } }";
const FOLLOW: &str = "subscription($sku: ID!) { stockChanged(sku: $sku) { available } }";

async fn available(client: &Client, sku: &str) -> Value {
    client.field(STOCK, json!({ "sku": sku })).await["available"].clone()
}

async fn delete(gateway: &Gateway, sku: &str) {
    let delete = "mutation($sku: ID!) { deleteProduct(input: {sku: $sku}) { __typename } }";
    let deleted = gateway.merchant().field(delete, json!({ "sku": sku })).await;
    assert_eq!(deleted["__typename"], "DeletedProduct", "{deleted:#}");
}

/// Deletes the product and makes another one under its SKU.
async fn replace(gateway: &Gateway, sku: &str) {
    delete(gateway, sku).await;
    gateway.sweep().await;
    gateway.product(sku, 0, "EUR").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_product_that_never_had_stock_there_is_none() {
    let gateway = Gateway::start().await;
    gateway.product("new", 100, "EUR").await;
    let nobody = gateway.anonymous();
    let before = gateway.snapshot().await;
    let read = nobody.explained(STOCK, json!({ "sku": "new" })).await;
    assert_eq!(read["data"]["stock"], json!({ "sku": "new", "available": 0 }));
    assert_eq!(commands(&read), ["find inventory", "find products"]);
    let all = gateway.merchant().field(MERCHANTS, json!({ "sku": "new" })).await;
    assert_eq!(all, json!({ "available": 0, "reserved": 0, "sold": 0, "received": 0 }));
    assert_eq!(nobody.field(STOCK, json!({ "sku": "unknown" })).await, Value::Null);
    assert_eq!(gateway.snapshot().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_receipt_of_a_product_is_heard() {
    let gateway = Gateway::start().await;
    gateway.product("new", 100, "EUR").await;
    let mut events = gateway.anonymous().events(FOLLOW, json!({ "sku": "new" })).await;
    let mut seen = async |awaited: i64| {
        // The same state may come twice: when the change stream opens, anything may have changed.
        for _ in 0..5 {
            let (name, data) = events.event().await.expect("an event");
            assert_eq!(name, "next", "{data:#}");
            if data["data"]["stockChanged"]["available"] == awaited {
                return;
            }
        }
        panic!("{awaited} was never seen");
    };
    seen(0).await;
    gateway.merchant().receive_stock(json!({ "sku": "new", "quantity": 4 })).await;
    seen(4).await;
    delete(&gateway, "new").await;
    let (name, _) = events.event().await.expect("the end");
    assert_eq!(name, "complete");
    let mut unknown = gateway.anonymous().events(FOLLOW, json!({ "sku": "unknown" })).await;
    let (name, answer) = unknown.event().await.expect("an event");
    assert_eq!((&*name, &answer["errors"][0]["extensions"]["code"]), ("next", &json!("NOT_FOUND")));
    assert_eq!(answer["errors"][0]["message"], "there is no stock \"unknown\"", "{answer:#}");
    assert_eq!(unknown.event().await.expect("the end").0, "complete");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_the_shelf_stays_with_the_sku() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    let nobody = gateway.anonymous();
    stocked(&gateway, "a", 100, 7).await;
    delete(&gateway, "a").await;
    assert_eq!(nobody.field(STOCK, json!({ "sku": "a" })).await, Value::Null);
    gateway.sweep().await;
    assert_eq!(nobody.field(STOCK, json!({ "sku": "a" })).await, Value::Null);
    gateway.product("a", 0, "EUR").await;
    assert_eq!(available(&nobody, "a").await, 7);
    // It can be followed, reserved and sold at once.
    let mut live = nobody.follow(FOLLOW, json!({ "sku": "a" })).await;
    assert_eq!(live.next().await["data"]["stockChanged"]["available"], 7);
    let shopper = gateway.shopper("ann");
    let id = shopper.open_cart("RESERVE").await;
    assert_eq!(line(&shopper.add(&id, "a", 3).await, "a"), (3, 3));
    assert_eq!(available(&nobody, "a").await, 4);
    let order = checkout(&shopper, &id, "none", "op").await;
    assert_eq!(order["__typename"], "Order", "{order:#}");
    settled(&gateway).await;
    // Whoever holds some of it keeps the product from being deleted, as ever.
    let held = shopper.open_cart("RESERVE").await;
    shopper.add(&held, "a", 1).await;
    let delete = "mutation { deleteProduct(input: {sku: \"a\"}) { __typename } }";
    assert_eq!(gateway.merchant().field(delete, json!({})).await["__typename"], "InUse");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_that_takes_at_checkout_gets_what_was_left_on_the_shelf() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    stocked(&gateway, "a", 100, 2).await;
    replace(&gateway, "a").await;
    gateway.product("b", 0, "EUR").await;
    let shopper = gateway.shopper("ann");
    let id = shopper.open_cart("AT_CHECKOUT").await;
    for (sku, quantity) in [("a", 3), ("b", 1)] {
        shopper.add(&id, sku, quantity).await;
    }
    let short = checkout(&shopper, &id, "none", "op").await;
    let lines = json!([
        { "sku": "a", "requested": 3, "available": 2 },
        { "sku": "b", "requested": 1, "available": 0 },
    ]);
    assert_eq!(short["shortLines"], lines, "{short:#}");
    shopper.set(&id, "a", 2).await;
    shopper.remove(&id, "b").await;
    let order = checkout(&shopper, &id, "none", "op").await;
    assert_eq!(order["__typename"], "Order", "{order:#}");
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_is_deleted_with_what_an_earlier_one_left() {
    let base = Gateway::with(short_bounds).await;
    let gateway = base.patient_sibling().await;
    stocked(&gateway, "a", 100, 5).await;
    // The second product is deleted before anyone took or brought anything.
    replace(&gateway, "a").await;
    delete(&gateway, "a").await;
    let shopper = gateway.shopper("ann");
    assert_eq!(shopper.field(STOCK, json!({ "sku": "a" })).await, Value::Null);
    gateway.sweep().await;
    gateway.product("a", 0, "EUR").await;
    assert_eq!(available(&shopper, "a").await, 5);
    let receipt = json!({ "sku": "a", "quantity": 1 });
    assert_eq!(gateway.merchant().receive_stock(receipt).await["available"], 6);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_take_of_what_was_left_may_be_cut_anywhere() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sku = format!("sku-{n}");
            stocked(gateway, &sku, 100, 5).await;
            let earlier = doc! { "$set": { "deleting": true, "deleted": "an earlier product" } };
            gateway
                .raw("inventory")
                .update_one(doc! { "_id": &sku }, earlier)
                .await
                .expect("closed");
            (sku, gateway.shopper("ann").open_cart("RESERVE").await)
        },
        async |gateway, (sku, id)| {
            let (query, variables) = Client::adding(id, sku, 2, Some("once"));
            gateway.shopper("ann").send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: (sku, id) }| {
            let cart = gateway.shopper("ann").cart(id).await;
            assert_eq!(line(&cart, sku), (2, 2), "command {at} {way:?}");
            assert_eq!(gateway.available(sku).await, 3);
            let receipt = json!({ "sku": sku, "quantity": 1 });
            assert!(gateway.merchant().send(RECEIVE, receipt).await.is_ok());
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sale_is_told_to_merchants_alone() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 0, 10).await;
    let all = FOLLOW.replace("available", "available sold");
    let mut nobodys = gateway.anonymous().follow(FOLLOW, json!({ "sku": "a" })).await;
    let mut merchants = gateway.merchant().follow(&all, json!({ "sku": "a" })).await;
    for live in [&mut nobodys, &mut merchants] {
        assert_eq!(live.next().await["data"]["stockChanged"]["available"], 10);
    }
    let shopper = gateway.shopper("ann");
    let cart = shopper.open_cart("RESERVE").await;
    assert_eq!(line(&shopper.add(&cart, "a", 3).await, "a"), (3, 3));
    // The same state may come twice before: when the change stream opens, anything may have changed.
    for live in [&mut nobodys, &mut merchants] {
        while live.next().await["data"]["stockChanged"]["available"] != 7 {}
    }
    // What is reserved is sold: as many pieces are free as before.
    let order = checkout(&shopper, &cart, "none", "op").await;
    assert_eq!(order["__typename"], "Order", "{order:#}");
    while merchants.next().await["data"]["stockChanged"]["sold"] != 3 {}
    gateway.merchant().receive_stock(json!({ "sku": "a", "quantity": 5 })).await;
    let next = nobodys.next().await;
    assert_eq!(next["data"]["stockChanged"]["available"], 12, "{next:#}");
    settled(&gateway).await;
    gateway.assert_sound().await;
}
