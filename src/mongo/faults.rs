//! Interprets the server's errors, above all those of a write: whether the write may be sent again, and whether it may
//! have been applied.

use mongodb::{
    bson::{Bson, Document},
    error::{Error as Fault, ErrorKind},
};

use super::{driver::is_duplicate_key, migrations::is_newer};
use crate::error::Error;

/// The server's error code for a collection that exists.
pub(super) const COLLECTION_EXISTS: i32 = 48;

/// Whether the server refused a command with one of these error codes.
pub(super) fn has_code(fault: &Fault, codes: &[i32]) -> bool {
    matches!(fault.kind.as_ref(), ErrorKind::Command(command) if codes.contains(&command.code))
}

/// The reply to a write. A duplicate key refuses it like any other guard; the reply is empty then.
pub(super) fn or_refused(reply: Result<Document, Fault>) -> Result<Document, Fault> {
    match reply {
        Err(fault) if is_duplicate_key(&fault) => Ok(Document::new()),
        reply => reply,
    }
}

/// The server's error codes after which the command may succeed on another connection, or on another primary.
const TRANSIENT: [i32; 12] =
    [6, 7, 89, 91, 189, 262, 9_001, 10_107, 11_600, 11_602, 13_435, 13_436];

/// Whether the command may succeed if it is sent once more.
pub(super) fn is_transient(fault: &Fault) -> bool {
    match fault.kind.as_ref() {
        ErrorKind::Io(_) | ErrorKind::ConnectionPoolCleared { .. } => true,
        _ => has_code(fault, &TRANSIENT),
    }
}

/// The server's error codes by which a member refuses a command because it isn't the primary, or no longer. The command
/// wasn't applied. All others of [`TRANSIENT`] may also come from a router that lost its shard's reply or shuts down, and
/// the shard may have applied the command.
const NOT_PRIMARY: [i32; 5] = [189, 10_107, 11_602, 13_435, 13_436];

/// Whether the error says that a command on one document wasn't applied, because the member isn't the primary.
pub(super) fn is_not_primary(fault: &Fault) -> bool {
    has_code(fault, &NOT_PRIMARY)
}

/// A failed write of a command with several, such as one of its updates or inserts.
pub(super) struct FailedWrite {
    pub(super) position: usize,
    /// The server's error code.
    pub(super) code: i32,
    /// The server's description.
    pub(super) text: String,
    pub(super) error: Error,
}

/// The failed writes of a command.
///
/// # Errors
/// `Internal` if the reply can't be read.
pub(super) fn failed_writes(reply: &Document) -> Result<Vec<FailedWrite>, Error> {
    let Ok(failed) = reply.get_array("writeErrors") else { return Ok(Vec::new()) };
    let read = |failed: &Bson| {
        let number = |of| failed.as_document()?.get_i32(of).ok();
        let text = failed.to_string();
        let position = number("index").and_then(|index| usize::try_from(index).ok());
        let (Some(position), Some(code)) = (position, number("code")) else {
            return Err(Error::internal(text));
        };
        // The primary may step down between the command and one of its updates.
        let inner = text.clone();
        let is_transient = TRANSIENT.contains(&code);
        let error = match inner {
            _ if is_newer(&text) => Error::NewerVersion("a document that was to be updated".into()),
            inner if is_transient => Error::unavailable(inner),
            inner => Error::internal(inner),
        };
        Ok(FailedWrite { position, code, text, error })
    };
    failed.iter().map(read).collect()
}
