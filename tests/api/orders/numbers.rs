//! Order numbers: short, checked, the same on a repeat, never those of two orders.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::shop;
use crate::{
    shop::{cart, checkout_input, checkout_query, placed, settled, state, stocked, stored},
    support::{Client, Gateway, commands, cuts, key, long_bounds, proxy::Cut, short_bounds},
};

const BY_NUMBER: &str = "query($number: String!) { order(by: { number: $number }) { id number } }";

async fn number_of(gateway: &Gateway, order: &str) -> String {
    let order = stored(gateway, "orders", order).await;
    order.get_str("number").expect("a number").to_owned()
}

async fn found(client: &Client, number: &str) -> Value {
    client.field(BY_NUMBER, json!({ "number": number })).await["id"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_found_by_what_people_read_out() {
    let gateway = Gateway::start().await;
    let (shopper, _, order) = shop(&gateway).await;
    let number = number_of(&gateway, &order).await;
    let symbols: Vec<char> = number.chars().collect();
    assert_eq!((symbols.len(), symbols[4], symbols[9]), (11, '-', '-'), "{number}");
    assert!(symbols.iter().all(|symbol| !"ILOU".contains(*symbol)), "{number}");
    let response = shopper.explained(BY_NUMBER, json!({ "number": number })).await;
    assert_eq!(response["data"]["order"], json!({ "id": order, "number": number }));
    assert_eq!(commands(&response), ["find orderNumbers", "find orders"]);
    let spoken = number.to_lowercase().replace('-', " ").replace('0', "o").replace('1', "l");
    for number in [&spoken, &number.replace('-', "")] {
        assert_eq!(found(&gateway.merchant(), number).await, json!(order), "{number}");
    }
    for client in [gateway.shopper("bob"), gateway.anonymous(), gateway.service()] {
        assert_eq!(found(&client, &number).await, Value::Null);
    }
    // Whether another's order has a number isn't told by what the gateway looks for either.
    let free = first_number(&gateway, "no order");
    for (client, sent) in [
        (gateway.shopper("bob"), vec!["find orderNumbers", "find orders"]),
        (gateway.anonymous(), Vec::new()),
    ] {
        for number in [&number, &free] {
            let response = client.explained(BY_NUMBER, json!({ "number": number })).await;
            assert_eq!(response["data"]["order"], Value::Null, "{number}");
            assert_eq!(commands(&response), sent, "{number}");
        }
    }
    // A wrong symbol is told by the check symbol alone.
    let wrong = if symbols[0] == '7' { "8" } else { "7" };
    for number in
        [&format!("{wrong}{}", &number[1..]), "", "$ne", "0000-0000-0", &"0".repeat(9_000)]
    {
        let response = shopper.explained(BY_NUMBER, json!({ "number": number })).await;
        assert_eq!(response["data"]["order"], Value::Null, "{number:.20}");
    }
    // Either of them, and only one.
    let both = "query($id: ID!) { order(id: $id, by: { id: $id }) { id } }";
    assert_eq!(shopper.error_code(both, json!({ "id": order })).await, "BAD_USER_INPUT");
    assert_eq!(shopper.error_code("{ order { id } }", json!({})).await, "BAD_USER_INPUT");
    let by_id = "query($id: ID!) { order(by: { id: $id }) { number } }";
    assert_eq!(shopper.field(by_id, json!({ "id": order })).await["number"], json!(number));
    // The number of an order without an owner isn't a capability.
    stocked(&gateway, "free", 0, 10).await;
    let order = placed(&gateway.anonymous(), "none", &[("free", 1)]).await;
    let number = number_of(&gateway, &order).await;
    assert_eq!(found(&gateway.anonymous(), &number).await, Value::Null);
    assert_eq!(found(&gateway.merchant(), &number).await, json!(order));
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn repeats_have_the_same_number_and_orders_different_ones() {
    let gateway = Gateway::with(long_bounds).await;
    stocked(&gateway, "free", 0, 100).await;
    let shopper = gateway.shopper("ann");
    let mut numbers = BTreeSet::new();
    for _ in 0..8 {
        let cart = cart(&shopper, "RESERVE", &[("free", 1)]).await;
        let query = checkout_query().replace("... on Order {", "... on Order { number");
        let input = json!({ "input": checkout_input(&cart, "none", "op") });
        let same = join_all((0..4).map(|_| shopper.field(&query, input.clone()))).await;
        let own: BTreeSet<_> = same.iter().map(|order| order["number"].to_string()).collect();
        assert_eq!(own.len(), 1, "{same:#?}");
        numbers.extend(own);
    }
    assert_eq!(numbers.len(), 8, "{numbers:?}");
    settled(&gateway).await;
    gateway.assert_sound().await;
}

/// The first number of the order with this id.
fn first_number(gateway: &Gateway, id: &str) -> String {
    let symbols: Vec<char> = "0123456789ABCDEFGHJKMNPQRSTVWXYZ".chars().collect();
    let bits = |draw: u32| gateway.app.ids().bits(&["order number", id, "0", &draw.to_string()]);
    let value = (0..1_000).map(|draw| bits(draw) % (1 << 40)).find(|value| value % 37 < 32);
    let value = value.expect("a number");
    let symbol = |digit: u64| symbols[usize::try_from(digit).expect("a digit")];
    let text: String = (0..8).rev().map(|place| symbol((value >> (5 * place)) & 31)).collect();
    format!("{}-{}-{}", &text[..4], &text[4..], symbol(value % 37))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_another_order_has_is_passed_over() {
    let base = Gateway::with(short_bounds).await;
    let patient = base.patient_sibling().await;
    stocked(&patient, "free", 0, 100).await;
    let shopper = patient.shopper("ann");
    let check_out = async |gateway: &Gateway, cart: &str| {
        let input = json!({ "input": checkout_input(cart, "none", "op") });
        let _whatever = gateway.shopper("ann").send(&checkout_query(), input).await;
    };
    let first = cart(&shopper, "RESERVE", &[("free", 1)]).await;
    let sent = cuts::sent(&patient, async |gateway| check_out(gateway, &first).await).await;
    let inserts = |seen: &crate::support::proxy::Seen| {
        seen.command == "insert" && seen.collection.starts_with("order")
    };
    let at = sent.iter().position(inserts).expect("an order");
    // The cart has decided, and its order isn't there yet. On a busy machine the time may be over before that.
    let mut decided = None;
    for _ in 0..8 {
        let second = cart(&shopper, "RESERVE", &[("free", 1)]).await;
        let gateway = base.sibling_behind_proxy().await;
        gateway.proxy.as_ref().expect("a proxy").cut_all_from(at, Cut::BeforeForwarding);
        check_out(&gateway, &second).await;
        let document = stored(&base, "carts", &second).await;
        if document.get_document("checkout").is_ok_and(|checkout| checkout.contains_key("id")) {
            decided = Some((second, document));
            break;
        }
    }
    let (second, document) = decided.expect("a decision");
    let id = document.get_document("checkout").expect("a checkout").get_str("id").expect("an id");
    let taken = first_number(&base, id);
    let claim = doc! { "_id": &taken, "order": "another", "v": 1 };
    base.raw("orderNumbers").insert_one(claim).await.expect("an insert");
    base.sweep().await;
    assert_eq!(state(&base, "carts", &second).await, "COMPLETE");
    let order = base.raw("orders").find_one(doc! { "_id": id }).await.expect("a read");
    let order: Document = order.expect("an order");
    let number = order.get_str("number").expect("a number");
    assert_ne!(number, taken);
    let claim = base.raw("orderNumbers").find_one(doc! { "_id": number }).await.expect("a read");
    assert_eq!(claim.expect("a claim").get_str("order").expect("an order"), id);
    base.assert_sound().await;
    assert_eq!(
        first_number(&base, &key(&placed_id(&base, &first).await)),
        number_of_cart(&base, &first).await
    );
}

/// The id of the order of a cart.
async fn placed_id(gateway: &Gateway, cart: &str) -> String {
    let cart = stored(gateway, "carts", cart).await;
    let checkout = cart.get_document("checkout").expect("a checkout");
    checkout.get_str("id").expect("an id").to_owned()
}

async fn number_of_cart(gateway: &Gateway, cart: &str) -> String {
    number_of(gateway, &placed_id(gateway, cart).await).await
}
