//! Traces, as a collector receives them, and what is logged of requests: from the binary that people run.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use axum::{Router, body::Bytes, extract::State, routing::post};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value as Attribute},
    trace::v1::{Span, span::SpanKind, status::StatusCode},
};
use prost::Message as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    cli::{Running, done, on},
    support::{fresh_name, http, outside, token, until},
};

/// A collector of traces.
#[derive(Clone, Default)]
struct Collector {
    received: Arc<Mutex<Vec<ExportTraceServiceRequest>>>,
}

impl Collector {
    /// Begins to collect; answers with its address.
    async fn start(&self) -> String {
        outside(Router::new().route("/v1/traces", post(receive)).with_state(self.clone())).await
    }

    /// Spans that were received, and who they are from.
    fn spans(&self) -> Vec<Span> {
        let received = self.received.lock().expect("a list");
        let resources = received.iter().flat_map(|request| &request.resource_spans);
        let mut spans = Vec::new();
        for resource in resources {
            let of = &resource.resource.as_ref().expect("a resource").attributes;
            assert_eq!(text(of, "service.name").as_deref(), Some("docgate"));
            assert_eq!(text(of, "service.version").as_deref(), Some(env!("CARGO_PKG_VERSION")));
            spans.extend(resource.scope_spans.iter().flat_map(|scope| scope.spans.clone()));
        }
        spans
    }
}

async fn receive(State(collector): State<Collector>, body: Bytes) {
    let request = ExportTraceServiceRequest::decode(body).expect("protocol buffers");
    collector.received.lock().expect("a list").push(request);
}

fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Attribute::StringValue(text) => Some(text.clone()),
        Attribute::IntValue(number) => Some(number.to_string()),
        Attribute::DoubleValue(number) => Some(number.to_string()),
        Attribute::BoolValue(holds) => Some(holds.to_string()),
        other => panic!("{key} is {other:?}"),
    }
}

fn hex(id: &[u8]) -> String {
    use std::fmt::Write as _;
    id.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("text");
        text
    })
}

/// The only span of that name.
fn one<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let found: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
    let names: Vec<_> = spans.iter().map(|span| &span.name).collect();
    assert_eq!(found.len(), 1, "{name} in {names:?}");
    found[0]
}

