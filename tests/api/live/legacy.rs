//! The older sub-protocol, `graphql-ws` of subscriptions-transport-ws.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::{STOCK, available, set, short_token, stock};
use crate::support::{
    Gateway,
    live::{LEGACY, Socket},
    token,
};

async fn session(gateway: &Gateway, token: Option<&str>) -> Socket {
    let mut socket = gateway.socket(LEGACY).await;
    let payload = token.map(|token| json!({ "Authorization": format!("Bearer {token}") }));
    socket.say(json!({ "type": "connection_init", "payload": payload })).await;
    assert_eq!(socket.hear().await, json!({ "type": "connection_ack" }));
    assert_eq!(socket.hear().await, json!({ "type": "ka" }));
    socket
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_sub_protocol_is_spoken() {
    let gateway = Gateway::start().await;
    stock(&gateway, "a", 1).await;
    let mut socket = session(&gateway, Some(&token("someone", &[]))).await;
    let payload = json!({ "query": STOCK, "variables": { "sku": "a" } });
    socket.say(json!({ "type": "start", "id": "1", "payload": payload })).await;
    let data = socket.hear().await;
    assert_eq!((&data["type"], &data["id"]), (&json!("data"), &json!("1")));
    assert_eq!(available(&data["payload"]), 1);
    set(&gateway, "a", 2).await;
    assert_eq!(available(&socket.hear().await["payload"]), 2);
    // The same id again takes the place of the one before.
    let mine = json!({ "query": "{ myAccounts { nodes { id } } }" });
    socket.say(json!({ "type": "start", "id": "1", "payload": mine })).await;
    let answer = socket.hear().await;
    assert_eq!(answer["payload"]["data"]["myAccounts"]["nodes"], json!([]), "{answer:#}");
    assert_eq!(socket.hear().await, json!({ "id": "1", "type": "complete" }));
    // What ends at the client's wish is completed too; what isn't there isn't.
    socket.say(json!({ "type": "start", "id": "2", "payload": payload })).await;
    assert_eq!(socket.hear().await["type"], "data");
    socket.say(json!({ "type": "stop", "id": "2" })).await;
    assert_eq!(socket.hear().await, json!({ "id": "2", "type": "complete" }));
    socket.say(json!({ "type": "stop", "id": "2" })).await;
    // Faults of the request are data, as with that protocol's own server.
    let wrong = json!({ "query": "{ nothing }" });
    socket.say(json!({ "type": "start", "id": "3", "payload": wrong })).await;
    let answer = socket.hear().await;
    assert_eq!((&answer["type"], &answer["id"]), (&json!("data"), &json!("3")));
    assert_eq!(answer["payload"]["errors"][0]["extensions"]["code"], "BAD_USER_INPUT");
    assert_eq!(socket.hear().await, json!({ "id": "3", "type": "complete" }));
    socket.say(json!({ "type": "connection_terminate" })).await;
    assert_eq!(socket.closed().await.0, 1000);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_sub_protocol_has_the_same_codes() {
    let gateway = Gateway::with(|config| config.live_init_millis = 5_000).await;
    let mut socket = gateway.socket(LEGACY).await;
    let payload = json!({ "Authorization": "Bearer nonsense" });
    socket.say(json!({ "type": "connection_init", "payload": payload })).await;
    let told = json!({ "type": "connection_error", "payload": { "message": "Forbidden" } });
    assert_eq!(socket.hear().await, told);
    assert_eq!(socket.closed().await.0, 4403);

    let operation = json!({ "query": "{ __typename }" });
    let early = json!({ "type": "start", "id": "1", "payload": operation });
    let mut socket = gateway.socket(LEGACY).await;
    socket.say(early).await;
    assert_eq!(socket.closed().await.0, 4401);

    for message in [
        json!({ "type": "subscribe", "id": "1", "payload": operation }),
        json!({ "type": "complete", "id": "1" }),
        json!({ "type": "ping" }),
        json!({ "type": "start", "id": 1, "payload": operation }),
        json!({ "type": "stop" }),
    ] {
        let mut socket = session(&gateway, None).await;
        socket.say(message.clone()).await;
        assert_eq!(socket.closed().await.0, 4400, "{message}");
    }

    let mut socket = session(&gateway, None).await;
    socket.say(json!({ "type": "connection_init" })).await;
    assert_eq!(socket.closed().await.0, 4429);

    assert_eq!(gateway.socket(LEGACY).await.closed().await.0, 4408);
    assert_eq!(session(&gateway, Some(&short_token(8))).await.closed().await.0, 4403);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_older_sub_protocol_shows_signs_of_life() {
    let gateway = Gateway::with(|config| config.live_ping_millis = 800).await;
    let mut socket = session(&gateway, None).await;
    for _ in 0..5 {
        assert_eq!(socket.hear().await, json!({ "type": "ka" }));
    }
    // The socket's own pings are what it has to answer.
    let mut pings = 0;
    while pings < 3 {
        if let Some(Ok(Message::Ping(_))) = socket.raw().await {
            pings += 1;
        }
    }
}
