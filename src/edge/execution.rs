//! What every operation passes, whichever way it came: over HTTP, over a socket, as a stream.

use std::{panic::AssertUnwindSafe, sync::Mutex};

use async_graphql::{Pos, Request, Response, value};
use futures_util::{FutureExt, StreamExt, stream, stream::BoxStream};

use super::{Edge, auth::Caller};
use crate::{
    app::App,
    error::Error,
    graphql::errors,
    mongo::{explain, observe},
    schema::Prepared,
};

/// One operation that somebody asks for.
pub(super) struct Call {
    /// Its text and variables.
    pub(super) request: Request,
    /// Who asks.
    pub(super) caller: Caller,
    /// Id of the request, for logs and internal errors.
    pub(super) id: String,
    /// Whether the answer tells what was sent to MongoDB.
    pub(super) is_explained: bool,
}

impl Edge {
    /// Executes a query or a mutation.
    pub(super) async fn execute(&self, call: Call) -> Response {
        let Call { request, caller, id, is_explained } = call;
        let prepared = self.prepare(request, caller);
        self.execute_prepared(prepared, &id, is_explained).await
    }

    /// Executes any operation; a subscription answers until it ends. Queries and mutations may come
    /// over a socket too, and outlive it as they outlive a request.
    pub(super) fn follow(&self, call: Call) -> BoxStream<'static, Response> {
        let Call { request, caller, id, is_explained } = call;
        let prepared = self.prepare(request, caller);
        if prepared.is_subscription() {
            let answers = self.schema.execute_stream(prepared);
            return answers.map(move |answer| errors::finish(answer, &id)).boxed();
        }
        let edge = self.clone();
        let answer = async move { edge.execute_prepared(prepared, &id, is_explained).await };
        stream::once(answer).boxed()
    }

    fn prepare(&self, request: Request, caller: Caller) -> Prepared {
        let request = request.data(self.app.clone()).data(caller.requester);
        let prepared = self.schema.prepare(request);
        self.app.metrics().request(prepared.is_known());
        prepared
    }

    async fn execute_prepared(&self, prepared: Prepared, id: &str, is_explained: bool) -> Response {
        let is_known = prepared.is_known();
        let must_end = prepared.is_mutation();
        let log = is_explained.then(observe::Log::default);
        let (schema, collected) = (self.schema.clone(), log.clone());
        let execution = async move {
            match collected {
                Some(log) => observe::collect(log, schema.execute(prepared)).await,
                None => schema.execute(prepared).await,
            }
        };
        let executed = if must_end {
            // A task of its own: a client that hangs up drops its handler, and must not cut a flow in
            // the middle. Shutdown waits for it. What a query sends has tasks of its own anyway.
            self.app.tasks().spawn(execution).await.map_err(Error::internal)
        } else {
            let executed = AssertUnwindSafe(execution).catch_unwind().await;
            executed.map_err(|_reported| Error::internal("the execution panicked"))
        };
        let response = executed.unwrap_or_else(refused);
        let mut response = errors::finish(response, id);
        if let Some(log) = log {
            let commands = commands(&self.app, &log).await;
            let told = value!({ "commands": commands, "knownText": is_known });
            response.extensions.insert("docgate".to_owned(), told);
        }
        response
    }
}

/// An answer that holds nothing but why there is none.
pub(super) fn refused(error: Error) -> Response {
    let mut error = async_graphql::Error::from(error).into_server_error(Pos::default());
    // It is about the request, not about a place in its text.
    error.locations.clear();
    Response::from_errors(vec![error])
}

/// What the request sent. Reads are asked again under `explain`.
async fn commands(app: &App, log: &Mutex<Vec<observe::Sent>>) -> Vec<async_graphql::Value> {
    let sent = log.lock().map(|sent| sent.clone()).unwrap_or_default();
    let mut commands = Vec::new();
    for sent in sent {
        let figures = match sent.read {
            Some(read) => explain::figures(app.database(), read).await.ok(),
            None => None,
        };
        commands.push(value!({
            "collection": sent.collection,
            "command": sent.command,
            "keysExamined": (figures.map(|figures| figures.keys_examined)),
            "docsExamined": (figures.map(|figures| figures.docs_examined)),
            "returned": (figures.map(|figures| figures.returned)),
            "millis": ((sent.took.as_secs_f64() * 1_000_000.0).round() / 1000.0),
        }));
    }
    commands
}
