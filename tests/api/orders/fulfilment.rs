//! Shipments: packed, unpacked, shipped and delivered, in parts.

use docgate::{
    graphql::node_id::NodeKind,
    invariants::{Progress, Report},
};
use futures_util::future::join_all;
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{Subject, adjust, cancel, shop, subject};
use crate::{
    shop::{balance, placed, settled, stock, stored},
    support::{Client, Gateway, cuts, key, long_bounds, short_bounds},
};

/// What merchants and customers see of an order's fulfilment.
pub const FULFILLED: &str = "id number state stage \
    lines { sku quantity } total { minorUnits } refunded { minorUnits } refundDue { minorUnits } \
    shipments { number state carrier tracking packedAt shippedAt deliveredAt lines { sku quantity } } \
    returns { number shipmentNumber state reason answer requestedAt decidedAt lines { sku quantity } }";

/// The text of a mutation of an order, by its name. `more` is selected of its refusals.
pub fn change_query(name: &str, more: &str) -> String {
    let (first, rest) = name.split_at(1);
    let of = format!("{}{rest}Input", first.to_uppercase());
    format!(
        "mutation($input: {of}!) {{ {name}(input: $input) {{ __typename \
         ... on Order {{ {FULFILLED} }} ... on UserError {{ code message }} {more} }} }}"
    )
}

/// Calls a mutation of an order.
pub async fn change(client: &Client, name: &str, order: &str, more: Value) -> Value {
    let mut input = json!({ "orderId": order });
    for (field, value) in more.as_object().expect("fields") {
        input[field] = value.clone();
    }
    client.field(&change_query(name, ""), json!({ "input": input })).await
}

/// Packs pieces of one SKU; returns the number of the shipment.
pub async fn packed(gateway: &Gateway, order: &str, sku: &str, quantity: i64) -> i64 {
    let lines = json!({ "lines": [{ "sku": sku, "quantity": quantity }] });
    let packed = change(&gateway.merchant(), "packOrder", order, lines).await;
    let shipments = packed["shipments"].as_array().unwrap_or_else(|| panic!("{packed:#}"));
    shipments.last().expect("a shipment")["number"].as_i64().expect("a number")
}

