//! How large, how many, of which types.

use reqwest::{Method, StatusCode};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use super::{
    Door, counts, editor, file, form, mutation, noise, send_file, send_form, uploaded, with_file,
};
use crate::support::{Client, Gateway, until};

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_too_large_are_refused_and_leave_nothing() {
    for most in [1_000, 700_000] {
        let gateway = Gateway::with(|config| config.asset_bytes = most).await;
        let client = editor(&gateway);
        let length = usize::try_from(most).expect("small");
        let there =
            uploaded(&gateway, json!({ "slug": "fits" }), &file("a", "x/y", noise(length))).await;
        let before = gateway.snapshot().await;
        let large = file("a", "x/y", noise(length + 1));
        let refused = send_file(&client, "uploadAsset", json!({ "slug": "large" }), &large).await;
        assert_eq!(
            (&refused["__typename"], &refused["most"]),
            (&json!("FileTooLarge"), &json!(most))
        );
        assert_eq!(refused["message"], format!("the file is larger than {most} bytes"));
        let refused =
            send_file(&client, "replaceAsset", json!({ "assetId": there["id"] }), &large).await;
        assert_eq!(refused["__typename"], "FileTooLarge");
        let door = Door::of(&gateway, &client);
        let put = door.put("/large", large.bytes.clone(), &[]).await;
        assert_eq!((put.status, put.code()), (413, "FILE_TOO_LARGE"));
        // Without a length that is told before.
        let answer = put_in_pieces(&gateway, &client, &large.bytes).await;
        assert!(
            answer.starts_with("HTTP/1.1 413") && answer.contains("FILE_TOO_LARGE"),
            "{answer}"
        );
        assert!(gateway.snapshot().await == before, "a refusal changed something");
    }
}

