//! The shop is filled through the door that clients use: GraphQL, in process.

use std::time::Duration;

use async_graphql::{Request, Variables};
use futures_util::stream;
use serde_json::Value;

use crate::{
    app::App,
    cli::failure::Failure,
    graphql::{
        requester::{Requester, Role},
        upload::{Files, Piece, mark},
    },
    schema::GatewaySchema,
};

/// A way to ask the gateway without a network.
pub(super) struct Door {
    app: App,
    schema: GatewaySchema,
}

/// A file that goes with an operation.
pub(super) struct File {
    /// What it is called.
    pub(super) name: String,
    /// What is in it.
    pub(super) bytes: Vec<u8>,
}

impl File {
    /// The file as a request brings it.
    fn sent(&self) -> Files {
        let name = Some(self.name.clone());
        let pieces = [
            Piece::File { place: 0, name, media_type: None },
            Piece::Bytes(self.bytes.clone().into()),
            Piece::End,
        ];
        Files::new(stream::iter(pieces.map(Ok)))
    }
}

/// Times that an operation is tried while its outcome isn't known; every one has an op id.
const TRIES: u32 = 5;

impl Door {
    pub(super) fn new(app: App) -> Self {
        let schema = crate::schema::build(app.config());
        Self { app, schema }
    }

    /// `data` of an operation in which nothing was refused.
    pub(super) async fn ask(
        &self,
        who: &Requester,
        query: &str,
        variables: Value,
    ) -> Result<Value, Failure> {
        self.ask_with(who, query, variables, None).await
    }

    /// As [`Self::ask`], with a file for `input.file`.
    pub(super) async fn ask_with_file(
        &self,
        who: &Requester,
        query: &str,
        mut variables: Value,
        file: File,
    ) -> Result<Value, Failure> {
        variables["input"]["file"] = mark(0).into();
        self.ask_with(who, query, variables, Some(file)).await
    }

    async fn ask_with(
        &self,
        who: &Requester,
        query: &str,
        variables: Value,
        file: Option<File>,
    ) -> Result<Value, Failure> {
        let mut tries = 1;
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
                if tries < TRIES && retryable(error) {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    continue;
                }
                return Err(cannot_be_filled(error));
            }
            let data = response.data.into_json().unwrap_or_default();
            return match refusal(&data) {
                Some(said) => Err(cannot_be_filled(&said)),
                None => Ok(data),
            };
        }
    }
}

/// The message of a refusal, where a field was answered with one.
fn refusal(data: &Value) -> Option<&str> {
    let fields = data.as_object()?.values();
    fields.filter(|field| field.get("code").is_some()).find_map(|field| field["message"].as_str())
}

/// Someone with a name and roles.
pub(super) fn someone(subject: &str, roles: &[Role]) -> Requester {
    Requester { subject: Some(subject.to_owned()), roles: roles.to_vec() }
}

fn cannot_be_filled(why: &dyn std::fmt::Display) -> Failure {
    Failure::trouble(format!("the shop can't be filled: {why}"))
}
