//! Carts that end without a checkout.

use std::time::Duration;

use mongodb::bson::doc;
use serde_json::json;

use super::{RESERVE, at_once, is};
use crate::{
    shop::{checkout, settled, stocked},
    support::{Client, Gateway, key, long_bounds, shop::line, short_bounds},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_cart_gives_everything_back() {
    let gateway = Gateway::with(long_bounds).await;
    gateway.stocked("a", 5).await;
    gateway.stocked("b", 5).await;
    let shopper = gateway.shopper("someone");
    let id = &shopper.open_cart(RESERVE).await;
    shopper.add(id, "a", 2).await;
    shopper.add(id, "b", 3).await;
    shopper.set(id, "b", 1).await;
    let calls = (0..8).map(|_| (shopper.clone(), Client::cancelling(id)));
    for answer in at_once(calls.collect()).await {
        assert_eq!(answer["state"], "CANCELLED", "{answer:#}");
    }
    assert_eq!((gateway.available("a").await, gateway.available("b").await), (5, 5));
    gateway.assert_sound().await;
    let before = gateway.snapshot().await;
    assert_eq!(shopper.cancel(id).await["state"], "CANCELLED");
    assert_eq!(shopper.add(id, "a", 1).await["state"], "CANCELLED");
    assert_eq!(gateway.snapshot().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn carts_that_expired_or_were_cancelled_are_kept_or_removed() {
    for keep in [true, false] {
        let gateway = Gateway::with(|config| {
            short_bounds(config);
            config.cart_idle_seconds = 1;
            config.cart_keep_expired = keep;
        })
        .await;
        gateway.stocked("a", 5).await;
        let shopper = gateway.shopper("someone");
        let cancelled = shopper.open_cart(RESERVE).await;
        shopper.add(&cancelled, "a", 1).await;
        assert_eq!(shopper.cancel(&cancelled).await["state"], "CANCELLED");
        let input = json!({ "policy": RESERVE, "currency": "EUR", "idempotencyKey": "mine" });
        let cart = shopper.open_cart_with(input.clone()).await;
        let id = cart["id"].as_str().expect("an id");
        shopper.add(id, "a", 3).await;
        shopper.set(id, "a", 2).await;
        // Another one waits longer, however busy the machine is.
        let patient = gateway.sibling_with(|config| config.cart_idle_seconds = 1_800).await;
        patient.sweep_all().await;
        assert_eq!(shopper.cart(id).await["state"], "ACTIVE", "not idle for long enough");
        gateway.sweep().await;
        gateway.assert_sound().await;
        assert_eq!(gateway.available("a").await, 5);
        assert_eq!(shopper.cart(id).await["state"], "EXPIRED");
        assert_eq!(shopper.add(id, "a", 1).await["state"], "EXPIRED");
        gateway.sweep().await;
        gateway.assert_sound().await;
        assert_eq!(
            gateway.stock_document("a").await.get_array("reservations").expect("one").len(),
            0
        );
        if keep {
            assert_eq!(shopper.cart(id).await["state"], "EXPIRED");
            assert_eq!(shopper.cart(&cancelled).await["state"], "CANCELLED");
        } else {
            assert_eq!(shopper.cart(id).await, json!(null));
            assert_eq!(shopper.cart(&cancelled).await, json!(null));
            assert!(is(&shopper.add(id, "a", 1).await, "NotFound"));
            // Opening under the old idempotency key opens it anew.
            let anew = shopper.open_cart_with(input).await;
            assert_eq!((anew["id"].as_str(), &anew["lines"]), (Some(id), &json!([])));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_expires_or_is_added_to_but_not_both() {
    let gateway = Gateway::with(|config| {
        short_bounds(config);
        config.cart_idle_seconds = 1;
    })
    .await;
    gateway.stocked("a", 1_000).await;
    let shopper = gateway.shopper("someone");
    let mut ids = Vec::new();
    for _ in 0..40 {
        let id = shopper.open_cart(RESERVE).await;
        shopper.add(&id, "a", 2).await;
        ids.push(id);
    }
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let adds = ids.iter().map(|id| (shopper.clone(), Client::adding(id, "a", 1, None))).collect();
    let (answers, ..) = tokio::join!(at_once(adds), gateway.sweep_all(), gateway.sweep_all());
    let mut grown = 0;
    for (id, answer) in ids.iter().zip(&answers) {
        let cart = shopper.cart(id).await;
        if is(answer, "Cart") && cart["state"] == "ACTIVE" {
            assert_eq!(line(&cart, "a"), (3, 3));
            grown += 3;
        } else {
            assert!(is(answer, "CartNotActive") || is(answer, "Cart"), "{answer:#}");
            assert!(["EXPIRING", "EXPIRED"].contains(&cart["state"].as_str().expect("a state")));
        }
    }
    assert_eq!(gateway.available("a").await, 1_000 - grown);
    gateway.assert_sound().await;
}

/// A repeat may be a call that comes late: it opens no second cart, and says what became of the first.
#[tokio::test(flavor = "multi_thread")]
async fn an_op_id_whose_cart_is_closed_opens_no_other() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "free", 0, 5).await;
    let shopper = gateway.shopper("someone");
    let opening = |op: &str, currency: &str| json!({ "policy": RESERVE, "currency": currency, "idempotencyKey": op });
    for closed in ["COMPLETE", "CANCELLED", "PAID", "EXPIRING", "EXPIRED", "CANCELLING"] {
        let cart = shopper.open_cart_with(opening(closed, "EUR")).await;
        let id = cart["id"].as_str().expect("an id");
        match closed {
            "COMPLETE" => {
                shopper.add(id, "free", 1).await;
                assert!(is(&checkout(&shopper, id, "none", "op").await, "Order"));
                settled(&gateway).await;
            }
            "CANCELLED" => drop(shopper.cancel(id).await),
            other => move_to(&gateway, id, other).await,
        }
        let before = gateway.snapshot().await;
        let said = shopper.open_cart_with(opening(closed, "EUR")).await;
        assert!(is(&said, "CartNotActive"), "{said:#}");
        assert_eq!(said["state"], closed);
        assert!(is(&shopper.open_cart_with(opening(closed, "USD")).await, "Conflict"));
        assert_eq!(gateway.snapshot().await, before);
        let another = shopper.open_cart_with(opening(&format!("{closed} 2"), "EUR")).await;
        assert_eq!(another["state"], "ACTIVE");
        assert_ne!(another["id"], cart["id"]);
    }
    // One whose checkout may still be undone is answered as it stands.
    for open in ["PENDING", "VOIDING"] {
        let cart = shopper.open_cart_with(opening(open, "EUR")).await;
        move_to(&gateway, cart["id"].as_str().expect("an id"), open).await;
        let again = shopper.open_cart_with(opening(open, "EUR")).await;
        assert_eq!((&again["id"], &again["state"]), (&cart["id"], &json!(open)));
    }
}

async fn move_to(gateway: &Gateway, id: &str, state: &str) {
    let moved = doc! { "$set": { "state": state } };
    gateway.raw("carts").update_one(doc! { "_id": key(id) }, moved).await.expect("moved");
}
