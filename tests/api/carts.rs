//! Carts: who may use them, what lines do and hold, how carts end, and what is left of a flow that
//! was cut, overtaken or repeated.

use std::time::Duration;

use docgate::background;
use mongodb::bson::{Bson, DateTime, Document, doc};
use serde_json::{Value, json};

use crate::support::{
    Client, Gateway, commands,
    cuts::{self, Case},
    mongod_port,
    proxy::Cut,
    shop::line,
    short_bounds,
};

const RESERVE: &str = "RESERVE";
const AT_CHECKOUT: &str = "AT_CHECKOUT";

/// Every one of `calls` at once; their answers in order.
async fn at_once(calls: Vec<(Client, (String, Value))>) -> Vec<Value> {
    let calls: Vec<_> = calls
        .into_iter()
        .map(|(client, call)| tokio::spawn(async move { client.does(call).await }))
        .collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.expect("an answer"));
    }
    answers
}

fn is(answer: &Value, type_name: &str) -> bool {
    answer["__typename"] == type_name
}

// --- opening and seeing ---

#[tokio::test(flavor = "multi_thread")]
async fn an_anonymous_cart_is_for_whoever_knows_its_id() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    let someone = gateway.anonymous();
    let cart = someone.open_cart_with(json!({ "policy": RESERVE, "currency": "EUR" })).await;
    let id = cart["id"].as_str().expect("an id");
    assert_eq!((&cart["state"], &cart["policy"]), (&json!("ACTIVE"), &json!(RESERVE)));
    assert_eq!((&cart["lines"], &cart["total"]["minorUnits"]), (&json!([]), &json!(0)));
    assert_eq!((cart["currency"].as_str(), &cart["orderId"]), (Some("EUR"), &json!(null)));
    for client in [gateway.anonymous(), gateway.shopper("another")] {
        assert_eq!(client.cart(id).await["id"], id);
        assert!(is(&client.add(id, "a", 1).await, "Cart"));
    }
    assert_ne!(someone.open_cart(RESERVE).await, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owned_cart_does_not_exist_for_others() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    let owner = gateway.shopper("owner");
    let id = owner.open_cart(RESERVE).await;
    owner.add(&id, "a", 1).await;
    for trusted in [owner.clone(), gateway.service(), gateway.admin()] {
        assert_eq!(trusted.cart(&id).await["id"], id.as_str());
    }
    let before = gateway.snapshot().await;
    for stranger in [gateway.anonymous(), gateway.shopper("another"), gateway.merchant()] {
        assert_eq!(stranger.cart(&id).await, json!(null));
        for call in [
            Client::adding(&id, "a", 1, None),
            Client::setting(&id, "a", 2, None),
            Client::removing(&id, "a", None),
            Client::cancelling(&id),
        ] {
            let refused = stranger.does(call).await;
            assert_eq!(refused["__typename"], "NotFound");
            assert_eq!((&refused["what"], refused["id"].as_str()), (&json!("cart"), Some(&*id)));
        }
    }
    assert_eq!(gateway.snapshot().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_opening_finds_the_same_cart() {
    let gateway = Gateway::start().await;
    let opening = |policy: &str, currency: &str| json!({ "policy": policy, "currency": currency, "opId": "mine" });
    let openings = (0..16).map(|_| {
        let (client, input) = (gateway.shopper("someone"), opening(RESERVE, "EUR"));
        tokio::spawn(async move { client.open_cart_with(input).await })
    });
    let mut ids = std::collections::BTreeSet::new();
    for opened in openings.collect::<Vec<_>>() {
        let cart = opened.await.expect("an answer");
        ids.insert(cart["id"].as_str().expect("an id").to_owned());
    }
    assert_eq!(ids.len(), 1);
    let before = gateway.snapshot().await;
    let shopper = gateway.shopper("someone");
    assert!(is(&shopper.open_cart_with(opening(AT_CHECKOUT, "EUR")).await, "Conflict"));
    assert!(is(&shopper.open_cart_with(opening(RESERVE, "USD")).await, "Conflict"));
    // An op id needs somebody whose it is.
    let nobody = gateway.anonymous().open_cart_with(opening(RESERVE, "EUR")).await;
    assert_eq!(
        (&nobody["__typename"], &nobody["field"]),
        (&json!("InvalidInput"), &json!("input.opId"))
    );
    assert_eq!(gateway.snapshot().await, before);
    let other = gateway.shopper("another").open_cart_with(opening(RESERVE, "EUR")).await;
    assert!(is(&other, "Cart") && !ids.contains(other["id"].as_str().expect("an id")));
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_a_cart_is_one_command_and_adding_is_four() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 5).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    let read = shopper.run("query($id: ID!) { cart(id: $id) { id } }", json!({ "id": id })).await;
    assert_eq!(commands(&read), ["find carts"]);
    let (query, variables) = Client::adding(&id, "a", 1, None);
    assert_eq!(
        commands(&shopper.run(&query, variables).await),
        ["find carts", "find products", "findAndModify inventory", "findAndModify carts"]
    );
    let (query, variables) = Client::setting(&id, "a", 3, None);
    assert_eq!(
        commands(&shopper.run(&query, variables).await),
        ["find carts", "findAndModify inventory", "findAndModify carts"]
    );
    let (query, variables) = Client::removing(&id, "a", None);
    assert_eq!(
        commands(&shopper.run(&query, variables).await),
        ["find carts", "findAndModify carts", "findAndModify inventory", "findAndModify carts"]
    );
}

// --- lines ---

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
    let now = gateway.app.begin().await.expect("a run").now();
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
        (add("a", i64::MIN), json!({ "__typename": "InvalidInput", "field": "input.quantity" })),
        (add("$a", 1), json!({ "__typename": "InvalidInput", "field": "input.sku" })),
        (add("a.b", 1), json!({ "__typename": "InvalidInput", "field": "input.sku" })),
        (add(&huge, 1), json!({ "__typename": "InvalidInput", "field": "input.sku" })),
        (set("a", 6), json!({ "__typename": "InsufficientStock", "requested": 3, "available": 2 })),
        (set("a", 0), json!({ "__typename": "InvalidInput", "field": "input.quantity" })),
        (set("a", 10_001), json!({ "__typename": "InvalidInput", "field": "input.quantity" })),
        (set("dollars", 1), json!({ "__typename": "NotFound", "what": "cart line" })),
        (
            Client::removing(id, "dollars", None),
            json!({ "__typename": "NotFound", "what": "cart line" }),
        ),
        (
            Client::removing(id, "$", None),
            json!({ "__typename": "InvalidInput", "field": "input.sku" }),
        ),
        (
            Client::adding("no-such-cart", "a", 1, None),
            json!({ "__typename": "NotFound", "what": "cart" }),
        ),
        (
            Client::setting("no-such-cart", "a", 1, None),
            json!({ "__typename": "NotFound", "what": "cart" }),
        ),
        (
            Client::removing("no-such-cart", "a", None),
            json!({ "__typename": "NotFound", "what": "cart" }),
        ),
        (Client::cancelling("no-such-cart"), json!({ "__typename": "NotFound", "what": "cart" })),
        (
            Client::adding("$where", "a", 1, None),
            json!({ "__typename": "InvalidInput", "field": "input.cartId" }),
        ),
        (
            Client::cancelling(&huge),
            json!({ "__typename": "InvalidInput", "field": "input.cartId" }),
        ),
        (Client::adding(id, "b", 1, Some("used")), json!({ "__typename": "Conflict" })),
        (Client::adding(id, "a", 9_000, Some("used")), json!({ "__typename": "Conflict" })),
        (
            Client::adding(id, "a", 1, Some("")),
            json!({ "__typename": "InvalidInput", "field": "input.opId" }),
        ),
    ] {
        let refused = shopper.does(call).await;
        for (field, value) in refusal.as_object().expect("fields") {
            assert_eq!(&refused[field], value, "{refusal} is {refused:#}");
        }
    }
    let malformed = shopper.run("{ cart(id: \"$\") { id } }", json!({})).await;
    assert_eq!(malformed["errors"][0]["extensions"]["code"], "BAD_USER_INPUT");
    assert_eq!(malformed["errors"][0]["extensions"]["field"], "id");
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
        gateway.raw("carts").update_one(doc! { "_id": id }, moved).await.expect("moved");
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
    let gateway = Gateway::start().await;
    let shopper = gateway.shopper("someone");
    let id = &shopper.open_cart(AT_CHECKOUT).await;
    for n in 0..=100 {
        gateway.product(&format!("p{n}"), 100, "EUR").await;
    }
    let adds = (0..=100).map(|n| (shopper.clone(), Client::adding(id, &format!("p{n}"), 1, None)));
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
    let now = gateway.app.begin().await.expect("a run").now();
    let records: Vec<_> =
        (0..300).map(|n| doc! { "tag": n.to_string(), "id": n.to_string(), "at": now }).collect();
    let full = doc! { "$set": { "ops": records } };
    gateway.raw("carts").update_one(doc! { "_id": &id }, full).await.expect("filled");
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

