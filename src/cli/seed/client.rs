//! In-process GraphQL client that fills the shop through the public schema.

use std::time::{Duration, Instant};

use async_graphql::{Request, Variables};
use futures_util::stream;
use serde_json::Value;

use crate::{
    app::App,
    cli::failure::Failure,
    graphql::{
        requester::{Requester, Role},
        upload::{Files, Piece, placeholder},
    },
    schema::GatewaySchema,
};

/// Executes operations without a network.
pub(super) struct DemoClient {
    app: App,
    schema: GatewaySchema,
}

/// A file that is sent with an operation.
pub(super) struct File {
    /// File name.
    pub(super) name: String,
    /// Content.
    pub(super) bytes: Vec<u8>,
}

impl File {
    /// The file as part of a request.
    fn sent(&self) -> Files {
        let name = Some(self.name.clone());
        let pieces = [
            Piece::File { position: 0, name, media_type: None },
            Piece::Bytes(self.bytes.clone().into()),
            Piece::End,
        ];
        Files::new(stream::iter(pieces.map(Ok)))
    }
}

/// How long an operation is tried again while its outcome is unknown. A slow machine may need several tries. Every operation
/// has an idempotency key.
const PATIENCE: Duration = Duration::from_secs(180);

impl DemoClient {
    pub(super) fn new(app: App) -> Self {
        let schema = crate::schema::build(app.config());
        Self { app, schema }
    }

    /// The `data` of an operation; a refusal is an error.
    pub(super) async fn execute(
        &self,
        who: &Requester,
        query: &str,
        variables: Value,
    ) -> Result<Value, Failure> {
        self.execute_with(who, query, variables, None).await
    }

    /// Like [`Self::execute`], with a file for `input.file`.
    pub(super) async fn execute_with_file(
        &self,
        who: &Requester,
        query: &str,
        mut variables: Value,
        file: File,
    ) -> Result<Value, Failure> {
        variables["input"]["file"] = placeholder(0).into();
        self.execute_with(who, query, variables, Some(file)).await
    }

    async fn execute_with(
        &self,
        who: &Requester,
        query: &str,
        variables: Value,
        file: Option<File>,
    ) -> Result<Value, Failure> {
        let since = Instant::now();
        loop {
            let mut request = Request::new(query)
                .variables(Variables::from_json(variables.clone()))
                .data(self.app.clone())
                .data(who.clone());
            if let Some(file) = &file {
                request = request.data(file.sent());
            }
            let prepared = self.schema.prepare(request);
            let prepared = prepared.map_err(|error| cannot_be_filled(&error))?;
            let response = self.schema.execute(Box::new(prepared)).await;
            let retryable = |error: &async_graphql::ServerError| {
                let extensions = error.extensions.as_ref();
                extensions.and_then(|all| all.get("retryable")) == Some(&true.into())
            };
            if let Some(error) = response.errors.first() {
                if since.elapsed() < PATIENCE && retryable(error) {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    continue;
                }
                return Err(cannot_be_filled(error));
            }
            let data = response.data.into_json().unwrap_or_default();
            return match refusal(&data) {
                Some(message) => Err(cannot_be_filled(&message)),
                None => Ok(data),
            };
        }
    }
}

/// The message of a refusal, if a field returned one.
fn refusal(data: &Value) -> Option<&str> {
    let fields = data.as_object()?.values();
    fields.filter(|field| field.get("code").is_some()).find_map(|field| field["message"].as_str())
}

/// A requester with a subject and roles.
pub(super) fn someone(subject: &str, roles: &[Role]) -> Requester {
    Requester::new(subject, None, roles.to_vec())
}

fn cannot_be_filled(why: &dyn std::fmt::Display) -> Failure {
    Failure::trouble(format!("the shop can't be filled: {why}"))
}
