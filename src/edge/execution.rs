//! Execution of operations, the same for all transports: HTTP, WebSocket and event streams.

use std::{
    net::IpAddr,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use async_graphql::{Request, Response, value};
use futures_util::{FutureExt, StreamExt, stream, stream::BoxStream};
use serde::Serialize;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::{
    Edge,
    auth::Caller,
    observed::Observed,
    parameters::Parameters,
    shares::{Client, Permit},
};
use crate::{
    app::App,
    config::SUBSCRIPTION,
    error::Error,
    graphql::{errors, subscription::Progress},
    mongo::{explain, observe, read_bytes, within},
    schema::Prepared,
    traces,
};

/// A requested operation.
pub(super) struct Call {
    /// Document and variables.
    pub(super) parameters: Parameters,
    /// The caller with its roles.
    pub(super) caller: Caller,
    /// The client's address.
    pub(super) address: IpAddr,
}

/// A prepared operation with its observer.
pub(super) struct Ready {
    pub(super) prepared: Box<Prepared>,
    observed: Observed,
    /// The client whose share of the concurrent requests it uses.
    client: Client,
    /// Size of its document or of its parameters in bytes, whichever is larger.
    length: usize,
    /// Time limit of the execution.
    pub(super) time: Duration,
}

/// Cost of an operation, and the limit.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Cost {
    estimated: usize,
    limit: usize,
}

impl Ready {
    /// Records that the operation isn't executed.
    pub(super) fn refused(self, id: &str, error: &Error) {
        self.observed.refused(id, error);
    }
}

