//! What a client may take: connections, operations, bytes, time.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::frame::{
        Frame,
        coding::{Data, OpCode},
    },
};

use super::{LARGE, MOMENT, STOCK, available, long_stock, set, stock};
use crate::{
    metrics::Samples,
    support::{
        Gateway, http,
        live::{Chunks, Socket, TRANSPORT},
        token, until,
    },
};

const PROTOCOL: [(&str, &str); 1] = [("sec-websocket-protocol", TRANSPORT)];

/// Waits until the one connection that the gateway holds is free.
async fn is_freed(gateway: &Gateway) {
    until("it is free", async || {
        let mut socket = gateway.socket(TRANSPORT).await;
        socket.say(json!({ "type": "connection_init" })).await;
        matches!(socket.raw().await, Some(Ok(Message::Text(_))))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_holds_a_number_of_connections() {
    let gateway = Gateway::with(|config| {
        config.live_connections = 2;
        config.client_share_percent = 100;
    })
    .await;
    stock(&gateway, "a", 1).await;
    let (client, query, variables) = (gateway.anonymous(), STOCK, json!({ "sku": "a" }));
    let mut socket = gateway.session(None).await;
    let mut events = client.events(query, variables.clone()).await;
    assert_eq!(available(&events.event().await.expect("an event").1), 1);
    let refused = gateway.socket(TRANSPORT).await.closed().await;
    assert_eq!(refused, (1013, "Too many connections, try again later".to_owned()));
    for accept in ["text/event-stream", "multipart/mixed;subscriptionSpec=1.0"] {
        let response = client.stream(accept, query, variables.clone()).await;
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["retry-after"], "5");
        let answer: serde_json::Value = response.json().await.expect("JSON");
        assert_eq!(answer["errors"][0]["extensions"]["code"], "RATE_LIMITED");
    }
    // Those that are held aren't touched, and other requests don't count.
    socket.say(json!({ "type": "ping" })).await;
    assert_eq!(socket.hear().await["type"], "pong");
    client.data("{ __typename }", json!({})).await;
    drop(events);
    is_freed(&gateway).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_carries_a_thousand_operations_where_it_may() {
    let gateway = Gateway::with(|config| config.live_operations = 1_000).await;
    for n in 0..10 {
        stock(&gateway, &format!("sku-{n}"), 1).await;
    }
    let mut socket = gateway.session(None).await;
    for n in 0..1_000 {
        let variables = json!({ "sku": format!("sku-{}", n % 10) });
        socket.subscribe(&n.to_string(), STOCK, variables).await;
    }
    let mut seen = vec![0; 1_000];
    for _ in 0..1_000 {
        let message = socket.hear().await;
        let n: usize = message["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
        assert_eq!(available(&message["payload"]), 1);
        seen[n] += 1;
    }
    assert_eq!(seen, vec![1; 1_000]);
    super::hub::has_streams(&gateway, 1).await;
    set(&gateway, "sku-3", 2).await;
    for _ in 0..100 {
        let message = socket.hear().await;
        assert!(message["id"].as_str().expect("an id").ends_with('3'), "{message}");
        assert_eq!(available(&message["payload"]), 2);
    }
    socket.is_silent(MOMENT).await;
    socket.subscribe("one too many", STOCK, json!({ "sku": "sku-0" })).await;
    let end = socket.closed().await;
    assert_eq!(end, (1013, "Too many operations, try again later".to_owned()));
}

/// Starts a long subscription; whether it is admitted.
async fn has_room(socket: &mut Socket, id: &str) -> bool {
    socket.subscribe(id, &long_stock(), json!({ "sku": "a" })).await;
    let message = socket.hear().await;
    assert_eq!(message["id"], id, "{message:#}");
    if message["type"] == "error" {
        let code = &message["payload"][0]["extensions"]["code"];
        assert_eq!(code, "RATE_LIMITED", "{message:#}");
        return false;
    }
    assert_eq!(available(&message["payload"]), 1);
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_of_one_client_leave_room_for_others() {
    // A client's share holds one long subscription, and not two.
    let gateway = Gateway::with(|config| config.live_subscription_bytes = 128 << 10).await;
    stock(&gateway, "a", 1).await;
    let (mut first, mut second) = (gateway.session(None).await, gateway.session(None).await);
    assert!(has_room(&mut first, "1").await);
    assert!(!has_room(&mut first, "2").await);
    assert!(!has_room(&mut second, "1").await, "connections of one client have one share");
    let mut events = gateway.anonymous().events(&long_stock(), json!({ "sku": "a" })).await;
    let (_, refused) = events.event().await.expect("an event");
    assert_eq!(refused["errors"][0]["extensions"]["code"], "RATE_LIMITED", "{refused:#}");
    // Queries have no part in it, and other clients have their share.
    second.subscribe("query", "{ __typename }", json!({})).await;
    assert!(second.next("query").await.get("errors").is_none());
    assert_eq!(second.hear().await["type"], "complete");
    let mut ann = gateway.session(Some(&token("ann", &[]))).await;
    assert!(has_room(&mut ann, "1").await);
    // One that is over gives back its room, and so does one whose socket is dropped.
    first.say(json!({ "type": "complete", "id": "1" })).await;
    until("the room of the first is given back", async || has_room(&mut second, "1").await).await;
    drop(second);
    let mut third = gateway.session(None).await;
    until("the room of the second is given back", async || has_room(&mut third, "1").await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_that_are_over_do_not_count() {
    let gateway = Gateway::with(|config| config.live_operations = 2).await;
    stock(&gateway, "a", 1).await;
    let mut socket = gateway.session(None).await;
    for n in 0..10 {
        let id = n.to_string();
        socket.subscribe(&id, STOCK, json!({ "sku": "a" })).await;
        socket.next(&id).await;
        socket.subscribe("ask", "{ __typename }", json!({})).await;
        socket.next("ask").await;
        assert_eq!(socket.hear().await["type"], "complete");
        socket.say(json!({ "type": "complete", "id": id })).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_no_larger_than_bodies() {
    let gateway = Gateway::with(|config| config.body_bytes = 4_096).await;
    let big = |bytes: usize| json!({ "type": "ping", "payload": { "a": "x".repeat(bytes) } });
    // Up to the bound it is a message as any other.
    let mut socket = gateway.session(None).await;
    socket.say(big(4_000)).await;
    assert_eq!(socket.hear().await["type"], "pong");
    socket.say(big(5_000)).await;
    assert_eq!(socket.closed().await, (1009, "Message too big".to_owned()));
    // Far beyond: what was sent meanwhile isn't read, and the code arrives all the same.
    let mut socket = gateway.session(None).await;
    socket.say(big(1_000_000)).await;
    assert_eq!(socket.closed().await.0, 1009);
    // Many small frames make a large message too.
    let mut socket = gateway.session(None).await;
    for n in 0..10 {
        let kind = if n == 0 { Data::Text } else { Data::Continue };
        let frame = Frame::message("x".repeat(1_000), OpCode::Data(kind), false);
        socket.frame(Message::Frame(frame)).await;
    }
    assert_eq!(socket.closed().await.0, 1009);
}

#[tokio::test(flavor = "multi_thread")]
async fn frames_that_are_none_close_the_socket() {
    let gateway = Gateway::start().await;
    // A continuation of nothing.
    let mut socket = gateway.session(None).await;
    let frame = Frame::message("x", OpCode::Data(Data::Continue), true);
    socket.frame(Message::Frame(frame)).await;
    assert_eq!(socket.closed().await.0, 1002);
    // Text that is none.
    let mut socket = gateway.session(None).await;
    let frame = Frame::message(vec![0xff, 0xfe], OpCode::Data(Data::Text), true);
    socket.frame(Message::Frame(frame)).await;
    assert_eq!(socket.closed().await.0, 1007);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_heard_of_is_cut_off() {
    let gateway = Gateway::with(|config| {
        config.live_ping_millis = 1_500;
        config.live_connections = 1;
    })
    .await;
    // It takes what comes, so its pings are answered.
    let mut socket = gateway.session(None).await;
    socket.is_silent(Duration::from_secs(4)).await;
    socket.say(json!({ "type": "ping" })).await;
    assert_eq!(socket.hear().await["type"], "pong");
    // From here on it isn't read any more, and its pings aren't answered.
    let since = Instant::now();
    is_freed(&gateway).await;
    // With the usual interval it would take 24 seconds.
    assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    drop(socket);
}

/// A socket that holds little unread, and asks for more than that.
async fn asking(gateway: &Gateway) -> Socket {
    let mut socket = gateway.socket_with(&PROTOCOL, Some(4_096)).await.expect("a socket");
    socket.init(None).await;
    stock(gateway, "a", 0).await;
    socket.subscribe("follow", STOCK, json!({ "sku": "a" })).await;
    assert_eq!(available(&socket.next("follow").await), 0);
    // The change stream is there once a change came.
    let mut last = 0;
    while last == 0 {
        set(gateway, "a", 1).await;
        last = available(&socket.next("follow").await);
    }
    for n in 0..50 {
        socket.subscribe(&n.to_string(), LARGE, json!({})).await;
    }
    socket
}

/// The same, when nothing more is answered.
async fn stuck(gateway: &Gateway) -> Socket {
    let socket = asking(gateway).await;
    // Nothing more is answered once the answers fill what lies between. One takes long where much else runs.
    let answered = "docgate_operations_total{type=\"query\",field=\"__schema\",outcome=\"ok\"}";
    let (mut last, mut quiet) = (0.0, 0);
    while quiet < 4 {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        let now = Samples::of(gateway).await.get(answered);
        quiet = if now > last || now < 1.0 { 0 } else { quiet + 1 };
        last = now;
    }
    socket
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_slowly_gets_the_newest_state_and_hears_what_it_missed() {
    // The state may be read before the gateway hears of the last changes. It then isn't sent again for them.
    for _ in 0..3 {
        if reads_slowly().await > 0 {
            return;
        }
    }
    panic!("nothing was missed");
}

/// Makes ten changes while a subscriber doesn't read. Returns the number of changes that it is told to have missed.
async fn reads_slowly() -> u64 {
    // On a busy machine it takes longer than the usual 24 s until the subscriber reads, and it would be cut off.
    let gateway = Gateway::with(|config| config.live_ping_millis = 60_000).await;
    let mut socket = stuck(&gateway).await;
    let mut changes = gateway.app.hub().watch_core("inventory", "a");
    set(&gateway, "a", 2).await;
    // It may be on its way before the others come, but it waits for the answers before it.
    tokio::time::sleep(Duration::from_millis(300)).await;
    for n in 3..=11 {
        set(&gateway, "a", n).await;
    }
    // All of them have arrived at the gateway. Changes that woke the change stream may count too.
    let mut heard = 0;
    while heard < 10 {
        assert!(changes.changed().await);
        heard += changes.take().count;
    }
    let (mut asked, mut messages, mut missed, mut newest) = (0, 0, 0, 0);
    while newest < 11 {
        let message = socket.hear().await;
        if message["id"] == "follow" {
            newest = available(&message["payload"]);
            messages += 1;
            missed += message["payload"]["extensions"]["docgate"]["missed"].as_u64().unwrap_or(0);
        } else {
            asked += 1;
        }
    }
    // Usually one message tells of all ten changes, or a second one of the nine last.
    assert!(messages <= 4, "{messages} messages, {missed} missed");
    // Nothing else was lost.
    while asked < 100 {
        assert_ne!(socket.hear().await["id"], "follow");
        asked += 1;
    }
    // Nor is anything missed by who takes everything. What came before was heard with 12.
    for n in [12, 13] {
        set(&gateway, "a", n).await;
        let next = socket.next("follow").await;
        assert_eq!(available(&next), n);
        assert!(n == 12 || next.get("extensions").is_none(), "{next}");
    }
    missed
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_is_cut_off() {
    let gateway = Gateway::with(|config| {
        config.live_connections = 1;
        config.live_ping_millis = 3_000;
    })
    .await;
    let socket = asking(&gateway).await;
    is_freed(&gateway).await;
    drop(socket);
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_events_is_cut_off() {
    let gateway = Gateway::with(|config| {
        config.live_connections = 1;
        config.live_ping_millis = 3_000;
    })
    .await;
    let url = format!("http://{}/graphql/stream", gateway.address);
    let http = http();
    let token = http.put(&url).send().await.expect("reserved").text().await.expect("a token");
    let header = "x-graphql-event-stream-token";
    let opened = http.get(&url).header(header, &token).send().await.expect("opened");
    let mut events = Chunks::events(opened);
    assert_eq!(events.next().await.expect("a sign of life"), ":");
    for n in 0..100 {
        let body = json!({ "query": LARGE, "extensions": { "operationId": n } });
        let asked = http.post(&url).header(header, &token).json(&body).send().await;
        let status = asked.expect("an answer").status().as_u16();
        // On a busy machine it may be cut off by now.
        assert!(status == 202 || (status == 404 && n > 0), "{n}: {status}");
        if status == 404 {
            break;
        }
    }
    is_freed(&gateway).await;
    drop(events);
}
