//! Cursors, JSON and tokens that a client makes to bring a gateway down.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use mongodb::bson::{self, Bson, Document, doc};
use serde_json::json;

use crate::{
    support::{Client, Gateway, http, live::TRANSPORT},
    theater::{create_theater, theater_input},
};

/// The theaters of the world, by their distance from a point.
const NEAR: &str = "query($first: Int, $after: String) { theatersNear(
    point: { longitude: 13.4, latitude: 52.52 }, withinMeters: 300000, first: $first, after: $after
) { nodes { theater { name } } pageInfo { endCursor } } }";

/// A document with one key that is an array in an array, this many times.
fn nested(depth: usize) -> Vec<u8> {
    let size = |bytes: usize| i32::try_from(bytes).expect("a size").to_le_bytes();
    let empty = 5;
    let head = b"\x04keys\0";
    let mut bytes = size(empty + head.len() + empty + 8 * depth).to_vec();
    bytes.extend(head);
    for around in (1..=depth).rev() {
        bytes.extend(size(empty + 8 * around));
        bytes.extend(b"\x040\0");
    }
    bytes.extend(size(empty));
    bytes.extend(vec![0; depth + 2]);
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn however_deeply_a_cursor_is_nested_it_is_only_refused() {
    let small = bson::deserialize_from_slice::<Document>(&nested(1)).expect("a document");
    assert_eq!(small, doc! { "keys": [[]] });
    let gateway = Gateway::start().await;
    let visitor = gateway.anonymous();
    let query = "query($after: String) { categories(after: $after) { nodes { slug } } }";
    let after = BASE64.encode(nested(50_000));
    assert_eq!(visitor.error_code(query, json!({ "after": after })).await, "BAD_USER_INPUT");
    visitor.data(query, json!({})).await;
}

/// The names of the theaters beyond a cursor whose distance is replaced.
async fn beyond(visitor: &Client, cursor: &Document, distance: impl Into<Bson>) -> Vec<String> {
    let mut cursor = cursor.clone();
    cursor.get_array_mut("keys").expect("keys")[0] = distance.into();
    let after = BASE64.encode(bson::serialize_to_vec(&cursor).expect("bytes"));
    let found = visitor.field(NEAR, json!({ "after": after })).await;
    let nodes = found["nodes"].as_array().expect("nodes");
    nodes.iter().map(|node| node["theater"]["name"].as_str().expect("a name").into()).collect()
}

/// The keys of a cursor aren't signed: whoever has one can ask for any part of its list, and of no other.
#[tokio::test(flavor = "multi_thread")]
async fn a_distance_in_a_cursor_may_be_any_number() {
    let gateway = Gateway::start().await;
    for (name, place) in [("Berlin", [13.4, 52.52]), ("Hamburg", [10.0, 53.55])] {
        create_theater(&gateway.merchant(), theater_input(name, place, &["A"])).await;
    }
    let visitor = gateway.anonymous();
    let page = visitor.field(NEAR, json!({ "first": 1 })).await;
    let cursor = page["pageInfo"]["endCursor"].as_str().expect("a cursor");
    let cursor = BASE64.decode(cursor).expect("bytes");
    let cursor = bson::deserialize_from_slice(&cursor).expect("a document");
    for before in [-1.0, f64::MIN, f64::NEG_INFINITY] {
        assert_eq!(beyond(&visitor, &cursor, before).await, ["Berlin", "Hamburg"], "{before}");
    }
    for behind in [1e9, f64::MAX, f64::INFINITY] {
        assert!(beyond(&visitor, &cursor, behind).await.is_empty(), "{behind}");
    }
    // No number is beyond these.
    for other in [f64::NAN.into(), Bson::from("text"), Bson::from(true)] {
        assert!(beyond(&visitor, &cursor, other.clone()).await.is_empty(), "{other}");
    }
}

/// Brackets around a text of brackets around a text, this many times. The parser's own limit holds for each text alone.
fn texts(depth: usize) -> String {
    let mut text = "0".to_owned();
    for _ in 0..depth {
        // Like this, a backslash in a text stays one backslash in the text around it.
        let inner = text.replace('\\', "\\u005c").replace('"', "\\u0022");
        let (open, close) = ("[".repeat(100), "]".repeat(100));
        text = format!("{open}{{\"$serde_json::private::RawValue\":\"{inner}\"}}{close}");
    }
    text
}

#[tokio::test(flavor = "multi_thread")]
async fn json_in_the_texts_of_json_is_refused() {
    let gateway = Gateway::with(|config| config.max_batch = 2).await;
    let visitor = gateway.anonymous();
    let one =
        |text: &str| format!("{{\"query\":\"{{__typename}}\",\"extensions\":{{\"a\":{text}}}}}");
    for text in [texts(1), texts(150)] {
        for body in [one(&text), format!("[{}]", one(&text))] {
            let request = http().post(&visitor.url).header("content-type", "application/json");
            let answer = request.body(body).send().await.expect("an answer");
            assert_eq!(answer.status(), 400);
        }
    }
    let extensions = format!("{{\"a\":{}}}", texts(1));
    let parameters = [("query", "{__typename}"), ("extensions", &*extensions)];
    let url = reqwest::Url::parse_with_params(&visitor.url, parameters).expect("a URL");
    assert_eq!(http().get(url).send().await.expect("an answer").status(), 400);
    for depth in [1, 20] {
        let header = BASE64.encode(format!("{{\"alg\":\"HS256\",\"x\":{}}}", texts(depth)));
        let bearer = gateway.client(Some(format!("{header}.e30.e30")));
        let (status, answer) = bearer.send("{ __typename }", json!({})).await.expect("an answer");
        assert_eq!(status, 401, "{answer:#}");
    }
    let mut socket = gateway.socket(TRANSPORT).await;
    let payload = json!({ "$serde_json::private::RawValue": "1" });
    socket.say(json!({ "type": "connection_init", "payload": { "a": payload } })).await;
    assert_eq!(socket.closed().await.0, 4400);
    visitor.data("{ __typename }", json!({})).await;
}
