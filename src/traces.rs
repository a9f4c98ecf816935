//! The spans of requests, of their stages and of their commands, for traces.
//!
//! Names and attributes follow OpenTelemetry's conventions for
//! [HTTP](https://opentelemetry.io/docs/specs/semconv/http/http-spans/),
//! [GraphQL](https://opentelemetry.io/docs/specs/semconv/graphql/graphql-spans/) and
//! [MongoDB](https://opentelemetry.io/docs/specs/semconv/db/mongodb/). No span holds a value that a client
//! sent, but for the name of an operation.
//!
//! Unless traces are sent somewhere nobody is interested in these spans: then each of them costs a look
//! at a flag.

use std::time::Instant;

use opentelemetry::trace::TraceContextExt as _;
use tracing::{Level, Span, field::Empty, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

/// Target of all spans, by which they are told from what is logged.
pub const TARGET: &str = "docgate::traces";

/// A span, or none where nobody is interested.
macro_rules! span {
    ($($of:tt)*) => {
        if is_on() { info_span!(target: TARGET, $($of)*) } else { Span::none() }
    };
}

/// A request over HTTP; `route` is one of this gateway's.
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

/// Finding out who asks.
pub fn authenticate() -> Span {
    span!("authenticate")
}

/// An operation of GraphQL, from its text to its answer.
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

/// Calls an operation's span what the operation turned out to be.
pub fn call(operation: &Span, name: &'static str) {
    operation.context().span().update_name(name);
}

/// Reading an operation's text. Where the text isn't known yet, the rules of the schema are checked with
/// the execution.
pub fn parse() -> Span {
    span!("parse")
}

/// Carrying an operation out.
pub fn execute() -> Span {
    span!("execute")
}

/// A command of MongoDB that a request sends for itself. The name of the database is asked for only where
/// it is needed.
pub fn command(database: impl FnOnce() -> String, collection: &str, command: &'static str) -> Span {
    if is_traced() { sent(&Span::current(), database, collection, command) } else { Span::none() }
}

/// What a request asks MongoDB in a command that it may share with others: from the question to the
/// answer.
///
/// The command itself has one span: below the first of its questions that is traced, and linked to the
/// others. So it stands in one trace and is sampled with it. Each question tells how long it waited for
/// its command and how many shared it.
#[derive(Debug, Clone, Default)]
pub struct Question(Option<(Span, Instant)>);

impl Question {
    /// Begins one.
    pub fn new(collection: &str, command: &'static str) -> Self {
        let begin = || {
            let span = span!(
                "question",
                otel.name = %format_args!("await {command} {collection}"),
                docgate.queued_millis = Empty,
                docgate.questions = Empty,
            );
            (span, Instant::now())
        };
        Self(is_traced().then(begin))
    }

    /// Whether anybody is interested.
    pub fn is_traced(&self) -> bool {
        self.0.is_some()
    }
}

/// A command of MongoDB that is sent now for so many questions; `traced` are those that have spans.
pub fn shared_command(
    database: impl FnOnce() -> String,
    collection: &str,
    command: &'static str,
    traced: &[Question],
    questions: usize,
) -> Span {
    let mut asked = traced.iter().filter_map(|question| question.0.as_ref());
    for (span, since) in asked.clone() {
        span.record("docgate.queued_millis", since.elapsed().as_secs_f64() * 1_000.0);
        span.record("docgate.questions", questions);
    }
    let Some((first, _)) = asked.next() else { return Span::none() };
    let span = sent(first, database, collection, command);
    span.record("docgate.questions", questions);
    for (other, _) in asked {
        span.follows_from(other);
    }
    span
}

fn sent(
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
        docgate.questions = Empty,
    )
}

/// Work that goes on behind an answer, in a trace of its own that is linked to that of the answer: it
/// must not make the request look as long.
pub fn behind(what: &'static str) -> Span {
    if !is_traced() {
        return Span::none();
    }
    let span = span!(
        parent: None,
        "behind",
        otel.name = what,
        otel.status_code = Empty,
        error.type = Empty,
    );
    span.follows_from(Span::current());
    span
}

/// Whether anybody is interested in spans.
fn is_on() -> bool {
    tracing::span_enabled!(target: TARGET, Level::INFO)
}

/// Whether what happens here belongs to something that has a span. Sweeps and leases don't.
fn is_traced() -> bool {
    is_on() && !Span::current().is_disabled()
}

/// Notes that what the span is about failed, and of which kind the failure is.
pub fn failed(span: &Span, kind: &str) {
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}