async fn post_to(address: &str, headers: &[(&str, &str)], query: &str, variables: Value) -> Value {
    // Another test may have installed it already.
    let _already = rustls::crypto::ring::default_provider().install_default();
    let mut request = http().post(format!("http://{address}/graphql"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.json(&json!({ "query": query, "variables": variables }));
    request.send().await.expect("an answer").json().await.expect("JSON")
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const READ: &str = "query Mine($sku: ID!) { product(sku: $sku) { title } }";

#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_spans_for_its_stages_and_commands_in_its_callers_trace() {
    let collector = Collector::default();
    let mut command = on(&fresh_name(), &["serve", "--apply-indexes"]);
    command
        .env("DOCGATE_OTLP_ENDPOINT", collector.start().await)
        .env("DOCGATE_BACKGROUND", "false");
    let running = Running::start(command);
    let address = running.address("serving on http://");
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let headers = [("traceparent", parent.as_str()), ("x-request-id", "the-request")];
    let answer = post_to(&address, &headers, READ, json!({ "sku": "a-secret-sku" })).await;
    assert!(answer.get("errors").is_none(), "{answer:#}");
    running.signal("TERM");
    assert_eq!(running.ends(), 0);

    let spans = collector.spans();
    let request = one(&spans, "POST /graphql");
    assert_eq!((hex(&request.trace_id).as_str(), request.kind), (TRACE, SpanKind::Server as i32));
    assert_eq!(hex(&request.parent_span_id), "00f067aa0ba902b7");
    let of = |span: &Span, key: &str| text(&span.attributes, key).unwrap_or_default();
    assert_eq!(of(request, "http.request.method"), "POST");
    assert_eq!(of(request, "http.route"), "/graphql");
    assert_eq!(of(request, "http.response.status_code"), "200");
    assert_eq!(of(request, "docgate.request_id"), "the-request");

    let operation = one(&spans, "query");
    assert_eq!(of(operation, "graphql.operation.type"), "query");
    assert_eq!(of(operation, "graphql.operation.name"), "Mine");
    assert_eq!(of(operation, "docgate.field"), "product");
    assert_eq!(of(operation, "docgate.known_text"), "false");
    let sent = one(&spans, "find products");
    assert_eq!(sent.kind, SpanKind::Client as i32);
    assert_eq!(of(sent, "db.system.name"), "mongodb");
    assert_eq!(of(sent, "db.collection.name"), "products");
    assert_eq!(of(sent, "db.operation.name"), "find");
    assert!(of(sent, "db.namespace").starts_with("test_"));
    assert_eq!(of(sent, "docgate.batch_items"), "1");
    for (name, below) in [
        ("authenticate", "POST /graphql"),
        ("query", "POST /graphql"),
        ("parse", "query"),
        ("execute", "query"),
        ("await find products", "execute"),
        ("find products", "await find products"),
    ] {
        let (span, parent) = (one(&spans, name), one(&spans, below));
        assert_eq!(span.parent_span_id, parent.span_id, "{name} is below {below}");
        assert_eq!(hex(&span.trace_id), TRACE);
        assert!(span.start_time_unix_nano >= parent.start_time_unix_nano, "{name}");
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano, "{name}");
    }
    assert_eq!(spans.len(), 7, "and nothing else is traced");
    assert!(!format!("{spans:?}").contains("a-secret-sku"), "no span holds a value");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mutations_commands_and_what_goes_wrong_are_traced() {
    let collector = Collector::default();
    let mut command = on(&fresh_name(), &["serve", "--apply-indexes"]);
    command
        .env("DOCGATE_OTLP_ENDPOINT", collector.start().await)
        .env("DOCGATE_BACKGROUND", "false");
    let running = Running::start(command);
    let address = running.address("serving on http://");
    let open = "mutation { openCart(input: {policy: RESERVE, currency: \"EUR\"}) { __typename } }";
    let answer = post_to(&address, &[], open, json!({})).await;
    assert_eq!(answer["data"]["openCart"]["__typename"], "Cart", "{answer:#}");
    let receive = "mutation { receiveStock(input: {sku: \"x\", quantity: 1}) { __typename } }";
    let authorization = format!("Bearer {}", token("someone", &[]));
    post_to(&address, &[("authorization", &authorization)], receive, json!({})).await;
    running.signal("TERM");
    assert_eq!(running.ends(), 0);

    let spans = collector.spans();
    let (insert, awaited) = (one(&spans, "insert carts"), one(&spans, "await insert carts"));
    assert_eq!(insert.parent_span_id, awaited.span_id, "a write waits for its command");
    let execution = spans.iter().find(|span| span.span_id == awaited.parent_span_id);
    assert_eq!(execution.expect("it was received").name, "execute");
    let mutations: Vec<_> = spans.iter().filter(|span| span.name == "mutation").collect();
    assert_eq!(mutations.len(), 2);
    let traces: BTreeSet<_> = mutations.iter().map(|span| span.trace_id.clone()).collect();
    assert_eq!(traces.len(), 2, "each request begins a trace");
    let codes: BTreeSet<_> =
        mutations.iter().filter_map(|span| text(&span.attributes, "error.type")).collect();
    assert_eq!(codes, BTreeSet::from(["FORBIDDEN".to_owned()]));
    let failed = |span: &Span| {
        span.status.as_ref().is_some_and(|status| status.code == StatusCode::Error as i32)
    };
    assert!(!spans.iter().any(failed), "that somebody may not isn't the gateway's failure");
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_that_share_a_command_are_linked_to_it() {
    let collector = Collector::default();
    let mut command = on(&fresh_name(), &["serve", "--apply-indexes"]);
    command
        .env("DOCGATE_OTLP_ENDPOINT", collector.start().await)
        .env("DOCGATE_BACKGROUND", "false");
    let running = Running::start(command);
    let address = running.address("serving on http://");
    let fields = (0..10).map(|n| format!("f{n}: stock(sku: \"{n}\") {{ sku }}"));
    let query = format!("{{ {} }}", fields.collect::<Vec<_>>().join(" "));
    let answer = post_to(&address, &[], &query, json!({})).await;
    assert!(answer.get("errors").is_none(), "{answer:#}");
    running.signal("TERM");
    assert_eq!(running.ends(), 0);

    let spans = collector.spans();
    let items: Vec<_> = spans.iter().filter(|span| span.name == "await find inventory").collect();
    assert_eq!(items.len(), 10);
    let commands: Vec<_> = spans.iter().filter(|span| span.name == "find inventory").collect();
    assert!((1..10).contains(&commands.len()), "{} commands", commands.len());
    let mut answered = BTreeSet::new();
    for command in commands {
        answered.insert(command.parent_span_id.clone());
        answered.extend(command.links.iter().map(|link| link.span_id.clone()));
        let told = text(&command.attributes, "docgate.batch_items").expect("a number");
        assert_eq!(told, (command.links.len() + 1).to_string());
    }
    let asked: BTreeSet<_> = items.iter().map(|span| span.span_id.clone()).collect();
    assert_eq!(answered, asked, "each item has its command");
    for item in items {
        assert!(text(&item.attributes, "docgate.queued_millis").is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sampling_follows_the_caller_and_else_the_ratio() {
    let collector = Collector::default();
    let mut command = on(&fresh_name(), &["serve", "--apply-indexes"]);
    command
        .env("DOCGATE_OTLP_ENDPOINT", collector.start().await)
        .env("DOCGATE_BACKGROUND", "false");
    command.env("DOCGATE_OTLP_SAMPLE_RATIO", "0");
    let running = Running::start(command);
    let address = running.address("serving on http://");
    let sampled = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let other = "0af7651916cd43dd8448eb211c80319c";
    let unsampled = format!("00-{other}-00f067aa0ba902b7-00");
    for parent in [Some(sampled.as_str()), Some(unsampled.as_str()), Some("nonsense"), None] {
        let header = parent.map(|parent| ("traceparent", parent));
        post_to(&address, header.as_slice(), READ, json!({ "sku": "x" })).await;
    }
    running.signal("TERM");
    assert_eq!(running.ends(), 0);
    let traces: BTreeSet<_> = collector.spans().iter().map(|span| hex(&span.trace_id)).collect();
    assert_eq!(traces, BTreeSet::from([TRACE.to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_does_not_answer_holds_nothing_up() {
    // It takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let endpoint = format!("http://{}", silent.local_addr().expect("an address"));
    let mut command = on(&fresh_name(), &["serve", "--apply-indexes"]);
    command.env("DOCGATE_OTLP_ENDPOINT", endpoint).env("DOCGATE_BACKGROUND", "false");
    let running = Running::start(command);
    let address = running.address("serving on http://");
    // Each of them has spans for the collector. A busy machine may hold up some.
    until("a request isn't held up", async || {
        let since = Instant::now();
        post_to(&address, &[], READ, json!({ "sku": "x" })).await;
        since.elapsed() < Duration::from_secs(2)
    })
    .await;
    let since = Instant::now();
    running.signal("TERM");
    running.says("traces_flush_failed");
    assert_eq!(running.ends(), 0);
    assert!(since.elapsed() < Duration::from_secs(60), "{:?}", since.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_is_logged_where_that_is_asked_for_without_its_values() {
    let mut command = on(&fresh_name(), &["serve", "--apply-indexes"]);
    command.env("DOCGATE_LOG_REQUESTS", "true").env("DOCGATE_LOG_FORMAT", "json");
    let running = Running::start(command);
    let line = running.says("serving on http://");
    let line: Value = serde_json::from_str(&line).expect("JSON");
    let message = line["message"].as_str().expect("a message");
    let address = message.strip_prefix("serving on http://").expect("an address");
    let long = "N".repeat(200);
    let read = READ.replace("Mine", &long);
    let token = token("someone", &[]);
    let authorization = format!("Bearer {token}");
    let headers = [("x-request-id", "abc-1"), ("authorization", &authorization)];
    post_to(address, &headers, &read, json!({ "sku": "a-secret-sku" })).await;
    let said = running.says("\"abc-1\"");
    let line: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(line["message"], "operation");
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["operation"], "N".repeat(64));
    assert_eq!((&line["operation_type"], &line["field"]), (&json!("query"), &json!("product")));
    assert_eq!((&line["outcome"], &line["commands"]), (&json!("ok"), &json!(1)));
    assert!(line["millis"].as_f64().expect("a number") > 0.0);
    assert!(!said.contains("a-secret-sku") && !said.contains(&token), "{said}");
    let forged = [("x-request-id", "abc-2"), ("authorization", "Bearer forged-token")];
    post_to(address, &forged, READ, json!({})).await;
    let said = running.says("\"abc-2\"");
    assert!(said.contains("request rejected") && said.contains("UNAUTHENTICATED"), "{said}");
    assert!(!said.contains("forged-token"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_operations_are_logged_without_being_asked_for() {
    let mut command = on(&fresh_name(), &["serve", "--apply-indexes"]);
    command.env("DOCGATE_SLOW_REQUEST_MILLIS", "0").env("DOCGATE_LOG_FORMAT", "json");
    let running = Running::start(command);
    let line: Value = serde_json::from_str(&running.says("serving on http://")).expect("JSON");
    let message = line["message"].as_str().expect("a message").to_owned();
    let address = message.strip_prefix("serving on http://").expect("an address");
    post_to(address, &[("x-request-id", "abc-1")], READ, json!({ "sku": "x" })).await;
    let line: Value = serde_json::from_str(&running.says("\"abc-1\"")).expect("JSON");
    assert_eq!((&line["message"], &line["level"]), (&json!("slow operation"), &json!("WARN")));
}

#[test]
fn what_cannot_be_watched_so_is_told() {
    let mut command = on("any", &["serve"]);
    command.env("DOCGATE_OTLP_ENDPOINT", "collector:4317").env("DOCGATE_OTLP_SAMPLE_RATIO", "2");
    command.env("DOCGATE_LISTEN", "127.0.0.1:1").env("DOCGATE_ADMIN_LISTEN", "127.0.0.1:1");
    let (code, _, said) = done(command);
    assert_eq!(code, 2);
    for fault in
        ["otlp_endpoint must be a URL", "otlp_sample_ratio must be", "admin_listen must be"]
    {
        assert!(said.contains(fault), "{fault} in {said}");
    }
    let mut command = on("any", &["serve"]);
    command.env("DOCGATE_OTLP_ENDPOINT", "http://a b");
    let (code, _, said) = done(command);
    assert!(code == 2 && said.contains("otlp_endpoint must be a URL"), "{said}");
}