// --- many at once ---

#[tokio::test(flavor = "multi_thread")]
async fn of_64_shoppers_one_gets_the_last_unit() {
    let gateway = Gateway::start().await;
    for (policy, winners) in [(RESERVE, 1), (AT_CHECKOUT, 64)] {
        gateway.stocked(policy, 1).await;
        let mut calls = Vec::new();
        for n in 0..64 {
            let shopper = gateway.shopper(&format!("shopper-{n}"));
            let id = shopper.open_cart(policy).await;
            calls.push((shopper, Client::adding(&id, policy, 1, None)));
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
    let gateway = Gateway::start().await;
    gateway.stocked("a", 10_000).await;
    let shopper = gateway.shopper("someone");
    let id = &shopper.open_cart(RESERVE).await;
    let adds = (1..=16).map(|n| (shopper.clone(), Client::adding(id, "a", n, None)));
    let answers = at_once(adds.collect()).await;
    assert!(answers.iter().all(|answer| is(answer, "Cart")), "{answers:#?}");
    assert_eq!(line(&shopper.cart(id).await, "a"), (136, 136));
    gateway.assert_sound().await;

    let sets = (1..=16).map(|n| (shopper.clone(), Client::setting(id, "a", n * 30, None)));
    let answers = at_once(sets.collect()).await;
    assert!(answers.iter().all(|answer| is(answer, "Cart")), "{answers:#?}");
    let (quantity, held) = line(&shopper.cart(id).await, "a");
    assert!(quantity % 30 == 0 && quantity == held, "{quantity}, {held}");
    assert_eq!(gateway.available("a").await, 10_000 - quantity);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_op_is_applied_once_however_many_come_at_once() {
    let gateway = Gateway::start().await;
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
    let gateway = Gateway::with(short_bounds).await;
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

/// How many marks the reservations of a SKU have.
fn marks(stock: &Document) -> usize {
    let marks = |entry: &Bson| {
        let entry = entry.as_document().expect("an entry");
        let count = |field: &str| entry.get_array(field).expect("an array").len();
        count("takes") + count("gifts")
    };
    stock.get_array("reservations").expect("an array").iter().map(marks).sum()
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

// --- the end of carts ---

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_cart_gives_everything_back() {
    let gateway = Gateway::start().await;
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
async fn idle_carts_expire_and_are_kept_or_removed() {
    for keep in [true, false] {
        let gateway = Gateway::with(|config| {
            short_bounds(config);
            config.cart_idle_seconds = 1;
            config.cart_keep_expired = keep;
        })
        .await;
        gateway.stocked("a", 5).await;
        let shopper = gateway.shopper("someone");
        let input = json!({ "policy": RESERVE, "currency": "EUR", "opId": "mine" });
        let cart = shopper.open_cart_with(input.clone()).await;
        let id = cart["id"].as_str().expect("an id");
        shopper.add(id, "a", 3).await;
        shopper.set(id, "a", 2).await;
        background::sweep_all(&gateway.app).await.expect("a sweep");
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
        } else {
            assert_eq!(shopper.cart(id).await, json!(null));
            assert!(is(&shopper.add(id, "a", 1).await, "NotFound"));
            // Opening under the old op id opens it anew.
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
    let (answers, swept, _) = tokio::join!(
        at_once(adds),
        background::sweep_all(&gateway.app),
        background::sweep_all(&gateway.app)
    );
    swept.expect("a sweep");
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

// --- cut, overtaken, forgotten ---

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_worker_that_was_overtaken_changes_nothing_more() {
    // Its take, or its decision, arrives when the sweep and a repeat are done.
    for (collection, at) in [("inventory", 0), ("carts", 0)] {
        for repeat_first in [true, false] {
            let gateway = Gateway::behind_proxy(short_bounds).await;
            gateway.stocked("a", 10).await;
            let proxy = gateway.proxy.as_ref().expect("a proxy");
            let shopper = gateway.shopper("someone");
            let id = shopper.open_cart(RESERVE).await;
            proxy.count_only(move |seen| {
                seen.collection == collection && seen.command == "findAndModify"
            });
            proxy.cut(at, Cut::Hold);
            let call = Client::adding(&id, "a", 2, Some("once"));
            let slow = tokio::spawn({
                let (shopper, call) = (shopper.clone(), call.clone());
                async move { shopper.run(&call.0, call.1).await }
            });
            proxy.reached().await;
            proxy.heal();
            let sibling = gateway.sibling().await;
            let quick = sibling.shopper("someone");
            if repeat_first {
                assert_eq!(line(&quick.does(call.clone()).await, "a"), (2, 2));
            }
            sibling.sweep().await;
            sibling.assert_sound().await;
            proxy.release().await;
            slow.await.expect("an answer, whatever it is");
            sibling.assert_sound().await;
            let cart = quick.does(call).await;
            assert_eq!(line(&cart, "a"), (2, 2), "{collection}, {repeat_first}");
            assert_eq!(gateway.available("a").await, 8);
            sibling.sweep().await;
            sibling.assert_sound().await;
            assert_eq!(marks(&gateway.stock_document("a").await), 0);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_give_that_was_overtaken_gives_nothing_more() {
    let gateway = Gateway::behind_proxy(short_bounds).await;
    gateway.stocked("a", 10).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 5).await;
    proxy.count_only(|seen| seen.collection == "inventory" && seen.command == "findAndModify");
    proxy.cut(0, Cut::Hold);
    let slow = tokio::spawn({
        let (shopper, (query, variables)) =
            (shopper.clone(), Client::setting(&id, "a", 2, Some("once")));
        async move { shopper.run(&query, variables).await }
    });
    proxy.reached().await;
    proxy.heal();
    let sibling = gateway.sibling().await;
    sibling.sweep().await;
    assert_eq!(gateway.available("a").await, 8, "the sweep gave it");
    // Its mark is retired, too: only the deadline stands before the late give.
    sibling.sweep().await;
    assert_eq!(marks(&gateway.stock_document("a").await), 0);
    proxy.release().await;
    slow.await.expect("an answer, whatever it is");
    assert_eq!(gateway.available("a").await, 8);
    sibling.assert_sound().await;
    let cart = shopper.does(Client::setting(&id, "a", 2, Some("once"))).await;
    assert_eq!(line(&cart, "a"), (2, 2));
    sibling.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_and_never_decided_returns_and_the_op_can_be_repeated() {
    let gateway = Gateway::behind_proxy(short_bounds).await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 3).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| seen.command == "findAndModify");
    // The decision never arrives.
    proxy.cut_all_from(1, Cut::BeforeForwarding);
    let (query, variables) = Client::adding(&id, "a", 4, Some("cut"));
    assert_eq!(shopper.error_code(&query, variables).await, "UNAVAILABLE");
    proxy.heal();
    assert_eq!(gateway.available("a").await, 3);
    let sibling = gateway.sibling().await;
    background::sweep_all(&sibling.app).await.expect("a sweep");
    assert_eq!(gateway.available("a").await, 3, "its run may still go on");
    sibling.sweep().await;
    sibling.assert_sound().await;
    assert_eq!(gateway.available("a").await, 7);
    assert_eq!(marks(&gateway.stock_document("a").await), 0);
    let shopper = sibling.shopper("someone");
    let cart = shopper.does(Client::adding(&id, "a", 4, Some("cut"))).await;
    assert_eq!(line(&cart, "a"), (7, 7));
    sibling.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_take_whose_op_was_forgotten_is_not_returned() {
    let gateway = Gateway::with(short_bounds).await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 3).await;
    let forgotten = doc! { "$set": { "ops": [] } };
    gateway.raw("carts").update_one(doc! { "_id": &id }, forgotten).await.expect("forgotten");
    assert_eq!(marks(&gateway.stock_document("a").await), 1);
    gateway.sweep().await;
    gateway.assert_sound().await;
    assert_eq!((gateway.available("a").await, marks(&gateway.stock_document("a").await)), (7, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reservation_whose_cart_has_vanished_returns_after_its_own_time() {
    let gateway = Gateway::with(|config| {
        short_bounds(config);
        config.reservation_seconds = 8;
    })
    .await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    shopper.add(&id, "a", 3).await;
    shopper.set(&id, "a", 2).await;
    gateway.raw("carts").delete_one(doc! { "_id": &id }).await.expect("removed by hand");
    gateway.sweep().await;
    assert_eq!(gateway.available("a").await, 8);
    let report = docgate::domains::check(&gateway.app).await.expect("the check runs");
    assert!(!report.is_clean());
    tokio::time::sleep(Duration::from_secs(5)).await;
    gateway.sweep().await;
    assert_eq!(gateway.available("a").await, 10);
    gateway.assert_sound().await;
    assert_eq!(marks(&gateway.stock_document("a").await), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_sees_every_page() {
    let gateway = Gateway::with(short_bounds).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    let inventory = gateway.raw("inventory");
    // A busy cart's marks are the oldest of all; they must not keep the others waiting.
    let pages: Vec<_> = (0..350_i64)
        .map(|n| {
            let at = DateTime::from_millis(1_000_000_000_000 + n / 3);
            let holder = if n < 120 { "order:raising" } else { id.as_str() };
            let take = doc! { "tag": format!("cut-{n}/0"), "quantity": 2_i64, "at": at };
            let entry = doc! {
                "holder": holder, "quantity": 2_i64, "takes": [take], "gifts": [], "at": at,
            };
            doc! {
                "_id": format!("p{n}"), "available": 3_i64, "sold": 0_i64, "received": 5_i64,
                "reservations": [entry], "ops": [], "v": 1,
            }
        })
        .collect();
    inventory.insert_many(pages).await.expect("inserted");
    gateway.sweep().await;
    gateway.assert_sound().await;
    let whole = inventory.count_documents(doc! { "available": 5_i64, "_id": { "$gt": "" } }).await;
    assert_eq!(whole.expect("counted"), 230);
}

#[tokio::test(flavor = "multi_thread")]
async fn carts_that_are_being_checked_out_are_left_alone() {
    let gateway = Gateway::with(short_bounds).await;
    gateway.stocked("a", 10).await;
    let shopper = gateway.shopper("someone");
    for state in ["PENDING", "VOIDING", "PAID"] {
        let id = shopper.open_cart(RESERVE).await;
        shopper.add(&id, "a", 1).await;
        let moved = doc! { "$set": { "state": state, "lines": [] } };
        gateway.raw("carts").update_one(doc! { "_id": &id }, moved).await.expect("moved");
    }
    gateway.sweep().await;
    assert_eq!((gateway.available("a").await, marks(&gateway.stock_document("a").await)), (7, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_finds_lines_and_reservations_that_disagree() {
    let gateway = Gateway::start().await;
    gateway.stocked("a", 50).await;
    let shopper = gateway.shopper("someone");
    let mut broken = Vec::new();
    for change in [
        doc! { "$set": { "lines.0.held": 1_i64 } },
        doc! { "$set": { "lines.0.held": 4_i64, "lines.0.quantity": 3_i64 } },
        doc! { "$set": { "lines": [] } },
        doc! { "$set": { "state": "EXPIRED" } },
        doc! { "$set": { "lines.0.quantity": 0_i64 } },
    ] {
        let id = shopper.open_cart(RESERVE).await;
        shopper.add(&id, "a", 2).await;
        gateway.raw("carts").update_one(doc! { "_id": &id }, change).await.expect("changed");
        broken.push(id);
    }
    let sound = shopper.open_cart(RESERVE).await;
    shopper.add(&sound, "a", 2).await;
    let report = docgate::domains::check(&gateway.app).await.expect("the check runs");
    let found: Vec<_> = report.rules.iter().flat_map(|(_, broken)| broken).collect();
    for id in broken {
        assert!(found.iter().any(|what| what.contains(&id)), "{id}: {found:#?}");
    }
    assert!(!found.iter().any(|what| what.contains(&sound)), "{found:#?}");
}

// --- a cut at every command ---

/// A cart of its own with a SKU of its own, of which ten are there and `quantity` in the cart.
async fn prepared(gateway: &Gateway, n: usize, quantity: i64) -> (String, String) {
    let sku = format!("sku-{n}");
    gateway.stocked(&sku, 10).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    if quantity > 0 {
        shopper.add(&id, &sku, quantity).await;
    }
    (id, sku)
}

/// Cuts `call` everywhere; after sweeps and a repeat the line is `(quantity, held)`.
async fn cut_everywhere(before: i64, call: impl Fn(&str, &str) -> (String, Value), after: i64) {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| prepared(gateway, n, before).await,
        async |gateway, (id, sku)| {
            let (query, variables) = call(id, sku);
            gateway.shopper("someone").send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: (id, sku) }| {
            let cart = gateway.shopper("someone").cart(id).await;
            if after == 0 {
                assert_eq!(cart["lines"], json!([]), "command {at} {way:?}");
            } else {
                assert_eq!(line(&cart, sku), (after, after), "command {at} {way:?}");
            }
            assert_eq!(gateway.available(sku).await, 10 - after, "command {at} {way:?}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_survives_a_cut_at_every_command() {
    cut_everywhere(0, |id, sku| Client::adding(id, sku, 3, Some("op")), 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn raising_survives_a_cut_at_every_command() {
    cut_everywhere(2, |id, sku| Client::setting(id, sku, 7, Some("op")), 7).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lowering_survives_a_cut_at_every_command() {
    cut_everywhere(7, |id, sku| Client::setting(id, sku, 2, Some("op")), 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removing_survives_a_cut_at_every_command() {
    cut_everywhere(7, |id, sku| Client::removing(id, sku, Some("op")), 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_survives_a_cut_at_every_command() {
    const OPEN: &str = "mutation($op: ID!) {
        openCart(input: { policy: RESERVE, currency: \"EUR\", opId: $op }) { ... on Cart { id } }
    }";
    cuts::everywhere(
        short_bounds,
        async |_, n| format!("op-{n}"),
        async |gateway, op| {
            gateway.shopper("someone").send(OPEN, json!({ "op": op })).await.ok();
        },
        async |gateway, Case { subject, .. }| {
            let cart = gateway.shopper("someone").field(OPEN, json!({ "op": subject })).await;
            assert!(cart["id"].is_string(), "{cart:#}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_survives_a_cut_at_every_command() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let (id, sku) = prepared(gateway, n, 7).await;
            // A return is still due: its give was cut.
            let shopper = gateway.shopper("someone");
            shopper.set(&id, &sku, 4).await;
            let due = doc! {
                "tag": "still-due", "sku": &sku, "quantity": 1_i64,
                "at": gateway.app.begin().await.expect("a run").now(),
            };
            let change = doc! { "$push": { "outbox": due }, "$set": {
                "lines.0.quantity": 3_i64, "lines.0.held": 3_i64,
            } };
            gateway.raw("carts").update_one(doc! { "_id": &id }, change).await.expect("changed");
            (id, sku)
        },
        async |gateway, (id, _)| {
            let (query, variables) = Client::cancelling(id);
            gateway.shopper("someone").send(&query, variables).await.ok();
        },
        async |gateway, Case { at, way, subject: (id, sku) }| {
            let cart = gateway.shopper("someone").cart(id).await;
            assert_eq!(cart["state"], "CANCELLED", "command {at} {way:?}");
            assert_eq!(gateway.available(sku).await, 10, "command {at} {way:?}");
        },
    )
    .await;
}

// --- sweeps by themselves ---

/// Lets time pass: everything that happened so far moves into the past, far enough for sweeps.
async fn age(gateway: &Gateway) {
    let millis = gateway.app.bounds().quiet_millis() + 60_000;
    let earlier = |field: &str| doc! { "$subtract": [field, millis] };
    let moved = |moments: &str| {
        let change = doc! { "$mergeObjects": ["$$this", { "at": earlier("$$this.at") }] };
        doc! { "$map": { "input": moments, "in": change } }
    };
    let entry = doc! { "$mergeObjects": ["$$entry", {
        "at": earlier("$$entry.at"),
        "takes": moved("$$entry.takes"),
        "gifts": moved("$$entry.gifts"),
    }] };
    let entries = doc! { "$map": { "input": "$reservations", "as": "entry", "in": entry } };
    let update = vec![doc! { "$set": { "reservations": entries } }];
    gateway.raw("inventory").update_many(doc! {}, update).await.expect("aged");
    let touched = doc! { "modifiedAt": earlier("$modifiedAt"), "outbox": moved("$outbox") };
    let update = vec![doc! { "$set": touched }];
    gateway.raw("carts").update_many(doc! {}, update).await.expect("aged");
}

/// Something to do for each part of the sweep; answers the carts' ids.
async fn left_behind(gateway: &Gateway) -> Vec<String> {
    let shopper = gateway.shopper("someone");
    let mut ids = Vec::new();
    for n in 0..5 {
        let sku = format!("sku-{n}");
        gateway.stocked(&sku, 10).await;
        let id = shopper.open_cart(RESERVE).await;
        shopper.add(&id, &sku, 4).await;
        ids.push(id);
    }
    age(gateway).await;
    let carts = gateway.raw("carts");
    let old = gateway.cart_document(&ids[0]).await.get_datetime("modifiedAt").copied();
    let old = old.expect("a time");
    let due = doc! { "tag": "cut", "sku": "sku-0", "quantity": 1_i64, "at": old };
    let hour_ago = DateTime::from_millis(old.timestamp_millis() - 3_600_000);
    for (id, change) in [
        // The give of a lowered line was cut.
        (
            &ids[0],
            doc! { "$push": { "outbox": due }, "$set": { "lines.0.quantity": 3_i64, "lines.0.held": 3_i64 } },
        ),
        (&ids[1], doc! { "$set": { "state": "CANCELLING" } }),
        // Idle for an hour.
        (&ids[2], doc! { "$set": { "modifiedAt": hour_ago } }),
        // Expired, and its stock came back too late to be returned then.
        (&ids[3], doc! { "$set": { "state": "EXPIRED" } }),
    ] {
        carts.update_one(doc! { "_id": id }, change).await.expect("changed");
    }
    // Two takes of the last one were never decided.
    let take = |n: i32| doc! { "tag": format!("cut-{n}/0"), "quantity": 1_i64, "at": old };
    let taken = doc! {
        "$inc": { "available": -2_i64, "reservations.0.quantity": 2_i64 },
        "$push": { "reservations.0.takes": { "$each": [take(1), take(2)] } },
    };
    gateway.raw("inventory").update_one(doc! { "_id": "sku-4" }, taken).await.expect("taken");
    ids
}

/// Time passes and sweeps run, until nothing is left to do.
async fn finish(gateway: &Gateway) {
    for _ in 0..3 {
        age(gateway).await;
        background::sweep_all(&gateway.app).await.expect("a sweep");
    }
    gateway.assert_sound().await;
}

fn removing_expired(config: &mut docgate::config::Config) {
    short_bounds(config);
    config.cart_keep_expired = false;
}

/// Cuts a sweep at its command `at` (nowhere if none), lets the next ones finish, and answers how
/// many commands it sent.
async fn cut_sweep(cut: Option<(usize, Cut)>) -> usize {
    let prepared = Gateway::start().await;
    let ids = left_behind(&prepared).await;
    let (port, database) = (mongod_port(), prepared.database.name());
    let gateway = Gateway::over(port, true, database, removing_expired).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| ["carts", "inventory"].contains(&seen.collection.as_str()));
    match cut {
        None => proxy.record(),
        Some((at, how @ Cut::BeforeForwarding)) => proxy.cut_all_from(at, how),
        Some((at, how)) => proxy.cut_with_retries(at, how),
    }
    let swept = docgate::domains::carts::sweep::sweep(&gateway.app).await;
    proxy.heal();
    let sent = proxy.seen().len();
    assert_eq!(swept.is_ok(), cut.is_none(), "{cut:?}: {swept:?}");
    let sibling = gateway.sibling().await;
    finish(&sibling).await;
    let shopper = sibling.shopper("someone");
    let expected = [(7, "ACTIVE"), (10, "CANCELLED"), (10, ""), (10, ""), (6, "ACTIVE")];
    for (n, (id, (available, state))) in ids.iter().zip(expected).enumerate() {
        let stock = gateway.stock_document(&format!("sku-{n}")).await;
        assert_eq!(stock.get_i64("available").expect("a number"), available, "{cut:?}: {stock}");
        assert_eq!(marks(&stock), 0, "{cut:?}: {stock}");
        let cart = shopper.cart(id).await;
        assert_eq!(cart["state"].as_str().unwrap_or_default(), state, "{cut:?}: {cart:#}");
    }
    sent
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_survives_a_cut_at_every_command() {
    let commands = cut_sweep(None).await;
    assert!(commands > 20, "{commands}");
    let cuts: Vec<_> = (0..commands)
        .flat_map(|at| [Cut::ReplyLost, Cut::BeforeForwarding].map(|how| (at, how)))
        .collect();
    for some in cuts.chunks(4) {
        let some: Vec<_> = some.iter().map(|cut| tokio::spawn(cut_sweep(Some(*cut)))).collect();
        for one in some {
            one.await.expect("everything was finished");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sweeps_at_once_do_everything_once() {
    let gateway = Gateway::with(removing_expired).await;
    left_behind(&gateway).await;
    let sweep = || background::sweep_all(&gateway.app);
    let (one, two, three) = tokio::join!(sweep(), sweep(), sweep());
    // One may find that another was quicker; what was then left is done by the next.
    assert!([one, two, three].iter().any(Result::is_ok));
    finish(&gateway).await;
    for (n, available) in (0..).zip([7, 10, 10, 10, 6]) {
        assert_eq!(gateway.available(&format!("sku-{n}")).await, available);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_looks_only_at_what_is_due() {
    let gateway = Gateway::with(short_bounds).await;
    left_behind(&gateway).await;
    // Three hundred more that are as they should be, and just as old.
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    let at = gateway.stock_document("sku-0").await;
    let at = at.get_array("reservations").expect("one")[0].as_document().expect("an entry");
    let at = *at.get_datetime("at").expect("a time");
    let stocks = (0..300).map(|n| {
        let entry = doc! {
            "holder": &id, "quantity": 1_i64, "takes": [], "gifts": [], "at": at,
        };
        doc! {
            "_id": format!("sound-{n}"), "available": 0_i64, "sold": 0_i64, "received": 1_i64,
            "reservations": [entry], "ops": [], "v": 1,
        }
    });
    gateway.raw("inventory").insert_many(stocks).await.expect("inserted");
    gateway.database.run_command(doc! { "profile": 2 }).await.expect("profiled");
    docgate::domains::carts::sweep::sweep(&gateway.app).await.expect("a sweep");
    gateway.database.run_command(doc! { "profile": 0 }).await.expect("not any more");
    let mut profile = gateway.raw("system.profile").find(doc! {}).await.expect("a profile");
    let mut reads = 0;
    while profile.advance().await.expect("the next") {
        let read = profile.deserialize_current().expect("a document");
        if read.get_str("op").is_ok_and(|op| op == "query") {
            let number = |field: &str| read.get_i32(field).unwrap_or_default();
            assert!(number("docsExamined") <= 5, "{read}");
            assert!(read.get("hasSortStage").is_none(), "{read}");
            reads += 1;
        }
    }
    assert!(reads > 8, "{reads}");
}
