//! Availability in lists, and the stock of several products.

use serde_json::{Value, json};

use crate::support::{Gateway, commands};

/// Products with 10, 3, 1 and no pieces; one of them never had any.
async fn shelves() -> Gateway {
    let gateway = Gateway::with(|config| config.low_stock = 3).await;
    for (sku, pieces) in [("a", 10), ("b", 3), ("c", 1)] {
        gateway.stocked(sku, pieces).await;
    }
    gateway.product("d", 100, "EUR").await;
    gateway
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_reads_availability_by_one_command() {
    let gateway = shelves().await;
    let by = "by: { priceBetween: { currency: \"EUR\", min: 0, max: 100000 } }";
    let query = format!("{{ products({by}) {{ nodes {{ sku availability }} }} }}");
    let response = gateway.anonymous().explained(&query, json!({})).await;
    let mut nodes = response["data"]["products"]["nodes"].as_array().expect("products").clone();
    nodes.sort_by_key(|node| node["sku"].as_str().map(str::to_owned));
    assert_eq!(
        nodes,
        [
            json!({ "sku": "a", "availability": "IN_STOCK" }),
            json!({ "sku": "b", "availability": "LOW" }),
            json!({ "sku": "c", "availability": "LOW" }),
            json!({ "sku": "d", "availability": "OUT" }),
        ]
    );
    let sent = |response: &Value| {
        let mut sent = commands(response);
        sent.sort();
        sent
    };
    assert_eq!(sent(&response), ["find inventory", "find products"]);
    // The numbers come with the same command.
    let query = query.replace("availability", "availability stock { available reserved }");
    let response = gateway.merchant().explained(&query, json!({})).await;
    assert!(response.get("errors").is_none(), "{response:#}");
    assert_eq!(sent(&response), ["find inventory", "find products"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn availability_of_a_list_is_the_same_however_it_is_selected() {
    let gateway = shelves().await;
    let by = "by: { priceBetween: { currency: \"EUR\", min: 0, max: 100000 } }";
    let expected = [("a", "IN_STOCK"), ("b", "LOW"), ("c", "LOW"), ("d", "OUT")];
    for fields in [
        "nodes { sku availability }",
        "nodes { sku availability again: availability }",
        "nodes { sku ... on Product { availability } }",
        "nodes { sku availability related { nodes { availability } } }",
        "nodes { sku availability variants { availability } }",
        "nodes: edges { node { sku availability } }",
    ] {
        let query = format!("{{ products({by}) {{ {fields} }} }}");
        let found = gateway.anonymous().field(&query, json!({})).await;
        let nodes = found["nodes"].as_array().expect("products").iter();
        let nodes = nodes.map(|one| one.get("node").unwrap_or(one));
        let mut seen: Vec<_> = nodes
            .map(|node| (node["sku"].as_str().expect("a SKU"), node["availability"].as_str()))
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, expected.map(|(sku, level)| (sku, Some(level))), "{fields}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn availability_follows_the_stock() {
    let gateway = shelves().await;
    let seen = async |sku: &str| {
        let query = "query($sku: ID!) { product(sku: $sku) { availability } }";
        gateway.anonymous().field(query, json!({ "sku": sku })).await["availability"].clone()
    };
    let shopper = gateway.shopper("someone");
    let cart = shopper.open_cart("RESERVE").await;
    shopper.add(&cart, "c", 1).await;
    assert_eq!(seen("c").await, "OUT", "what a cart holds isn't free");
    gateway.merchant().receive_stock(json!({ "sku": "d", "quantity": 4 })).await;
    assert_eq!(seen("d").await, "IN_STOCK");
}

#[tokio::test(flavor = "multi_thread")]
async fn stocks_come_in_the_order_of_the_call() {
    let gateway = shelves().await;
    let query = "query($skus: [ID!]!) { stocks(skus: $skus) { sku available } }";
    let skus = json!({ "skus": ["b", "unknown", "a", "d", "b", "not a sku"] });
    let response = gateway.anonymous().explained(query, skus).await;
    let stock = |sku: &str, available: i64| json!({ "sku": sku, "available": available });
    let expected = json!([stock("b", 3), null, stock("a", 10), stock("d", 0), stock("b", 3), null]);
    assert_eq!(response["data"]["stocks"], expected, "{response:#}");
    let mut sent = commands(&response);
    sent.sort();
    assert_eq!(sent, ["find inventory", "find products"], "one for all that have no stock");
    let response = gateway.anonymous().explained(query, json!({ "skus": ["a", "b", "c"] })).await;
    assert_eq!(commands(&response), ["find inventory"]);

    let none = gateway.anonymous().field(query, json!({ "skus": [] })).await;
    assert_eq!(none, json!([]));
    let many: Vec<String> = (0..101).map(|number| format!("s-{number}")).collect();
    let refused = gateway.anonymous().run(query, json!({ "skus": many })).await;
    let extensions = &refused["errors"][0]["extensions"];
    assert_eq!(
        (&extensions["code"], &extensions["field"]),
        (&json!("BAD_USER_INPUT"), &json!("skus")),
        "{refused:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_stocks_are_for_whom_stock_shows_them() {
    let gateway = shelves().await;
    for field in ["reserved", "sold", "received"] {
        let query = format!("{{ stocks(skus: [\"a\"]) {{ {field} }} }}");
        assert_eq!(gateway.anonymous().error_code(&query, json!({})).await, "UNAUTHENTICATED");
        assert_eq!(gateway.shopper("s").error_code(&query, json!({})).await, "FORBIDDEN");
        gateway.merchant().data(&query, json!({})).await;
    }
}
