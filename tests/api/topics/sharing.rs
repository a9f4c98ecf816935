//! What subscribers share, and what they don't.

use std::{cell::Cell, time::Duration};

use futures_util::{TryStreamExt, future::join_all};
use mongodb::bson::{Document, doc};
use serde_json::{Value, json};

use super::{Follower, created, publish_numbers, published, texts};
use crate::{
    metrics::Samples,
    support::{Gateway, Turn, live::TRANSPORT},
};

#[tokio::test(flavor = "multi_thread")]
async fn each_subscriber_gets_what_it_selects() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 1 << 20).await;
    let client = gateway.shopper("someone");
    let optional = "subscription($more: Boolean!) { topic(name: \"prices\") {
        position @include(if: $more) messages { payload id @skip(if: $more) } } }";
    let aliased = "subscription($name: String!) { other: topic(name: $name) { ...All } }
        fragment All on TopicMessages { text: messages { it: payload } }";
    let two = "subscription A { topic(name: \"prices\") { missed } }
        subscription B { topic(name: \"prices\") { position } }";
    let mut followers = Vec::new();
    for (query, variables) in [
        (optional, json!({ "more": true })),
        (optional, json!({ "more": false })),
        (aliased, json!({ "name": "prices" })),
        (
            "subscription { topic(name: \"prices\") { __typename messages { __typename payload } } }",
            json!({}),
        ),
    ] {
        let mut follower = client.follow(query, variables).await;
        follower.next().await;
        followers.push(follower);
    }
    let mut socket = gateway.session(client.token.as_deref()).await;
    for (id, name) in [("a", "A"), ("b", "B")] {
        let payload = json!({ "query": two, "operationName": name });
        socket.say(json!({ "type": "subscribe", "id": id, "payload": payload })).await;
        socket.next(id).await;
    }
    let ids = published(&gateway, "prices", &["a \"quoted\" text"]).await;
    let mut answers: Vec<Value> = Vec::new();
    for follower in &mut followers {
        answers.push(follower.next().await["data"].clone());
    }
    let text = "a \"quoted\" text";
    let expected = [
        json!({ "topic": { "position": ids[0], "messages": [{ "payload": text }] } }),
        json!({ "topic": { "messages": [{ "payload": text, "id": ids[0] }] } }),
        json!({ "other": { "text": [{ "it": text }] } }),
        json!({ "topic": { "__typename": "TopicMessages",
            "messages": [{ "__typename": "TopicMessage", "payload": text }] } }),
    ];
    assert_eq!(answers, expected);
    let mut of_two = [socket.hear().await, socket.hear().await];
    of_two.sort_by_key(|message| message["id"].to_string());
    let of_two = of_two.map(|message| message["payload"]["data"].clone());
    assert_eq!(
        of_two,
        [json!({ "topic": { "missed": 0 } }), json!({ "topic": { "position": ids[0] } })]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn other_transports_send_the_same() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 1 << 20).await;
    let client = gateway.shopper("someone");
    let variables = json!({ "name": "prices" });
    let mut events = client.events(super::FOLLOW, variables.clone()).await;
    let mut parts = client.parts(super::FOLLOW, variables.clone()).await;
    let mut socket = client.follow(super::FOLLOW, variables).await;
    for _ in 0..2 {
        let (_, event) = events.event().await.expect("an event");
        let part = parts.part().await.expect("a part");
        let message = socket.next().await;
        assert_eq!(event, message);
        assert_eq!(part, json!({ "payload": message }));
        published(&gateway, "prices", &["line\nbreak"]).await;
    }
}

/// Number of reads of the gateway's rings that are under way.
async fn most_reads(gateway: &Gateway) -> usize {
    let all = doc! { "$currentOp": { "allUsers": true } };
    let here =
        doc! { "command.find": { "$regex": "^topic_" }, "command.$db": gateway.database.name() };
    let admin = gateway.database.client().database("admin");
    let found = admin.aggregate([all, doc! { "$match": here }]).await.expect("operations");
    found.try_collect::<Vec<Document>>().await.expect("operations").len()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_come_back_a_few_read_at_once() {
    let gateway = Gateway::with(|config| config.topic_window_bytes = 1 << 16).await;
    created(&gateway, "prices", 8 << 20).await;
    let client = gateway.shopper("someone");
    let turn = Turn::take().await;
    let (first, _) = Follower::new(&client, "prices", None).await;
    publish_numbers(&gateway, "prices", 0..600).await;
    let data = doc! { "failCommands": ["find"], "blockConnection": true, "blockTimeMS": 20 };
    let slow = gateway.fail_point_in(turn, doc! { "times": 100_000 }, data).await;
    let have_come_back = Cell::new(false);
    let each = (0..40).map(async |_| {
        let (mut again, mut heard) = Follower::new(&client, "prices", Some(&first.position)).await;
        heard.extend(again.hear(600 - heard.len()).await);
        assert_eq!(heard, texts(0..600));
        assert!(again.missed.is_empty());
    });
    let come_back = async {
        join_all(each).await;
        have_come_back.set(true);
    };
    let watch = async {
        let mut most = 0;
        while !have_come_back.get() {
            most = most.max(most_reads(&gateway).await);
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        most
    };
    let ((), most) = tokio::join!(come_back, watch);
    slow.off().await;
    assert!((2..=8).contains(&most), "{most} at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_takes_nothing_keeps_nobody_from_reading() {
    let gateway = Gateway::with(|config| {
        config.topic_window_bytes = 1 << 16;
        // One client may have all turns, and is not disconnected for as long as the others have patience.
        config.client_share_percent = 100;
        config.live_ping_millis = 600_000;
    })
    .await;
    created(&gateway, "prices", 8 << 20).await;
    let first = gateway.shopper("first");
    let (Follower { position, .. }, _) = Follower::new(&first, "prices", None).await;
    let text = "x".repeat(60_000);
    for _ in 0..40 {
        published(&gateway, "prices", &[&text]).await;
    }
    let since = json!({ "name": "prices", "since": position });
    let headers = [("sec-websocket-protocol", TRANSPORT)];
    let mut stuck = gateway.socket_with(&headers, Some(4_096)).await.expect("a socket");
    stuck.init(gateway.shopper("stuck").token.as_deref()).await;
    for id in 0..20 {
        stuck.subscribe(&id.to_string(), super::FOLLOW, since.clone()).await;
    }
    // Its connection is full when the gateway reads no more for it.
    let reads = async || {
        let labels = "collection=\"topics\",command=\"find\",outcome=\"ok\"";
        Samples::of(&gateway).await.get(&format!("docgate_mongodb_commands_total{{{labels}}}"))
    };
    let mut before = 0.0;
    loop {
        let now = reads().await;
        if now > 8.0 && now - before < 0.5 {
            break;
        }
        before = now;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    let other = gateway.shopper("other");
    let (mut again, mut heard) = Follower::new(&other, "prices", Some(&position)).await;
    heard.extend(again.hear(40 - heard.len()).await);
    assert_eq!(heard.len(), 40);
    assert!(again.missed.is_empty());
    drop(stuck);
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_messages_is_not_a_slow_command() {
    let gateway = Gateway::start().await;
    created(&gateway, "prices", 4_096).await;
    let (mut follower, _) = Follower::new(&gateway.shopper("someone"), "prices", None).await;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    published(&gateway, "prices", &["a"]).await;
    assert_eq!(follower.hear(1).await, ["a"]);
    let samples = Samples::of(&gateway).await;
    let labels = "collection=\"topics\",command=\"getMore\"";
    let answered = format!("docgate_mongodb_commands_total{{{labels},outcome=\"ok\"}}");
    assert!(samples.get(&answered) >= 1.0);
    let timed = format!("docgate_mongodb_command_duration_seconds_count{{{labels}}}");
    assert!(samples.get(&timed) < 0.5);
}
