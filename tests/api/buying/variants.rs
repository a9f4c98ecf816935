//! Variants in carts and orders, also those that are deleted meanwhile.

use serde_json::{Value, json};

use super::{cancel, checkout};
use crate::{
    catalog::variants::{added, delete, update, variant},
    commands::sends_only,
    orders::fulfilment::{change, shipped},
    shop::{account, add, balance, cart, settled, stock},
    support::{Client, Gateway, commands, cuts, short_bounds},
};

/// A shirt for 1000 in two variants, for 1200 and 900, with so many pieces of each.
async fn shirts(gateway: &Gateway, sku: &str, quantity: i64) {
    gateway.product(sku, 1000, "EUR").await;
    for (code, size, difference) in [("m", "M", 200), ("l", "L", -100)] {
        let sku = format!("{sku}.{code}");
        added(gateway, variant(&sku, ["red", size], difference)).await;
        let received =
            gateway.merchant().receive_stock(json!({ "sku": sku, "quantity": quantity })).await;
        assert_eq!(received["available"], quantity, "{received:#}");
    }
}

const LINES: &str = "query($id: ID!) { cart(id: $id) { lines { sku title variantTitle \
    unitPrice { minorUnits } priceNow { minorUnits } priceChanged product { sku } \
    variant { sku title } } } }";

/// The lines of a cart.
async fn lines(client: &Client, id: &str) -> Vec<Value> {
    let cart = client.field(LINES, json!({ "id": id })).await;
    cart["lines"].as_array().unwrap_or_else(|| panic!("{cart:#}")).clone()
}

async fn accept(client: &Client, id: &str) -> Value {
    let accept = "mutation($id: ID!) { acceptPrices(input: { cartId: $id }) { __typename \
        ... on Cart { total { minorUnits } } } }";
    client.field(accept, json!({ "id": id })).await["total"]["minorUnits"].clone()
}

