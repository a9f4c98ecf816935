//! Rings that wrap, cursors that are lost, and connections that break.

use std::time::Duration;

use mongodb::bson::doc;
use serde_json::{Value, json};

use super::{Follower, created, cursors, has_cursors, publish, publish_numbers, published, texts};
use crate::{
    metrics::Samples,
    support::{Gateway, Turn, live::TRANSPORT, until},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_subscriber_is_told_how_much_it_missed() {
    let gateway = Gateway::with(|config| {
        config.topic_window_bytes = 1 << 16;
        // It isn't disconnected while the messages are published, however long that takes.
        config.live_ping_millis = 60_000;
    })
    .await;
    created(&gateway, "prices", 64 << 20).await;
    let token = gateway.shopper("slow").token;
    let headers = [("sec-websocket-protocol", TRANSPORT)];
    // Its client takes so little that the gateway has to wait for it.
    let mut slow = gateway.socket_with(&headers, Some(4_096)).await.expect("a socket");
    slow.init(token.as_deref()).await;
    slow.subscribe("1", super::FOLLOW, json!({ "name": "prices" })).await;
    let (mut quick, _) = Follower::new(&gateway.shopper("quick"), "prices", None).await;
    slow.next("1").await;
    let text = "x".repeat(60_000);
    let mut sent = 0_i64;
    for _ in 0..300 {
        let done = publish(&gateway, json!({ "topic": "prices", "messages": [text] })).await;
        assert_eq!(done["__typename"], "PublishedMessages");
        sent += 1;
        quick.hear(1).await;
    }
    let (mut heard, mut missed) = (0_i64, 0_i64);
    while heard + missed < sent {
        let response = slow.next("1").await;
        let found = &response["data"]["topic"];
        missed += found["missed"].as_i64().expect("a known number");
        heard += i64::try_from(found["messages"].as_array().expect("messages").len()).expect("few");
    }
    assert_eq!(heard + missed, sent);
    assert!(missed > 0, "it heard all {heard}");
    assert!(quick.missed.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ring_keeps_the_newest_and_tells_what_was_overwritten() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 8_192).await;
    let ids = published(&gateway, "prices", &["first", "second"]).await;
    publish_numbers(&gateway, "prices", 0..200).await;
    let topics = gateway.service().field(super::TOPICS, json!({})).await;
    let kept = topics[0]["usage"]["messages"].as_u64().expect("a number");
    let kept = usize::try_from(kept).expect("few");
    assert!((10..150).contains(&kept), "{topics:#}");
    // Overwritten, and never known: both begin with the oldest that is there.
    for since in [ids[0].as_str(), "nothing", "$ne"] {
        let client = gateway.shopper("someone");
        let (mut follower, mut heard) = Follower::new(&client, "prices", Some(since)).await;
        assert_eq!(follower.missed, [Value::Null], "{since}");
        if heard.len() < kept {
            heard.extend(follower.hear(kept - heard.len()).await);
        }
        assert_eq!(heard, texts(200 - kept..200), "{since}");
        published(&gateway, "prices", &["last"]).await;
        assert_eq!(follower.hear(1).await, ["last"]);
        // For the next one there are as many as before.
        publish_numbers(&gateway, "prices", 0..200).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_before_the_window_are_read_from_the_ring() {
    let gateway = Gateway::with(|config| config.topic_window_bytes = 1 << 16).await;
    created(&gateway, "prices", 8 << 20).await;
    let client = gateway.shopper("someone");
    let (first, _) = Follower::new(&client, "prices", None).await;
    publish_numbers(&gateway, "prices", 0..1_500).await;
    let (mut again, mut heard) = Follower::new(&client, "prices", Some(&first.position)).await;
    heard.extend(again.hear(1_500 - heard.len()).await);
    assert_eq!(heard, texts(0..1_500));
    publish_numbers(&gateway, "prices", 1_500..1_520).await;
    assert_eq!(again.hear(20).await, texts(1_500..1_520));
    assert!(again.missed.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_ring_is_followed() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 4_096).await;
    let [name] = names(&gateway).await.try_into().expect("one ring");
    // Not even the mark is there.
    gateway.raw(&name).delete_many(doc! {}).await.expect("emptied");
    let (mut follower, _) = Follower::new(&gateway.shopper("someone"), "prices", None).await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    published(&gateway, "prices", &["a"]).await;
    assert_eq!(follower.hear(1).await, ["a"]);
    published(&gateway, "prices", &["b"]).await;
    assert_eq!(follower.hear(1).await, ["b"]);
    assert!(follower.missed.is_empty());
}

/// The names of all rings.
pub(super) async fn names(gateway: &Gateway) -> Vec<String> {
    let mut names = gateway.database.list_collection_names().await.expect("names");
    names.retain(|name| name.starts_with("topic_"));
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_cursor_costs_nothing() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 1 << 20).await;
    let (mut follower, _) = Follower::new(&gateway.shopper("someone"), "prices", None).await;
    for round in 0..4 {
        has_cursors(&gateway, 1).await;
        for (ring, cursor) in cursors(&gateway).await {
            let kill = doc! { "killCursors": ring, "cursors": [cursor] };
            gateway.database.run_command(kill).await.expect("killed");
        }
        publish_numbers(&gateway, "prices", round * 50..round * 50 + 50).await;
    }
    assert_eq!(follower.hear(200).await, texts(0..200));
    assert!(follower.missed.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_connections_cost_nothing() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 1 << 20).await;
    let publisher = gateway.sibling().await;
    let mut turn = Turn::take().await;
    let (mut follower, _) = Follower::new(&gateway.shopper("someone"), "prices", None).await;
    for round in 0..3 {
        let data = doc! { "failCommands": ["getMore", "find"], "closeConnection": true };
        let broken = gateway.fail_point_in(turn, doc! { "times": 6 }, data).await;
        publish_numbers(&publisher, "prices", round * 50..round * 50 + 50).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        turn = broken.off().await;
    }
    drop(turn);
    assert_eq!(follower.hear(150).await, texts(0..150));
    assert!(follower.missed.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ring_that_laps_the_gateway_is_told() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 8_192).await;
    let publisher = gateway.sibling().await;
    let turn = Turn::take().await;
    let (mut follower, _) = Follower::new(&gateway.shopper("someone"), "prices", None).await;
    let data = doc! { "failCommands": ["getMore", "find"], "errorCode": 6 };
    let broken = gateway.fail_point_in(turn, doc! { "times": 10_000 }, data).await;
    // No read that began before hears of the messages.
    let fails = async || {
        let samples = Samples::of(&gateway).await;
        ["getMore", "find"].iter().any(|command| {
            let labels = format!("collection=\"topics\",command=\"{command}\"");
            ["unavailable", "failed"].iter().any(|outcome| {
                let labels = format!("{{{labels},outcome=\"{outcome}\"}}");
                samples.get(&format!("docgate_mongodb_commands_total{labels}")) > 0.5
            })
        })
    };
    until("the ring can't be read", fails).await;
    publish_numbers(&publisher, "prices", 0..300).await;
    broken.off().await;
    let mut heard = Vec::new();
    while heard.last() != Some(&"299".to_owned()) {
        heard.extend(follower.next().await);
    }
    assert_eq!(heard, texts(300 - heard.len()..300));
    assert_eq!(follower.missed, [Value::Null]);
}