impl Edge {
    /// Charges an operation to the client's rate, and executes it. A subscription yields responses until it ends.
    pub(super) fn follow(&self, call: Call) -> BoxStream<'static, Response> {
        let client = self.limits.client(Some(&call.caller.requester), call.address);
        self.follow_if(self.limits.admit(client), call)
    }

    /// Executes an operation that its request charged already.
    pub(super) fn follow_charged(&self, call: Call) -> BoxStream<'static, Response> {
        self.follow_if(Ok(()), call)
    }

    fn follow_if(&self, admitted: Result<(), Error>, call: Call) -> BoxStream<'static, Response> {
        let Call { mut parameters, caller, address } = call;
        let length = parameters.length;
        let id = self.app.ids().random();
        let client = self.limits.client(Some(&caller.requester), address);
        let text = admitted.and_then(|()| self.documents.text(&mut parameters));
        let request = text.map(|text| parameters.into_request(text));
        let ready = request.and_then(|request| self.prepare(request, length, caller, client, &id));
        match ready {
            Ok(ready) => self.follow_ready(ready, id, false),
            Err(error) => {
                self.observer.rejected(&id, &error);
                only(errors::finished(error, &id))
            }
        }
    }

    /// The responses of a prepared operation: all of a subscription, one of a query or mutation. Queries and
    /// mutations continue after their socket closes, as they do after their HTTP request ends.
    pub(super) fn follow_ready(
        &self,
        ready: Ready,
        id: String,
        is_explained: bool,
    ) -> BoxStream<'static, Response> {
        if ready.prepared.is_subscription() {
            return match self.limits.begin_subscription(ready.client, ready.length) {
                Ok(permit) => self.subscribe(ready, permit, id),
                Err(reached) => {
                    ready.refused(&id, &reached);
                    only(errors::finished(reached, &id))
                }
            };
        }
        let edge = self.clone();
        let response = async move {
            match edge.execute(ready, &id, is_explained).await {
                Ok((mut response, cost)) => {
                    if let Some(Cost { estimated, limit }) = cost {
                        let cost = value!({ "estimated": estimated, "limit": limit });
                        response.extensions.insert("cost".to_owned(), cost);
                    }
                    response
                }
                Err(error) => errors::finished(error, &id),
            }
        };
        stream::once(response).boxed()
    }

    /// The responses of a subscription, which holds its permit until it ends.
    fn subscribe(&self, ready: Ready, permit: Permit, id: String) -> BoxStream<'static, Response> {
        let Ready { prepared, observed, client, .. } = ready;
        let progress = Arc::new(Progress::default());
        let prepared = prepared.with(Arc::clone(&progress));
        let mut observed = observed.follow();
        let responses = self.schema.execute_stream(prepared).boxed();
        let mut responses = self.limits.rounds.paced(client, responses).fuse();
        let limits = Arc::clone(&self.limits);
        let mut count = limits.read_bytes.count(client, false);
        let mut permit = Some(permit);
        let finished = stream::poll_fn(move |task| {
            let polled = read_bytes::polled(&mut count, || responses.poll_next_unpin(task));
            match polled {
                Poll::Ready(Some(response)) => {
                    // The documents that were read for the response are dropped now.
                    count = limits.read_bytes.count(client, false);
                    let mut response = errors::finish(response, &id);
                    progress.add_missed_to(&mut response);
                    observed.answered(&id, &response);
                    Poll::Ready(Some(response))
                }
                Poll::Ready(None) => {
                    drop(permit.take());
                    observed.accepted(&id);
                    Poll::Ready(None)
                }
                Poll::Pending => {
                    if progress.has_waited() {
                        // Documents that it has read before are no part of the next response.
                        count = limits.read_bytes.count(client, false);
                        observed.accepted(&id);
                    }
                    Poll::Pending
                }
            }
        });
        finished.boxed()
    }

    /// Parses the document of a request, whose parameters have this length in bytes.
    ///
    /// # Errors
    /// It exceeds a limit.
    pub(super) fn prepare(
        &self,
        request: Request,
        length: usize,
        mut caller: Caller,
        client: Client,
        id: &str,
    ) -> Result<Ready, Error> {
        caller.requester.client = Some(client);
        let length = length.max(request.query.len());
        let request = request.data(self.app.clone()).data(caller.requester);
        let prepare = || {
            let prepared = self.schema.prepare(request)?;
            if prepared.is_subscription() && length > SUBSCRIPTION {
                let reason = format!("is a subscription of more than {SUBSCRIPTION} bytes");
                return Err(Error::TooComplex { limit: "subscription", reason });
            }
            Ok(prepared)
        };
        let (prepared, observed) = self.observer.begin(id, prepare)?;
        let (prepared, time) = (Box::new(prepared), self.limits.time);
        Ok(Ready { prepared, observed, client, length, time })
    }

    /// Executes a query or a mutation. Returns the cost if it is to be reported.
    ///
    /// # Errors
    /// The limit of concurrent requests is reached, or the time limit is exceeded.
    pub(super) async fn execute(
        &self,
        ready: Ready,
        id: &str,
        is_explained: bool,
    ) -> Result<(Response, Option<Cost>), Error> {
        let Ready { prepared, observed, client, time, .. } = ready;
        let is_known = prepared.is_known();
        let cost = Cost { estimated: prepared.cost(), limit: self.schema.limits().cost };
        let log = is_explained.then(observe::Log::default);
        let result = match self.limits.begin(client) {
            Ok(permit) => {
                let run = self.run(prepared, &observed, (client, permit), time, log.clone());
                run.instrument(observed.span()).await
            }
            Err(reached) => Err(reached),
        };
        let (response, sent) = match result {
            Ok(result) => result,
            Err(error) => {
                observed.refused(id, &error);
                return Err(error);
            }
        };
        let mut response = errors::finish(response, id);
        observed.answered(id, &response, sent);
        if let Some(log) = log {
            let commands = commands(&self.app, &log).await;
            let extension = value!({ "commands": commands, "knownText": is_known });
            response.extensions.insert("docgate".to_owned(), extension);
        }
        Ok((response, Some(cost).filter(|_| self.app.config().report_cost)))
    }

    /// Executes the operation; returns the response and the number of commands.
    async fn run(
        &self,
        prepared: Box<Prepared>,
        observed: &Observed,
        (client, permit): (Client, Permit),
        time: Duration,
        log: Option<observe::Log>,
    ) -> Result<(Response, u64), Error> {
        let is_mutation = prepared.is_mutation();
        let is_counting = is_mutation && prepared.is_counting();
        let schema = self.schema.clone();
        let count = self.limits.read_bytes.count(client, is_mutation);
        let execution = async move {
            let _permit = permit;
            let execution = read_bytes::counted(count, schema.execute(prepared));
            match log {
                Some(log) => observe::collect(log, execution).await,
                None => execution.await,
            }
        };
        // Boxed, because the surrounding futures move it several times.
        let execution = observed.count_commands(Box::pin(execution)).instrument(traces::execute());
        if is_mutation {
            // A mutation runs in its own task, because a disconnected client drops its handler, which must not
            // stop a flow halfway. Shutdown waits for the task. The commands of a query have their own tasks.
            let executed = timeout(time, self.app.tasks().spawn(execution)).await;
            let mut executed = match executed {
                Ok(executed) => executed.map_err(Error::internal)?,
                Err(elapsed) if is_counting => return Err(Error::Uncounted(elapsed.into())),
                Err(elapsed) => return Err(Error::unavailable(elapsed)),
            };
            errors::mark_unknown_outcomes(&mut executed.0);
            Ok(executed)
        } else {
            let executed = within(time, AssertUnwindSafe(execution).catch_unwind()).await;
            let executed = executed.map_err(|elapsed| Error::Timeout(elapsed.into()))?;
            executed.map_err(|_reported| Error::internal("the execution panicked"))
        }
    }
}

/// A stream of one response.
fn only(response: Response) -> BoxStream<'static, Response> {
    stream::once(std::future::ready(response)).boxed()
}

/// The commands of a request. Each read is sent again with `explain`, to the primary.
async fn commands(app: &App, log: &Mutex<Vec<observe::SentCommand>>) -> Vec<async_graphql::Value> {
    let sent = log.lock().map(|sent| sent.clone()).unwrap_or_default();
    let mut commands = Vec::new();
    for sent in sent {
        let statistics = match &sent.read {
            Some(read) => {
                let database = app.placement().database(read.group());
                explain::statistics(database, read.command()).await.ok()
            }
            None => None,
        };
        commands.push(value!({
            "collection": sent.collection,
            "command": sent.command,
            "keysExamined": (statistics.map(|found| found.keys_examined)),
            "docsExamined": (statistics.map(|found| found.docs_examined)),
            "returned": (statistics.map(|found| found.returned)),
            "sharedWith": (sent.others()),
            "eventual": (sent.read.as_ref().map(observe::Read::is_eventual)),
            "millis": ((sent.took.as_secs_f64() * 1_000_000.0).round() / 1000.0),
        }));
    }
    commands
}
