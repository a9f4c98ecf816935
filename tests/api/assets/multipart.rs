//! Bodies whose parts, or what stands before them, have no end.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{BOUNDARY, Door, editor, file, form, mutation, noise, send_form};
use crate::support::{Client, Gateway};

/// Bytes of an endless body that a gateway may take in before it answers: what sockets hold, and little
/// more.
const PATIENCE: usize = 16 << 20;

/// Sends a body that goes on with `more` again and again, until an answer comes; answers that.
async fn endless(client: &Client, beginning: &[u8], more: &[u8]) -> String {
    let address = client.url.split('/').nth(2).expect("a host");
    let stream = TcpStream::connect(address).await.expect("a connection");
    let (mut reads, mut writes) = stream.into_split();
    let token = client.token.as_deref().unwrap_or_default();
    let authorization = match token {
        "" => String::new(),
        token => format!("authorization: Bearer {token}\r\n"),
    };
    let head = format!(
        "POST /graphql HTTP/1.1\r\nhost: {address}\r\n{authorization}apollo-require-preflight: 1\r\n\
         content-type: multipart/form-data; boundary={BOUNDARY}\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    );
    let beginning = beginning.to_vec();
    let more = [format!("{:x}\r\n", more.len()).as_bytes(), more, b"\r\n"].concat();
    let writing = tokio::spawn(async move {
        writes.write_all(head.as_bytes()).await.expect("sent");
        if !beginning.is_empty() {
            let head = format!("{:x}\r\n", beginning.len());
            let piece = [head.as_bytes(), &beginning, b"\r\n"].concat();
            writes.write_all(&piece).await.expect("sent");
        }
        let mut sent = 0;
        while writes.write_all(&more).await.is_ok() {
            sent += more.len();
            assert!(sent < PATIENCE, "all of it is taken in");
        }
    });
    let mut answer = vec![0; 4_096];
    let read = tokio::time::timeout(Duration::from_secs(60), reads.read(&mut answer)).await;
    let read = read.expect("an answer in time").expect("an answer");
    drop(reads);
    writing.await.expect("a body that may be refused");
    String::from_utf8_lossy(&answer[..read]).into_owned()
}

const BOUND: &str = "has more than 16384 bytes before a part or in its head";

#[tokio::test(flavor = "multi_thread")]
async fn what_stands_before_the_parts_has_an_end() {
    let gateway = Gateway::start().await;
    let answer = endless(&gateway.anonymous(), b"", &[b'x'; 10_000]).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(BOUND), "{answer}");
    // Spaces behind what separates parts.
    let beginning = format!("--{BOUNDARY}");
    let answer = endless(&gateway.anonymous(), beginning.as_bytes(), &[b' '; 10_000]).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(BOUND), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parts_head_has_an_end() {
    let gateway = Gateway::start().await;
    let beginning = format!("--{BOUNDARY}\r\nx: ");
    let answer = endless(&gateway.anonymous(), beginning.as_bytes(), &[b'x'; 10_000]).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(BOUND), "{answer}");
    // Behind the texts: read by the operation that wants the file.
    let variables = json!({ "input": { "file": null } });
    let operations = json!({ "query": mutation("uploadAsset"), "variables": variables });
    let whole = form(&operations, &json!({ "0": ["variables.input.file"] }), &[]);
    let last = format!("--{BOUNDARY}--\r\n");
    let mut beginning = whole[..whole.len() - last.len()].to_vec();
    beginning.extend_from_slice(format!("--{BOUNDARY}\r\nx: ").as_bytes());
    let answer = endless(&editor(&gateway), &beginning, &[b'x'; 10_000]).await;
    assert!(answer.contains(BOUND), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_that_nobody_named_are_passed_over() {
    let gateway = Gateway::start().await;
    let variables = json!({ "input": { "file": null, "slug": "it" } });
    let operations = json!({ "query": mutation("uploadAsset"), "variables": variables });
    let (other, sent) = (file("o", "x/y", noise(1_000_000)), file("a", "x/y", noise(600_000)));
    let mut files: Vec<_> = (0..500).map(|_| file("s", "x/y", "small")).collect();
    files.push(other);
    let mut named: Vec<_> = files.iter().map(|file| ("other", file)).collect();
    named.push(("0", &sent));
    let body = form(&operations, &json!({ "0": ["variables.input.file"] }), &named);
    let (_, answer) = send_form(&editor(&gateway), body).await.expect("an answer");
    assert_eq!(answer["data"]["uploadAsset"]["length"], Value::from(600_000), "{answer:#}");
    assert!(Door::open(&gateway).bytes("/it", &[]).await == (200, sent.bytes));
}
