//! Writes as the driver doesn't send them: with a time limit, and without the record that MongoDB keeps of
//! each for a driver that may ask again.
//!
//! What the record is for, a connection that breaks and a primary that changes, is met here by sending the
//! same command once more: guards tell whether it was applied already.
//! <https://github.com/mongodb/specifications/blob/master/source/retryable-writes/retryable-writes.md>

use std::time::Duration;

use mongodb::{
    bson::{Bson, Document, doc},
    error::{Error as Fault, ErrorKind},
};

use super::driver::{DUPLICATE_KEY, Raw, is_duplicate_key};
use crate::error::Error;

/// What a command answered.
pub(super) struct Answered {
    answer: Document,
    /// Why it was sent twice, where the first may have been applied as well: whose guard doesn't hold any
    /// more may have been refused, or be done.
    doubt: Option<Error>,
}

/// Sends updates, each of one document, in one command. Each is written as MongoDB has it: `q`, `u` and so on.
///
/// # Errors
/// `Unavailable` or `Internal`; some of the updates may have been applied.
pub(super) async fn update(
    collection: &Raw,
    updates: Vec<Document>,
    limit: Duration,
) -> Result<Answered, Error> {
    let is_one = updates.len() == 1;
    // The driver's own bulk write wants MongoDB 8.0.
    let said = doc! { "updates": updates, "ordered": false };
    send(collection, "update", said, is_one, limit).await
}

/// Sends one update and answers with the document after it, unless its guard didn't hold. `said` is as MongoDB
/// has it: `query`, `update` and so on.
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
    // The server's limit doesn't count while a command waits in front of it.
    let patience = limit + Duration::from_secs(1);
    let handle = collection.clone();
    let sent = collection.send_within(patience, name, async move { twice(&handle, command).await });
    let (answer, fault) = sent.await?;
    // A server that answers with an error has done nothing of a single update.
    let is_doubtful = |fault: &Fault| !(is_one && matches!(*fault.kind, ErrorKind::Command(_)));
    let doubt = fault.filter(is_doubtful);
    if let Ok(unsure) = answer.get_document("writeConcernError") {
        return Err(Error::unavailable(unsure.to_string()));
    }
    Ok(Answered { answer, doubt: doubt.map(Error::from) })
}

/// The answer, and why the command was sent twice where it was.
async fn twice(collection: &Raw, command: Document) -> Result<(Document, Option<Fault>), Fault> {
    match once(collection, command.clone()).await {
        Err(fault) if is_passing(&fault) => Ok((once(collection, command).await?, Some(fault))),
        answer => Ok((answer?, None)),
    }
}

async fn once(collection: &Raw, command: Document) -> Result<Document, Fault> {
    match collection.sessions().run(command).await {
        // A taken unique key refuses the write like any other guard.
        Err(fault) if is_duplicate_key(&fault) => Ok(Document::new()),
        answer => answer,
    }
}

/// The server's codes for what another connection, or another primary, may do.
const PASSING: [i32; 12] = [6, 7, 89, 91, 189, 262, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436];

/// Whether the command may be done when it is sent once more.
fn is_passing(fault: &Fault) -> bool {
    match fault.kind.as_ref() {
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. } => true,
        ErrorKind::Command(command) => PASSING.contains(&command.code),
        _ => false,
    }
}

/// An update of several that failed.
pub(super) struct Failed {
    pub(super) position: usize,
    /// The server's.
    pub(super) code: i32,
    pub(super) error: Error,
}

/// What failed of the updates that a command sent.
///
/// # Errors
/// `Internal`: it can't be read.
pub(super) fn failed(answer: &Document) -> Result<Vec<Failed>, Error> {
    let Ok(failed) = answer.get_array("writeErrors") else { return Ok(Vec::new()) };
    let read = |failed: &Bson| {
        let number = |of| failed.as_document()?.get_i32(of).ok();
        let text = || failed.to_string();
        let position = number("index").and_then(|index| usize::try_from(index).ok());
        let (Some(position), Some(code)) = (position, number("code")) else {
            return Err(Error::internal(text()));
        };
        // A primary may step down between the command and one of its updates.
        let is_passing = PASSING.contains(&code);
        let error = if is_passing { Error::unavailable(text()) } else { Error::internal(text()) };
        Ok(Failed { position, code, error })
    };
    failed.iter().map(read).collect()
}

impl Answered {
    /// How many documents matched.
    ///
    /// # Errors
    /// `Internal`.
    pub(super) fn matched(&self) -> Result<usize, Error> {
        let matched = self.answer.get_i32("n").map_err(Error::internal)?;
        usize::try_from(matched).map_err(Error::internal)
    }

    /// Which updates were refused as duplicates; any other failure is one of the whole.
    ///
    /// # Errors
    /// Such a failure.
    pub(super) fn refused(&self) -> Result<Vec<usize>, Error> {
        let position = |Failed { position, code, error }| match code {
            DUPLICATE_KEY => Ok(position),
            _ => Err(error),
        };
        failed(&self.answer)?.into_iter().map(position).collect()
    }

    /// The error of what was refused, where it may have been done before; else nothing.
    ///
    /// # Errors
    /// `Unavailable`.
    pub(super) fn told(self) -> Result<(), Error> {
        self.doubt.map_or(Ok(()), Err)
    }
}
