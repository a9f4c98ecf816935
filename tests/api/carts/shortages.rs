//! What is told where less is there than was asked for: the caller's own number, and how many of those
//! can be had.

use mongodb::bson::doc;
use serde_json::json;

use super::{AT_CHECKOUT, RESERVE, is};
use crate::{
    shop::{account, checkout, settled, stocked},
    support::{Client, Gateway, key, shop::line},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_quantity_that_cant_be_set_is_told_as_it_was_asked_for() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 4).await;
    let shopper = gateway.shopper("someone");
    let id = &shopper.open_cart(RESERVE).await;
    shopper.add(id, "a", 2).await;
    // Someone else holds one: this cart can have its own two and the last one.
    let other = shopper.open_cart(RESERVE).await;
    shopper.add(&other, "a", 1).await;
    let before = gateway.snapshot().await;
    let told = |requested: i64, available: i64| {
        json!({
            "__typename": "InsufficientStock", "code": "INSUFFICIENT_STOCK", "sku": "a",
            "requested": requested, "available": available,
        })
    };
    assert_eq!(shopper.set(id, "a", 5).await, told(5, 3));
    // An addition is told in what is added.
    assert_eq!(shopper.add(id, "a", 3).await, told(3, 1));
    assert_eq!(gateway.snapshot().await, before);
    assert_eq!(line(&shopper.set(id, "a", 3).await, "a"), (3, 3));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_line_of_a_checkout_is_told_as_it_stands_in_the_cart() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 3).await;
    gateway.stocked("b", 2).await;
    gateway.stocked("c", 2).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 10_000).await;
    let id = &shopper.open_cart(RESERVE).await;
    for sku in ["a", "b", "c"] {
        shopper.add(id, sku, 2).await;
    }
    // Lines that shopping didn't reserve, as beyond half of the cap: of `a` five are wanted, of which
    // two are held and one is free; of `b` there are just enough.
    for (at, quantity) in [(0, 5_i64), (1, 4)] {
        let more = doc! { "$set": { format!("lines.{at}.quantity"): quantity } };
        gateway.raw("carts").update_one(doc! { "_id": key(id) }, more).await.expect("changed");
    }
    gateway.merchant().receive_stock(json!({ "sku": "b", "quantity": 2 })).await;
    let short = checkout(&shopper, id, &purse, "op").await;
    assert!(is(&short, "CheckoutShort"), "{short:#}");
    assert_eq!(short["shortLines"], json!([{ "sku": "a", "requested": 5, "available": 3 }]));
    gateway.assert_sound().await;
    gateway.merchant().receive_stock(json!({ "sku": "a", "quantity": 2 })).await;
    assert!(is(&checkout(&shopper, id, &purse, "op").await, "Order"));
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_takes_a_thousand_changes() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "a", 100, 10).await;
    let shopper = gateway.shopper("someone");
    let id = &shopper.open_cart(AT_CHECKOUT).await;
    shopper.add(id, "a", 1).await;
    let now = gateway.begin().await.now();
    let records: Vec<_> =
        (0..998).map(|n| doc! { "tag": n.to_string(), "id": n.to_string(), "at": now }).collect();
    let many = doc! { "$set": { "ops": records } };
    gateway.raw("carts").update_one(doc! { "_id": key(id) }, many).await.expect("filled");
    for quantity in [5, 6] {
        assert_eq!(line(&shopper.set(id, "a", quantity).await, "a"), (quantity, 0));
    }
    let (query, variables) = Client::setting(id, "a", 7, None);
    assert_eq!(shopper.error_code(&query, variables).await, "RATE_LIMITED");
    assert_eq!(line(&shopper.cart(id).await, "a"), (6, 0));
}