/// Sets the price difference of the variant `shirt.m`.
async fn reprice(gateway: &Gateway, difference: i64) {
    let query = "{ product(sku: \"shirt\") { variants { version } } }";
    let found = gateway.anonymous().field(query, json!({})).await;
    let version = found["variants"][0]["version"].as_str().expect("a version").to_owned();
    let new = variant("shirt.m", ["red", "M"], difference);
    let updated = update(&gateway.merchant(), new, &version).await;
    assert!(updated["sku"].is_string(), "{updated:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variant_is_bought_at_its_price_from_its_stock() {
    let gateway = Gateway::start().await;
    shirts(&gateway, "shirt", 5).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 10_000).await;
    let id = cart(&shopper, "RESERVE", &[("shirt.m", 2), ("shirt.l", 1)]).await;
    assert_eq!(stock(&gateway, "shirt.m").await, (3, 2, 0));
    let found = lines(&shopper, &id).await;
    let expected = json!({
        "sku": "shirt.m", "title": "Title of shirt", "variantTitle": "red / M",
        "unitPrice": { "minorUnits": 1200 }, "priceNow": { "minorUnits": 1200 },
        "priceChanged": false, "product": { "sku": "shirt" },
        "variant": { "sku": "shirt.m", "title": "red / M" },
    });
    assert_eq!(found[0], expected);
    assert_eq!(found[1]["unitPrice"]["minorUnits"], 900);
    let placed = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(placed["total"]["minorUnits"], 3300, "{placed:#}");
    settled(&gateway).await;
    assert_eq!(stock(&gateway, "shirt.m").await, (3, 0, 2));
    let order = placed["id"].as_str().expect("an order");
    let query = "query($id: ID!) { order(id: $id) { lines { sku variantTitle \
        unitPrice { minorUnits } variant { title } product { sku } } } }";
    let found = shopper.field(query, json!({ "id": order })).await;
    let expected = json!({
        "sku": "shirt.m", "variantTitle": "red / M", "unitPrice": { "minorUnits": 1200 },
        "variant": { "title": "red / M" }, "product": { "sku": "shirt" },
    });
    assert_eq!(found["lines"][0], expected, "{found:#}");
    // Merchants find the order by the SKU of each variant, and by that of their product.
    let query = "query($sku: ID!) { orders(by: { sku: $sku }, first: 5) { nodes { id } } }";
    for (sku, count) in [("shirt.m", 1), ("shirt.l", 1), ("shirt", 1), ("shirt.x", 0)] {
        let found = gateway.merchant().field(query, json!({ "sku": sku })).await;
        assert_eq!(found["nodes"].as_array().map(Vec::len), Some(count), "{sku}: {found:#}");
    }
    let cancelled = cancel(&shopper, order, "cancel").await;
    assert_eq!(cancelled["state"], "CANCELLED", "{cancelled:#}");
    settled(&gateway).await;
    assert_eq!(stock(&gateway, "shirt.m").await, (5, 0, 0));
    assert_eq!(balance(&gateway, &purse).await, 10_000);
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_returned_variant_comes_back_to_its_stock_also_after_its_deletion() {
    let gateway = Gateway::start().await;
    shirts(&gateway, "shirt", 5).await;
    let shopper = gateway.shopper("ann");
    let purse = account(&gateway, "ann", 10_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("shirt.m", 2)]).await;
    let placed = checkout(&shopper, &id, &purse, "op").await;
    let order = placed["id"].as_str().expect("an order");
    settled(&gateway).await;
    assert_eq!(shipped(&gateway, order, "shirt.m", 2).await, 1);
    let deleted = delete(&gateway.merchant(), "shirt.m").await;
    assert_eq!(deleted["__typename"], "DeletedVariant", "{deleted:#}");
    let returned = json!([{ "sku": "shirt.m", "quantity": 1 }]);
    let input = json!({ "shipmentNumber": 1, "lines": returned, "reason": "Too small" });
    let requested = change(&shopper, "requestReturn", order, input).await;
    assert_eq!(requested["__typename"], "Order", "{requested:#}");
    for _ in 0..2 {
        let input = json!({ "returnNumber": 1, "idempotencyKey": "accept" });
        let accepted = change(&gateway.merchant(), "acceptReturn", order, input).await;
        assert_eq!(accepted["__typename"], "Order", "{accepted:#}");
    }
    settled(&gateway).await;
    assert_eq!(stock(&gateway, "shirt.m").await, (4, 0, 1));
    assert_eq!(balance(&gateway, &purse).await, 10_000 - 1200);
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prices_of_variants_change_with_the_difference_and_the_product() {
    let gateway = Gateway::start().await;
    shirts(&gateway, "shirt", 5).await;
    let shopper = gateway.shopper("ann");
    let lines_of = [("shirt.m", 1), ("shirt.l", 1), ("shirt", 1)];
    let id = cart(&shopper, "AT_CHECKOUT", &lines_of).await;
    reprice(&gateway, 300).await;
    let now = async || {
        let found = lines(&shopper, &id).await;
        let now = |line: &Value| line["priceNow"]["minorUnits"].as_i64();
        found.iter().filter_map(now).collect::<Vec<_>>()
    };
    assert_eq!(now().await, [1300, 900, 1000]);
    gateway.reprice("shirt", 2000).await;
    assert_eq!(now().await, [2300, 1900, 2000]);
    assert!(lines(&shopper, &id).await.iter().all(|line| line["priceChanged"] == true));
    assert_eq!(accept(&shopper, &id).await, 6200);
    // The lines of one product are one read.
    let response = shopper.explained(LINES, json!({ "id": id })).await;
    let mut sent = commands(&response);
    sent.sort();
    sent.dedup();
    assert_eq!(sent, ["find carts", "find products"]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn adding_a_variant_sends_what_adding_a_product_sends() {
    let base = Gateway::start().await;
    shirts(&base, "shirt", 5).await;
    let id = cart(&base.shopper("ann"), "RESERVE", &[]).await;
    let add = async |gateway: &Gateway| {
        let (query, variables) = Client::adding(&id, "shirt.m", 1, Some("op"));
        let added = gateway.shopper("ann").field(&query, variables).await;
        assert_eq!(added["__typename"], "Cart", "{added:#}");
    };
    let expected = ["find carts", "find products", "update inventory", "findAndModify carts"];
    sends_only(&base, add, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_has_the_availability_of_products_with_their_variants() {
    let gateway = Gateway::with(|config| config.low_stock = 5).await;
    shirts(&gateway, "shirt", 3).await;
    shirts(&gateway, "trousers", 2).await;
    gateway.product("hat", 100, "EUR").await;
    let query = "{ products(by: { titleStartsWith: { prefix: \"title\" } }) { nodes { sku \
        availability variants { sku availability stock { available } } } } }";
    let response = gateway.anonymous().explained(query, json!({})).await;
    let mut nodes = response["data"]["products"]["nodes"].as_array().expect("products").clone();
    nodes.sort_by_key(|node| node["sku"].as_str().map(str::to_owned));
    let seen = |node: &Value| (node["sku"].clone(), node["availability"].clone());
    let expected = [("hat", "OUT"), ("shirt", "IN_STOCK"), ("trousers", "LOW")];
    let expected = expected.map(|(sku, of)| (json!(sku), json!(of)));
    assert_eq!(nodes.iter().map(seen).collect::<Vec<_>>(), expected);
    let first = json!({ "sku": "shirt.m", "availability": "LOW", "stock": { "available": 3 } });
    assert_eq!(nodes[1]["variants"][0], first);
    let mut sent = commands(&response);
    sent.sort();
    assert_eq!(sent, ["find inventory", "find products"]);
    let stocks = "{ stocks(skus: [\"shirt.m\", \"shirt\", \"shirt.none\"]) { sku available } }";
    let found = gateway.anonymous().field(stocks, json!({})).await;
    let stock = |sku: &str, available: i64| json!({ "sku": sku, "available": available });
    assert_eq!(found, json!([stock("shirt.m", 3), stock("shirt", 0), null]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variant_that_carts_hold_isnt_deleted() {
    let gateway = Gateway::start().await;
    shirts(&gateway, "shirt", 5).await;
    let (shopper, merchant) = (gateway.shopper("ann"), gateway.merchant());
    let id = cart(&shopper, "RESERVE", &[("shirt.m", 1)]).await;
    let before = gateway.snapshot().await;
    assert_eq!(delete(&merchant, "shirt.m").await["__typename"], "InUse");
    assert!(gateway.snapshot().await == before);
    assert_eq!(delete(&merchant, "shirt.l").await["__typename"], "DeletedVariant");
    shopper.cancel(&id).await;
    assert_eq!(delete(&merchant, "shirt.m").await["__typename"], "DeletedVariant");
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variant_that_is_deleted_while_in_carts_isnt_sold() {
    let gateway = Gateway::start().await;
    shirts(&gateway, "shirt", 5).await;
    let (shopper, merchant) = (gateway.shopper("ann"), gateway.merchant());
    let purse = account(&gateway, "ann", 10_000).await;
    let id = cart(&shopper, "AT_CHECKOUT", &[("shirt.m", 1), ("shirt.l", 1)]).await;
    assert_eq!(delete(&merchant, "shirt.m").await["__typename"], "DeletedVariant");
    // The line stays as it was, and shows that it can't be bought.
    let found = lines(&shopper, &id).await;
    let expected = json!({
        "sku": "shirt.m", "title": "Title of shirt", "variantTitle": "red / M",
        "unitPrice": { "minorUnits": 1200 }, "priceNow": null, "priceChanged": false,
        "product": null, "variant": null,
    });
    assert_eq!(found[0], expected);
    assert_eq!(found[1]["product"]["sku"], "shirt");
    assert_eq!(accept(&shopper, &id).await, 2100);
    assert_eq!(add(&shopper, &id, "shirt.m", 1).await["code"], "NOT_FOUND");
    let short = checkout(&shopper, &id, &purse, "op").await;
    assert_eq!(short["__typename"], "CheckoutShort", "{short:#}");
    assert_eq!(short["shortLines"], json!([{ "sku": "shirt.m" }]));
    settled(&gateway).await;
    assert_eq!(balance(&gateway, &purse).await, 10_000);
    assert_eq!(stock(&gateway, "shirt.l").await, (5, 0, 0));
    // Without the line the rest is sold.
    assert_eq!(shopper.remove(&id, "shirt.m").await["__typename"], "Cart");
    let placed = checkout(&shopper, &id, &purse, "rest").await;
    assert_eq!(placed["total"]["minorUnits"], 900, "{placed:#}");
    settled(&gateway).await;

    // A new variant under the SKU is bought at the price of the line, as a product is.
    let id = cart(&shopper, "AT_CHECKOUT", &[("shirt.l", 1)]).await;
    assert_eq!(delete(&merchant, "shirt.l").await["__typename"], "DeletedVariant");
    added(&gateway, variant("shirt.l", ["green", "L"], 500)).await;
    let found = lines(&shopper, &id).await;
    assert_eq!(
        (&found[0]["variantTitle"], &found[0]["priceChanged"]),
        (&json!("red / L"), &json!(true))
    );
    let placed = checkout(&shopper, &id, &purse, "again").await;
    assert_eq!(placed["total"]["minorUnits"], 900, "{placed:#}");
    settled(&gateway).await;
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_checkout_and_a_deletion_at_once_both_are_told_the_truth() {
    let gateway = Gateway::start().await;
    let (shopper, merchant) = (gateway.shopper("ann"), gateway.merchant());
    let purse = account(&gateway, "ann", 100_000).await;
    for n in 0..8 {
        let sku = format!("shirt-{n}.m");
        shirts(&gateway, &format!("shirt-{n}"), 5).await;
        let id = cart(&shopper, "AT_CHECKOUT", &[(&sku, 1)]).await;
        let op = n.to_string();
        let (bought, deleted) =
            tokio::join!(checkout(&shopper, &id, &purse, &op), delete(&merchant, &sku));
        let (bought, deleted) = (&bought["__typename"], &deleted["__typename"]);
        match bought.as_str() {
            // Before the deletion or while it was refused; what is sold doesn't hinder a deletion.
            Some("Order") => assert!(deleted == "InUse" || deleted == "DeletedVariant"),
            Some("CheckoutShort") => assert_eq!(deleted, "DeletedVariant"),
            other => panic!("{other:?}"),
        }
        settled(&gateway).await;
        let (available, reserved, sold) = stock(&gateway, &sku).await;
        let expected = i64::from(bought == "Order");
        assert_eq!((available, reserved, sold), (5 - expected, 0, expected));
    }
    gateway.sweep().await;
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_at_any_command_a_variant_in_a_cart_is_deleted_once() {
    cuts::everywhere(
        short_bounds,
        async |gateway, n| {
            let sku = format!("shirt-{n}");
            shirts(gateway, &sku, 5).await;
            let id =
                cart(&gateway.shopper("ann"), "AT_CHECKOUT", &[(&format!("{sku}.m"), 1)]).await;
            (sku, id)
        },
        async |gateway, (sku, _): &(String, String)| {
            let delete =
                "mutation($sku: ID!) { deleteVariant(input: { sku: $sku }) { __typename } }";
            let variables = json!({ "sku": format!("{sku}.m") });
            gateway.merchant().send(delete, variables).await.ok();
        },
        async |gateway, case| {
            let found = lines(&gateway.shopper("ann"), &case.subject.1).await;
            assert_eq!(found[0]["priceNow"], Value::Null, "{case:?}");
            assert_eq!(found[0]["variantTitle"], "red / M", "{case:?}");
        },
    )
    .await;
}
