//! Which commands a request sent, how long each took, and what each looked at.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use mongodb::{
    Database,
    bson::{Bson, Document, doc},
};

use super::collection::send;
use crate::error::Error;

/// One command that was sent to MongoDB.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Collection, or the database for commands without one.
    pub collection: String,
    /// The command's name in MongoDB's own words, such as `find`.
    pub command: &'static str,
    /// Time from sending to the whole answer.
    pub took: Duration,
    /// The command itself where it is a read: it can be asked for [`figures`].
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

/// Notes one command; does nothing outside [`collect`].
pub(super) fn note(collection: &str, command: &'static str, since: Instant) {
    // Outside a request (a sweep, a command of the binary) there is no list to note it in.
    let _outside_a_request = LOG.try_with(|log| {
        let took = since.elapsed();
        let sent = Sent { collection: collection.to_owned(), command, took, read: None };
        log.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
    });
}

/// Adds to the command noted last what it read; `read` is only called within [`collect`].
pub(super) fn note_read(read: impl FnOnce() -> Document) {
    let _outside_a_request = LOG.try_with(|log| {
        if let Some(sent) = log.lock().unwrap_or_else(PoisonError::into_inner).last_mut() {
            sent.read = Some(read());
        }
    });
}

/// What a read looks at, as the server's `explain` counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figures {
    /// Index keys.
    pub keys_examined: i64,
    /// Documents.
    pub docs_examined: i64,
    /// Documents that came back.
    pub returned: i64,
}

/// Runs the read once more under `explain`, which counts without answering.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn figures(database: &Database, read: Document) -> Result<Figures, Error> {
    let explain = doc! { "explain": read, "verbosity": "executionStats" };
    let handle = database.clone();
    let answer =
        send(database.name(), "explain", async move { handle.run_command(explain).await }).await?;
    let statistics = answer.get_document("executionStats").map_err(Error::internal)?;
    let number = |key: &str| match statistics.get(key) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        _ => 0,
    };
    Ok(Figures {
        keys_examined: number("totalKeysExamined"),
        docs_examined: number("totalDocsExamined"),
        returned: number("nReturned"),
    })
}
