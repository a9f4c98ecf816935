//! Files put at a path.

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use super::{Door, counts, editor, let_time_pass, noise, parent};
use crate::support::{Gateway, http, key, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_put_and_put_again() {
    let gateway = Gateway::start().await;
    parent(&gateway, "/travel/lisbon", "gallery", &[]).await;
    let door = Door::of(&gateway, &editor(&gateway));
    let bytes = noise(600_000);
    let made =
        door.put("/travel/lisbon/tram", bytes.clone(), &[("content-type", "text/html")]).await;
    assert_eq!(made.status, 201, "{:#}", made.body);
    assert_eq!(made.head("location"), "/assets/travel/lisbon/tram");
    let tag = format!("\"{}\"", made.body["sha256"].as_str().expect("a digest"));
    assert_eq!(made.head("etag"), tag);
    assert_eq!(made.body["mediaType"], "application/octet-stream");
    let open = Door::open(&gateway);
    assert!(open.bytes("/travel/lisbon/tram", &[]).await == (200, bytes));
    let again = door.put("/travel/lisbon/tram", b"text".to_vec(), &[]).await;
    assert_eq!((again.status, &again.body["id"]), (200, &made.body["id"]));
    assert_eq!(open.bytes("/travel/lisbon/tram", &[]).await, (200, b"text".to_vec()));
    let root = door.put("/root", b"x".to_vec(), &[]).await;
    assert_eq!(root.status, 201);
    let_time_pass(&gateway).await;
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await, [2, 2, 2]);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_must_be_there_decides() {
    let gateway = Gateway::start().await;
    let door = Door::of(&gateway, &editor(&gateway));
    let put = async |body: &str, headers: &[(&'static str, &str)]| {
        let answer = door.put("/it", body.as_bytes().to_vec(), headers).await;
        (answer.status, answer.head("etag").to_owned())
    };
    assert_eq!(put("x", &[("if-match", "*")]).await.0, 412);
    assert_eq!(put("x", &[("if-match", "\"0\"")]).await.0, 412);
    let (status, first) = put("one", &[("if-none-match", "*")]).await;
    assert_eq!(status, 201);
    let before = gateway.snapshot().await;
    assert_eq!(put("two", &[("if-none-match", "*")]).await.0, 412);
    assert_eq!(put("two", &[("if-match", "\"other\"")]).await.0, 412);
    assert_eq!(put("two", &[("if-match", &format!("W/{first}"))]).await.0, 412);
    assert_eq!(put("two", &[("if-none-match", &first)]).await.0, 400);
    let past = ("if-unmodified-since", "Thu, 01 Jan 1970 00:00:00 GMT");
    assert_eq!(put("two", &[past]).await.0, 400);
    assert!(gateway.snapshot().await == before);
    let (status, second) = put("two", &[("if-match", &format!("\"other\", {first}"))]).await;
    assert_eq!(status, 200);
    assert_eq!(put("three", &[("if-match", &first)]).await.0, 412);
    assert_eq!(put("three", &[("if-match", &second)]).await.0, 200);
    assert_eq!(put("four", &[("if-match", "*"), past]).await.0, 200);
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_is_made_of_slugs_below_a_folder() {
    let gateway = Gateway::start().await;
    parent(&gateway, "/page", "page", &[]).await;
    let door = Door::of(&gateway, &editor(&gateway));
    for path in [
        "/a.png",
        "/A",
        "/a%2fb",
        "/%2e%2e%2fa",
        "/a%00",
        "/a/",
        "//a",
        "/$where",
        "/-",
        "/a b",
        &format!("/{}", "x".repeat(65)),
    ] {
        let answer = door.put(path, b"x".to_vec(), &[]).await;
        assert_eq!((answer.status, answer.code()), (400, "BAD_USER_INPUT"), "{path}");
        assert_eq!(answer.body["errors"][0]["extensions"]["field"], "path");
    }
    for path in ["/nowhere/a", "/page/a", "/page/a/b"] {
        let answer = door.put(path, b"x".to_vec(), &[]).await;
        assert_eq!((answer.status, answer.code()), (404, "NOT_FOUND"), "{path}");
    }
    for (name, value, status) in
        [("content-range", "bytes 0-1/2", 400), ("content-encoding", "gzip", 415)]
    {
        assert_eq!(door.put("/a", b"x".to_vec(), &[(name, value)]).await.status, status);
    }
    assert_eq!(counts(&gateway).await, [0, 0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_that_put_at_one_path_the_last_stands_whole() {
    let gateway = Gateway::start().await;
    let token = editor(&gateway).token.expect("a token");
    let puts = (1..=12).map(|number| {
        let url = format!("http://{}/assets/it", gateway.address);
        let request = http().put(url).bearer_auth(&token).body(noise(300_000 + number));
        tokio::spawn(async move { request.send().await.expect("an answer").status().as_u16() })
    });
    let mut done = 0;
    for put in puts.collect::<Vec<_>>() {
        let status = put.await.expect("an answer");
        assert!([200, 201, 409, 503].contains(&status), "{status}");
        done += u32::from(status < 300);
    }
    assert!(done >= 1);
    let (status, bytes) = Door::open(&gateway).bytes("/it", &[]).await;
    assert!(status == 200 && bytes == noise(bytes.len()), "a mixture of {} bytes", bytes.len());
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_is_cut_leaves_what_was_there() {
    let gateway = Gateway::start().await;
    let client = editor(&gateway);
    let door = Door::of(&gateway, &client);
    let made = door.put("/it", b"first".to_vec(), &[]).await;
    let mut stream = tokio::net::TcpStream::connect(gateway.address).await.expect("a connection");
    let head = format!(
        "PUT /assets/it HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: 2000000\r\n\r\n",
        client.token.as_deref().unwrap_or_default()
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    stream.write_all(&noise(1_500_000)).await.expect("sent");
    let id = key(made.body["id"].as_str().expect("an id"));
    let is_under_way = async || super::stored(&gateway, &id).await.get("upload").is_some();
    until("the upload is under way", &is_under_way).await;
    drop(stream);
    let is_undone = async || !is_under_way().await && counts(&gateway).await == [1, 1, 1];
    until("the upload is undone", is_undone).await;
    assert_eq!(Door::open(&gateway).bytes("/it", &[]).await, (200, b"first".to_vec()));
    let put = door.put("/it", b"second".to_vec(), &[]).await;
    assert_eq!((put.status, &put.body["length"]), (200, &json!(6)));
    gateway.assert_sound().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_can_be_put_too() {
    let gateway = Gateway::start().await;
    let door = Door::of(&gateway, &editor(&gateway));
    let made = door.put("/it", Vec::new(), &[]).await;
    assert_eq!((made.status, &made.body["length"]), (201, &json!(0)), "{:#}", made.body);
    let open = Door::open(&gateway);
    assert_eq!(open.bytes("/it", &[]).await, (200, Vec::new()));
    assert_eq!(door.put("/it", b"some".to_vec(), &[]).await.status, 200);
    assert_eq!(door.put("/it", Vec::new(), &[]).await.status, 200);
    assert_eq!(open.bytes("/it", &[]).await, (200, Vec::new()));
    let_time_pass(&gateway).await;
    gateway.sweep().await;
    assert_eq!(counts(&gateway).await, [1, 1, 0]);
    gateway.assert_sound().await;
}
