//! Server-sent events, one connection per operation.

use std::time::Duration;

use serde_json::{Value, json};

use super::{STOCK, available, set, short_token, stock};
use crate::support::Gateway;

fn next(event: Option<(String, Value)>) -> Value {
    let (name, data) = event.expect("an event");
    assert_eq!(name, "next", "{data:#}");
    data
}

#[expect(clippy::unnecessary_wraps, reason = "compared with what may not be there")]
fn complete() -> Option<(String, Value)> {
    Some(("complete".to_owned(), Value::Null))
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_come_as_events() {
    let gateway = Gateway::start().await;
    stock(&gateway, "a", 1).await;
    let client = gateway.anonymous();
    let response = client.stream("text/event-stream", STOCK, json!({ "sku": "a" })).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    assert_eq!(response.headers()["cache-control"], "no-cache, no-transform");
    let mut events = crate::support::live::Chunks::events(response);
    assert_eq!(events.next().await.expect("a sign of life"), ":");
    assert_eq!(available(&next(events.event().await)), 1);
    set(&gateway, "a", 2).await;
    assert_eq!(available(&next(events.event().await)), 2);
    let mut events = client.events(STOCK, json!({ "sku": "nothing" })).await;
    let refused = next(events.event().await);
    assert_eq!(refused["errors"][0]["extensions"]["code"], "NOT_FOUND", "{refused:#}");
    assert_eq!(events.event().await, complete());
    assert_eq!(events.event().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_accepts_everything_gets_a_subscription_as_events() {
    let gateway = Gateway::start().await;
    stock(&gateway, "a", 1).await;
    let response = gateway.anonymous().stream("*/*", STOCK, json!({ "sku": "a" })).await;
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream; charset=utf-8");
    let mut events = crate::support::live::Chunks::events(response);
    assert_eq!(events.next().await.expect("a sign of life"), ":");
    assert_eq!(available(&next(events.event().await)), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_and_mutations_come_as_one_event() {
    let gateway = Gateway::start().await;
    crate::shop::stocked(&gateway, "a", 100, 5).await;
    let receive = "mutation { receiveStock(input: {sku: \"a\", quantity: 2}) { __typename } }";
    let asked = "{ stock(sku: \"a\") { available } }";
    for (text, key, value) in [
        (receive, "receiveStock", json!({ "__typename": "Stock" })),
        (asked, "stock", json!({ "available": 7 })),
    ] {
        let mut events = gateway.merchant().events(text, json!({})).await;
        assert_eq!(next(events.event().await)["data"][key], value);
        assert_eq!(events.event().await, complete());
        assert_eq!(events.event().await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_request_are_events_too() {
    let gateway = Gateway::start().await;
    for text in ["{ nothing }", "{", "subscription { balanceChanged(accountId: \"x\") { id } }"] {
        let mut events = gateway.anonymous().events(text, json!({})).await;
        let answer = next(events.event().await);
        assert!(answer["errors"][0]["extensions"]["code"].is_string(), "{answer:#}");
        assert_eq!(events.event().await, complete());
        assert_eq!(events.event().await, None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_end_with_their_token() {
    let gateway = Gateway::start().await;
    stock(&gateway, "a", 1).await;
    let client = gateway.client(Some(short_token(8)));
    let mut events = client.events(STOCK, json!({ "sku": "a" })).await;
    assert_eq!(available(&next(events.event().await)), 1);
    let last = next(events.event().await);
    assert_eq!(last["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "{last:#}");
    assert_eq!(events.event().await, complete());
    assert_eq!(events.event().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_stream_shows_signs_of_life() {
    let gateway = Gateway::with(|config| config.live_ping_millis = 100).await;
    stock(&gateway, "a", 1).await;
    let mut events = gateway.anonymous().events(STOCK, json!({ "sku": "a" })).await;
    assert_eq!(available(&next(events.event().await)), 1);
    for _ in 0..5 {
        assert_eq!(events.next().await.expect("a sign of life"), ":");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_gateway_that_stops_end_and_are_not_complete() {
    // It would wait far longer for flows.
    let gateway = Gateway::with(|config| config.flow_run_millis = 120_000).await;
    stock(&gateway, "a", 1).await;
    let mut events = gateway.anonymous().events(STOCK, json!({ "sku": "a" })).await;
    next(events.event().await);
    let ended = tokio::spawn(async move { events.event().await });
    let took = gateway.stop().await;
    // An end of the body, not a cut connection.
    assert_eq!(ended.await.expect("ended"), None);
    assert!(took < Duration::from_secs(60), "{took:?}");
}
