//! Observation of operations, the same for all transports: metrics, a log line and a span.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use async_graphql::{Name, Response, Value};
use tracing::Span;

use crate::{
    app::App,
    error::Error,
    metrics::{
        operations::{OpenSubscription, Operation, Operations},
        request,
    },
    schema::{GatewaySchema, Prepared},
    traces,
};

/// Maximum length of an operation's name in logs and traces, in characters.
const MAX_NAME: usize = 64;

/// Observes the operations of one gateway.
pub(super) struct Observer {
    app: App,
    operations: Operations,
    /// Duration from which an operation counts as slow.
    slow: Duration,
    /// Whether each request is logged at level `info`.
    logs_all: bool,
}

impl Observer {
    pub(super) fn new(app: App, schema: &GatewaySchema) -> Self {
        let operations = app.metrics().operations(schema.root_fields());
        let slow = Duration::from_millis(app.config().slow_request_millis);
        let logs_all = app.config().log_requests;
        Self { app, operations, slow, logs_all }
    }

    /// Starts an operation by parsing its document.
    ///
    /// # Errors
    /// Those of `read`.
    pub(super) fn begin(
        self: &Arc<Self>,
        id: &str,
        read: impl FnOnce() -> Result<Prepared, Error>,
    ) -> Result<(Prepared, Observed), Error> {
        let since = Instant::now();
        let span = traces::operation();
        let prepared = span.in_scope(|| traces::parse().in_scope(read))?;
        self.app.metrics().request(prepared.is_known());
        let operation =
            Arc::clone(self.operations.of(prepared.operation_type(), prepared.first_field()));
        let name = prepared.name();
        if !span.is_disabled() {
            traces::rename(&span, operation.type_name());
            span.record("graphql.operation.type", operation.type_name());
            span.record("graphql.operation.name", name.as_ref().map(truncated));
            span.record("docgate.field", operation.field());
            span.record("docgate.known_text", prepared.is_known());
            span.record("docgate.request_id", id);
        }
        let observer = Arc::clone(self);
        Ok((prepared, Observed { observer, operation, name, since, span, is_answered: false }))
    }

    /// Records a request that was rejected before it became an operation.
    pub(super) fn rejected(&self, id: &str, error: &Error) {
        let code = error.code();
        self.app.metrics().rejected(code);
        if self.logs_all {
            tracing::info!(
                event = "request_rejected",
                request_id = id,
                outcome = code,
                "request rejected"
            );
        } else {
            tracing::debug!(
                event = "request_rejected",
                request_id = id,
                outcome = code,
                "request rejected"
            );
        }
    }
}

/// A running operation. If it is dropped before its response, it is counted as abandoned by its client.
pub(super) struct Observed {
    observer: Arc<Observer>,
    operation: Arc<Operation>,
    /// The name that the client gave to the operation.
    name: Option<Name>,
    since: Instant,
    span: Span,
    is_answered: bool,
}

impl Observed {
    /// The operation's span.
    pub(super) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Executes the operation; returns the result and the number of commands.
    pub(super) fn count_commands<F: Future>(
        &self,
        execution: F,
    ) -> impl Future<Output = (F::Output, u64)> + use<F> {
        request::count_commands(self.observer.app.metrics().refusals.clone(), execution)
    }

    /// Records the response.
    pub(super) fn answered(mut self, id: &str, response: &Response, commands: u64) {
        self.end(id, code(response), Some(commands));
    }

    /// Records that the operation has no response.
    pub(super) fn refused(mut self, id: &str, error: &Error) {
        self.end(id, Some(error.code()), None);
    }

    /// Starts recording the responses of a subscription.
    pub(super) fn follow(self) -> ObservedSubscription {
        let metrics = self.operation.follow();
        ObservedSubscription { observed: self, metrics }
    }

    fn end(&mut self, id: &str, code: Option<&str>, commands: Option<u64>) {
        self.is_answered = true;
        let took = self.since.elapsed();
        self.operation.answered(code, took, commands);
        if let Some(code) = code {
            self.span.record("error.type", code);
            if matches!(code, "INTERNAL_SERVER_ERROR" | "UNAVAILABLE" | "TIMEOUT") {
                self.span.record("otel.status_code", "ERROR");
            }
        }
        self.log(id, code.unwrap_or("ok"), took, commands);
    }

    /// Logs the operation's name, but no other part of the document, and no variables.
    fn log(&self, id: &str, outcome: &str, took: Duration, commands: Option<u64>) {
        macro_rules! line {
            ($level:ident, event = $event:literal, $message:literal) => {
                tracing::$level!(
                    event = $event,
                    request_id = id,
                    operation = self.name.as_ref().map(truncated),
                    operation_type = self.operation.type_name(),
                    field = self.operation.field(),
                    outcome,
                    millis = (took.as_secs_f64() * 1_000_000.0).round() / 1000.0,
                    commands,
                    $message
                )
            };
        }
        if took >= self.observer.slow {
            line!(warn, event = "operation_slow", "slow operation");
        } else if self.observer.logs_all {
            line!(info, event = "operation_finished", "operation");
        } else {
            line!(debug, event = "operation_finished", "operation");
        }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        if !self.is_answered {
            self.operation.abandoned();
        }
    }
}

/// An open subscription.
pub(super) struct ObservedSubscription {
    observed: Observed,
    metrics: OpenSubscription,
}

impl ObservedSubscription {
    /// Records a response. The first one decides the outcome of the operation, unless it was accepted before.
    pub(super) fn answered(&mut self, id: &str, response: &Response) {
        self.metrics.answered();
        self.begun(id, code(response));
    }

    /// Records that the subscription was accepted: it waits for its first event, or has ended without one. The wait
    /// is no part of the operation's duration.
    pub(super) fn accepted(&mut self, id: &str) {
        self.begun(id, None);
    }

    fn begun(&mut self, id: &str, code: Option<&str>) {
        if !self.observed.is_answered {
            self.observed.end(id, code, None);
            // A subscription may last for days, so its span ends here.
            self.observed.span = Span::none();
        }
    }
}

/// The code of the first error.
fn code(response: &Response) -> Option<&str> {
    let error = response.errors.first()?;
    match error.extensions.as_ref().and_then(|extensions| extensions.get("code")) {
        Some(Value::String(code)) => Some(code),
        _ => Some("INTERNAL_SERVER_ERROR"),
    }
}

/// A name truncated to the maximum length. Names in GraphQL are ASCII, so bytes are characters.
fn truncated(name: &Name) -> &str {
    name.get(..MAX_NAME).unwrap_or(name)
}
