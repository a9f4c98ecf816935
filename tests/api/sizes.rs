//! How much one request can get, and how much a client can have the gateway keep.

use std::fmt::Write as _;

use mongodb::bson::{Document, doc};
use reqwest::{Method, header::ACCEPT};
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
};

use crate::{
    shop::stocked,
    support::{Client, Gateway, http, until},
};

/// Stock of these SKUs, a piece each.
async fn stocks(gateway: &Gateway, skus: &[String]) {
    let all = skus.iter().map(|sku| doc! { "_id": sku, "available": 1, "v": 1 });
    let inventory = gateway.database.collection::<Document>("inventory");
    inventory.insert_many(all).await.expect("inserted");
}

/// A field under many names.
fn names(field: &str, count: usize) -> String {
    (0..count).fold(String::new(), |mut all, at| {
        write!(all, "name{at:04}: {field} ").expect("a string");
        all
    })
}

/// Code and limit of a refusal without data.
fn refusal(answer: &Value) -> (&str, &str) {
    assert_eq!(answer.get("data"), None, "{answer:#}");
    let errors = answer["errors"].as_array().expect("errors");
    assert_eq!(errors.len(), 1, "{answer:#}");
    let extensions = &errors[0]["extensions"];
    let text = |name: &str| extensions[name].as_str().unwrap_or_default();
    (text("code"), text("limit"))
}

