//! Carts: who may use them, what lines do and hold, how carts end, and what is left of a flow that
//! was cut, overtaken or repeated.

mod crowds;
mod cuts;
mod endings;
mod guests;
mod lines;
mod new_lines;
mod owners;
mod races;
mod rows;
mod shortages;
mod stuck;
mod sweep_times;
mod sweeps;

use mongodb::bson::{Bson, Document};
use serde_json::{Value, json};

use crate::support::{Client, Gateway, commands, long_bounds};

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
    let gateway = Gateway::with(long_bounds).await;
    let opening = |policy: &str, currency: &str| json!({ "policy": policy, "currency": currency, "idempotencyKey": "mine" });
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
    // An idempotency key needs somebody whose it is.
    let nobody = gateway.anonymous().open_cart_with(opening(RESERVE, "EUR")).await;
    assert_eq!(
        (&nobody["__typename"], &nobody["field"]),
        (&json!("InvalidInput"), &json!("input.idempotencyKey"))
    );
    assert_eq!(gateway.snapshot().await, before);
    let other = gateway.shopper("another").open_cart_with(opening(RESERVE, "EUR")).await;
    assert!(is(&other, "Cart") && !ids.contains(other["id"].as_str().expect("an id")));
}

#[tokio::test(flavor = "multi_thread")]
async fn reading_a_cart_is_one_command_and_adding_is_four() {
    let gateway = Gateway::with(long_bounds).await;
    gateway.stocked("a", 5).await;
    let shopper = gateway.shopper("someone");
    let id = shopper.open_cart(RESERVE).await;
    let read =
        shopper.explained("query($id: ID!) { cart(id: $id) { id } }", json!({ "id": id })).await;
    assert_eq!(commands(&read), ["find carts"]);
    let (query, variables) = Client::adding(&id, "a", 1, None);
    let mut sent = commands(&shopper.explained(&query, variables).await);
    // The cart and the product are read side by side, and either may be answered first.
    sent[..2].sort_unstable();
    assert_eq!(sent, ["find carts", "find products", "update inventory", "findAndModify carts"]);
    let (query, variables) = Client::setting(&id, "a", 3, None);
    assert_eq!(
        commands(&shopper.explained(&query, variables).await),
        ["find carts", "update inventory", "findAndModify carts"]
    );
    let (query, variables) = Client::removing(&id, "a", None);
    assert_eq!(
        commands(&shopper.explained(&query, variables).await),
        ["find carts", "findAndModify carts", "update inventory", "update carts"]
    );
}
