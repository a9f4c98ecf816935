//! What every operation passes, whichever way it came: over HTTP, over a socket, as a stream.

use std::{panic::AssertUnwindSafe, sync::Mutex};

use async_graphql::{Pos, Request, Response, value};
use futures_util::{FutureExt, StreamExt, stream, stream::BoxStream};
use tokio::time::timeout;

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
    /// Executes any operation; a subscription answers until it ends. Queries and mutations may come
    /// over a socket too, and outlive it as they outlive a request.
    pub(super) fn follow(&self, call: Call) -> BoxStream<'static, Response> {
        let Call { request, caller, id, is_explained } = call;
        let prepared = match self.prepare(request, caller) {
            Ok(prepared) => prepared,
            Err(error) => return once(errors::finish(refused(error), &id)),
        };
        if prepared.is_subscription() {
            let answers = self.schema.execute_stream(prepared);
            return answers.map(move |answer| errors::finish(answer, &id)).boxed();
        }
        let edge = self.clone();
        let answer = async move {
            let executed = edge.execute_prepared(prepared, &id, is_explained).await;
            executed.unwrap_or_else(|error| errors::finish(refused(error), &id))
        };
        stream::once(answer).boxed()
    }

    /// Reads what is asked for.
    ///
    /// # Errors
    /// It asks for more than it may.
    pub(super) fn prepare(&self, request: Request, caller: Caller) -> Result<Prepared, Error> {
        let request = request.data(self.app.clone()).data(caller.requester);
        let prepared = self.schema.prepare(request)?;
        self.app.metrics().request(prepared.is_known());
        Ok(prepared)
    }

    /// Executes a query or a mutation.
    ///
    /// # Errors
    /// It wasn't begun, or not done in the time that a request has.
    pub(super) async fn execute_prepared(
        &self,
        prepared: Prepared,
        id: &str,
        is_explained: bool,
    ) -> Result<Response, Error> {
        let room = self.limits.begin()?;
        let is_known = prepared.is_known();
        let must_end = prepared.is_mutation();
        let cost = prepared.cost();
        let log = is_explained.then(observe::Log::default);
        let (schema, collected) = (self.schema.clone(), log.clone());
        let execution = async move {
            let _room = room;
            match collected {
                Some(log) => observe::collect(log, schema.execute(prepared)).await,
                None => schema.execute(prepared).await,
            }
        };
        let time = self.limits.time;
        let mut response = if must_end {
            // A task of its own: a client that hangs up drops its handler, and must not cut a flow in
            // the middle. Shutdown waits for it. What a query sends has tasks of its own anyway.
            let executed = timeout(time, self.app.tasks().spawn(execution)).await;
            executed.map_err(Error::unavailable)?.map_err(Error::internal)?
        } else {
            let executed = timeout(time, AssertUnwindSafe(execution).catch_unwind()).await;
            let executed = executed.map_err(|elapsed| Error::Timeout(elapsed.into()))?;
            executed.map_err(|_reported| Error::internal("the execution panicked"))?
        };
        response = errors::finish(response, id);
        if self.app.config().report_cost {
            let told = value!({ "estimated": cost, "limit": (self.schema.limits().cost) });
            response.extensions.insert("cost".to_owned(), told);
        }
        if let Some(log) = log {
            let commands = commands(&self.app, &log).await;
            let told = value!({ "commands": commands, "knownText": is_known });
            response.extensions.insert("docgate".to_owned(), told);
        }
        Ok(response)
    }
}

fn once(response: Response) -> BoxStream<'static, Response> {
    stream::once(std::future::ready(response)).boxed()
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
