//! `graphql-transport-ws`, message by message.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_tungstenite::tungstenite::{Error as Fault, Message};

use super::{MOMENT, STOCK, available, set, short_token, stock};
use crate::support::{
    Gateway,
    live::{Socket, TRANSPORT},
    now_seconds,
    proxy::Cut,
    token, token_with, until,
};

#[tokio::test(flavor = "multi_thread")]
async fn operations_run_side_by_side_until_they_are_completed() {
    let gateway = Gateway::start().await;
    stock(&gateway, "a", 1).await;
    let mut socket = gateway.session(None).await;
    socket.subscribe("follow", STOCK, json!({ "sku": "a" })).await;
    assert_eq!(available(&socket.next("follow").await), 1);
    // A query answers once, while the other goes on.
    socket.subscribe("ask", "{ stock(sku: \"a\") { available } }", json!({})).await;
    let answer = socket.next("ask").await;
    assert_eq!(answer["data"]["stock"]["available"], 1);
    assert_eq!(socket.hear().await, json!({ "id": "ask", "type": "complete" }));
    set(&gateway, "a", 2).await;
    assert_eq!(available(&socket.next("follow").await), 2);
    socket.say(json!({ "type": "complete", "id": "follow" })).await;
    // Of what isn't there any more, or never was, nothing needs to be said.
    socket.say(json!({ "type": "complete", "id": "follow" })).await;
    socket.say(json!({ "type": "complete", "id": "never" })).await;
    set(&gateway, "a", 3).await;
    socket.is_silent(MOMENT).await;
    // Its id is free again.
    socket.subscribe("follow", STOCK, json!({ "sku": "a" })).await;
    assert_eq!(available(&socket.next("follow").await), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_is_told() {
    let gateway = Gateway::start().await;
    let mut socket = gateway.session(None).await;
    socket.subscribe("1", STOCK, json!({ "sku": "nothing" })).await;
    socket.ends_not_found("1").await;
    // The field's own refusal is an answer.
    socket
        .subscribe("1", "subscription { balanceChanged(accountId: \"x\") { id } }", json!({}))
        .await;
    assert_eq!(socket.next("1").await["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
    assert_eq!(socket.hear().await, json!({ "id": "1", "type": "complete" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_begin_is_an_error_and_its_id_is_free() {
    let gateway = Gateway::start().await;
    let mut socket = gateway.session(None).await;
    for text in ["{ nothing }", "{", "subscription { nothing }", "query($a: Int!) { __typename }"] {
        socket.subscribe("1", text, json!({})).await;
        let message = socket.hear().await;
        assert_eq!((&message["type"], &message["id"]), (&json!("error"), &json!("1")));
        assert_eq!(message["payload"][0]["extensions"]["code"], "BAD_USER_INPUT", "{message:#}");
    }
    socket.is_silent(MOMENT).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_are_none_close_the_socket() {
    let gateway = Gateway::start().await;
    let operation = json!({ "query": "{ __typename }" });
    let bad = [
        json!("connection_init").to_string(),
        "{".to_owned(),
        String::new(),
        json!([]).to_string(),
        json!({}).to_string(),
        json!({ "type": 1 }).to_string(),
        json!({ "type": "hello" }).to_string(),
        json!({ "type": "start", "id": "1", "payload": operation }).to_string(),
        json!({ "type": "next", "id": "1", "payload": {} }).to_string(),
        json!({ "type": "connection_ack" }).to_string(),
        json!({ "type": "ping", "payload": 1 }).to_string(),
        json!({ "type": "pong", "payload": [] }).to_string(),
        json!({ "type": "ping", "payload": { "many": vec![0; 13_000] } }).to_string(),
        json!({ "type": "connection_init", "payload": { "many": vec![0; 13_000] } }).to_string(),
        json!({ "type": "connection_init", "payload": "token" }).to_string(),
        json!({ "type": "subscribe", "payload": operation }).to_string(),
        json!({ "type": "subscribe", "id": 1, "payload": operation }).to_string(),
        json!({ "type": "subscribe", "id": "", "payload": operation }).to_string(),
        json!({ "type": "subscribe", "id": "1" }).to_string(),
        json!({ "type": "subscribe", "id": "1", "payload": null }).to_string(),
        json!({ "type": "subscribe", "id": "1", "payload": {} }).to_string(),
        json!({ "type": "subscribe", "id": "1", "payload": { "query": 5 } }).to_string(),
        json!({ "type": "subscribe", "id": "1", "payload": { "query": "{ a }", "variables": [] } })
            .to_string(),
        json!({ "type": "subscribe", "id": "1", "payload": { "query": "{ a }", "extensions": 1 } })
            .to_string(),
        json!({ "type": "complete" }).to_string(),
        json!({ "type": "complete", "id": {} }).to_string(),
        format!("{{\"type\":\"{}\"}}", "ä".repeat(500)),
        format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000)),
    ];
    for text in bad {
        let mut socket = gateway.session(None).await;
        socket.frame(Message::text(text.clone())).await;
        let (code, reason) = socket.closed().await;
        assert_eq!(code, 4400, "{text:.80}: {reason}");
        assert!(!reason.is_empty() && reason.len() <= 123, "{reason}");
    }
    let mut socket = gateway.session(None).await;
    socket.frame(Message::binary(json!({ "type": "ping" }).to_string())).await;
    assert_eq!(socket.closed().await.0, 4400);
}

#[tokio::test(flavor = "multi_thread")]
async fn nulls_and_missing_parts_are_as_good_as_nothing() {
    let gateway = Gateway::start().await;
    let mut socket = gateway.socket(TRANSPORT).await;
    socket.say(json!({ "type": "connection_init", "payload": null })).await;
    assert_eq!(socket.hear().await["type"], "connection_ack");
    let payload = json!({
        "query": "{ __typename }", "variables": null, "operationName": null, "extensions": null
    });
    socket.say(json!({ "type": "subscribe", "id": "1", "payload": payload })).await;
    assert_eq!(socket.next("1").await["data"]["__typename"], "Query");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_acknowledged_may_not_begin() {
    let gateway = Gateway::start().await;
    let mut socket = gateway.socket(TRANSPORT).await;
    // A ping is allowed at any time, and comes back with what it brought.
    socket.say(json!({ "type": "ping", "payload": { "a": [1] } })).await;
    assert_eq!(socket.hear().await, json!({ "type": "pong", "payload": { "a": [1] } }));
    socket.say(json!({ "type": "ping" })).await;
    assert_eq!(socket.hear().await, json!({ "type": "pong" }));
    socket.say(json!({ "type": "pong" })).await;
    socket.subscribe("1", "{ __typename }", json!({})).await;
    assert_eq!(socket.closed().await, (4401, "Unauthorized".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_init_closes_the_socket() {
    let gateway = Gateway::start().await;
    let mut socket = gateway.session(None).await;
    socket.say(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.closed().await, (4429, "Too many initialisation requests".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_taken_closes_the_socket() {
    let gateway = Gateway::start().await;
    stock(&gateway, "a", 1).await;
    let long = "x".repeat(200);
    for id in ["1", long.as_str()] {
        let mut socket = gateway.session(None).await;
        socket.subscribe(id, STOCK, json!({ "sku": "a" })).await;
        socket.next(id).await;
        socket.subscribe(id, "{ __typename }", json!({})).await;
        let (code, reason) = socket.closed().await;
        assert_eq!(code, 4409);
        assert!("Subscriber for 1 already exists" == reason || reason.len() == 123, "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_init_that_does_not_come_closes_the_socket() {
    let gateway = Gateway::with(|config| config.live_init_millis = 3_000).await;
    let mut socket = gateway.socket(TRANSPORT).await;
    socket.say(json!({ "type": "ping" })).await;
    assert_eq!(socket.closed().await, (4408, "Connection initialisation timeout".to_owned()));
    // In time it is enough for good.
    let mut socket = gateway.session(None).await;
    tokio::time::sleep(Duration::from_millis(3_500)).await;
    socket.say(json!({ "type": "ping" })).await;
    assert_eq!(socket.hear().await["type"], "pong");
}

/// Whose accounts: empty for an anonymous caller would be an error.
const MINE: &str = "{ myAccounts { nodes { id } } }";

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_is_told_by_header_or_init() {
    let gateway = Gateway::start().await;
    let token = token("someone", &[]);
    let bearer = format!("Bearer {token}");
    let (protocol, header) = (("sec-websocket-protocol", TRANSPORT), ("authorization", &*bearer));
    let ways: [(&[(&str, &str)], Value); 5] = [
        (&[protocol, header], json!({})),
        (&[protocol], json!({ "Authorization": bearer })),
        (&[protocol], json!({ "authorization": bearer, "authToken": null })),
        (&[protocol], json!({ "authToken": token })),
        // What is said last counts.
        (&[protocol, ("authorization", "Bearer nonsense")], json!({ "authToken": token })),
    ];
    for (headers, payload) in ways {
        let mut socket = gateway.socket_with(headers, None).await.expect("a socket");
        socket.say(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(socket.hear().await["type"], "connection_ack", "{payload}");
        socket.subscribe("1", MINE, json!({})).await;
        assert_eq!(socket.next("1").await["data"]["myAccounts"]["nodes"], json!([]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_do_not_hold_are_forbidden() {
    let gateway = Gateway::start().await;
    let expired = token_with(&json!({ "sub": "someone", "exp": now_seconds() - 60 }));
    for payload in [
        json!({ "Authorization": format!("Bearer {expired}") }),
        json!({ "authorization": "Bearer nonsense" }),
        json!({ "Authorization": expired }),
        json!({ "authToken": "nonsense" }),
        json!({ "authToken": 5 }),
        json!({ "Authorization": {} }),
    ] {
        let mut socket = gateway.socket(TRANSPORT).await;
        socket.say(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(socket.closed().await, (4403, "Forbidden".to_owned()), "{payload}");
    }
    let headers = [("sec-websocket-protocol", TRANSPORT), ("authorization", "Bearer nonsense")];
    let mut socket = gateway.socket_with(&headers, None).await.expect("a socket");
    socket.say(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.closed().await.0, 4403);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_socket_ends_with_its_token() {
    let gateway = Gateway::start().await;
    stock(&gateway, "a", 1).await;
    let mut socket = gateway.session(Some(&short_token(8))).await;
    socket.subscribe("1", STOCK, json!({ "sku": "a" })).await;
    assert_eq!(available(&socket.next("1").await), 1);
    let (code, reason) = socket.closed().await;
    assert_eq!((code, reason.as_str()), (4403, "Forbidden: the token has ended"));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_known_sub_protocol_nothing_is_said() {
    let gateway = Gateway::start().await;
    let socket = gateway.socket_with(&[], None).await.expect("a socket");
    assert_eq!(socket.closed().await, (4406, "Subprotocol not acceptable".to_owned()));
    // One that isn't known isn't agreed to, which some clients take for a fault of its own.
    let unknown = [("sec-websocket-protocol", "wamp, soap")];
    let fault = gateway.socket_with(&unknown, None).await.err().map(|fault| *fault);
    assert!(matches!(fault, Some(Fault::Protocol(_))), "{fault:?}");
    let (socket, head) = by_hand(&gateway, "wamp, soap").await;
    assert!(!head.contains("sec-websocket-protocol"), "{head}");
    assert_eq!(socket.closed().await.0, 4406);
    // Of several the newer one.
    let (_, head) = by_hand(&gateway, "soap, graphql-ws, graphql-transport-ws").await;
    assert!(head.contains("sec-websocket-protocol: graphql-transport-ws\r\n"), "{head}");
}

/// A handshake that a library wouldn't make, and what came back.
async fn by_hand(gateway: &Gateway, protocols: &str) -> (Socket, String) {
    let mut stream = TcpStream::connect(gateway.address).await.expect("a connection");
    let head = format!(
        "GET /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         sec-websocket-protocol: {protocols}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("written");
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.expect("read"));
    }
    let answer = String::from_utf8(answer).expect("text").to_lowercase();
    assert!(answer.starts_with("http/1.1 101"), "{answer}");
    (Socket::over(stream).await, answer)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_gets_no_socket_with_a_cookie() {
    let shop = "https://shop.example";
    let gateway = Gateway::with(|config| {
        config.cors_origins = vec![shop.into()];
        config.auth_cookie = Some("token".to_owned());
    })
    .await;
    let own = format!("http://{}", gateway.address);
    let port = format!("http://{}:1", gateway.address.ip());
    let status = async |headers: &[(&str, &str)]| {
        let mut all = vec![("sec-websocket-protocol", TRANSPORT)];
        all.extend_from_slice(headers);
        match gateway.socket_with(&all, None).await.map_err(|fault| *fault) {
            Ok(_) => 101,
            Err(Fault::Http(response)) => response.status().as_u16(),
            Err(fault) => panic!("{fault}"),
        }
    };
    let text = format!("token={}", token("someone", &[]));
    let cookie = ("cookie", text.as_str());
    for origin in ["https://evil.example", "null", "http://shop.example", &port] {
        assert_eq!(status(&[("origin", origin), cookie]).await, 403, "{origin}");
        assert_eq!(status(&[("origin", origin)]).await, 101, "{origin}");
    }
    for origin in [shop, &own] {
        assert_eq!(status(&[("origin", origin), cookie]).await, 101, "{origin}");
    }
    assert_eq!(status(&[cookie]).await, 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mutation_goes_on_whose_socket_was_cut() {
    // A flow takes as long as its command is held back.
    let gateway = Gateway::behind_proxy(|config| {
        (config.flow_run_millis, config.flow_command_millis) = (60_000, 30_000);
    })
    .await;
    crate::shop::stocked(&gateway, "a", 100, 5).await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(|seen| {
        seen.collection == "inventory"
            && ["findAndModify", "update"].contains(&seen.command.as_str())
    });
    proxy.cut(0, Cut::Hold);
    let mut socket = gateway.session(Some(&token("the-merchant", &["merchant"]))).await;
    let receive = "mutation { receiveStock(input: {sku: \"a\", quantity: 2}) { __typename } }";
    socket.subscribe("1", receive, json!({})).await;
    proxy.reached().await;
    drop(socket);
    tokio::time::sleep(Duration::from_millis(400)).await;
    let standing = async || {
        let asked = "{ stock(sku: \"a\") { available } }";
        gateway.anonymous().field(asked, json!({})).await["available"].clone()
    };
    assert_eq!(standing().await, 5, "it was cut before it wrote");
    proxy.release().await;
    until("it goes on without its socket", async || standing().await == 7).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_stops_says_so_and_does_not_wait() {
    // It would wait far longer for flows.
    let gateway = Gateway::with(|config| config.flow_run_millis = 120_000).await;
    stock(&gateway, "a", 1).await;
    let mut socket = gateway.session(None).await;
    socket.subscribe("1", STOCK, json!({ "sku": "a" })).await;
    socket.next("1").await;
    let quiet = gateway.socket(TRANSPORT).await;
    let closed = tokio::spawn(async move { (socket.closed().await, quiet.closed().await) });
    let took = gateway.stop().await;
    let going = (1001, "Going away".to_owned());
    assert_eq!(closed.await.expect("closed"), (going.clone(), going));
    assert!(took < Duration::from_secs(60), "{took:?}");
}
