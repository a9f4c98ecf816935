//! Guests, who have no subject: `docgate person` finds what is held of them by an order.

use docgate::domains::{orders::operations as orders, persons};
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{
    super::{done, on},
    places_of,
};
use crate::{
    orders::{cancel, delete},
    shop::{account, cart, checkout_input, checkout_query, placed, settled, stocked},
    support::{Client, Gateway, direct::in_time},
};

const SEEN: &str = "query($id: ID!) { order(id: $id) { number customerId total { minorUnits } \
    lines { sku quantity } shipping { name email phone } } }";

async fn seen(client: &Client, order: &str) -> Value {
    client.field(SEEN, json!({ "id": order })).await
}

/// A guest's order that says how the guest is reached.
async fn guests_order(gateway: &Gateway) -> String {
    let nobody = gateway.anonymous();
    let id = cart(&nobody, "AT_CHECKOUT", &[("free", 1)]).await;
    let mut input = checkout_input(&id, "none", "op");
    input["shipping"]["name"] = json!("Gus Guest");
    input["shipping"]["email"] = json!("gus-5f0c41@home.example");
    input["shipping"]["phone"] = json!("+49 40 5550142");
    let order = nobody.field(&checkout_query(), json!({ "input": input })).await;
    order["id"].as_str().unwrap_or_else(|| panic!("{order:#}")).to_owned()
}

async fn assert_gone(gateway: &Gateway) {
    for text in ["gus-5f0c41", "5550142", "Gus Guest"] {
        assert_eq!(places_of(gateway, text).await, [], "{text}");
    }
    assert!(gateway.stored("erasures").await.is_empty(), "nothing leads to the pseudonym");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_is_exported_and_erased_by_an_order() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "free", 0, 10).await;
    let nobody = gateway.anonymous();
    let order = guests_order(&gateway).await;
    let other = placed(&nobody, "none", &[("free", 1)]).await;
    let purse = account(&gateway, "ann", 100).await;
    let anns = placed(&gateway.shopper("ann"), &purse, &[("free", 1)]).await;
    settled(&gateway).await;
    let before = seen(&nobody, &order).await;
    assert_eq!(before["shipping"]["email"], "gus-5f0c41@home.example", "{before:#}");
    assert_eq!(before["shipping"]["phone"], "+49 40 5550142", "{before:#}");
    assert_eq!(before["customerId"], Value::Null);
    let correct = "mutation($input: ChangeOrderAddressInput!) { \
        changeOrderAddress(input: $input) { __typename } }";
    let shipping = json!({
        "name": "Gus Guest", "street": "Home 2", "city": "1 Home", "country": "DE", "email": "g@home.example",
    });
    let input = json!({ "input": { "orderId": order, "shipping": shipping } });
    let corrected = nobody.field(correct, input).await;
    assert_eq!(corrected["__typename"], "Order", "{corrected:#}");
    let number = before["number"].as_str().expect("a number");
    let name = gateway.database.name().to_owned();
    let person = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["person"].iter().chain(arguments).copied().collect();
        done(on(&name, &arguments))
    };

    let (code, out, said) = person(&["export", "--order", number]);
    assert_eq!((code, out.lines().count()), (0, 2), "{out}{said}");
    let read = |line| serde_json::from_str::<Value>(line).expect("JSON");
    let lines: Vec<Value> = out.lines().map(read).collect();
    assert_eq!((&lines[0]["collection"], &lines[0]["field"]), (&json!("orders"), &json!("_id")));
    assert_eq!(lines[0]["value"]["shipping"]["email"], "g@home.example", "{out}");
    // The address of the checkout, before it was corrected.
    assert_eq!((&lines[1]["collection"], &lines[1]["field"]), (&json!("carts"), &json!("_id")));
    let at_checkout = &lines[1]["value"]["checkout"]["shipping"];
    assert_eq!(at_checkout["email"], "gus-5f0c41@home.example", "{out}");

    let untouched = gateway.snapshot().await;
    let (code, out, said) = person(&["erase", "--order", number, "--dry-run"]);
    assert!(code == 0 && out.contains("orders: 1 document would be"), "{out}{said}");
    assert!(out.contains("carts: 1 document would be"), "{out}");
    assert_eq!(person(&["erase", "--order", number]).0, 2, "neither --dry-run nor --yes");
    assert_eq!(person(&["erase", "ann", "--order", number, "--yes"]).0, 2, "one of the two");
    assert_eq!(person(&["erase", "--yes"]).0, 2, "one of the two");
    for command in [&["export", "--order"][..], &["erase", "--yes", "--order"]] {
        let of = |order: &str| person(&[command, &[order][..]].concat());
        let (code, _, said) = of("0000-0000-0");
        assert!(code == 2 && said.contains("there is no order 0000-0000-0"), "{said}");
        let (code, _, said) = of(&anns);
        assert!(code == 2 && said.contains("isn't a guest's"), "{said}");
    }
    for command in [&["export", "--order"][..], &["erase", "--yes", "--order"]] {
        let mut without = on(&name, &[&["person"][..], command, &[number]].concat());
        without.env("DOCGATE_ROOMS", "queue");
        let (code, _, said) = done(without);
        assert!(code == 2 && said.contains("the room orders is switched off"), "{said}");
    }
    assert_eq!(gateway.snapshot().await, untouched);

    // As people write it.
    let written = number.to_lowercase().replace('-', " ");
    let (code, out, said) = person(&["erase", "--order", &written, "--yes"]);
    assert_eq!(code, 0, "{out}{said}");
    assert!(out.contains("orders: 1 document erased or changed"), "{out}");
    assert!(out.contains("carts: 1 document erased or changed"), "{out}");
    assert_gone(&gateway).await;
    // What was sold stays, for merchants alone. The order of another guest stays as it is.
    assert_eq!(seen(&nobody, &order).await, Value::Null);
    let after = seen(&gateway.merchant(), &order).await;
    assert_eq!((&after["number"], &after["lines"]), (&before["number"], &before["lines"]));
    assert_eq!(after["shipping"], json!({ "name": "", "email": null, "phone": null }));
    assert!(after["customerId"].is_string(), "{after:#}");
    assert_eq!(seen(&nobody, &other).await["shipping"]["name"], "N. N.");
    let (code, _, said) = person(&["erase", "--order", number, "--yes"]);
    assert!(code == 2 && said.contains("its guest was erased"), "{said}");
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_of_a_guest_that_was_cut_goes_on() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "free", 0, 10).await;
    let order = guests_order(&gateway).await;
    settled(&gateway).await;
    let app = &gateway.app;
    // The first run ends before the erasure, when the guest is the owner.
    let mut guests = Vec::new();
    for _ in 0..2 {
        let found = orders::order_named(app, &order).await.expect("a read").expect("an order");
        let guest = orders::guest_of(app, &found);
        assert!(orders::name_guest(app, &found, &guest).await.expect("a write"));
        guests.push(guest);
    }
    assert_eq!(guests[0], guests[1]);
    let erased = in_time(async || persons::erase(app, &guests[0], false).await).await;
    assert!(erased.waits.is_empty(), "{erased:#?}");
    assert_gone(&gateway).await;
    assert_eq!(places_of(&gateway, &guests[0]).await, []);
    gateway.sweep().await;
    gateway.assert_sound().await;
}

