//! Connections by hand: from an address of one's own, kept, or left in the middle of a request.

use std::{net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use super::Gateway;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A connection as a client holds it.
pub struct Raw(pub BufReader<TcpStream>);

/// An answer.
#[derive(Debug)]
pub struct RawAnswer {
    pub status: u16,
    head: String,
    pub body: String,
}

impl RawAnswer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines
            .filter(|(own, _)| own.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
            .next()
    }

    /// Whether the connection ends with it.
    pub fn is_last(&self) -> bool {
        self.header("connection") == Some("close")
    }

    /// Status and when to come again.
    pub fn refusal(&self) -> (u16, Option<&str>) {
        (self.status, self.header("retry-after"))
    }

    /// `extensions.code` of the first error.
    pub fn code(&self) -> String {
        let body: Value = serde_json::from_str(&self.body).expect("JSON");
        body["errors"][0]["extensions"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Raw {
    /// A connection from 127.0.0.`last`.
    pub async fn from(gateway: &Gateway, last: u8) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from(([127, 0, 0, last], 0))).expect("an address");
        Self(BufReader::new(socket.connect(gateway.address).await.expect("a connection")))
    }

    pub async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.expect("sent");
    }

    /// Asks for a path.
    pub async fn get(&mut self, path: &str) -> RawAnswer {
        self.send(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await;
        self.answer().await.expect("an answer")
    }

    /// The next answer; none where the connection ends without one.
    pub async fn answer(&mut self) -> Option<RawAnswer> {
        timeout(PATIENCE, self.read()).await.expect("an answer in time")
    }

    /// Nothing comes for that long, and the connection stays.
    pub async fn is_silent(&mut self, time: Duration) {
        let heard = timeout(time, self.read()).await;
        assert!(heard.is_err(), "{heard:?}");
    }

    async fn read(&mut self) -> Option<RawAnswer> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.0.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).expect("text");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut answer = RawAnswer { status: status.expect("a status"), head, body: String::new() };
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.unwrap_or_default()];
        self.0.read_exact(&mut body).await.ok()?;
        answer.body = String::from_utf8(body).expect("text");
        Some(answer)
    }
}