async fn refused(client: &Client, query: &str, limit: &str) {
    let answer = client.run(query, json!({})).await;
    assert_eq!(refusal(&answer), ("QUERY_TOO_COMPLEX", limit), "{query:.80}");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_short_because_each_object_repeats_them() {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    let named = |length: usize| format!("{{ {}: __typename }}", "a".repeat(length));
    assert_eq!(client.data(&named(256), json!({})).await["a".repeat(256)], "Query");
    for text in [
        named(257),
        format!("query {} {{ __typename }}", "a".repeat(257)),
        format!("{{ stock(sku: {}) {{ sku }} }}", "1".repeat(257)),
    ] {
        refused(&client, &text, "name").await;
    }
    // A string is no name.
    let text = format!("{{ stock(sku: \"{}\") {{ sku }} }}", "a".repeat(257));
    let answer = client.run(&text, json!({})).await;
    assert_ne!(answer["errors"][0]["extensions"]["code"], "QUERY_TOO_COMPLEX", "{answer:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_introspection_asks_for_does_not_multiply() {
    let gateway = Gateway::start().await;
    let client = gateway.anonymous();
    let many = names("enumValues { name }", 20);
    for text in [
        "{ __schema { types { possibleTypes { interfaces { possibleTypes { name } } } } } }",
        "{ ...a } fragment a on Query { ... { __type(name: \"Node\") { ...b } } }
         fragment b on __Type { possibleTypes { fields { type { ofType { ...c } } } } }
         fragment c on __Type { interfaces { name } }",
        &format!("{{ __schema {{ types {{ {many} }} }} }}"),
    ] {
        refused(&client, text, "introspection").await;
    }
    let text = "{ __type(name: \"Node\") { possibleTypes { fields { type { name } } } } }";
    assert!(client.data(text, json!({})).await["__type"]["possibleTypes"].is_array());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_grows_too_large_is_an_error() {
    let gateway = Gateway::with(|config| config.max_response_bytes = 20_000).await;
    let skus: Vec<String> = (0..50).map(|at| format!("sku-{at:02}")).collect();
    stocks(&gateway, &skus).await;
    let client = gateway.anonymous();
    let ids = serde_json::to_string(&skus).expect("JSON");
    let all = |what: &str| format!("{{ stocks(skus: {ids}) {{ {what} }} }}");
    let small = client.data(&all(&names("sku", 10)), json!({})).await;
    assert_eq!(small["stocks"][49]["name0009"], "sku-49");
    let many = names("sku", 60);
    // Known or not; with a condition, which leaves it to the library; errors count too.
    for text in [
        all(&many),
        all(&many),
        all(&format!("... on Stock @include(if: true) {{ {many} }}")),
        all(&names("sold", 10)),
    ] {
        refused(&client, &text, "max_response_bytes").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mutation_with_too_large_a_response_is_done() {
    let gateway = Gateway::with(|config| config.max_response_bytes = 1_000).await;
    stocked(&gateway, "a", 250, 10).await;
    stocked(&gateway, "b", 250, 10).await;
    let merchant = gateway.merchant();
    let receive = |key: &str, sku: &str| {
        format!(
            "{key}: receiveStock(input: {{ sku: \"{sku}\", quantity: 5, idempotencyKey: \"{key}\" }}) {{
             ... on Stock {{ {} }} }}",
            names("sku", 40)
        )
    };
    let text = format!("mutation {{ {} {} }}", receive("one", "a"), receive("two", "b"));
    let answer = merchant.run(&text, json!({})).await;
    assert_eq!(refusal(&answer), ("QUERY_TOO_COMPLEX", "max_response_bytes"));
    let message = answer["errors"][0]["message"].as_str().expect("a message");
    assert_eq!(message, "the operation was executed, but its response is larger than 1000 bytes");
    let stock = merchant.data("{ stocks(skus: [\"a\", \"b\"]) { available } }", json!({})).await;
    assert_eq!(stock["stocks"], json!([{ "available": 15 }, { "available": 15 }]));
}

/// Each of them was compared with all others.
#[tokio::test(flavor = "multi_thread")]
async fn many_errors_of_a_document_are_told_once_each() {
    const COUNT: usize = 4_000;
    let gateway = Gateway::with(|config| {
        config.max_aliases = 10_000;
        config.max_tokens = 100_000;
    })
    .await;
    let client = gateway.anonymous();
    let told = async |query: String| {
        let answer = client.run(&query, json!({})).await;
        assert!(answer.get("data").is_none_or(Value::is_null), "{:.200}", answer.to_string());
        answer["errors"].as_array().expect("errors").clone()
    };
    let unknown = (0..COUNT).fold(String::new(), |mut all, at| {
        write!(all, "nameless{at:04} ").expect("a string");
        all
    });
    // The fragment is validated wherever it is spread.
    let errors = told(format!(
        "{{ a: stock(sku: \"a\") {{ ...F }} b: stock(sku: \"b\") {{ ...F }} }}
         fragment F on Stock {{ {unknown} }}"
    ))
    .await;
    assert_eq!(errors.len(), COUNT);
    let invalid = (0..COUNT).fold(String::new(), |mut all, at| {
        write!(all, "name{at:04}: name(locale: {{at: {at}}}) ").expect("a string");
        all
    });
    let errors = told(format!("{{ category(by: {{ id: \"a\" }}) {{ {invalid} }} }}")).await;
    assert_eq!(errors.len(), COUNT);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_errors_are_told_with_what_is_there() {
    let gateway = Gateway::start().await;
    let skus: Vec<String> = (0..100).map(|at| format!("sku-{at:02}")).collect();
    stocks(&gateway, &skus).await;
    let unknown = (0..19).fold(String::new(), |mut all, at| {
        write!(all, "none{at}: stocks(skus: $unknown) {{ sku }} ").expect("a string");
        all
    });
    let query = format!(
        "query($skus: [ID!]!, $unknown: [ID!]!) {{ stocks(skus: $skus) {{ sku {} }} {unknown} }}",
        names("sold", 50)
    );
    let missing: Vec<String> = (0..100).map(|at| format!("none-{at:02}")).collect();
    let variables = json!({ "skus": skus, "unknown": missing });
    let answer = gateway.anonymous().run(&query, variables).await;
    let data = &answer["data"];
    assert_eq!(answer["errors"].as_array().expect("errors").len(), 100 * 50);
    assert_eq!(data["stocks"].as_array().expect("a list").len(), 100);
    assert_eq!(data["stocks"][99]["sku"], "sku-99");
    assert_eq!(data["stocks"][99].get("name0049"), Some(&Value::Null));
    assert_eq!(data["none18"], json!(vec![Value::Null; 100]));
}

#[tokio::test(flavor = "multi_thread")]
async fn each_response_of_a_subscription_has_the_limit() {
    let gateway = Gateway::with(|config| config.max_response_bytes = 1_500).await;
    stocked(&gateway, "a", 250, 1).await;
    let receive = async || {
        let receive =
            "mutation { receiveStock(input: { sku: \"a\", quantity: 1 }) { __typename } }";
        let received = gateway.merchant().field(receive, json!({})).await;
        assert_eq!(received["__typename"], "Stock", "{received:#}");
    };
    let query = |count: usize| {
        let names = names("sku", count);
        format!("subscription($sku: ID!) {{ stockChanged(sku: $sku) {{ available {names} }} }}")
    };
    // Together they are larger.
    let mut events = gateway.anonymous().follow(&query(60), json!({ "sku": "a" })).await;
    for available in 1..5 {
        let event = events.next().await;
        assert_eq!(event["data"]["stockChanged"]["available"], available, "{event:#}");
        receive().await;
    }
    let mut events = gateway.anonymous().events(&query(99), json!({ "sku": "a" })).await;
    let (_, event) = events.event().await.expect("an event");
    assert_eq!(event["errors"][0]["extensions"]["limit"], "max_response_bytes", "{event:#}");
    assert!(event["data"].is_null(), "{event:#}");
    let (name, _) = events.event().await.expect("an event");
    assert_eq!((name.as_str(), events.event().await), ("complete", None));
}

/// A client that asks for the response several times, more than the system holds for it, and reads nothing.
async fn unread(gateway: &Gateway, body: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a buffer");
    let mut stream = socket.connect(gateway.address).await.expect("a connection");
    let head = "POST /graphql HTTP/1.1\r\nhost: a.example\r\ncontent-type: application/json";
    let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.repeat(3).as_bytes()).await.expect("sent");
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn what_clients_leave_unread_is_limited() {
    // A quarter is one large response.
    let gateway = Gateway::with(|config| config.max_unsent_bytes = 8 << 20).await;
    let skus: Vec<String> = (0..100).map(|at| format!("sku-{at:02}")).collect();
    stocks(&gateway, &skus).await;
    let ids = serde_json::to_string(&skus).expect("JSON");
    let long = names("sku", 99).replace("name", &"n".repeat(240));
    let query = format!("{{ stocks(skus: {ids}) {{ {long} }} }}");
    let body = json!({ "query": query }).to_string();
    let url = gateway.anonymous().url;
    let ask = async |body: &str| {
        let request = http().post(&url).header("content-type", "application/json");
        let answer = request.body(body.to_owned()).send().await.expect("an answer");
        let status = answer.status().as_u16();
        (status, answer.bytes().await.expect("a body").len())
    };
    let becomes = async |expected: u16| {
        let what = format!("an answer with {expected}");
        until(&what, async || ask(&body).await.0 == expected).await;
    };
    assert!(ask(&body).await.1 > 2 << 20);
    let held = unread(&gateway, &body).await;
    becomes(429).await;
    assert_eq!(ask(&json!({ "query": "{ __typename }" }).to_string()).await.0, 200);
    drop(held);
    becomes(200).await;
}

/// A subscription whose document is that long.
fn subscription(bytes: usize) -> String {
    let text = "subscription($sku: ID!) { stockChanged(sku: $sku) { available } } #";
    format!("{text}{}", "x".repeat(bytes - text.len()))
}

const TOO_LONG: usize = 33_000;

#[tokio::test(flavor = "multi_thread")]
async fn what_a_subscription_keeps_is_limited() {
    let gateway = Gateway::start().await;
    stocks(&gateway, &["a".to_owned()]).await;
    let mut socket = gateway.session(None).await;
    let too_long = [
        (subscription(TOO_LONG), json!({ "sku": "a" })),
        (subscription(100), json!({ "sku": "a".repeat(TOO_LONG) })),
    ];
    for (query, variables) in &too_long {
        socket.subscribe("1", query, variables.clone()).await;
        let answer = socket.hear().await;
        assert_eq!(answer["type"], "error", "{answer:#}");
        assert_eq!(answer["payload"][0]["extensions"]["limit"], "subscription", "{answer:#}");
    }
    socket.subscribe(&"i".repeat(256), &subscription(30_000), json!({ "sku": "a" })).await;
    let answer = socket.hear().await;
    assert_eq!(answer["payload"]["data"]["stockChanged"]["available"], 1, "{answer:#}");
    socket.subscribe(&"i".repeat(257), "{ __typename }", json!({})).await;
    assert_eq!(socket.closed().await, (4400, "an id of more than 256 bytes".to_owned()));
    for (query, variables) in &too_long {
        let body = json!({ "query": query, "variables": variables });
        let request = http().post(&gateway.anonymous().url).json(&body);
        let answer = request.header(ACCEPT, "text/event-stream, application/json").send().await;
        let answer: Value = answer.expect("an answer").json().await.expect("JSON");
        assert_eq!(refusal(&answer), ("QUERY_TOO_COMPLEX", "subscription"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_an_event_stream_to_be_opened_is_limited() {
    let gateway = Gateway::with(|config| config.body_bytes = 4_000).await;
    let url = format!("http://{}/graphql/stream", gateway.address);
    let reserved = http().put(&url).send().await.expect("an answer");
    let token = reserved.text().await.expect("a token");
    let begin = async |id: &str, bytes: usize| {
        let query = format!("{{ __typename }} #{}", "x".repeat(bytes));
        let body = json!({ "query": query, "extensions": { "operationId": id } });
        let request = http().request(Method::POST, &url).json(&body);
        let answer = request.header("x-graphql-event-stream-token", &token).send().await;
        answer.expect("an answer").status().as_u16()
    };
    assert_eq!(begin(&"i".repeat(257), 10).await, 400);
    assert_eq!(begin("one", 2_500).await, 202);
    assert_eq!(begin("two", 2_500).await, 503);
    assert_eq!(begin("three", 500).await, 202);
}
