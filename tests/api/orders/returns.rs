//! Returns: requested by customers, decided on by merchants; goods and money go back once.

use futures_util::future::join_all;
use mongodb::bson::{DateTime, doc};
use serde_json::{Value, json};

use super::{
    Subject, adjust, cancel,
    fulfilment::{change, change_query, packed, shipped},
    order_query, shop, subject,
};
use crate::{
    shop::{balance, placed, settled, stock, stocked, stored},
    support::{Client, Gateway, cuts, key, long_bounds, short_bounds},
};

/// Requests the return of pieces of one SKU of a shipment.
async fn request(client: &Client, order: &str, shipment: i64, sku: &str, quantity: i64) -> Value {
    let lines = json!([{ "sku": sku, "quantity": quantity }]);
    let input = json!({ "shipmentNumber": shipment, "lines": lines, "reason": "Too small" });
    change(client, "requestReturn", order, input).await
}

async fn accept(client: &Client, order: &str, number: i64, op: &str) -> Value {
    let input = json!({ "returnNumber": number, "idempotencyKey": op });
    change(client, "acceptReturn", order, input).await
}

fn amount(order: &Value, field: &str) -> i64 {
    order[field]["minorUnits"].as_i64().unwrap_or_else(|| panic!("{order:#}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_return_gives_goods_and_money_back_once() {
    let gateway = Gateway::with(long_bounds).await;
    let (shopper, purse, order) = shop(&gateway).await;
    let merchant = gateway.merchant();
    let shipment = shipped(&gateway, &order, "a", 3).await;
    assert_eq!(shipped(&gateway, &order, "b", 1).await, 2);
    let requested = request(&shopper, &order, shipment, "a", 2).await;
    let first = &requested["returns"][0];
    assert_eq!(
        (&first["number"], &first["state"], &first["reason"], &first["shipmentNumber"]),
        (&json!(1), &json!("REQUESTED"), &json!("Too small"), &json!(1)),
        "{requested:#}"
    );
    assert_eq!(balance(&gateway, &purse).await, 650, "nothing moves before the merchant decides");
    // Two merchants and a repeat of each at once.
    let another = gateway.user("another", &["merchant"]);
    let clients = [&merchant, &merchant, &another, &another];
    let answers = join_all(clients.map(|client| accept(client, &order, 1, "accept"))).await;
    let won = answers.iter().filter(|answer| answer["__typename"] == "Order").count();
    let refused = answers.iter().filter(|answer| answer["code"] == "RETURN_NOT_OPEN").count();
    assert_eq!((won, refused), (2, 2), "{answers:#?}");
    assert_eq!(balance(&gateway, &purse).await, 850);
    assert_eq!(stock(&gateway, "a").await, (99, 0, 1));
    let seen = answers.iter().find(|answer| answer["__typename"] == "Order").expect("an order");
    assert_eq!((amount(seen, "total"), amount(seen, "refunded")), (150, 200));
    assert_eq!(seen["returns"][0]["state"], "ACCEPTED");
    assert_eq!(seen["stage"], "SHIPPED");
    settled(&gateway).await;
    gateway.assert_sound().await;
    // The last piece, whether it has arrived or not.
    change(&merchant, "deliverOrder", &order, json!({ "shipmentNumber": shipment })).await;
    let rest =
        change(&shopper, "requestReturn", &order, json!({ "shipmentNumber": shipment })).await;
    assert_eq!(rest["returns"][1]["lines"], json!([{ "sku": "a", "quantity": 1 }]));
    let both = accept(&merchant, &order, 2, "second").await;
    assert_eq!((amount(&both, "total"), amount(&both, "refunded")), (50, 300), "{both:#}");
    assert_eq!(both["lines"], json!([{ "sku": "b", "quantity": 1 }]));
    // The order has no line of it any more. Its parcel and its returns still say what it was.
    let pieces = "quantity title type variantTitle unitPrice { minorUnits } total { minorUnits } product { sku }";
    let query = format!(
        "query($id: ID!) {{ order(id: $id) {{ shipments {{ lines {{ {pieces} }} }} \
         returns {{ lines {{ {pieces} }} }} }} product(sku: \"a\") {{ type title }} }}"
    );
    let seen = shopper.data(&query, json!({ "id": order })).await;
    let product = &seen["product"];
    let of = |quantity: i64| {
        json!({
            "quantity": quantity, "title": product["title"], "type": product["type"],
            "variantTitle": null, "unitPrice": { "minorUnits": 100 },
            "total": { "minorUnits": 100 * quantity }, "product": { "sku": "a" },
        })
    };
    let seen = &seen["order"];
    assert_eq!(seen["shipments"][0]["lines"], json!([of(3)]), "{seen:#}");
    assert_eq!(seen["returns"][0]["lines"], json!([of(2)]), "{seen:#}");
    assert_eq!(seen["returns"][1]["lines"], json!([of(1)]), "{seen:#}");
    assert_eq!(stock(&gateway, "a").await, (100, 0, 0));
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_was_shipped_is_not_returned() {
    let gateway = Gateway::with(long_bounds).await;
    let (shopper, _, order) = shop(&gateway).await;
    let merchant = gateway.merchant();
    let first = shipped(&gateway, &order, "a", 2).await;
    let box_only = packed(&gateway, &order, "a", 1).await;
    let more = "... on TooManyPieces { sku requested available }";
    let query = change_query("requestReturn", more);
    let input = json!({ "orderId": order, "shipmentNumber": first, "lines": [{ "sku": "a", "quantity": 3 }] });
    let before = gateway.snapshot().await;
    let beyond = shopper.field(&query, json!({ "input": input })).await;
    assert_eq!(
        (&beyond["code"], &beyond["requested"], &beyond["available"]),
        (&json!("TOO_MANY_PIECES"), &json!(3), &json!(2)),
        "{beyond:#}"
    );
    assert_eq!(request(&shopper, &order, box_only, "a", 1).await["code"], "SHIPMENT_NOT_OPEN");
    assert_eq!(request(&shopper, &order, first, "b", 1).await["code"], "NOT_FOUND");
    assert_eq!(request(&shopper, &order, 9, "a", 1).await["code"], "NOT_FOUND");
    assert_eq!(accept(&merchant, &order, 1, "op").await["code"], "NOT_FOUND");
    // What others own looks like what doesn't exist; only merchants decide.
    for client in [gateway.shopper("bob"), gateway.anonymous()] {
        assert_eq!(request(&client, &order, first, "a", 1).await["code"], "NOT_FOUND");
    }
    for name in ["acceptReturn", "refuseReturn"] {
        let input = json!({ "input": { "orderId": order, "returnNumber": 1 } });
        assert_eq!(shopper.error_code(&change_query(name, ""), input).await, "FORBIDDEN");
    }
    assert_eq!(gateway.snapshot().await, before);

    // Of many requests at once, no more pieces are in returns than were shipped.
    let many = join_all((0..6).map(|_| request(&shopper, &order, first, "a", 1))).await;
    let won = many.iter().filter(|answer| answer["__typename"] == "Order").count();
    assert_eq!(won, 2, "{many:#?}");
    // A refused return sets its pieces free.
    let input = json!({ "returnNumber": 1, "answer": "It was worn" });
    let refused = change(&merchant, "refuseReturn", &order, input.clone()).await;
    let answer = &refused["returns"][0];
    assert_eq!((&answer["state"], &answer["answer"]), (&json!("REFUSED"), &json!("It was worn")));
    assert_eq!(change(&merchant, "refuseReturn", &order, input).await["code"], "RETURN_NOT_OPEN");
    assert_eq!(accept(&merchant, &order, 1, "op").await["code"], "RETURN_NOT_OPEN");
    assert_eq!(request(&shopper, &order, first, "a", 1).await["__typename"], "Order");
    assert_eq!(request(&shopper, &order, first, "a", 1).await["code"], "TOO_MANY_PIECES");
    assert_eq!(stock(&gateway, "a").await, (97, 0, 3));
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_made_once_and_in_time() {
    let gateway = Gateway::with(|config| config.return_days = 14).await;
    let (shopper, _, order) = shop(&gateway).await;
    let number = shipped(&gateway, &order, "a", 3).await;
    let input = json!({ "shipmentNumber": number, "idempotencyKey": "op",
        "lines": [{ "sku": "a", "quantity": 1 }] });
    let same = (0..4).map(|_| change(&shopper, "requestReturn", &order, input.clone()));
    for answer in join_all(same).await {
        assert_eq!(answer["returns"].as_array().map(Vec::len), Some(1), "{answer:#}");
    }
    let other = json!({ "shipmentNumber": number, "idempotencyKey": "op" });
    assert_eq!(change(&shopper, "requestReturn", &order, other).await["code"], "CONFLICT");
    let arrived = json!({ "shipmentNumber": number });
    change(&gateway.merchant(), "deliverOrder", &order, arrived).await;
    assert_eq!(request(&shopper, &order, number, "a", 1).await["__typename"], "Order");
    // Fourteen days later, and a little.
    let one = doc! { "_id": key(&order) };
    let days = 24 * 3_600_000_i64;
    let now = gateway.begin().await.now();
    let ago = DateTime::from_millis(now.timestamp_millis() - 14 * days - 60_000);
    let long_ago = doc! { "$set": { "shipments.0.deliveredAt": ago } };
    gateway.raw("orders").update_one(one, long_ago).await.expect("an update");
    let query = change_query("requestReturn", "... on ReturnTooLate { returnableUntil }");
    let input = json!({ "input": { "orderId": order, "shipmentNumber": number } });
    let late = shopper.field(&query, input).await;
    assert_eq!(late["code"], "RETURN_TOO_LATE", "{late:#}");
    assert!(late["returnableUntil"].is_string());
    // What was requested in time can be accepted.
    assert_eq!(accept(&gateway.merchant(), &order, 1, "op").await["__typename"], "Order");
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_that_came_back_can_be_cancelled_and_one_of_nobody_returned() {
    let short = Gateway::with(short_bounds).await;
    let gateway = short.patient_sibling().await;
    let (shopper, purse, order) = shop(&gateway).await;
    let number = shipped(&gateway, &order, "a", 3).await;
    change(&shopper, "requestReturn", &order, json!({ "shipmentNumber": number })).await;
    assert_eq!(cancel(&shopper, &order, "early").await["code"], "ORDER_SHIPPED");
    assert_eq!(adjust(&shopper, &order, "a", 0, "early").await["code"], "ORDER_SHIPPED");
    accept(&gateway.merchant(), &order, 1, "op").await;
    assert_eq!(cancel(&shopper, &order, "op").await["state"], "CANCELLED");
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 1_000);
    assert_eq!((stock(&gateway, "a").await.2, stock(&gateway, "b").await.2), (0, 0));
    gateway.sweep().await;
    gateway.assert_sound().await;
    // The id of an order without an owner is the capability to return it.
    stocked(&gateway, "free", 0, 10).await;
    let nobody = gateway.anonymous();
    let order = placed(&nobody, "none", &[("free", 2)]).await;
    settled(&gateway).await;
    let number = shipped(&gateway, &order, "free", 2).await;
    let back = request(&nobody, &order, number, "free", 1).await;
    assert_eq!(back["returns"][0]["state"], "REQUESTED", "{back:#}");
    accept(&gateway.merchant(), &order, 1, "op").await;
    assert_eq!(stock(&gateway, "free").await, (9, 0, 1));
    gateway.sweep().await;
    gateway.assert_sound().await;
}

/// A requested return to be cut at.
async fn returned(gateway: &Gateway, n: usize) -> Subject {
    let subject = subject(gateway, n).await;
    let number = shipped(gateway, &subject.order, "a", 3).await;
    let shopper = gateway.shopper(&subject.shopper);
    let asked = request(&shopper, &subject.order, number, "a", 2).await;
    assert_eq!(asked["__typename"], "Order", "{asked:#}");
    subject
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_return_is_accepted_once() {
    let query = change_query("acceptReturn", "");
    cuts::everywhere(
        short_bounds,
        returned,
        async |gateway, subject: &Subject| {
            let input =
                json!({ "orderId": subject.order, "returnNumber": 1, "idempotencyKey": "op" });
            let _whatever = gateway.merchant().send(&query, json!({ "input": input })).await;
        },
        async |gateway, case| {
            let named = format!("{:?} at {}", case.way, case.at);
            let order = stored(gateway, "orders", &case.subject.order).await;
            assert_eq!(order.get_i64("total").expect("a total"), 150, "{named}");
            assert_eq!(balance(gateway, &case.subject.purse).await, 850, "{named}");
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_return_is_requested_once() {
    let query = change_query("requestReturn", "");
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let subject = subject(gateway, n).await;
            shipped(gateway, &subject.order, "a", 3).await;
            subject
        },
        async |gateway, subject: &Subject| {
            let input =
                json!({ "orderId": subject.order, "shipmentNumber": 1, "idempotencyKey": "op" });
            let client = gateway.shopper(&subject.shopper);
            let _whatever = client.send(&query, json!({ "input": input })).await;
        },
        async |gateway, case| {
            let order = stored(gateway, "orders", &case.subject.order).await;
            let returns = order.get_array("returns").expect("returns").len();
            assert_eq!(returns, 1, "{:?} at {}", case.way, case.at);
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_return_is_seen_by_whoever_sees_the_order() {
    let gateway = Gateway::start().await;
    let (shopper, _, order) = shop(&gateway).await;
    let number = shipped(&gateway, &order, "a", 1).await;
    request(&shopper, &order, number, "a", 1).await;
    let query = "query($id: ID!) { order(id: $id) { returns { state lines { sku quantity } } } }";
    let seen = gateway.merchant().field(query, json!({ "id": order })).await;
    assert_eq!(seen["returns"][0]["state"], "REQUESTED");
    let unseen = gateway.shopper("bob").field(&order_query(), json!({ "id": order })).await;
    assert_eq!(unseen, Value::Null);
}
