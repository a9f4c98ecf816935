//! Records the commands that a request sent, how long each took, and the reads among them for `explain`.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use mongodb::bson::Document;

use crate::metrics::request;

/// One command that was sent to MongoDB.
#[derive(Debug, Clone)]
pub struct SentCommand {
    /// Collection, or the database for commands without one.
    pub collection: String,
    /// The command's name in MongoDB, such as `find`.
    pub command: &'static str,
    /// Time from sending the command to the whole reply.
    pub took: Duration,
    /// Number of statements of other callers in the command, if it is a write that may be shared.
    pub others: Option<usize>,
    /// The command itself if it is a read; [`statistics`](super::explain::statistics) runs it again.
    pub read: Option<Document>,
}

/// The commands of one request.
pub type Log = Arc<Mutex<Vec<SentCommand>>>;

tokio::task_local! {
    static LOG: Log;
}

/// Runs `request`, and collects its commands in `log`.
pub async fn collect<F: Future>(log: Log, request: F) -> F::Output {
    LOG.scope(log, request).await
}

/// Records one command; does nothing outside a request.
pub(super) fn record(collection: &str, command: &'static str, since: Instant) {
    add(collection, command, since, None);
}

/// Like [`record`], for a write that shared its command with `others`.
pub(super) fn record_shared(
    collection: &str,
    command: &'static str,
    since: Instant,
    others: usize,
) {
    add(collection, command, since, Some(others));
}

fn add(collection: &str, command: &'static str, since: Instant, others: Option<usize>) {
    request::command();
    // A sweep or a command of the binary has no log.
    let _outside_a_request = LOG.try_with(|log| {
        let took = since.elapsed();
        let collection = collection.to_owned();
        let sent = SentCommand { collection, command, took, others, read: None };
        log.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
    });
}

/// Returns the read if commands are being collected.
pub(super) fn if_collecting(read: impl FnOnce() -> Document) -> Option<Document> {
    LOG.try_with(|_| read()).ok()
}

/// Adds the read to the command that was recorded last.
pub(super) fn record_read(read: Option<Document>) {
    let _outside_a_request = LOG.try_with(|log| {
        if let Some(sent) = log.lock().unwrap_or_else(PoisonError::into_inner).last_mut() {
            sent.read = read;
        }
    });
}
