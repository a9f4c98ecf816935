//! Carts that can't be finished don't hold up those behind them.

use docgate::{
    background, domains,
    domains::transfers::operations as transfers,
    graphql::scalars::{CurrencyCode, Money},
};
use mongodb::bson::{Bson, DateTime, Document, doc};

use super::RESERVE;
use crate::{
    shop,
    support::{Gateway, key, short_bounds, until},
};

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

#[tokio::test(flavor = "multi_thread")]
async fn a_checkout_behind_many_whose_payment_is_lost_is_finished() {
    let gateway = Gateway::with(short_bounds).await;
    let patient = gateway.patient_sibling().await;
    shop::stocked(&patient, "a", 100, 10).await;
    let shopper = patient.shopper("ann");
    let purse = shop::account(&patient, "ann", 5_000).await;
    let id = shop::cart(&shopper, "RESERVE", &[("a", 2)]).await;
    let amount = Money::new(200, CurrencyCode::from_code("EUR").expect("a currency"));
    let authorised =
        transfers::authorise(&patient.app, "paid", &key(&id), &key(&purse), amount).await;
    authorised.expect("a verdict");
    // Paid by a gateway of a version with claims, and cut before the payment was captured.
    let cut = |payment: &str, millis: i64| {
        let checkout = doc! {
            "id": format!("order-{payment}"), "paymentId": payment, "owner": "ann",
            "op": format!("op-{payment}"), "input": "input",
            "shipping": { "name": "N", "street": "S", "city": "C", "country": "DE" },
            "payment": { "account": key(&purse) }, "total": 200_i64, "deadline": at(1),
        };
        doc! { "state": "PAID", "checkout": checkout, "attempts": 1, "modifiedAt": at(millis) }
    };
    let carts = gateway.raw("carts");
    let cart = gateway.cart_document(&id).await;
    let stuck = (1..=MANY).map(|n| {
        let mut cart = cart.clone();
        cart.extend(doc! { "_id": format!("stuck-{n}"), "lines": [] });
        cart.extend(cut(&format!("lost-{n}"), n));
        cart
    });
    let stuck: Vec<Document> = stuck.collect();
    carts.insert_many(stuck).await.expect("inserted");
    let last = doc! { "$set": cut("paid", 10_000) };
    carts.update_one(doc! { "_id": key(&id) }, last).await.expect("changed");

    until("the sweep gets there", async || {
        // The pass fails for those whose payment is lost.
        let _failed = background::sweep_room(&gateway.app, &domains::orders::ROOM).await;
        shop::state(&gateway, "carts", &id).await == "COMPLETE"
    })
    .await;
    assert_eq!(shop::balance(&gateway, &purse).await, 4_800);
    assert_eq!(shop::stock(&gateway, "a").await, (8, 0, 2));
    let left = carts.count_documents(doc! { "state": "PAID" }).await.expect("counted");
    assert_eq!(left, u64::try_from(MANY).expect("a number"));
}

#[tokio::test(flavor = "multi_thread")]
async fn carts_that_cant_be_read_hold_up_no_others() {
    let gateway = Gateway::with(short_bounds).await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 3).await;
    let carts = gateway.raw("carts");
    let torn = |number: i64| {
        let since = at(1_000 + number / 4);
        doc! {
            "_id": format!("torn-{number}"), "state": "CANCELLING", "modifiedAt": since,
            "outbox": [{ "at": since }], "v": 1,
        }
    };
    let torn: Vec<Document> = (0..2 * MANY).map(torn).collect();
    carts.insert_many(torn).await.expect("inserted");
    let cut = doc! { "$set": { "state": "CANCELLING", "modifiedAt": at(5_000) } };
    carts.update_one(doc! { "_id": key(&id) }, cut).await.expect("updated");
    until("the cart behind them is cancelled", async || {
        // The pass doesn't fail.
        gateway.sweep_room(&domains::carts::ROOM).await;
        gateway.available("a").await == 10
    })
    .await;
    let report = gateway.check().await;
    let broken = |rule: &str| report.rules.iter().find(|(own, _)| own == rule);
    let (_, named) = broken("carts: all rules can be checked").expect("a broken rule");
    assert!(named[0].contains("torn-0") && named[0].contains("carts"), "{named:?}");
    // Nor are the other rooms held up.
    assert!(broken("theater: the sweep finds each hold in time (`sweepAt`)").is_some());
}