/// Packs and ships pieces of one SKU; returns the number of the shipment.
pub async fn shipped(gateway: &Gateway, order: &str, sku: &str, quantity: i64) -> i64 {
    let number = packed(gateway, order, sku, quantity).await;
    let input = json!({ "shipmentNumber": number });
    let shipped = change(&gateway.merchant(), "shipOrder", order, input).await;
    assert_eq!(shipped["__typename"], "Order", "{shipped:#}");
    number
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_is_shipped_in_parts_and_its_customer_sees_them() {
    let gateway = Gateway::start().await;
    let (shopper, _, order) = shop(&gateway).await;
    let merchant = gateway.merchant();
    let query = format!("query($id: ID!) {{ order(id: $id) {{ {FULFILLED} }} }}");
    let seen = async || shopper.field(&query, json!({ "id": order })).await;
    assert_eq!(seen().await["stage"], "PLACED");
    assert_eq!(seen().await["shipments"], json!([]));

    let lines = json!([{ "sku": "a", "quantity": 1 }, { "sku": "a", "quantity": 1 }]);
    let packed = change(&merchant, "packOrder", &order, json!({ "lines": lines })).await;
    let first = &packed["shipments"][0];
    assert_eq!((&first["number"], &first["state"]), (&json!(1), &json!("PACKED")), "{packed:#}");
    assert_eq!(first["lines"], json!([{ "sku": "a", "quantity": 2 }]), "one line for each SKU");
    assert_eq!(packed["stage"], "PLACED", "some pieces are left");
    let rest = change(&merchant, "packOrder", &order, json!({})).await;
    let all = json!([{ "sku": "a", "quantity": 1 }, { "sku": "b", "quantity": 1 }]);
    assert_eq!(rest["shipments"][1]["lines"], all);
    assert_eq!(rest["stage"], "PACKED");
    // What was unpacked is packed again, under another number.
    let unpacked = change(&merchant, "unpackOrder", &order, json!({ "shipmentNumber": 2 })).await;
    assert_eq!(
        (&unpacked["stage"], unpacked["shipments"].as_array().map(Vec::len)),
        (&json!("PLACED"), Some(1))
    );
    let again = change(&merchant, "packOrder", &order, json!({})).await;
    assert_eq!(again["shipments"][1]["number"], 3);

    let carried = json!({ "shipmentNumber": 1, "carrier": "Parcel & Co.", "tracking": "PC $1.a" });
    let sent = change(&merchant, "shipOrder", &order, carried).await;
    assert_eq!(sent["stage"], "PACKED");
    let shipment = &seen().await["shipments"][0];
    assert_eq!(
        (&shipment["state"], &shipment["carrier"], &shipment["tracking"]),
        (&json!("SHIPPED"), &json!("Parcel & Co."), &json!("PC $1.a"))
    );
    assert!(shipment["shippedAt"].is_string() && shipment["deliveredAt"].is_null());
    let query = "query($id: ID!) { order(id: $id) { shipments { lines {
        sku product { sku title } variant { sku } } } } }";
    let parcels = shopper.field(query, json!({ "id": order })).await;
    let product = json!({ "sku": "a", "title": "Title of a" });
    let line = json!({ "sku": "a", "product": product, "variant": null });
    assert_eq!(parcels["shipments"][0]["lines"], json!([line]));
    let sent = change(&merchant, "shipOrder", &order, json!({ "shipmentNumber": 3 })).await;
    assert_eq!(sent["stage"], "SHIPPED");
    for (number, stage) in [(3, "SHIPPED"), (1, "DELIVERED")] {
        let input = json!({ "shipmentNumber": number });
        let arrived = change(&merchant, "deliverOrder", &order, input).await;
        assert_eq!(arrived["stage"], stage, "{arrived:#}");
    }
    assert_eq!(
        (&seen().await["state"], &seen().await["stage"]),
        (&json!("PLACED"), &json!("DELIVERED"))
    );
    // More pieces are to be packed.
    assert_eq!(adjust(&shopper, &order, "b", 2, "more").await["__typename"], "Order");
    assert_eq!(seen().await["stage"], "PLACED");
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_and_changes_nothing() {
    let gateway = Gateway::start().await;
    let (shopper, _, order) = shop(&gateway).await;
    let merchant = gateway.merchant();
    let number = packed(&gateway, &order, "a", 2).await;
    let before = gateway.snapshot().await;
    let more = "... on TooManyPieces { sku requested available }";
    let input = json!({ "orderId": order, "lines": [
        { "sku": "b", "quantity": 1 }, { "sku": "a", "quantity": 1 }, { "sku": "a", "quantity": 1 } ] });
    let beyond = merchant.field(&change_query("packOrder", more), json!({ "input": input })).await;
    assert_eq!(
        (&beyond["code"], &beyond["sku"], &beyond["requested"], &beyond["available"]),
        (&json!("TOO_MANY_PIECES"), &json!("a"), &json!(2), &json!(1)),
        "{beyond:#}"
    );
    let unknown = NodeKind::ORDER.id("nothing");
    for (name, order, more, code) in [
        ("packOrder", &*order, json!({ "lines": [{ "sku": "c", "quantity": 1 }] }), "NOT_FOUND"),
        ("packOrder", &*order, json!({ "lines": [] }), "INVALID_INPUT"),
        (
            "packOrder",
            &*order,
            json!({ "lines": [{ "sku": "a", "quantity": 0 }] }),
            "INVALID_INPUT",
        ),
        ("packOrder", &**unknown, json!({}), "NOT_FOUND"),
        ("shipOrder", &*order, json!({ "shipmentNumber": 2 }), "NOT_FOUND"),
        ("shipOrder", &*order, json!({ "shipmentNumber": 1, "carrier": " " }), "INVALID_INPUT"),
        ("shipOrder", &*order, json!({ "shipmentNumber": 1, "tracking": "a\nb" }), "INVALID_INPUT"),
        (
            "shipOrder",
            &*order,
            json!({ "shipmentNumber": 1, "tracking": "x".repeat(257) }),
            "INVALID_INPUT",
        ),
        ("deliverOrder", &*order, json!({ "shipmentNumber": 1 }), "SHIPMENT_NOT_OPEN"),
        ("deliverOrder", &*order, json!({ "shipmentNumber": -1 }), "NOT_FOUND"),
        ("unpackOrder", &*order, json!({ "shipmentNumber": 9 }), "NOT_FOUND"),
    ] {
        let refused = change(&merchant, name, order, more.clone()).await;
        assert_eq!(refused["code"], code, "{name} {more}: {refused:#}");
    }
    // Customers don't pack.
    for name in ["packOrder", "unpackOrder", "shipOrder", "deliverOrder"] {
        let input = json!({ "orderId": order, "shipmentNumber": 1 });
        let input = if name == "packOrder" { json!({ "orderId": order }) } else { input };
        let code = shopper.error_code(&change_query(name, ""), json!({ "input": input })).await;
        assert_eq!(code, "FORBIDDEN", "{name}");
    }
    assert_eq!(gateway.snapshot().await, before);

    let input = json!({ "shipmentNumber": number });
    let sent = change(&merchant, "shipOrder", &order, input.clone()).await;
    assert_eq!(sent["__typename"], "Order");
    for name in ["shipOrder", "unpackOrder"] {
        let refused = change(&merchant, name, &order, input.clone()).await;
        assert_eq!(refused["code"], "SHIPMENT_NOT_OPEN", "{name}");
    }
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_shipped_stays_in_the_order() {
    let gateway = Gateway::start().await;
    let (shopper, purse, order) = shop(&gateway).await;
    packed(&gateway, &order, "a", 1).await;
    shipped(&gateway, &order, "a", 1).await;
    let more = "... on OrderShipped { sku least }";
    let input = json!({ "orderId": order, "sku": "a", "quantity": 1 });
    let query = change_query("adjustOrderLine", more);
    let refused = shopper.field(&query, json!({ "input": input })).await;
    assert_eq!(
        (&refused["code"], &refused["sku"], &refused["least"]),
        (&json!("ORDER_SHIPPED"), &json!("a"), &json!(2)),
        "packed ones stay too: {refused:#}"
    );
    let told = refused["message"].as_str().expect("a message");
    assert!(told.starts_with("2 of \"a\" are packed or shipped, so the line can't"), "{told}");
    let refused = cancel(&shopper, &order, "op").await;
    assert_eq!(refused["code"], "ORDER_SHIPPED");
    let told = refused["message"].as_str().expect("a message");
    assert!(told.starts_with("1 of \"a\" is shipped, so the order can't be cancelled: "), "{told}");
    // The rest can go.
    assert_eq!(adjust(&shopper, &order, "a", 2, "less").await["__typename"], "Order");
    assert_eq!(adjust(&shopper, &order, "b", 0, "none").await["__typename"], "Order");
    assert_eq!(stock(&gateway, "a").await, (98, 0, 2));
    assert_eq!(balance(&gateway, &purse).await, 800);
    settled(&gateway).await;
    gateway.assert_sound().await;
}

/// Nothing has arrived of an order from which all was taken, and it isn't cancelled either.
#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_order_is_not_delivered() {
    let gateway = Gateway::start().await;
    let (shopper, purse, order) = shop(&gateway).await;
    let merchant = gateway.merchant();
    let number = packed(&gateway, &order, "a", 1).await;
    change(&merchant, "unpackOrder", &order, json!({ "shipmentNumber": number })).await;
    for sku in ["a", "b"] {
        assert_eq!(adjust(&shopper, &order, sku, 0, sku).await["__typename"], "Order");
    }
    let query = format!("query($id: ID!) {{ order(id: $id) {{ {FULFILLED} }} }}");
    let seen = shopper.field(&query, json!({ "id": order })).await;
    assert_eq!((&seen["stage"], &seen["lines"]), (&json!("PLACED"), &json!([])), "{seen:#}");
    let listed = "query { orders(by: { stage: PLACED }, first: 9) { nodes { id } } }";
    let listed = merchant.field(listed, json!({})).await;
    assert_eq!(listed["nodes"], json!([{ "id": order }]));
    let nothing = change(&merchant, "packOrder", &order, json!({})).await;
    assert_eq!(nothing["code"], "TOO_MANY_PIECES", "{nothing:#}");
    // An earlier version has listed it as delivered.
    let delivered = doc! { "$set": { "stage": "DELIVERED" } };
    let this = doc! { "_id": key(&order) };
    gateway.raw("orders").update_one(this, delivered).await.expect("an update");
    let repaired = gateway.repair().await;
    assert!(repaired.contains(&format!("the stage of order {}", key(&order))), "{repaired:?}");
    let listed = stored(&gateway, "orders", &order).await;
    assert_eq!(listed.get_str("stage").expect("a stage"), "PLACED");
    // A piece can be added again, and then there is something to arrive.
    assert_eq!(adjust(&shopper, &order, "b", 1, "again").await["__typename"], "Order");
    let number = shipped(&gateway, &order, "b", 1).await;
    let input = json!({ "shipmentNumber": number });
    let arrived = change(&merchant, "deliverOrder", &order, input.clone()).await;
    assert_eq!(arrived["stage"], "DELIVERED", "{arrived:#}");
    // What came back had arrived.
    change(&shopper, "requestReturn", &order, input).await;
    let back = change(&merchant, "acceptReturn", &order, json!({ "returnNumber": 1 })).await;
    assert_eq!((&back["stage"], &back["lines"]), (&json!("DELIVERED"), &json!([])), "{back:#}");
    assert_eq!(cancel(&shopper, &order, "op").await["state"], "CANCELLED");
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 1_000);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_order_is_unpacked() {
    let gateway = Gateway::start().await;
    let (shopper, purse, order) = shop(&gateway).await;
    let number = packed(&gateway, &order, "a", 3).await;
    let cancelled = cancel(&shopper, &order, "op").await;
    assert_eq!(cancelled["state"], "CANCELLED", "{cancelled:#}");
    let query = format!("query($id: ID!) {{ order(id: $id) {{ {FULFILLED} }} }}");
    let seen = shopper.field(&query, json!({ "id": order })).await;
    assert_eq!((&seen["stage"], &seen["shipments"]), (&json!("CANCELLED"), &json!([])));
    for (name, input) in [
        ("shipOrder", json!({ "shipmentNumber": number })),
        ("packOrder", json!({})),
        ("requestReturn", json!({ "shipmentNumber": number })),
    ] {
        let refused = change(&gateway.merchant(), name, &order, input).await;
        assert_eq!(refused["code"], "ORDER_NOT_OPEN", "{name}");
    }
    assert_eq!(balance(&gateway, &purse).await, 1_000);
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_at_once_each_piece_goes_once() {
    let gateway = Gateway::with(long_bounds).await;
    let (shopper, _, order) = shop(&gateway).await;
    let (one, two) = (gateway.merchant(), gateway.user("another", &["merchant"]));
    // Two merchants pack everything, one of them with repeats.
    let packing = json!({ "idempotencyKey": "pack" });
    let calls =
        [&one, &one, &one, &two].map(|client| change(client, "packOrder", &order, packing.clone()));
    let answers = join_all(calls).await;
    let number = answers.iter().filter(|answer| answer["__typename"] == "Order").count();
    let refused = answers.iter().filter(|answer| answer["code"] == "TOO_MANY_PIECES").count();
    assert!([(3, 1), (1, 3)].contains(&(number, refused)), "{answers:#?}");
    let document = stored(&gateway, "orders", &order).await;
    assert_eq!(document.get_array("shipments").expect("shipments").len(), 1);
    // One ships while the customer cancels: one of the two is refused.
    let ship = change(&one, "shipOrder", &order, json!({ "shipmentNumber": 1 }));
    let (ship, cancelled) = tokio::join!(ship, cancel(&shopper, &order, "op"));
    let outcome = (ship["__typename"].clone(), cancelled["__typename"].clone());
    let allowed = [("Order", "OrderShipped"), ("OrderNotOpen", "Order")];
    assert!(
        allowed.map(|(ship, cancel)| (json!(ship), json!(cancel))).contains(&outcome),
        "{ship:#} {cancelled:#}"
    );
    settled(&gateway).await;
    gateway.assert_sound().await;
    // The same key with another input is a conflict.
    let other = json!({ "idempotencyKey": "pack", "lines": [{ "sku": "a", "quantity": 1 }] });
    let winner = if number == 3 { &one } else { &two };
    assert_eq!(change(winner, "packOrder", &order, other).await["code"], "CONFLICT");
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_an_order_is_packed_once() {
    let query = change_query("packOrder", "");
    cuts::everywhere(
        short_bounds,
        subject,
        async |gateway, subject: &Subject| {
            let input = json!({ "orderId": subject.order, "idempotencyKey": "op" });
            let _whatever = gateway.merchant().send(&query, json!({ "input": input })).await;
        },
        async |gateway, case| {
            let order = stored(gateway, "orders", &case.subject.order).await;
            let named = format!("{:?} at {}", case.way, case.at);
            assert_eq!(order.get_array("shipments").expect("shipments").len(), 1, "{named}");
            assert_eq!(order.get_str("stage").expect("a stage"), "PACKED", "{named}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_release_before_left_behind_is_repaired() {
    let gateway = Gateway::start().await;
    let (shopper, purse, order) = shop(&gateway).await;
    shipped(&gateway, &order, "a", 3).await;
    shipped(&gateway, &order, "b", 1).await;
    let another = placed(&shopper, &purse, &[("a", 1)]).await;
    settled(&gateway).await;
    gateway.assert_sound().await;
    // The stage that such a release doesn't know, and an order that it has placed.
    let set = async |id: &str, update: Document| {
        let changed = gateway.raw("orders").update_one(doc! { "_id": key(id) }, update).await;
        changed.expect("an update");
    };
    set(&order, doc! { "$set": { "stage": "PACKED" } }).await;
    let number = stored(&gateway, "orders", &another).await;
    let number = number.get_str("number").expect("a number").to_owned();
    set(&another, doc! { "$unset": { "stage": 1, "number": 1, "skus": 1 } }).await;
    let claim = gateway.raw("orderNumbers").delete_one(doc! { "_id": &number }).await;
    assert_eq!(claim.expect("a removal").deleted_count, 1);
    let room = docgate::domains::ROOMS.iter().find(|room| room.name == "orders").expect("a room");
    let mut report = Report::default();
    room.check.expect("a check")(&gateway.app, &mut report).await.expect("checked");
    let broken: Vec<_> = report.rules.iter().flat_map(|(_, broken)| broken).collect();
    assert_eq!(broken.len(), 1, "an order without a stage is none: {broken:#?}");
    let repair = room.repair.expect("a repair");
    // What was bought together is counted anew as well: no sweep has done it.
    let repaired = repair(&gateway.app, Progress::default()).await.expect("repaired");
    let of_orders = repaired.iter().filter(|what| what.contains(" of order ")).count();
    assert_eq!(of_orders, 4, "{repaired:#?}");
    assert_eq!(repair(&gateway.app, Progress::default()).await.expect("repaired").len(), 0);
    gateway.assert_sound().await;
    let document = stored(&gateway, "orders", &order).await;
    assert_eq!(document.get_str("stage").expect("a stage"), "SHIPPED");
    let document = stored(&gateway, "orders", &another).await;
    assert_eq!(document.get_str("stage").expect("a stage"), "PLACED");
    assert_eq!(document.get_str("number").expect("a number"), number, "it follows from the id");
}
