//! The subscription to new orders.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    metrics::Samples,
    shop::{placed, settled, stocked},
    support::{Gateway, until},
};

const PLACED: &str =
    "subscription($from: DateTime) { orderPlaced(from: $from) { id number placedAt } }";

fn id(response: &Value) -> &Value {
    let id = &response["data"]["orderPlaced"]["id"];
    assert!(id.is_string(), "{response:#}");
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn merchants_hear_of_each_order_once() {
    let gateway = Gateway::start().await;
    stocked(&gateway, "free", 0, 1_000).await;
    let shopper = gateway.shopper("ann");
    let before = placed(&shopper, "none", &[("free", 1)]).await;
    settled(&gateway).await;
    let mut live = gateway.merchant().follow(PLACED, json!({})).await;
    let followers = "docgate_change_stream_subscribers{collection=\"orders\"}";
    let is_followed = async || Samples::of(&gateway).await.get(followers) >= 1.0;
    until("orders are followed", is_followed).await;
    // What is there already is read at first.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut orders = Vec::new();
    for _ in 0..5 {
        orders.push(placed(&shopper, "none", &[("free", 1)]).await);
    }
    let mut heard = Vec::new();
    for _ in 0..5 {
        heard.push(live.next().await);
    }
    let ids: Vec<_> = heard.iter().map(|response| id(response).clone()).collect();
    let expected: Vec<_> = orders.iter().map(|order| json!(order)).collect();
    assert_eq!(ids, expected);
    assert!(!ids.contains(&json!(before)));
    // Changes of orders aren't new orders.
    crate::orders::cancel(&shopper, &orders[0], "op").await;
    let last = placed(&gateway.anonymous(), "none", &[("free", 1)]).await;
    assert_eq!(*id(&live.next().await), json!(last));

    // A client that resumes gets all since then, and perhaps some from shortly before.
    let from = &heard[2]["data"]["orderPlaced"]["placedAt"];
    let mut live = gateway.merchant().follow(PLACED, json!({ "from": from })).await;
    let mut resumed = Vec::new();
    while resumed.last() != Some(&json!(last)) {
        let next = live.next().await;
        assert!(!resumed.contains(id(&next)), "twice: {next:#}");
        resumed.push(id(&next).clone());
    }
    assert!(expected[2..].iter().all(|order| resumed.contains(order)), "{resumed:?}");
    let next = placed(&shopper, "none", &[("free", 1)]).await;
    assert_eq!(*id(&live.next().await), json!(next));
}

#[tokio::test(flavor = "multi_thread")]
async fn others_do_not_hear_of_orders() {
    let gateway = Gateway::start().await;
    for token in [gateway.shopper("ann").token, None] {
        let mut socket = gateway.session(token.as_deref()).await;
        socket.subscribe("1", PLACED, json!({})).await;
        let heard = socket.hear().await;
        let code = match heard["type"].as_str() {
            Some("next") => &heard["payload"]["errors"][0]["extensions"]["code"],
            _ => &heard["payload"][0]["extensions"]["code"],
        };
        assert!([json!("FORBIDDEN"), json!("UNAUTHENTICATED")].contains(code), "{heard:#}");
    }
}
