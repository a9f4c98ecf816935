//! What is told of every operation, whichever way it came: metrics, a line in the log, a span.

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
        operations::{Following, Operation, Operations},
        request,
    },
    schema::{GatewaySchema, Prepared},
    traces,
};

/// Longer names of operations are cut in logs and traces.
const LONGEST_NAME: usize = 64;

/// Watches the operations of one gateway.
pub(super) struct Observer {
    app: App,
    operations: Operations,
    /// From when on an operation is slow.
    slow: Duration,
    /// Whether each request is logged without being asked for.
    logs_all: bool,
}

impl Observer {
    pub(super) fn new(app: App, schema: &GatewaySchema) -> Self {
        let operations = app.metrics().operations(schema.root_fields());
        let slow = Duration::from_millis(app.config().slow_request_millis);
        let logs_all = app.config().log_requests;
        Self { app, operations, slow, logs_all }
    }

    /// An operation begins with reading its text.
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
            traces::call(&span, operation.type_name());
            span.record("graphql.operation.type", operation.type_name());
            span.record("graphql.operation.name", name.as_ref().map(cut));
            span.record("docgate.field", operation.field());
            span.record("docgate.known_text", prepared.is_known());
            span.record("docgate.request_id", id);
        }
        let by = Arc::clone(self);
        Ok((prepared, Observed { by, operation, name, since, span, is_answered: false }))
    }

    /// A request is rejected before it is an operation.
    pub(super) fn rejected(&self, id: &str, error: &Error) {
        let code = error.code();
        self.app.metrics().rejected(code);
        if self.logs_all {
            tracing::info!(request_id = id, outcome = code, "request rejected");
        } else {
            tracing::debug!(request_id = id, outcome = code, "request rejected");
        }
    }
}

/// An operation under way. Dropped before it was answered, it counts as given up: its client has gone.
pub(super) struct Observed {
    by: Arc<Observer>,
    operation: Arc<Operation>,
    /// As the client calls it.
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

    /// Executes it; answers with how many commands it asked for too.
    pub(super) fn watch<F: Future>(
        &self,
        execution: F,
    ) -> impl Future<Output = (F::Output, u64)> + use<F> {
        request::watch(self.by.app.metrics().refusals().clone(), execution)
    }

    /// It is answered.
    pub(super) fn answered(mut self, id: &str, response: &Response, commands: u64) {
        self.end(id, code(response), Some(commands));
    }

    /// It has no answer.
    pub(super) fn refused(mut self, id: &str, error: &Error) {
        self.end(id, Some(error.code()), None);
    }

    /// It answers again and again.
    pub(super) fn follow(self) -> Followed {
        let following = self.operation.follow();
        Followed { observed: self, following }
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

    /// Nothing of the text but the operation's name, and no variables.
    fn log(&self, id: &str, outcome: &str, took: Duration, commands: Option<u64>) {
        macro_rules! line {
            ($level:ident, $message:literal) => {
                tracing::$level!(
                    request_id = id,
                    operation = self.name.as_ref().map(cut),
                    operation_type = self.operation.type_name(),
                    field = self.operation.field(),
                    outcome,
                    millis = (took.as_secs_f64() * 1_000_000.0).round() / 1000.0,
                    commands,
                    $message
                )
            };
        }
        if took >= self.by.slow {
            line!(warn, "slow operation");
        } else if self.by.logs_all {
            line!(info, "operation");
        } else {
            line!(debug, "operation");
        }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        if !self.is_answered {
            self.operation.given_up();
        }
    }
}

/// A subscription that is open.
pub(super) struct Followed {
    observed: Observed,
    following: Following,
}

impl Followed {
    /// It gives an answer. How the first one is decides how the operation ended.
    pub(super) fn answered(&mut self, id: &str, response: &Response) {
        self.following.answered();
        if !self.observed.is_answered {
            self.observed.end(id, code(response), None);
            // A subscription may last for days; its span ends here.
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

/// The beginning of a name. Names of GraphQL are ASCII.
fn cut(name: &Name) -> &str {
    name.get(..LONGEST_NAME).unwrap_or(name)
}
