//! Server-sent events, one connection for any number of operations.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use super::{MOMENT, STOCK, available, long_stock, set, short_token, stock};
use crate::support::{Gateway, http, live::Chunks, token, until};

/// What the path takes.
const METHODS: &str = "PUT, GET, POST, DELETE";

/// Somebody at `/graphql/stream`.
#[derive(Clone)]
struct Visitor {
    http: reqwest::Client,
    url: String,
    bearer: Option<String>,
    /// Of the stream.
    token: String,
}

impl Visitor {
    fn new(gateway: &Gateway, bearer: Option<&str>) -> Self {
        let url = format!("http://{}/graphql/stream", gateway.address);
        let (http, bearer) = (http(), bearer.map(str::to_owned));
        Self { http, url, bearer, token: String::new() }
    }

    /// One that has reserved a stream.
    async fn with_reservation(gateway: &Gateway, bearer: Option<&str>) -> Self {
        let mut visitor = Self::new(gateway, bearer);
        let reserved = visitor.request(Method::PUT).send().await.expect("an answer");
        assert_eq!(reserved.status(), 201);
        assert_eq!(reserved.headers()["content-type"], "text/plain; charset=utf-8");
        visitor.token = reserved.text().await.expect("a token");
        visitor
    }

    fn request(&self, method: Method) -> RequestBuilder {
        let mut request = self.http.request(method, &self.url);
        if !self.token.is_empty() {
            request = request.header("X-GraphQL-Event-Stream-Token", &self.token);
        }
        match &self.bearer {
            Some(bearer) => request.bearer_auth(bearer),
            None => request,
        }
    }

    async fn open(&self) -> Response {
        let request = self.request(Method::GET).header("accept", "text/event-stream");
        request.send().await.expect("an answer")
    }

    async fn events(&self) -> Chunks {
        let opened = self.open().await;
        assert_eq!(opened.status(), 200);
        assert_eq!(opened.headers()["content-type"], "text/event-stream; charset=utf-8");
        Chunks::events(opened)
    }

    /// Lets an operation begin; the status.
    async fn begin(&self, id: &str, query: &str, variables: Value) -> u16 {
        let extensions = json!({ "operationId": id });
        let body = json!({ "query": query, "variables": variables, "extensions": extensions });
        status(self.request(Method::POST).json(&body)).await
    }

    async fn stop(&self, id: &str) -> u16 {
        let url = format!("{}?operationId={id}", self.url);
        let visitor = Self { url, ..self.clone() };
        status(visitor.request(Method::DELETE)).await
    }
}

async fn status(request: RequestBuilder) -> u16 {
    request.send().await.expect("an answer").status().as_u16()
}

fn next(event: Option<(String, Value)>, id: &str) -> Value {
    let (name, data) = event.expect("an event");
    assert_eq!((name.as_str(), &data["id"]), ("next", &json!(id)), "{data:#}");
    data["payload"].clone()
}

