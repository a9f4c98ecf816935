//! Carts that can't be finished don't hold up those behind them.

use docgate::{background, domains};
use mongodb::bson::{Bson, DateTime, Document, doc};

use super::RESERVE;
use crate::support::{Gateway, key, short_bounds, until};

/// More than one command of the sweep reads.
const MANY: i64 = 101;

fn at(millis: i64) -> DateTime {
    DateTime::from_millis(millis)
}

#[tokio::test(flavor = "multi_thread")]
async fn carts_behind_many_that_cant_be_finished_are_finished() {
    let gateway = Gateway::with(short_bounds).await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let [closing, owing] = [shopper.open_cart(RESERVE).await, shopper.open_cart(RESERVE).await];
    shopper.add(&closing, "a", 3).await;
    let carts = gateway.raw("carts");
    // Stock that no release can read, and carts that owe to it.
    let torn = doc! { "_id": "torn", "available": "?", "reservations": [], "ops": [], "v": 1 };
    gateway.raw("inventory").insert_one(torn).await.expect("inserted");
    let due = |sku: &str, millis: i64| doc! { "tag": "cut", "sku": sku, "quantity": 1_i64, "at": at(millis) };
    let cart = gateway.cart_document(&owing).await;
    let stuck = (0..2 * MANY).map(|n| {
        let mut cart = cart.clone();
        let state = if n % 2 == 0 { "CANCELLING" } else { "EXPIRING" };
        cart.extend(doc! {
            "_id": format!("stuck-{n}"), "state": state, "modifiedAt": at(1_000 + n),
            "outbox": [due("torn", 1_000 + n)],
        });
        cart
    });
    let stuck: Vec<Document> = stuck.collect();
    carts.insert_many(stuck).await.expect("inserted");
    // Behind them one that is being closed, and one that owes something to stock that isn't there.
    let change = doc! { "$set": { "state": "CANCELLING", "modifiedAt": at(10_000) } };
    carts.update_one(doc! { "_id": key(&closing) }, change).await.expect("changed");
    let change = doc! { "$set": { "outbox": [due("nowhere", 10_000)] } };
    carts.update_one(doc! { "_id": key(&owing) }, change).await.expect("changed");

    until("the sweep gets there", async || {
        // The pass fails for those that can't be finished.
        let _failed = background::sweep_room(&gateway.app, &domains::carts::ROOM).await;
        let (closed, settled) =
            (gateway.cart_document(&closing).await, gateway.cart_document(&owing).await);
        let is_settled = settled.get_array("outbox").is_ok_and(Vec::is_empty);
        closed.get("state") == Some(&Bson::from("CANCELLED")) && is_settled
    })
    .await;
    assert_eq!(gateway.available("a").await, 10);
    let left = doc! { "state": { "$in": ["CANCELLING", "EXPIRING"] } };
    let left = carts.count_documents(left).await.expect("counted");
    assert_eq!(left, u64::try_from(2 * MANY).expect("a number"));
}
