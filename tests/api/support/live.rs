//! A subscriber over WebSocket, sub-protocol `graphql-transport-ws`.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, client::IntoClientRequest, http::HeaderValue},
};

use super::Client;

/// How long a message may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// One operation over one socket.
pub struct Live(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    /// Opens a socket, signs in with this caller's token, and sends the operation.
    pub async fn follow(&self, query: &str, variables: Value) -> Live {
        let url = self.url.replacen("http", "ws", 1);
        let mut request = url.into_client_request().expect("a request");
        let protocol = HeaderValue::from_static("graphql-transport-ws");
        request.headers_mut().insert("sec-websocket-protocol", protocol);
        let (socket, _) = connect_async(request).await.expect("a socket");
        let mut live = Live(socket);
        let payload = self.token.as_ref().map_or_else(
            || json!({}),
            |token| json!({ "Authorization": format!("Bearer {token}") }),
        );
        live.send(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(live.message().await["type"], "connection_ack");
        let payload = json!({ "query": query, "variables": variables });
        live.send(json!({ "type": "subscribe", "id": "1", "payload": payload })).await;
        live
    }
}

impl Live {
    async fn send(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.expect("sent");
    }

    async fn message(&mut self) -> Value {
        loop {
            let next = tokio::time::timeout(PATIENCE, self.0.next()).await.expect("in time");
            if let Message::Text(text) = next.expect("the socket is open").expect("a message") {
                return serde_json::from_str(&text).expect("JSON");
            }
        }
    }

    /// The next response of the operation.
    pub async fn next(&mut self) -> Value {
        let message = self.message().await;
        assert_eq!(message["type"], "next", "{message:#}");
        message["payload"].clone()
    }
}