/// The order has its pseudonym, and the cart can't have it yet.
#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_of_a_guest_whose_order_is_done_goes_on_with_the_cart() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "free", 0, 10).await;
    let order = guests_order(&gateway).await;
    settled(&gateway).await;
    let app = &gateway.app;
    let found = orders::order_named(app, &order).await.expect("a read").expect("an order");
    let guest = orders::guest_of(app, &found);
    assert!(orders::name_guest(app, &found, &guest).await.expect("a write"));
    let carts = gateway.database.collection::<Document>("carts");
    let state = async |state: &str| {
        let (cart, set) = (doc! { "_id": &found.cart_id }, doc! { "$set": { "state": state } });
        assert_eq!(carts.update_one(cart, set).await.expect("a write").modified_count, 1);
    };
    state("PAID").await;
    let erased = in_time(async || persons::erase(app, &guest, false).await).await;
    assert!(!erased.waits.is_empty(), "{erased:#?}");
    state("COMPLETE").await;
    let name = gateway.database.name();
    let (code, out, said) = done(on(name, &["person", "erase", "--order", &order, "--yes"]));
    assert_eq!(code, 0, "{out}{said}");
    assert!(out.contains("carts: 1 document erased or changed"), "{out}");
    assert_gone(&gateway).await;
    let (code, _, said) = done(on(name, &["person", "erase", "--order", &order, "--yes"]));
    assert!(code == 2 && said.contains("its guest was erased"), "{said}");
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_whose_order_was_deleted_is_erased_from_the_cart() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "free", 0, 10).await;
    let order = guests_order(&gateway).await;
    let purse = account(&gateway, "ann", 100).await;
    let anns = placed(&gateway.shopper("ann"), &purse, &[("free", 1)]).await;
    settled(&gateway).await;
    for order in [&order, &anns] {
        cancel(&gateway.merchant(), order, "cancel").await;
    }
    settled(&gateway).await;
    for order in [&order, &anns] {
        let deleted = delete(&gateway.admin(), order).await;
        assert_eq!(deleted["__typename"], "DeletedOrder", "{deleted:#}");
    }
    let name = gateway.database.name();
    let person = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["person"].iter().chain(arguments).copied().collect();
        done(on(name, &arguments))
    };
    let (code, out, said) = person(&["export", "--order", &order]);
    assert_eq!((code, out.lines().count()), (0, 1), "{out}{said}");
    assert!(out.contains("\"carts\"") && out.contains("Gus Guest"), "{out}");
    let (code, _, said) = person(&["erase", "--order", &anns, "--yes"]);
    assert!(code == 2 && said.contains("isn't a guest's"), "{said}");
    let (code, out, said) = person(&["erase", "--order", &order, "--dry-run"]);
    assert!(code == 0 && out.contains("carts: 1 document would be"), "{out}{said}");
    assert!(!out.contains("orders:"), "{out}");
    let (code, out, said) = person(&["erase", "--order", &order, "--yes"]);
    assert!(code == 0 && out.contains("carts: 1 document erased or changed"), "{out}{said}");
    assert_gone(&gateway).await;
    gateway.sweep().await;
    gateway.assert_sound().await;
}
