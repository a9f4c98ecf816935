//! Raw write commands with `maxTimeMS` and without retryable-write sessions, which the driver doesn't offer.
//!
//! For a retryable write, MongoDB keeps a record in case the driver sends it again. The cases for which the
//! record exists, a broken connection and a change of the primary, are handled here by sending the same
//! command once more: guards tell whether it was applied already.
//! <https://github.com/mongodb/specifications/blob/master/source/retryable-writes/retryable-writes.md>

use std::time::Duration;

use mongodb::{
    bson::{Bson, Document, doc},
    error::{Error as Fault, ErrorKind},
};

use super::driver::{DUPLICATE_KEY, Raw, is_duplicate_key};
use crate::error::Error;

/// The reply to a command.
pub(super) struct Answered {
    answer: Document,
    /// The error after which the command was sent again, if the first one may have been applied. A guard that
    /// doesn't hold then means that the write was either refused or already applied.
    doubt: Option<Error>,
}

/// Sends updates of one document each in one command. They have MongoDB's own form: `q`, `u` and so on.
///
/// # Errors
/// `Unavailable` or `Internal`; some of the updates may have been applied.
pub(super) async fn update(
    collection: &Raw,
    updates: Vec<Document>,
    limit: Duration,
) -> Result<Answered, Error> {
    let is_one = updates.len() == 1;
    // The driver's own bulk write requires MongoDB 8.0.
    let said = doc! { "updates": updates, "ordered": false };
    send(collection, "update", said, is_one, limit).await
}

/// Sends one update and returns the document after it, or `None` if the guard didn't hold. `said` has
/// MongoDB's own form: `query`, `update` and so on.
///
/// # Errors
/// `Unavailable` or `Internal`; it may have been applied.
pub(super) async fn find_and_modify(
    collection: &Raw,
    mut said: Document,
    limit: Duration,
) -> Result<Option<Document>, Error> {
    said.insert("new", true);
    let mut answered = send(collection, "findAndModify", said, true, limit).await?;
    if let Some(Bson::Document(after)) = answered.answer.remove("value") {
        return Ok(Some(after));
    }
    answered.told()?;
    Ok(None)
}

async fn send(
    collection: &Raw,
    name: &'static str,
    said: Document,
    is_one: bool,
    limit: Duration,
) -> Result<Answered, Error> {
    let mut command = doc! { name: collection.name() };
    command.extend(said);
    command.insert("writeConcern", doc! { "w": "majority" });
    command.insert("maxTimeMS", i64::try_from(limit.as_millis()).unwrap_or(i64::MAX));
    // `maxTimeMS` doesn't include the time that a command waits before the server starts it.
    let patience = limit + Duration::from_secs(1);
    let handle = collection.clone();
    let sent = collection.send_within(patience, name, async move { twice(&handle, command).await });
    let (answer, fault) = sent.await?;
    // If the server answers a single update with a command error, it hasn't applied it.
    let is_doubtful = |fault: &Fault| !(is_one && matches!(*fault.kind, ErrorKind::Command(_)));
    let doubt = fault.filter(is_doubtful);
    if let Ok(unsure) = answer.get_document("writeConcernError") {
        return Err(Error::unavailable(unsure.to_string()));
    }
    Ok(Answered { answer, doubt: doubt.map(Error::from) })
}

/// Sends the command, and once more after a transient error. Returns the reply, and that error if there was
/// one.
async fn twice(collection: &Raw, command: Document) -> Result<(Document, Option<Fault>), Fault> {
    match once(collection, command.clone()).await {
        Err(fault) if is_passing(&fault) => Ok((once(collection, command).await?, Some(fault))),
        answer => Ok((answer?, None)),
    }
}

async fn once(collection: &Raw, command: Document) -> Result<Document, Fault> {
    match collection.sessions().run(command).await {
        // A duplicate key refuses the write like any other guard.
        Err(fault) if is_duplicate_key(&fault) => Ok(Document::new()),
        answer => answer,
    }
}

/// The server's error codes after which the command may succeed on another connection, or on another primary.
const PASSING: [i32; 12] = [6, 7, 89, 91, 189, 262, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436];

/// Whether the command may succeed if it is sent once more.
fn is_passing(fault: &Fault) -> bool {
    match fault.kind.as_ref() {
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. } => true,
        ErrorKind::Command(command) => PASSING.contains(&command.code),
        _ => false,
    }
}

/// A failed update of a command with several.
pub(super) struct Failed {
    pub(super) position: usize,
    /// The server's error code.
    pub(super) code: i32,
    pub(super) error: Error,
}

/// The failed updates of a command.
///
/// # Errors
/// `Internal` if the reply can't be read.
pub(super) fn failed(answer: &Document) -> Result<Vec<Failed>, Error> {
    let Ok(failed) = answer.get_array("writeErrors") else { return Ok(Vec::new()) };
    let read = |failed: &Bson| {
        let number = |of| failed.as_document()?.get_i32(of).ok();
        let text = || failed.to_string();
        let position = number("index").and_then(|index| usize::try_from(index).ok());
        let (Some(position), Some(code)) = (position, number("code")) else {
            return Err(Error::internal(text()));
        };
        // The primary may step down between the command and one of its updates.
        let is_passing = PASSING.contains(&code);
        let error = if is_passing { Error::unavailable(text()) } else { Error::internal(text()) };
        Ok(Failed { position, code, error })
    };
    failed.iter().map(read).collect()
}

impl Answered {
    /// Number of matched documents.
    ///
    /// # Errors
    /// `Internal` if the reply can't be read.
    pub(super) fn matched(&self) -> Result<usize, Error> {
        let matched = self.answer.get_i32("n").map_err(Error::internal)?;
        usize::try_from(matched).map_err(Error::internal)
    }

    /// Positions of the updates that were refused because of a duplicate key.
    ///
    /// # Errors
    /// The first failure of any other kind.
    pub(super) fn refused(&self) -> Result<Vec<usize>, Error> {
        let position = |Failed { position, code, error }| match code {
            DUPLICATE_KEY => Ok(position),
            _ => Err(error),
        };
        failed(&self.answer)?.into_iter().map(position).collect()
    }

    /// Checks that a refused update can't have been applied by an earlier send of the same command.
    ///
    /// # Errors
    /// The error of that send, if it may have been applied.
    pub(super) fn told(self) -> Result<(), Error> {
        self.doubt.map_or(Ok(()), Err)
    }
}
