//! Guests, who have no subject: `docgate person` finds what is held of them by an order.

use docgate::domains::{orders::operations as orders, persons};
use serde_json::{Value, json};

use super::{
    super::{done, on},
    places_of,
};
use crate::{
    shop::{account, cart, checkout_input, checkout_query, placed, settled, stocked},
    support::{Client, Gateway},
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
    let number = before["number"].as_str().expect("a number");
    let name = gateway.database.name().to_owned();
    let person = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["person"].iter().chain(arguments).copied().collect();
        done(on(&name, &arguments))
    };

    let (code, out, said) = person(&["export", "--order", number]);
    assert_eq!((code, out.lines().count()), (0, 1), "{out}{said}");
    let line: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&line["collection"], &line["field"]), (&json!("orders"), &json!("_id")));
    assert_eq!(line["value"]["shipping"]["email"], "gus-5f0c41@home.example", "{line:#}");

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
        let guest = orders::guest_of(app, &found).expect("a guest's order");
        assert!(orders::name_guest(app, &found, &guest).await.expect("a write"));
        guests.push(guest);
    }
    assert_eq!(guests[0], guests[1]);
    let erased = persons::erase(app, &guests[0], false).await.expect("an erasure");
    assert!(erased.waits.is_empty(), "{erased:#?}");
    assert_gone(&gateway).await;
    assert_eq!(places_of(&gateway, &guests[0]).await, []);
    let found = orders::order_named(app, &order).await.expect("a read").expect("an order");
    assert_eq!(orders::guest_of(app, &found), None);
    gateway.sweep().await;
    gateway.assert_sound().await;
}
