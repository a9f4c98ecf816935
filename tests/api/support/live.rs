//! Subscribers of every kind: over WebSocket, server-sent events and multipart HTTP.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use reqwest::{Response, header::ACCEPT};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{
        Error as Fault, Message,
        client::IntoClientRequest,
        http::{HeaderName, HeaderValue},
    },
};

use super::{Client, Gateway};

/// How long a message may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// The sub-protocols.
pub const TRANSPORT: &str = "graphql-transport-ws";
pub const LEGACY: &str = "graphql-ws";

/// A WebSocket as a client holds it. It answers pings for as long as it is read.
pub struct Socket(WebSocketStream<TcpStream>);

impl Gateway {
    /// A WebSocket that has said nothing yet.
    pub async fn socket(&self, protocol: &str) -> Socket {
        let headers = [("sec-websocket-protocol", protocol)];
        self.socket_with(&headers, None).await.expect("a socket")
    }

    /// A WebSocket that was acknowledged, for the holder of a token.
    pub async fn session(&self, token: Option<&str>) -> Socket {
        let mut socket = self.socket(TRANSPORT).await;
        socket.init(token).await;
        socket
    }

    /// A WebSocket asked for with these headers, whose client holds as many bytes unread as `buffer`.
    pub async fn socket_with(
        &self,
        headers: &[(&str, &str)],
        buffer: Option<u32>,
    ) -> Result<Socket, Box<Fault>> {
        let url = format!("ws://{}/graphql", self.address);
        let mut request = url.into_client_request().expect("a request");
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            request.headers_mut().insert(name, HeaderValue::from_str(value).expect("a value"));
        }
        let socket = TcpSocket::new_v4().expect("a socket");
        if let Some(buffer) = buffer {
            socket.set_recv_buffer_size(buffer).expect("a buffer");
        }
        let stream = socket.connect(self.address).await.expect("a connection");
        Ok(Socket(client_async(request, stream).await.map_err(Box::new)?.0))
    }
}

impl Socket {
    /// What is left of a handshake made by hand.
    pub async fn over(stream: TcpStream) -> Self {
        let role = tokio_tungstenite::tungstenite::protocol::Role::Client;
        Self(WebSocketStream::from_raw_socket(stream, role, None).await)
    }

    pub async fn say(&mut self, message: Value) {
        self.frame(Message::text(message.to_string())).await;
    }

    pub async fn frame(&mut self, message: Message) {
        self.0.send(message).await.expect("sent");
    }

    /// Says who it is, and waits until that was acknowledged.
    pub async fn init(&mut self, token: Option<&str>) {
        let payload = token.map_or_else(
            || json!({}),
            |token| json!({ "Authorization": format!("Bearer {token}") }),
        );
        self.say(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(self.hear().await, json!({ "type": "connection_ack" }));
    }

    pub async fn subscribe(&mut self, id: &str, query: &str, variables: Value) {
        let payload = json!({ "query": query, "variables": variables });
        self.say(json!({ "type": "subscribe", "id": id, "payload": payload })).await;
    }

    /// The next message.
    pub async fn hear(&mut self) -> Value {
        self.hear_within(PATIENCE).await
    }

    async fn hear_within(&mut self, patience: Duration) -> Value {
        loop {
            match self.raw_within(patience).await {
                Some(Ok(Message::Text(text))) => {
                    return serde_json::from_str(&text).expect("JSON");
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("a message instead of {other:?}"),
            }
        }
    }

    /// The payload of the next answer to the operation with that id.
    pub async fn next(&mut self, id: &str) -> Value {
        self.next_within(PATIENCE, id).await
    }

    async fn next_within(&mut self, patience: Duration, id: &str) -> Value {
        let message = self.hear_within(patience).await;
        assert_eq!((&message["type"], &message["id"]), (&json!("next"), &json!(id)), "{message:#}");
        message["payload"].clone()
    }

    /// Checks that the operation with that id is told that what it follows doesn't exist, and that it ends.
    pub async fn ends_not_found(&mut self, id: &str) {
        let answer = self.next(id).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "NOT_FOUND", "{answer:#}");
        assert!(answer["data"].is_null(), "{answer:#}");
        assert_eq!(self.hear().await, json!({ "type": "complete", "id": id }));
    }

    /// Whatever comes next, also what belongs to the socket itself.
    pub async fn raw(&mut self) -> Option<Result<Message, Fault>> {
        self.raw_within(PATIENCE).await
    }

    async fn raw_within(&mut self, patience: Duration) -> Option<Result<Message, Fault>> {
        tokio::time::timeout(patience, self.0.next()).await.expect("in time")
    }

    /// Code and reason with which the gateway closes it; whatever was said before doesn't matter.
    pub async fn closed(mut self) -> (u16, String) {
        loop {
            match self.raw().await {
                Some(Ok(Message::Close(Some(frame)))) => {
                    return (frame.code.into(), frame.reason.to_string());
                }
                Some(Ok(Message::Close(None)) | Err(_)) | None => {
                    panic!("the socket ends without a code")
                }
                Some(Ok(_)) => {}
            }
        }
    }

    /// Nothing is said for that long.
    pub async fn is_silent(&mut self, time: Duration) {
        let heard = tokio::time::timeout(time, self.hear()).await;
        assert!(heard.is_err(), "{heard:?}");
    }
}

/// One operation over one socket.
pub struct Live(Socket);

impl Client {
    /// Opens a socket, signs in with this caller's token, and sends the operation.
    pub async fn follow(&self, query: &str, variables: Value) -> Live {
        let address = self.url.split('/').nth(2).expect("a host");
        let mut request =
            format!("ws://{address}/graphql").into_client_request().expect("a request");
        let protocol = HeaderValue::from_static(TRANSPORT);
        request.headers_mut().insert("sec-websocket-protocol", protocol);
        let stream = TcpStream::connect(address).await.expect("a connection");
        let (socket, _) = client_async(request, stream).await.expect("a socket");
        let mut socket = Socket(socket);
        socket.init(self.token.as_deref()).await;
        socket.subscribe("1", query, variables).await;
        Live(socket)
    }

