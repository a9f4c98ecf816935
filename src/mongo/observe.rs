//! Which commands a request sent, how long each took, and what each looked at.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use mongodb::bson::Document;

use crate::metrics::request;

/// One command that was sent to MongoDB.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Collection, or the database for commands without one.
    pub collection: String,
    /// The command's name in MongoDB's own words, such as `find`.
    pub command: &'static str,
    /// Time from sending to the whole answer.
    pub took: Duration,
    /// The command itself where it is a read: it can be asked for [`figures`](super::explain::figures).
    pub read: Option<Document>,
}

/// The list of one request.
pub type Log = Arc<Mutex<Vec<Sent>>>;

tokio::task_local! {
    static LOG: Log;
}

/// Runs `request` and collects what it sends into `log`.
pub async fn collect<F: Future>(log: Log, request: F) -> F::Output {
    LOG.scope(log, request).await
}

/// Notes one command; does nothing outside of a request.
pub(super) fn note(collection: &str, command: &'static str, since: Instant) {
    request::command();
    // Outside a request (a sweep, a command of the binary) there is no list to note it in.
    let _outside_a_request = LOG.try_with(|log| {
        let took = since.elapsed();
        let sent = Sent { collection: collection.to_owned(), command, took, read: None };
        log.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
    });
}

/// The read, where someone collects what is sent.
pub(super) fn wanted(read: impl FnOnce() -> Document) -> Option<Document> {
    LOG.try_with(|_| read()).ok()
}

/// Adds to the command noted last what it read.
pub(super) fn note_read(read: Option<Document>) {
    let _outside_a_request = LOG.try_with(|log| {
        if let Some(sent) = log.lock().unwrap_or_else(PoisonError::into_inner).last_mut() {
            sent.read = read;
        }
    });
}