/// Puts a body whose length isn't told before; answers with what comes back.
async fn put_in_pieces(gateway: &Gateway, client: &Client, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(gateway.address).await.expect("a connection");
    let mut request = format!(
        "PUT /assets/large HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        client.token.as_deref().unwrap_or_default()
    )
    .into_bytes();
    for piece in bytes.chunks(10_000) {
        request.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        request.extend_from_slice(piece);
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"0\r\n\r\n");
    stream.write_all(&request).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_types_that_are_taken_come_in() {
    let gateway = Gateway::with(|config| {
        config.asset_types = vec!["image/*".into(), "text/csv".into()];
    })
    .await;
    let client = editor(&gateway);
    let html = file("a.png", "image/png", "<html><script>alert(1)</script>");
    let refused = send_file(&client, "uploadAsset", json!({}), &html).await;
    assert_eq!(
        (&refused["__typename"], &refused["sentMediaType"]),
        (&json!("MediaTypeNotAllowed"), &json!("text/html"))
    );
    assert_eq!(
        refused["message"],
        "by its bytes the file is text/html; taken is image/*, text/csv"
    );
    let door = Door::of(&gateway, &client);
    let put = door.put("/a", html.bytes.clone(), &[("content-type", "image/png")]).await;
    assert_eq!((put.status, put.code()), (415, "MEDIA_TYPE_NOT_ALLOWED"));
    assert_eq!(counts(&gateway).await, [0, 0, 0]);
    uploaded(&gateway, json!({}), &file("a.csv", "text/csv", "a,b")).await;
    uploaded(&gateway, json!({}), &file("b", "", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_at_most_so_many_files() {
    let gateway = Gateway::with(|config| config.asset_files = 2).await;
    let operations = json!({
        "query": mutation("uploadAsset"),
        "variables": { "input": { "file": null, "title": null, "idempotencyKey": null } },
    });
    let map = json!({
        "0": ["variables.input.file"], "1": ["variables.input.title"], "2": ["variables.input.idempotencyKey"],
    });
    let body = form(&operations, &map, &[("0", &file("a", "x/y", "x"))]);
    let (status, answer) = send_form(&editor(&gateway), body).await.expect("an answer");
    assert_eq!(status, StatusCode::BAD_REQUEST);
    let error = &answer["errors"][0];
    assert_eq!(error["message"], "map: names 3 files: at most 2 go with a request", "{answer:#}");
    assert_eq!(counts(&gateway).await, [0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_bodies_is_for_the_text_and_not_for_files() {
    let gateway = Gateway::with(|config| config.body_bytes = 4_096).await;
    let client = editor(&gateway);
    uploaded(&gateway, json!({ "slug": "it" }), &file("a", "x/y", noise(100_000))).await;
    let put = Door::of(&gateway, &client).put("/it", noise(100_001), &[]).await;
    assert_eq!(put.status, 200);
    let body =
        with_file("uploadAsset", json!({ "title": "x".repeat(5_000) }), &file("a", "x/y", "x"));
    let (status, answer) = send_form(&client, body).await.expect("an answer");
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE, "{answer:#}");
    assert_eq!(answer["errors"][0]["extensions"]["field"], "operations");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_that_is_full_of_transfers_says_so() {
    let gateway = Gateway::with(|config| config.max_transfers = 1).await;
    uploaded(&gateway, json!({ "slug": "it" }), &file("a", "x/y", noise(24 << 20))).await;
    let door = Door::open(&gateway);
    let mut reading = door.get("/it", &[]).await;
    reading.chunk().await.expect("bytes").expect("some");
    let refused = door.get("/it", &[]).await;
    assert_eq!(
        (refused.status().as_u16(), super::header(refused.headers(), "retry-after")),
        (503, "1")
    );
    assert_eq!(door.request(Method::HEAD, "/it").send().await.expect("an answer").status(), 200);
    while reading.chunk().await.expect("bytes").is_some() {}
    until("the room is given back", async || door.get("/it", &[]).await.status() == 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_of_one_client_leave_room_for_others() {
    let gateway = Gateway::with(|config| config.max_transfers = 4).await;
    uploaded(&gateway, json!({ "slug": "it" }), &file("a", "x/y", noise(24 << 20))).await;
    let nobody = Door::open(&gateway);
    let mut reading = nobody.get("/it", &[]).await;
    reading.chunk().await.expect("bytes").expect("some");
    let refused = nobody.get("/it", &[]).await;
    assert_eq!(
        (refused.status().as_u16(), super::header(refused.headers(), "retry-after")),
        (429, "1")
    );
    // Uploads count together with downloads, of a subject whatever its address is.
    let client = editor(&gateway);
    let begun = put_in_part(&gateway, &client).await;
    let door = Door::of(&gateway, &client);
    let put = door.put("/other", noise(1_000), &[]).await;
    assert_eq!((put.status, put.head("retry-after"), put.code()), (429, "1", "RATE_LIMITED"));
    assert_eq!(door.get("/it", &[]).await.status(), 429);
    let sent = with_file("uploadAsset", json!({ "slug": "other" }), &file("a", "x/y", noise(9)));
    let (status, answer) = send_form(&client, sent).await.expect("an answer");
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{answer:#}");
    assert_eq!(counts(&gateway).await[0], 2, "a refusal left something behind");
    let other = gateway.user("another-editor", &["editor"]);
    assert_eq!(Door::of(&gateway, &other).put("/other", noise(1_000), &[]).await.status, 201);
    // Who hangs up has room again.
    drop((reading, begun));
    for door in [nobody, door] {
        until("the room is given back", async || door.get("/it", &[]).await.status() == 200).await;
    }
}

/// Begins to put a file, which is an entry by then.
async fn put_in_part(gateway: &Gateway, client: &Client) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.address).await.expect("a connection");
    let head = format!(
        "PUT /assets/begun HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-length: 600000\r\n\r\n",
        client.token.as_deref().unwrap_or_default()
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    // More than what is looked at before.
    stream.write_all(&noise(500_000)).await.expect("sent");
    until("it is begun", async || counts(gateway).await[0] == 2).await;
    stream
}
