//! Clients that take their time.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{BOUNDARY, Door, counts, editor, file, noise, send_file, uploaded, with_file};
use crate::support::{Client, Gateway, long_bounds, until};

/// A request that is sent bit by bit.
pub(super) struct Slow {
    stream: TcpStream,
}

impl Slow {
    /// Begins a request with a body of this length.
    async fn begin(client: &Client, line: &str, media_type: &str, length: usize) -> Self {
        let address = client.url.split('/').nth(2).expect("a host");
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        let head = format!(
            "{line} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n\
             content-type: {media_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n",
            client.token.as_deref().unwrap_or_default(),
        );
        stream.write_all(head.as_bytes()).await.expect("sent");
        Self { stream }
    }

    /// Begins a request with files.
    pub(super) async fn form(client: &Client, length: usize) -> Self {
        let media_type = format!("multipart/form-data; boundary={BOUNDARY}");
        Self::begin(client, "POST /graphql", &media_type, length).await
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("sent");
    }

    /// The answer's body, in JSON.
    pub(super) async fn answer(mut self) -> Value {
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).await.expect("an answer");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_beginning_that_comes_slowly_is_no_stalled_upload() {
    let gateway = Gateway::with(|config| {
        long_bounds(config);
        config.asset_stall_seconds = 10;
        config.receive_millis = 60_000;
    })
    .await;
    let client = editor(&gateway);
    let bytes = noise(600_000);
    let body = with_file("uploadAsset", json!({ "slug": "it" }), &file("a", "x/y", bytes.clone()));
    let mut slow = Slow::form(&client, body.len()).await;
    let (beginning, rest) = body.split_at(100_000);
    slow.send(beginning).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    // More than what is looked at: it is begun now.
    slow.send(&rest[..300_000]).await;
    until("the upload is begun", async || counts(&gateway).await[0] == 1).await;
    assert_eq!(gateway.sweep_room(&docgate::domains::assets::ROOM).await, 0);
    slow.send(&rest[300_000..]).await;
    let answer = slow.answer().await;
    assert_eq!(answer["data"]["uploadAsset"]["__typename"], "Asset", "{answer:#}");
    assert!(Door::open(&gateway).bytes("/it", &[]).await == (200, bytes));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_beginning_that_takes_too_long_is_refused() {
    let gateway = Gateway::with(|config| {
        config.asset_transfer_seconds = 1;
    })
    .await;
    let client = editor(&gateway);
    let mut slow = Slow::begin(&client, "PUT /assets/it", "x/y", 300_000).await;
    for _ in 0..5 {
        slow.send(&noise(50_000)).await;
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    let answer = slow.answer().await;
    let message = answer["errors"][0]["message"].as_str().unwrap_or_default();
    assert!(message.contains("took longer than an upload may"), "{answer:#}");
    assert_eq!(counts(&gateway).await, [0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_is_no_way_round_the_limits() {
    let gateway = Gateway::with(|config| config.asset_bytes = 400_000).await;
    let (client, sent) = (editor(&gateway), file("a", "x/y", noise(300_000)));
    let input = json!({ "slug": "it", "idempotencyKey": "one" });
    let made = uploaded(&gateway, input.clone(), &sent).await;
    let large = file("a", "x/y", noise(400_001));
    let refused = send_file(&client, "uploadAsset", input, &large).await;
    assert_eq!(refused["__typename"], "FileTooLarge", "{refused:#}");
    let input = json!({ "assetId": made["id"], "idempotencyKey": "two" });
    send_file(&client, "replaceAsset", input.clone(), &sent).await;
    let refused = send_file(&client, "replaceAsset", input, &large).await;
    assert_eq!(refused["__typename"], "FileTooLarge", "{refused:#}");
}
