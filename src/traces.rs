//! Trace spans of requests, of their stages and of their commands.
//!
//! Names and attributes follow OpenTelemetry's conventions for
//! [HTTP](https://opentelemetry.io/docs/specs/semconv/http/http-spans/),
//! [GraphQL](https://opentelemetry.io/docs/specs/semconv/graphql/graphql-spans/) and
//! [MongoDB](https://opentelemetry.io/docs/specs/semconv/db/mongodb/). No span holds a value that a client
//! sent, except the name of an operation and a request's id.
//!
//! If traces aren't exported, the spans are disabled, and each of them costs only the check of a flag.

use std::time::Instant;

use opentelemetry::trace::TraceContextExt as _;
use tracing::{Level, Span, field::Empty, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Target of all spans, which distinguishes them from log events.
pub const TARGET: &str = "docgate::traces";

/// A span, or none if spans are disabled.
macro_rules! span {
    ($($of:tt)*) => {
        if is_on() { info_span!(target: TARGET, $($of)*) } else { Span::none() }
    };
}

/// The span of an HTTP request; `route` is a route of this gateway.
pub fn request(method: &'static str, route: &'static str) -> Span {
    span!(
        parent: None,
        "request",
        otel.name = %format_args!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = Empty,
        error.type = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        url.path = route,
        docgate.request_id = Empty,
    )
}

/// The span of authenticating the requester.
pub fn authenticate() -> Span {
    span!("authenticate")
}

/// The span of a GraphQL operation, from its document to its response.
pub fn operation() -> Span {
    span!(
        "operation",
        otel.status_code = Empty,
        error.type = Empty,
        graphql.operation.type = Empty,
        graphql.operation.name = Empty,
        docgate.field = Empty,
        docgate.known_text = Empty,
        docgate.request_id = Empty,
    )
}

/// Renames the span of an operation after the operation was parsed.
pub fn rename(operation: &Span, name: &'static str) {
    operation.context().span().update_name(name);
}

/// The span of parsing a document. A new document is validated in the span of the execution.
pub fn parse() -> Span {
    span!("parse")
}

/// The span of executing an operation.
pub fn execute() -> Span {
    span!("execute")
}

/// The span of a MongoDB command that a request doesn't share. `database` is only called if its name is
/// needed.
pub fn command(database: impl FnOnce() -> String, collection: &str, command: &'static str) -> Span {
    if !is_traced() {
        return Span::none();
    }
    let current = Span::current();
    // A command that a batcher sends has its span already; see `shared_command`.
    if current.metadata().is_some_and(|metadata| metadata.name() == "command") {
        return current;
    }
    command_span(&current, database, collection, command)
}

/// The span of one item of a batch, from its submission to its answer. A request may share the command of the
/// batch with other requests.
///
/// The command itself has one span. It is a child of the first traced item and linked to the others, so that it
/// belongs to one trace and is sampled with it. The span of each item records how long the item was queued and
/// how many items shared the command.
#[derive(Debug, Clone, Default)]
pub struct ItemSpan(Option<(Span, Instant)>);

impl ItemSpan {
    /// Begins the span.
    pub fn new(collection: &str, command: &'static str) -> Self {
        let begin = || {
            let span = span!(
                "item",
                otel.name = %format_args!("await {command} {collection}"),
                docgate.queued_millis = Empty,
                docgate.batch_items = Empty,
            );
            (span, Instant::now())
        };
        Self(is_traced().then(begin))
    }

    /// Whether there is a span.
    pub fn is_traced(&self) -> bool {
        self.0.is_some()
    }
}

/// The span of a MongoDB command that is sent now for `count` items; `traced` are the spans of these items.
pub fn shared_command(
    database: impl FnOnce() -> String,
    collection: &str,
    command: &'static str,
    traced: &[ItemSpan],
    count: usize,
) -> Span {
    let mut items = traced.iter().filter_map(|item| item.0.as_ref());
    for (span, since) in items.clone() {
        span.record("docgate.queued_millis", since.elapsed().as_secs_f64() * 1_000.0);
        span.record("docgate.batch_items", count);
    }
    let Some((first, _)) = items.next() else { return Span::none() };
    let span = command_span(first, database, collection, command);
    span.record("docgate.batch_items", count);
    for (other, _) in items {
        span.follows_from(other);
    }
    span
}

fn command_span(
    parent: &Span,
    database: impl FnOnce() -> String,
    collection: &str,
    command: &'static str,
) -> Span {
    span!(
        parent: parent,
        "command",
        otel.name = %format_args!("{command} {collection}"),
        otel.kind = "client",
        otel.status_code = Empty,
        error.type = Empty,
        db.system.name = "mongodb",
        db.namespace = %database(),
        db.collection.name = collection,
        db.operation.name = command,
        docgate.batch_items = Empty,
    )
}

/// The span of background work after a response. It has a separate trace, linked to that of the response,
/// because it must not lengthen the request.
pub fn background(what: &'static str) -> Span {
    if !is_traced() {
        return Span::none();
    }
    let span = span!(
        parent: None,
        "background",
        otel.name = what,
        otel.status_code = Empty,
        error.type = Empty,
    );
    span.follows_from(Span::current());
    span
}

/// Whether spans are enabled.
fn is_on() -> bool {
    tracing::span_enabled!(target: TARGET, Level::INFO)
}

/// Whether the current work belongs to an enabled span. The work of sweeps and leases doesn't.
fn is_traced() -> bool {
    is_on() && !Span::current().is_disabled()
}

/// Records that the work of the span failed, with the kind of failure.
pub fn failed(span: &Span, kind: &str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}
