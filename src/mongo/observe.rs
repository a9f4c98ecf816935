//! Which commands a request sent, and how long each took.

use std::{
    future::Future,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// One command that was sent to MongoDB.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Collection, or the database for commands without one.
    pub collection: String,
    /// The command's name in MongoDB's own words, such as `find`.
    pub command: &'static str,
    /// Time from sending to the whole answer.
    pub took: Duration,
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

/// Notes one command; does nothing outside [`collect`].
pub(super) fn note(collection: &str, command: &'static str, since: Instant) {
    // Outside a request (a sweep, a command of the binary) there is no list to note it in.
    let _outside_a_request = LOG.try_with(|log| {
        if let Ok(mut log) = log.lock() {
            log.push(Sent { collection: collection.to_owned(), command, took: since.elapsed() });
        }
    });
}