    /// Sends an operation whose answers come as `accept` says.
    pub async fn stream(&self, accept: &str, query: &str, variables: Value) -> Response {
        let mut request = self.http.post(&self.url).header(ACCEPT, accept);
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let body = json!({ "query": query, "variables": variables });
        request.json(&body).send().await.expect("an answer")
    }

    /// The same as server-sent events.
    pub async fn events(&self, query: &str, variables: Value) -> Chunks {
        let response = self.stream("text/event-stream", query, variables).await;
        assert_eq!(response.status(), 200);
        Chunks::events(response)
    }

    /// The same as parts.
    pub async fn parts(&self, query: &str, variables: Value) -> Chunks {
        let accept = "multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json";
        let response = self.stream(accept, query, variables).await;
        assert_eq!(response.status(), 200);
        Chunks { response, end: "\r\n--graphql", text: String::new() }
    }
}

impl Live {
    /// The next response of the operation.
    pub async fn next(&mut self) -> Value {
        self.0.next("1").await
    }

    /// The next response of the operation, which may take this long.
    pub async fn next_within(&mut self, patience: Duration) -> Value {
        self.0.next_within(patience, "1").await
    }
}

/// A body that comes in chunks, each with the same end.
pub struct Chunks {
    response: Response,
    end: &'static str,
    text: String,
}

impl Chunks {
    /// Server-sent events.
    pub fn events(response: Response) -> Self {
        Self { response, end: "\n\n", text: String::new() }
    }

    /// The next chunk without its end; `None` where the body has come to its end.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            if let Some((chunk, rest)) = self.text.split_once(self.end) {
                let (chunk, rest) = (chunk.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(chunk);
            }
            let read = tokio::time::timeout(PATIENCE, self.response.chunk()).await;
            let bytes = read.expect("in time").expect("a body without faults")?;
            self.text.push_str(std::str::from_utf8(&bytes).expect("text"));
        }
    }

    /// The next event that isn't a comment: its name and its data.
    pub async fn event(&mut self) -> Option<(String, Value)> {
        loop {
            let chunk = self.next().await?;
            let Some(rest) = chunk.strip_prefix("event: ") else {
                assert_eq!(chunk, ":");
                continue;
            };
            let (name, data) = rest.split_once("\ndata:").expect("a name and data");
            let data = Some(data.trim()).filter(|data| !data.is_empty());
            let data = data.map_or(Value::Null, |data| serde_json::from_str(data).expect("JSON"));
            return Some((name.to_owned(), data));
        }
    }

    /// The next part that isn't a heartbeat; `None` where only the end was left.
    pub async fn part(&mut self) -> Option<Value> {
        loop {
            let Some(chunk) = self.next().await else {
                assert_eq!(self.text, "--\r\n");
                return None;
            };
            if chunk.is_empty() {
                continue; // before the first part
            }
            let body = chunk.strip_prefix("\r\ncontent-type: application/json\r\n\r\n");
            let part: Value = serde_json::from_str(body.expect("a head")).expect("JSON");
            if part != json!({}) {
                return Some(part);
            }
        }
    }
}
