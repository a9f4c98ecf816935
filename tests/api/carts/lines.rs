//! What lines do, and what is refused.

use docgate::graphql::node_id::NodeKind;
use mongodb::bson::doc;
use serde_json::json;

use super::{AT_CHECKOUT, RESERVE, at_once, is};
use crate::support::{Client, Gateway, shop::line, very_long_bounds};

#[tokio::test(flavor = "multi_thread")]
async fn a_product_has_one_line_with_the_price_at_which_it_was_added() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 50).await;
    gateway.stocked("b", 50).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 2).await;
    gateway.reprice("a", 999).await;
    shopper.add(&id, "b", 1).await;
    let cart = shopper.add(&id, "a", 3).await;
    assert_eq!((line(&cart, "a"), line(&cart, "b")), ((5, 5), (1, 1)));
    let first = &cart["lines"][0];
    assert_eq!((&first["sku"], &first["title"]), (&json!("a"), &json!("Title of a")));
    assert_eq!(first["unitPrice"], json!({ "minorUnits": 250, "currency": "EUR" }));
    assert_eq!((&first["total"]["minorUnits"], &first["type"]), (&json!(1250), &json!("book")));
    assert_eq!(cart["total"]["minorUnits"], 1500);
    assert_eq!((gateway.available("a").await, gateway.available("b").await), (45, 49));
    // Taken out and added again, it has today's price.
    shopper.remove(&id, "a").await;
    let cart = shopper.add(&id, "a", 1).await;
    assert_eq!(cart["total"]["minorUnits"], 250 + 999);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn setting_raises_and_lowers_what_is_held() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 2).await;
    for quantity in [7, 3, 3, 10, 1] {
        let cart = shopper.set(&id, "a", quantity).await;
        assert_eq!(line(&cart, "a"), (quantity, quantity));
        assert_eq!(gateway.available("a").await, 10 - quantity);
        gateway.assert_sound().await;
    }
    let cart = shopper.remove(&id, "a").await;
    assert_eq!((&cart["lines"], gateway.available("a").await), (&json!([]), 10));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_that_takes_at_checkout_holds_nothing() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 1).await;
    gateway.product("never-stocked", 100, "EUR").await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(AT_CHECKOUT).await;
    assert_eq!(line(&shopper.add(&id, "a", 5).await, "a"), (5, 0));
    assert_eq!(line(&shopper.add(&id, "never-stocked", 1).await, "never-stocked"), (1, 0));
    assert_eq!(line(&shopper.set(&id, "a", 9).await, "a"), (9, 0));
    assert_eq!(line(&shopper.set(&id, "a", 2).await, "a"), (2, 0));
    assert!(is(&shopper.remove(&id, "a").await, "Cart"));
    assert_eq!(gateway.available("a").await, 1);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_leaves_everything_as_it_was() {
    let gateway = Gateway::with(|config| config.body_bytes = 20 << 20).await;
    gateway.stocked("a", 5).await;
    gateway.stocked("b", 50_000).await;
    gateway.product("unstocked", 100, "EUR").await;
    gateway.product("dollars", 100, "USD").await;
    gateway.product("priceless", 1, "EUR").await;
    gateway.stocked("leaving", 5).await;
    let now = gateway.begin().await.now();
    for (sku, change) in [
        ("leaving", doc! { "$set": { "deletedAt": now } }),
        ("priceless", doc! { "$set": { "pricing.retail": i64::MAX } }),
    ] {
        gateway.raw("products").update_one(doc! { "_id": sku }, change).await.expect("changed");
    }
    let shopper = gateway.shopper("someone");
    let id = &shopper.open_cart(RESERVE).await;
    shopper.add(id, "a", 3).await;
    shopper.does(Client::adding(id, "b", 9_000, Some("used"))).await;
    let huge = "x".repeat(16 << 20);
    let no_cart = NodeKind::CART.id("no-such-cart").0;
    let before = gateway.snapshot().await;

    let add = |sku: &str, quantity| Client::adding(id, sku, quantity, None);
    let set = |sku: &str, quantity| Client::setting(id, sku, quantity, None);
    for (call, refusal) in [
        (
            add("unknown", 1),
            json!({ "__typename": "NotFound", "what": "product", "id": "unknown" }),
        ),
        (add("leaving", 1), json!({ "__typename": "NotFound", "what": "product" })),
        (
            add("dollars", 1),
            json!({ "__typename": "CurrencyMismatch", "expected": "EUR", "found": "USD" }),
        ),
        (add("priceless", 1), json!({ "__typename": "InvalidInput", "field": "input.sku" })),
        (
            add("a", 3),
            json!({ "__typename": "InsufficientStock", "sku": "a", "requested": 3, "available": 2 }),
        ),
        (add("unstocked", 1), json!({ "__typename": "InsufficientStock", "available": 0 })),
        (add("b", 1_001), json!({ "__typename": "InvalidInput", "field": "input.quantity" })),
        (add("a", 0), json!({ "__typename": "InvalidInput", "field": "input.quantity" })),
        (add("a", -1), json!({ "__typename": "InvalidInput", "field": "input.quantity" })),
        (add("a", 10_001), json!({ "__typename": "InvalidInput", "field": "input.quantity" })),
        (
            add("a", i32::MIN.into()),
            json!({ "__typename": "InvalidInput", "field": "input.quantity" }),
        ),
        (add("$a", 1), json!({ "__typename": "NotFound", "what": "product" })),
        (add("a.b", 1), json!({ "__typename": "NotFound", "what": "product" })),
        (add(&huge, 1), json!({ "__typename": "NotFound", "what": "product" })),
        (set("a", 6), json!({ "__typename": "InsufficientStock", "requested": 6, "available": 5 })),
        (set("a", 0), json!({ "__typename": "InvalidInput", "field": "input.quantity" })),
        (set("a", 10_001), json!({ "__typename": "InvalidInput", "field": "input.quantity" })),
        (set("dollars", 1), json!({ "__typename": "NotFound", "what": "cart line" })),
        (
            Client::removing(id, "dollars", None),
            json!({ "__typename": "NotFound", "what": "cart line" }),
        ),
        (Client::removing(id, "$", None), json!({ "__typename": "NotFound", "what": "product" })),
        (
            Client::adding(&no_cart, "a", 1, None),
            json!({ "__typename": "NotFound", "what": "cart" }),
        ),
        (
            Client::setting(&no_cart, "a", 1, None),
            json!({ "__typename": "NotFound", "what": "cart" }),
        ),
        (
            Client::removing(&no_cart, "a", None),
            json!({ "__typename": "NotFound", "what": "cart" }),
        ),
        (Client::cancelling(&no_cart), json!({ "__typename": "NotFound", "what": "cart" })),
        (
            Client::adding(&NodeKind::CART.id("$where"), "a", 1, None),
            json!({ "__typename": "NotFound", "what": "cart" }),
        ),
        (Client::cancelling(&huge), json!({ "__typename": "NotFound", "what": "cart" })),
        (Client::adding(id, "b", 1, Some("used")), json!({ "__typename": "Conflict" })),
        (Client::adding(id, "a", 9_000, Some("used")), json!({ "__typename": "Conflict" })),
        (
            Client::adding(id, "a", 1, Some("")),
            json!({ "__typename": "InvalidInput", "field": "input.idempotencyKey" }),
        ),
    ] {
        let refused = shopper.does(call).await;
        for (field, value) in refusal.as_object().expect("fields") {
            assert_eq!(&refused[field], value, "{refusal} is {refused:#}");
        }
    }
    assert_eq!(shopper.field("{ cart(id: \"$\") { id } }", json!({})).await, json!(null));
    assert_eq!(gateway.snapshot().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_an_active_cart_takes_changes() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    let shopper = gateway.shopper("someone");
    let id = &shopper.open_cart(RESERVE).await;
    shopper.does(Client::adding(id, "a", 2, Some("before"))).await;
    for state in ["PENDING", "VOIDING", "PAID", "COMPLETE", "EXPIRING", "EXPIRED"] {
        let moved = doc! { "$set": { "state": state } };
        gateway
            .raw("carts")
            .update_one(doc! { "_id": crate::support::key(id) }, moved)
            .await
            .expect("moved");
        let before = gateway.snapshot().await;
        for call in [
            Client::adding(id, "a", 1, None),
            Client::setting(id, "a", 1, None),
            Client::removing(id, "a", None),
            Client::cancelling(id),
        ] {
            let refused = shopper.does(call).await;
            assert_eq!(refused["__typename"], "CartNotActive", "{state}: {refused:#}");
            assert_eq!(refused["state"], state);
        }
        // A repeat of what was applied is answered with the cart as it now stands.
        let repeated = shopper.does(Client::adding(id, "a", 2, Some("before"))).await;
        assert_eq!(repeated["state"], state);
        assert_eq!(gateway.snapshot().await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_takes_a_hundred_lines() {
    let gateway = Gateway::with(very_long_bounds).await;
    let shopper = gateway.shopper("someone");
    let id = &shopper.open_cart(AT_CHECKOUT).await;
    for n in 0..=100 {
        gateway.product(&format!("p{n}"), 100, "EUR").await;
    }
    let adds = (0..=100).map(|n| {
        let sku = format!("p{n}");
        (shopper.clone(), Client::adding(id, &sku, 1, Some(&sku)))
    });
    let answers = at_once(adds.collect()).await;
    let refused: Vec<_> = answers.iter().filter(|answer| !is(answer, "Cart")).collect();
    assert_eq!(refused.len(), 1, "{refused:#?}");
    assert_eq!(
        (&refused[0]["__typename"], &refused[0]["field"]),
        (&json!("InvalidInput"), &json!("input.sku"))
    );
    // A product that is in a full cart can still be added.
    let cart = shopper.cart(id).await;
    let there = cart["lines"][0]["sku"].as_str().expect("a line");
    assert_eq!(line(&shopper.add(id, there, 9_999).await, there), (10_000, 0));
    assert_eq!(shopper.add(id, there, 1).await["field"], "input.quantity");
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cart_full_of_ops_asks_for_patience() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 1).await;
    let now = gateway.begin().await.now();
    let records: Vec<_> =
        (0..1_000).map(|n| doc! { "tag": n.to_string(), "id": n.to_string(), "at": now }).collect();
    let full = doc! { "$set": { "ops": records } };
    gateway
        .raw("carts")
        .update_one(doc! { "_id": crate::support::key(&id) }, full)
        .await
        .expect("filled");
    let before = gateway.snapshot().await;
    for (query, variables) in [
        Client::adding(&id, "a", 1, None),
        Client::setting(&id, "a", 2, None),
        Client::removing(&id, "a", None),
    ] {
        assert_eq!(shopper.error_code(&query, variables).await, "RATE_LIMITED");
    }
    assert_eq!(gateway.snapshot().await, before);
    assert_eq!(shopper.cancel(&id).await["state"], "CANCELLED");
}
