//! Merchants' lists, their notes, and low stock.

use std::{collections::BTreeMap, time::Duration};

use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{
    adjust, cancel, delete,
    fulfilment::{change, change_query, shipped},
    shop,
};
use crate::{
    catalog::variants::{added, variant},
    shop::{account, placed, settled, stocked},
    support::{Client, Gateway, commands, key, pages_both_ways},
};

const ORDERS: &str = "query($by: OrdersBy) { orders(by: $by, first: 50) { nodes { id } } }";

/// Ids of the orders that a merchant finds by one command.
async fn found(client: &Client, by: Value) -> Vec<String> {
    let response = client.explained(ORDERS, json!({ "by": by })).await;
    assert_eq!(commands(&response), ["find orders"], "{by}: {response:#}");
    let nodes = response["data"]["orders"]["nodes"].as_array().expect("nodes");
    nodes.iter().map(|node| node["id"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn merchants_find_orders_by_stage_customer_product_time_and_number() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    stocked(&gateway, "a", 100, 100).await;
    stocked(&gateway, "b", 50, 100).await;
    let mut purses = BTreeMap::new();
    for name in ["ann", "bob"] {
        purses.insert(name, account(&gateway, name, 5_000).await);
    }
    let mut orders = Vec::new();
    for (name, sku) in [("ann", "a"), ("ann", "b"), ("bob", "a"), ("bob", "b"), ("ann", "a")] {
        orders.push(placed(&gateway.shopper(name), &purses[name], &[(sku, 1)]).await);
        // Times are in milliseconds.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    settled(&gateway).await;
    let newest = |at: &[usize]| at.iter().map(|at| orders[*at].clone()).collect::<Vec<_>>();
    assert_eq!(found(&merchant, json!({})).await, newest(&[4, 3, 2, 1, 0]));
    assert_eq!(found(&merchant, json!(null)).await, newest(&[4, 3, 2, 1, 0]));
    assert_eq!(found(&merchant, json!({ "customerId": "bob" })).await, newest(&[3, 2]));
    assert_eq!(found(&merchant, json!({ "sku": "a" })).await, newest(&[4, 2, 0]));
    assert_eq!(found(&merchant, json!({ "customerId": "nobody" })).await, newest(&[]));
    let time = "query($id: ID!) { order(id: $id) { placedAt number customerId } }";
    let third = merchant.field(time, json!({ "id": orders[2] })).await;
    // From an order to the other ones of its customer.
    assert_eq!(third["customerId"], "bob");
    assert_eq!(gateway.shopper("bob").field(time, json!({ "id": orders[2] })).await, third);
    let (at, number) = (&third["placedAt"], &third["number"]);
    assert_eq!(found(&merchant, json!({ "placedFrom": at })).await, newest(&[4, 3, 2]));
    assert_eq!(found(&merchant, json!({ "placedBefore": at })).await, newest(&[1, 0]));
    let earlier = "2020-01-01T00:00:00Z";
    let range = json!({ "sku": "a", "placedFrom": earlier, "placedBefore": at });
    assert_eq!(found(&merchant, range).await, newest(&[0]));
    for before in [at, &json!(earlier)] {
        let range = json!({ "by": { "sku": "a", "placedFrom": at, "placedBefore": before } });
        let refused = merchant.run(ORDERS, range).await;
        let error = &refused["errors"][0]["extensions"];
        assert_eq!(error["code"], "BAD_USER_INPUT", "{refused:#}");
        assert_eq!(error["field"], "by.placedBefore", "{refused:#}");
    }
    assert_eq!(found(&merchant, json!({ "sku": "a", "placedFrom": at })).await, newest(&[4, 2]));
    let by = json!({ "by": { "number": number } });
    let one = merchant.field(ORDERS, by).await;
    assert_eq!(one["nodes"], json!([{ "id": orders[2] }]));
    assert_eq!(
        merchant.field(ORDERS, json!({ "by": { "number": "0" } })).await["nodes"],
        json!([])
    );
    assert_eq!(merchant.field(ORDERS, json!({ "by": { "sku": "a.b" } })).await["nodes"], json!([]));

    // Stages.
    change(&merchant, "packOrder", &orders[0], json!({})).await;
    shipped(&gateway, &orders[1], "b", 1).await;
    shipped(&gateway, &orders[2], "a", 1).await;
    change(&merchant, "deliverOrder", &orders[2], json!({ "shipmentNumber": 1 })).await;
    cancel(&gateway.shopper("bob"), &orders[3], "op").await;
    for (stage, at) in
        [("PLACED", 4), ("PACKED", 0), ("SHIPPED", 1), ("DELIVERED", 2), ("CANCELLED", 3)]
    {
        assert_eq!(found(&merchant, json!({ "stage": stage })).await, newest(&[at]), "{stage}");
    }
    assert_eq!(found(&merchant, json!({ "stage": "CANCELLING" })).await, newest(&[]));
    let later = json!({ "stage": "SHIPPED", "placedFrom": at });
    assert_eq!(found(&merchant, later).await, newest(&[]));
    // Returns to be decided on.
    let returned = json!({ "returnRequested": true });
    assert_eq!(found(&merchant, returned.clone()).await, newest(&[]));
    change(&gateway.shopper("bob"), "requestReturn", &orders[2], json!({ "shipmentNumber": 1 }))
        .await;
    assert_eq!(found(&merchant, returned.clone()).await, newest(&[2]));
    let without = |mut filter: Value| {
        filter["returnRequested"] = json!(false);
        filter
    };
    assert_eq!(found(&merchant, without(json!({}))).await, newest(&[4, 3, 1, 0]));
    assert_eq!(found(&merchant, without(json!({ "sku": "a" }))).await, newest(&[4, 0]));
    assert_eq!(found(&merchant, without(json!({ "stage": "DELIVERED" }))).await, newest(&[]));
    let numbered = json!({ "by": without(json!({ "number": number })) });
    assert_eq!(merchant.error_code(ORDERS, numbered).await, "BAD_USER_INPUT");
    change(&merchant, "acceptReturn", &orders[2], json!({ "returnNumber": 1 })).await;
    assert_eq!(found(&merchant, returned).await, newest(&[]));
    // What was deleted is in no list.
    settled(&gateway).await;
    assert_eq!(delete(&gateway.admin(), &orders[3]).await["__typename"], "DeletedOrder");
    assert_eq!(found(&merchant, json!({ "stage": "CANCELLED" })).await, newest(&[]));
    assert_eq!(found(&merchant, json!({})).await, newest(&[4, 2, 1, 0]));
    gateway.assert_sound().await;

    let two = json!({ "by": { "customerId": "bob", "sku": "a" } });
    assert_eq!(merchant.error_code(ORDERS, two).await, "BAD_USER_INPUT");
    let timed = json!({ "by": { "number": number, "placedFrom": at } });
    assert_eq!(merchant.error_code(ORDERS, timed).await, "BAD_USER_INPUT");
    assert_eq!(gateway.shopper("ann").error_code(ORDERS, json!({})).await, "FORBIDDEN");
    assert_eq!(gateway.anonymous().error_code(ORDERS, json!({})).await, "UNAUTHENTICATED");
}

/// The SKU of a product stands for its variants, by the one range of the one index that finds variants too.
#[tokio::test(flavor = "multi_thread")]
async fn orders_of_variants_are_found_by_the_sku_of_their_product() {
    let gateway = Gateway::start().await;
    let merchant = gateway.merchant();
    for sku in ["shirt", "tie"] {
        stocked(&gateway, sku, 0, 100).await;
    }
    for code in ["m", "l"] {
        let sku = format!("shirt.{code}");
        added(&gateway, variant(&sku, ["red", code], 0)).await;
        merchant.receive_stock(json!({ "sku": sku, "quantity": 100 })).await;
    }
    let ann = gateway.shopper("ann");
    let mut orders = Vec::new();
    let each: [&[&str]; 5] =
        [&["shirt.m"], &["shirt.l", "tie"], &["shirt"], &["tie"], &["shirt.m", "shirt.l"]];
    for skus in each {
        let lines: Vec<_> = skus.iter().map(|sku| (*sku, 1)).collect();
        orders.push(placed(&ann, "none", &lines).await);
        // Times are in milliseconds.
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    settled(&gateway).await;
    let newest = |at: &[usize]| at.iter().map(|at| orders[*at].clone()).collect::<Vec<_>>();
    let all: [(&str, &[usize]); 6] = [
        ("shirt", &[4, 2, 1, 0]),
        ("shirt.m", &[4, 0]),
        ("shirt.l", &[4, 1]),
        ("tie", &[3, 1]),
        ("shir", &[]),
        ("shirt.x", &[]),
    ];
    for (sku, at) in all {
        assert_eq!(found(&merchant, json!({ "sku": sku })).await, newest(at), "{sku}");
    }
    let pages = pages_both_ways(&merchant, "orders(by: { sku: \"shirt\" }", "id").await;
    assert_eq!(pages.len(), 4, "{pages:#?}");
    let time = "query($id: ID!) { order(id: $id) { placedAt } }";
    let third = merchant.field(time, json!({ "id": orders[2] })).await;
    let range = json!({ "sku": "shirt", "placedBefore": third["placedAt"] });
    assert_eq!(found(&merchant, range).await, newest(&[1, 0]));

    // A line that is lowered to zero is still there, and a deleted order isn't.
    adjust(&ann, &orders[0], "shirt.m", 0, "none").await;
    cancel(&ann, &orders[4], "cancel").await;
    settled(&gateway).await;
    assert_eq!(delete(&gateway.admin(), &orders[4]).await["__typename"], "DeletedOrder");
    assert_eq!(found(&merchant, json!({ "sku": "shirt" })).await, newest(&[2, 1, 0]));
    assert_eq!(found(&merchant, json!({ "sku": "shirt.m" })).await, newest(&[0]));
    // An order of an earlier version is found once it has changed.
    let unknown = doc! { "$unset": { "skus": 1 } };
    let before = gateway.raw("orders").update_one(doc! { "_id": key(&orders[1]) }, unknown).await;
    assert_eq!(before.expect("an update").modified_count, 1);
    assert_eq!(found(&merchant, json!({ "sku": "shirt" })).await, newest(&[2, 0]));
    adjust(&ann, &orders[1], "tie", 2, "more").await;
    assert_eq!(found(&merchant, json!({ "sku": "shirt" })).await, newest(&[2, 1, 0]));
    assert_eq!(found(&merchant, json!({ "sku": "tie" })).await, newest(&[3, 1]));
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_comes_in_pages_from_both_ends() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "free", 0, 100).await;
    let shopper = gateway.shopper("ann");
    for _ in 0..5 {
        placed(&shopper, "none", &[("free", 1)]).await;
    }
    settled(&gateway).await;
    for by in ["", "by: { stage: PLACED }", "by: { customerId: \"ann\" }", "by: { sku: \"free\" }"]
    {
        let list = if by.is_empty() { "orders(".to_owned() } else { format!("orders({by}") };
        let found = pages_both_ways(&gateway.merchant(), &list, "id").await;
        assert_eq!(found.len(), 5, "{by}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_are_for_merchants_only() {
    let gateway = Gateway::start().await;
    let (shopper, _, order) = shop(&gateway).await;
    let merchant = gateway.merchant();
    let query = "query($id: ID!) { order(id: $id) { changedAt notes { author text writtenAt } } }";
    let before = merchant.field(query, json!({ "id": order })).await;
    let note = json!({ "text": "  Call before noon: $5 off  ", "idempotencyKey": "op" });
    for _ in 0..2 {
        let noted = change(&merchant, "noteOrder", &order, note.clone()).await;
        assert_eq!(noted["__typename"], "Order", "{noted:#}");
    }
    let seen = merchant.field(query, json!({ "id": order })).await;
    let notes = seen["notes"].as_array().expect("notes");
    assert_eq!(
        (notes.len(), &notes[0]["text"]),
        (1, &json!("Call before noon: $5 off")),
        "{seen:#}"
    );
    assert_eq!(seen["changedAt"], before["changedAt"], "customers don't learn of it");
    let response = shopper.run(query, json!({ "id": order })).await;
    assert_eq!(response["errors"][0]["extensions"]["code"], "FORBIDDEN");
    assert_eq!(response["data"]["order"]["notes"], Value::Null);
    assert!(response["data"]["order"]["changedAt"].is_string(), "{response:#}");
    let input = json!({ "input": { "orderId": order, "text": "mine" } });
    assert_eq!(shopper.error_code(&change_query("noteOrder", ""), input).await, "FORBIDDEN");
    for text in ["", " ", &"x".repeat(1_001)] {
        let refused = change(&merchant, "noteOrder", &order, json!({ "text": text })).await;
        assert_eq!(refused["code"], "INVALID_INPUT");
    }
    // An order that is cancelled can have notes too, and no more than fifty.
    cancel(&shopper, &order, "op").await;
    for n in 1..50 {
        let text = json!({ "text": format!("{n}") });
        let answer = change(&merchant, "noteOrder", &order, text).await;
        assert_eq!(answer["__typename"], "Order", "{n}: {answer:#}");
    }
    let full = change(&merchant, "noteOrder", &order, json!({ "text": "one more" })).await;
    assert_eq!(full["code"], "IN_USE");
    settled(&gateway).await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn low_stock_comes_first_of_what_there_is_least() {
    let gateway = Gateway::start().await;
    for (sku, quantity) in [("many", 5_000), ("some", 40), ("few", 3), ("fewer", 2), ("limit", 50)]
    {
        stocked(&gateway, sku, 0, quantity).await;
    }
    placed(&gateway.shopper("ann"), "none", &[("few", 3)]).await;
    settled(&gateway).await;
    let low = "query($below: Int!) { lowStock(below: $below) { nodes { sku available sold } } }";
    let response = gateway.merchant().explained(low, json!({ "below": 50 })).await;
    assert_eq!(commands(&response), ["find inventory"], "{response:#}");
    let expected = json!([
        { "sku": "few", "available": 0, "sold": 3 },
        { "sku": "fewer", "available": 2, "sold": 0 },
        { "sku": "some", "available": 40, "sold": 0 },
    ]);
    assert_eq!(response["data"]["lowStock"]["nodes"], expected);
    let found = pages_both_ways(&gateway.merchant(), "lowStock(below: 1000", "sku").await;
    assert_eq!(found.len(), 4, "{found:#?}");
    // What it is comes by one command more for all of the list, of products and of variants.
    added(&gateway, variant("few.m", ["red", "M"], 0)).await;
    gateway.merchant().receive_stock(json!({ "sku": "few.m", "quantity": 1 })).await;
    let named = "{ lowStock(below: 3) { nodes { sku product { sku } variant { title } } } }";
    let response = gateway.merchant().explained(named, json!({})).await;
    assert_eq!(commands(&response), ["find inventory", "find products"], "{response:#}");
    let expected = json!([
        { "sku": "few", "product": { "sku": "few" }, "variant": null },
        { "sku": "few.m", "product": { "sku": "few" }, "variant": { "title": "red / M" } },
        { "sku": "fewer", "product": { "sku": "fewer" }, "variant": null },
    ]);
    assert_eq!(response["data"]["lowStock"]["nodes"], expected);
    // A deleted product isn't listed.
    let delete = "mutation { deleteProduct(input: { sku: \"fewer\" }) { __typename } }";
    gateway.merchant().field(delete, json!({})).await;
    settled(&gateway).await;
    let left = gateway.merchant().field(low, json!({ "below": 3 })).await;
    assert_eq!(left["nodes"].as_array().map(Vec::len), Some(2), "{left:#}");
    // Nor is a deleted variant.
    let delete = "mutation { deleteVariant(input: { sku: \"few.m\" }) { __typename } }";
    gateway.merchant().field(delete, json!({})).await;
    let left = gateway.merchant().field(low, json!({ "below": 3 })).await;
    assert_eq!(left["nodes"], json!([{ "sku": "few", "available": 0, "sold": 3 }]));
    for below in [0, -1, 1_001] {
        let code = gateway.merchant().error_code(low, json!({ "below": below })).await;
        assert_eq!(code, "BAD_USER_INPUT", "{below}");
    }
    assert_eq!(gateway.shopper("ann").error_code(low, json!({ "below": 5 })).await, "FORBIDDEN");
}
