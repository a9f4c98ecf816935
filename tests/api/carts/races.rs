//! Many at once: on the last unit, on one line, under one op.

use serde_json::{Value, json};

use super::{AT_CHECKOUT, RESERVE, at_once, is, marks};
use crate::support::{Client, Gateway, long_bounds, shop::line, short_bounds, very_long_bounds};

#[tokio::test(flavor = "multi_thread")]
async fn of_64_shoppers_one_gets_the_last_unit() {
    let gateway = Gateway::with(very_long_bounds).await;
    for (policy, winners) in [(RESERVE, 1), (AT_CHECKOUT, 64)] {
        gateway.stocked(policy, 1).await;
        let mut calls = Vec::new();
        for n in 0..64 {
            let shopper = gateway.shopper(&format!("shopper-{n}"));
            let id = shopper.open_cart(policy).await;
            // A call that ran out of time is repeated, and adds no more.
            calls.push((shopper, Client::adding(&id, policy, 1, Some("op"))));
        }
        let answers = at_once(calls).await;
        let (won, lost): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| is(answer, "Cart"));
        assert_eq!(won.len(), winners, "{policy}: {answers:#?}");
        assert!(lost.iter().all(|answer| is(answer, "InsufficientStock")), "{lost:#?}");
        assert_eq!(gateway.available(policy).await, i64::from(policy == AT_CHECKOUT));
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn additions_at_once_add_up_and_of_sets_at_once_one_stands() {
    let gateway = Gateway::with(long_bounds).await;
    gateway.stocked("a", 10_000).await;
    let shopper = gateway.shopper("someone");
    let id = &shopper.open_cart(RESERVE).await;
    let adds = (1..=16).map(|n| {
        let key = format!("add {n}");
        (shopper.clone(), Client::adding(id, "a", n, Some(&key)))
    });
    let answers = at_once(adds.collect()).await;
    assert!(answers.iter().all(|answer| is(answer, "Cart")), "{answers:#?}");
    assert_eq!(line(&shopper.cart(id).await, "a"), (136, 136));
    gateway.assert_sound().await;

    let sets = (1..=16).map(|n| {
        let key = format!("set {n}");
        (shopper.clone(), Client::setting(id, "a", n * 30, Some(&key)))
    });
    let answers = at_once(sets.collect()).await;
    assert!(answers.iter().all(|answer| is(answer, "Cart")), "{answers:#?}");
    let (quantity, held) = line(&shopper.cart(id).await, "a");
    assert!(quantity % 30 == 0 && quantity == held, "{quantity}, {held}");
    assert_eq!(gateway.available("a").await, 10_000 - quantity);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_op_is_applied_once_however_many_come_at_once() {
    let gateway = Gateway::with(long_bounds).await;
    gateway.stocked("a", 20).await;
    let shopper = gateway.shopper("someone");
    let id = &shopper.open_cart(RESERVE).await;
    let sixteen = async |call: (String, Value)| {
        let calls = (0..16).map(|_| (shopper.clone(), call.clone()));
        let answers = at_once(calls.collect()).await;
        assert!(answers.iter().all(|answer| is(answer, "Cart")), "{answers:#?}");
        gateway.assert_sound().await;
        shopper.cart(id).await
    };
    let cart = sixteen(Client::adding(id, "a", 3, Some("add"))).await;
    assert_eq!((line(&cart, "a"), gateway.available("a").await), ((3, 3), 17));
    let cart = sixteen(Client::setting(id, "a", 9, Some("raise"))).await;
    assert_eq!((line(&cart, "a"), gateway.available("a").await), ((9, 9), 11));
    let cart = sixteen(Client::setting(id, "a", 4, Some("lower"))).await;
    assert_eq!((line(&cart, "a"), gateway.available("a").await), ((4, 4), 16));
    let cart = sixteen(Client::removing(id, "a", Some("remove"))).await;
    assert_eq!((&cart["lines"], gateway.available("a").await), (&json!([]), 20));
    // What was applied stays applied, also after others came in between.
    shopper.add(id, "a", 5).await;
    for call in [
        Client::adding(id, "a", 3, Some("add")),
        Client::setting(id, "a", 9, Some("raise")),
        Client::removing(id, "a", Some("remove")),
    ] {
        assert_eq!(line(&shopper.does(call).await, "a"), (5, 5));
    }
    // A set to what is there already counts as applied too.
    shopper.does(Client::setting(id, "a", 5, Some("same"))).await;
    shopper.set(id, "a", 2).await;
    let repeated = shopper.does(Client::setting(id, "a", 5, Some("same"))).await;
    assert_eq!(line(&repeated, "a"), (2, 2));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_comes_at_once_stock_and_lines_agree() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    for sku in ["a", "b"] {
        gateway.stocked(sku, 12).await;
    }
    let mut carts = Vec::new();
    for n in 0..4 {
        let shopper = gateway.shopper(&format!("shopper-{n}"));
        let id = shopper.open_cart(RESERVE).await;
        carts.push((shopper, id));
    }
    for round in 0..3_i64 {
        let mut calls = Vec::new();
        for (n, (shopper, id)) in (0_i64..).zip(&carts) {
            for (step, sku) in (0_i64..).zip(["a", "b", "a", "b", "a", "b"]) {
                let quantity = 1 + (round * 5 + n * 3 + step * 2) % 5;
                let call = match (round + n + step) % 4 {
                    0 | 1 => Client::adding(id, sku, quantity, None),
                    2 => Client::setting(id, sku, quantity, None),
                    _ => Client::removing(id, sku, None),
                };
                calls.push((shopper.clone(), call));
            }
        }
        for answer in at_once(calls).await {
            let expected = ["Cart", "InsufficientStock", "NotFound"];
            assert!(expected.iter().any(|one| is(&answer, one)), "{answer:#}");
        }
        gateway.assert_sound().await;
    }
    // Nothing was cut, so nothing is left to finish; only marks go.
    gateway.sweep().await;
    gateway.assert_sound().await;
    for sku in ["a", "b"] {
        assert_eq!(marks(&gateway.stock_document(sku).await), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shopping_stops_reserving_at_half_the_cap() {
    let gateway = Gateway::with(|config| config.reservations_per_sku = 5).await;
    gateway.stocked("a", 20).await;
    let shopper = gateway.shopper("someone");
    let mut ids = Vec::new();
    for held in [1, 1, 0, 0] {
        let id = shopper.open_cart(RESERVE).await;
        assert_eq!(line(&shopper.add(&id, "a", 1).await, "a"), (1, held));
        ids.push(id);
    }
    assert_eq!(gateway.available("a").await, 18);
    // Who has a reservation may add to it; who has none still gets none.
    assert_eq!(line(&shopper.add(&ids[0], "a", 2).await, "a"), (3, 3));
    assert_eq!(line(&shopper.set(&ids[2], "a", 4).await, "a"), (4, 0));
    gateway.assert_sound().await;
    // Once there is room again, what is added is held, and only that.
    shopper.cancel(&ids[1]).await;
    assert_eq!(line(&shopper.set(&ids[2], "a", 6).await, "a"), (6, 2));
    // What isn't held goes first when the quantity falls.
    assert_eq!(line(&shopper.set(&ids[2], "a", 3).await, "a"), (3, 2));
    assert_eq!(line(&shopper.set(&ids[2], "a", 1).await, "a"), (1, 1));
    assert_eq!(gateway.available("a").await, 16);
    gateway.assert_sound().await;
}