#[expect(clippy::unnecessary_wraps, reason = "compared with what may not be there")]
fn complete(id: &str) -> Option<(String, Value)> {
    Some(("complete".to_owned(), json!({ "id": id })))
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_share_a_reserved_stream() {
    let gateway = Gateway::start().await;
    stock(&gateway, "a", 1).await;
    let visitor = Visitor::with_reservation(&gateway, None).await;
    // What is asked for before the stream is open waits for it.
    assert_eq!(visitor.begin("early", "{ __typename }", json!({})).await, 202);
    let mut events = visitor.events().await;
    assert_eq!(next(events.event().await, "early")["data"]["__typename"], "Query");
    assert_eq!(events.event().await, complete("early"));
    assert_eq!(visitor.begin("follow", STOCK, json!({ "sku": "a" })).await, 202);
    assert_eq!(available(&next(events.event().await, "follow")), 1);
    assert_eq!(visitor.begin("wrong", "{ nothing }", json!({})).await, 202);
    let answer = next(events.event().await, "wrong");
    assert_eq!(answer["errors"][0]["extensions"]["code"], "BAD_USER_INPUT");
    assert_eq!(events.event().await, complete("wrong"));
    set(&gateway, "a", 2).await;
    assert_eq!(available(&next(events.event().await, "follow")), 2);
    // An id is taken while its operation runs.
    assert_eq!(visitor.begin("follow", STOCK, json!({ "sku": "a" })).await, 409);
    assert_eq!(visitor.stop("follow").await, 200);
    assert_eq!(visitor.stop("follow").await, 200);
    set(&gateway, "a", 3).await;
    tokio::time::sleep(MOMENT).await;
    assert_eq!(visitor.begin("follow", STOCK, json!({ "sku": "a" })).await, 202);
    assert_eq!(available(&next(events.event().await, "follow")), 3);
    // With the connection goes the stream.
    drop(events);
    until("the stream ends with its connection", async || {
        set(&gateway, "a", 4).await;
        if visitor.begin("late", STOCK, json!({ "sku": "a" })).await == 404 {
            return true;
        }
        let stopped = visitor.stop("late").await;
        assert!(matches!(stopped, 200 | 404), "{stopped}");
        false
    })
    .await;
    assert_eq!(visitor.open().await.status(), 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_belongs_to_who_reserved_it() {
    let gateway = Gateway::start().await;
    let (anna, ben) = (token("anna", &[]), token("ben", &[]));
    let owner = Visitor::with_reservation(&gateway, Some(&anna)).await;
    let mine = "{ myAccounts { nodes { id } } }";
    for bearer in [None, Some(&*ben)] {
        let mut other = Visitor::new(&gateway, bearer);
        other.token.clone_from(&owner.token);
        assert_eq!(other.begin("1", mine, json!({})).await, 404);
        assert_eq!(other.stop("1").await, 404);
        if bearer.is_some() {
            assert_eq!(other.open().await.status(), 404);
        }
    }
    // A browser's EventSource can't say who it is; it has the token in the URL.
    let url = format!("{}?token={}", owner.url, owner.token);
    let opened = owner.http.get(&url).send().await.expect("an answer");
    let mut events = Chunks::events(opened);
    assert_eq!(owner.open().await.status(), 409, "one connection at a time");
    assert_eq!(owner.begin("1", mine, json!({})).await, 202);
    assert_eq!(next(events.event().await, "1")["data"]["myAccounts"]["nodes"], json!([]));
    // And back: who reserved without saying who it is stays nobody.
    let nobody = Visitor::with_reservation(&gateway, None).await;
    let mut ben = Visitor::new(&gateway, Some(&ben));
    ben.token.clone_from(&nobody.token);
    assert_eq!(ben.open().await.status(), 404);
    assert_eq!(nobody.open().await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_do_not_fit_are_told_so() {
    let gateway = Gateway::with(|config| config.body_bytes = 4_096).await;
    let lost = Visitor::new(&gateway, None);
    let mut guessed = Visitor::new(&gateway, None);
    guessed.token = "guessed".into();
    for visitor in [lost, guessed] {
        assert_eq!(visitor.open().await.status(), 404);
        assert_eq!(visitor.begin("1", "{ __typename }", json!({})).await, 404);
        assert_eq!(visitor.stop("1").await, 404);
    }
    let bad = Visitor::new(&gateway, Some("nonsense"));
    for method in [Method::PUT, Method::GET, Method::POST, Method::DELETE] {
        assert_eq!(status(bad.request(method)).await, 401);
    }
    for method in [Method::PATCH, Method::HEAD] {
        let refused = bad.request(method).send().await.expect("an answer");
        assert_eq!(refused.status(), 405);
        assert_eq!(refused.headers()["allow"], METHODS);
    }
    let visitor = Visitor::with_reservation(&gateway, None).await;
    let post = |body: String| {
        let request = visitor.request(Method::POST).header("content-type", "application/json");
        request.body(body)
    };
    let typename = json!({ "query": "{ __typename }" });
    let with_id = |id: Value| {
        json!({ "query": "{ __typename }", "extensions": { "operationId": id } }).to_string()
    };
    for body in [
        "{".to_owned(),
        "[]".to_owned(),
        json!({ "extensions": null }).to_string(),
        typename.to_string(),
        with_id(json!("")),
        with_id(json!([])),
    ] {
        let answer = post(body.clone()).send().await.expect("an answer");
        assert_eq!(answer.status(), 400, "{body}");
        let answer: Value = answer.json().await.expect("JSON");
        assert_eq!(answer["errors"][0]["extensions"]["code"], "BAD_USER_INPUT");
    }
    assert_eq!(status(post("x".repeat(5_000))).await, 413);
    let text = visitor.request(Method::POST).header("content-type", "text/plain");
    assert_eq!(status(text.body(with_id(json!("1")))).await, 415);
    assert_eq!(status(visitor.request(Method::POST).body(with_id(json!("1")))).await, 415);
    assert_eq!(status(visitor.request(Method::DELETE)).await, 400);
    assert_eq!(status(post(with_id(json!(7)))).await, 202);
    let mut events = visitor.events().await;
    next(events.event().await, "7");
    assert_eq!(events.event().await, complete("7"));
}

#[tokio::test(flavor = "multi_thread")]
async fn reservations_are_bounded_and_end() {
    let gateway = Gateway::with(|config| {
        config.live_reservations = 2;
        config.client_share_percent = 100;
        config.live_reservation_millis = 10_000;
        config.live_operations = 2;
    })
    .await;
    stock(&gateway, "a", 1).await;
    let one = Visitor::with_reservation(&gateway, None).await;
    let _events = one.events().await;
    // What is open doesn't count.
    let late = Visitor::with_reservation(&gateway, None).await;
    let _other = Visitor::with_reservation(&gateway, None).await;
    let refused = one.request(Method::PUT).send().await.expect("an answer");
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"].to_str().ok()),
        (503, &Some("5"))
    );
    for n in 0..2 {
        assert_eq!(one.begin(&n.to_string(), STOCK, json!({ "sku": "a" })).await, 202);
    }
    assert_eq!(one.begin("2", STOCK, json!({ "sku": "a" })).await, 503);
    assert_eq!(one.stop("0").await, 200);
    assert_eq!(one.begin("2", STOCK, json!({ "sku": "a" })).await, 202);
    // One that was stopped before its stream took it up is in nobody's way.
    assert_eq!(late.begin("0", STOCK, json!({ "sku": "a" })).await, 202);
    for n in 1..4 {
        assert_eq!(late.begin(&n.to_string(), STOCK, json!({ "sku": "a" })).await, 202);
        assert_eq!(late.stop(&n.to_string()).await, 200);
    }
    tokio::time::sleep(Duration::from_millis(10_200)).await;
    assert_eq!(late.open().await.status(), 404);
    assert_eq!(late.begin("1", "{ __typename }", json!({})).await, 404);
    Visitor::with_reservation(&gateway, None).await;
    // The open one is as it was.
    assert_eq!(one.stop("2").await, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_nobody_opens_keeps_no_room() {
    let gateway = Gateway::with(|config| {
        // A client's share holds one long subscription, and not two.
        config.live_subscription_bytes = 128 << 10;
        config.live_reservation_millis = 5_000;
    })
    .await;
    stock(&gateway, "a", 1).await;
    let visitor = Visitor::with_reservation(&gateway, None).await;
    assert_eq!(visitor.begin("1", &long_stock(), json!({ "sku": "a" })).await, 202);
    let mut socket = gateway.session(None).await;
    // Nobody reserves another stream.
    until("its room is given back", async || {
        socket.subscribe("1", &long_stock(), json!({ "sku": "a" })).await;
        socket.hear().await["type"] == "next"
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_ends_with_its_token() {
    let gateway = Gateway::start().await;
    stock(&gateway, "a", 1).await;
    let visitor = Visitor::with_reservation(&gateway, Some(&short_token(8))).await;
    let mut events = visitor.events().await;
    assert_eq!(visitor.begin("1", STOCK, json!({ "sku": "a" })).await, 202);
    assert_eq!(available(&next(events.event().await, "1")), 1);
    let last = next(events.event().await, "1");
    assert_eq!(last["errors"][0]["extensions"]["code"], "UNAUTHENTICATED", "{last:#}");
    assert_eq!(events.event().await, complete("1"));
    assert_eq!(events.event().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_a_gateway_that_stops_ends() {
    // It would wait far longer for flows.
    let gateway = Gateway::with(|config| config.flow_run_millis = 120_000).await;
    stock(&gateway, "a", 1).await;
    let visitor = Visitor::with_reservation(&gateway, None).await;
    let mut events = visitor.events().await;
    assert_eq!(visitor.begin("1", STOCK, json!({ "sku": "a" })).await, 202);
    next(events.event().await, "1");
    let ended = tokio::spawn(async move { events.event().await });
    let took = gateway.stop().await;
    assert_eq!(ended.await.expect("ended"), None);
    assert!(took < Duration::from_secs(60), "{took:?}");
}
