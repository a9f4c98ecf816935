//! Subscriptions as multipart HTTP.

use std::time::Duration;

use serde_json::json;

use super::{STOCK, available, set, short_token, stock};
use crate::support::{Gateway, live::Chunks};

async fn followed(gateway: &Gateway, token: Option<String>) -> Chunks {
    stock(gateway, "a", 1).await;
    let mut parts = gateway.client(token).parts(STOCK, json!({ "sku": "a" })).await;
    let part = parts.part().await.expect("a part");
    assert_eq!(available(&part["payload"]), 1);
    assert_eq!(part.as_object().expect("an object").len(), 1, "{part:#}");
    parts
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_come_as_parts_each_as_soon_as_it_is_there() {
    let gateway = Gateway::start().await;
    let mut parts = followed(&gateway, None).await;
    set(&gateway, "a", 2).await;
    assert_eq!(available(&parts.part().await.expect("a part")["payload"]), 2);
    let client = gateway.anonymous();
    let accept = "multipart/mixed;subscriptionSpec=\"1.0\", application/json";
    let response = client.stream(accept, STOCK, json!({ "sku": "nothing" })).await;
    let kind = "multipart/mixed;boundary=\"graphql\";subscriptionSpec=\"1.0\"";
    assert_eq!(response.headers()["content-type"], kind);
    let mut parts = client.parts(STOCK, json!({ "sku": "nothing" })).await;
    let part = parts.part().await.expect("a part");
    assert_eq!(part["payload"]["errors"][0]["extensions"]["code"], "NOT_FOUND", "{part:#}");
    assert_eq!(parts.part().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_request_are_in_the_payload() {
    let gateway = Gateway::start().await;
    let mut parts = gateway.anonymous().parts("subscription { nothing }", json!({})).await;
    let part = parts.part().await.expect("a part");
    let code = &part["payload"]["errors"][0]["extensions"]["code"];
    assert_eq!((code, part.get("errors")), (&json!("BAD_USER_INPUT"), None), "{part:#}");
    assert_eq!(parts.part().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_end_with_their_token() {
    let gateway = Gateway::start().await;
    let mut parts = followed(&gateway, Some(short_token(8))).await;
    let last = parts.part().await.expect("a part");
    assert_eq!(last["payload"], json!(null));
    assert_eq!(last["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "{last:#}");
    assert_eq!(parts.part().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_subscription_shows_signs_of_life() {
    let gateway = Gateway::with(|config| config.live_ping_millis = 100).await;
    let mut parts = followed(&gateway, None).await;
    for _ in 0..5 {
        let beat = parts.next().await.expect("a sign of life");
        assert_eq!(beat, "\r\ncontent-type: application/json\r\n\r\n{}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_of_a_gateway_that_stops_end_with_the_reason() {
    // It would wait far longer for flows.
    let gateway = Gateway::with(|config| config.flow_run_millis = 120_000).await;
    let mut parts = followed(&gateway, None).await;
    let ended = tokio::spawn(async move { (parts.part().await, parts.part().await) });
    let took = gateway.stop().await;
    let (last, end) = ended.await.expect("ended");
    let last = last.expect("a part");
    assert_eq!(last["payload"], json!(null));
    let extensions = json!({ "code": "UNAVAILABLE", "retryable": true });
    assert_eq!(last["errors"][0]["extensions"], extensions);
    assert_eq!(end, None);
    assert!(took < Duration::from_secs(60), "{took:?}");
}
