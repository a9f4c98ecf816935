//! Raw write commands with `maxTimeMS` and without retryable-write sessions, which the driver doesn't offer.
//!
//! For a retryable write, MongoDB keeps a record, by which it recognises a command that the driver sends again
//! after a broken connection or a change of the primary. Here the command is sent again in the same cases,
//! without that record: its guard shows whether the first one was applied. Writes whose guard can't show it have the
//! record; see `super::numbered`.
//! <https://github.com/mongodb/specifications/blob/master/source/retryable-writes/retryable-writes.md>

use std::{io::Write as _, time::Duration};

use mongodb::{
    bson::{
        Bson, Document, RawDocumentBuf, doc,
        raw::{CStr, cstr},
    },
    error::Error as Fault,
};

use super::{
    driver::{DUPLICATE_KEY, Raw, encode},
    expression::millis,
    faults::{FailedUpdate, failed_updates, is_not_primary, is_transient, or_refused},
    guarded::Sends,
    numbered,
};
use crate::{config::Concern, error::Error};

/// The reply to a command.
pub(super) struct Reply {
    document: Document,
    /// The error after which the command was sent again, if the first one may have been applied. A guard that
    /// doesn't hold then means that the write was either refused or already applied.
    uncertain: Option<Error>,
}

/// Sends updates of one document each in one command, with this write concern. `updates` are elements of the command's
/// array, with the fields `q` and `u`.
///
/// # Errors
/// `Unavailable` or `Internal`; some of the updates may have been applied.
pub(super) async fn update(
    collection: &Raw,
    updates: Vec<Document>,
    concern: Concern,
    limit: Duration,
) -> Result<Reply, Error> {
    // The driver's own bulk write requires MongoDB 8.0.
    let is_single = updates.len() == 1;
    let concern = concern.document();
    let fields = doc! { "updates": updates, "ordered": false, WRITE_CONCERN: concern };
    send(collection, "update", fields, None, is_single, limit).await
}

/// Sends encoded updates of one document each in one command, with write concern `majority`; see [`update`]. If filters of
/// these documents are given, the command has a number.
///
/// # Errors
/// `Unavailable`: some of the updates may have been applied. `Internal`: none of them was.
pub(super) async fn update_batch(
    collection: &Raw,
    updates: Vec<RawDocumentBuf>,
    numbered: Option<Vec<Document>>,
    limit: Duration,
) -> Result<Reply, Error> {
    let (fields, batch) = (doc! { "ordered": false }, Some((cstr!("updates"), updates)));
    match numbered {
        Some(filters) => {
            send_numbered(collection, "update", (fields, batch), filters, false, limit).await
        }
        None => send(collection, "update", fields, batch, false, limit).await,
    }
}

/// Inserts documents unordered by one command.
///
/// # Errors
/// `Unavailable`: some of the documents may have been inserted. `Internal`: none of them was.
pub(super) async fn insert(
    collection: &Raw,
    documents: Vec<RawDocumentBuf>,
    limit: Duration,
) -> Result<Reply, Error> {
    let is_single = documents.len() == 1;
    let batch = Some((cstr!("documents"), documents));
    send(collection, "insert", doc! { "ordered": false }, batch, is_single, limit).await
}

/// Inserts documents unordered by one command, with this write concern.
///
/// # Errors
/// `Unavailable`: some of the documents may have been inserted. `Internal`: none of them was.
pub(super) async fn append(
    collection: &Raw,
    documents: Vec<RawDocumentBuf>,
    concern: Document,
    limit: Duration,
) -> Result<Reply, Error> {
    let is_single = documents.len() == 1;
    let batch = Some((cstr!("documents"), documents));
    let fields = doc! { "ordered": false, WRITE_CONCERN: concern };
    send(collection, "insert", fields, batch, is_single, limit).await
}

/// Inserts documents in their order by one command, up to the first that fails.
///
/// # Errors
/// `Unavailable` or `Internal`: some of the documents may have been inserted.
pub(super) async fn insert_in_order(
    collection: &Raw,
    documents: Vec<RawDocumentBuf>,
    limit: Duration,
) -> Result<Reply, Error> {
    let batch = Some((cstr!("documents"), documents));
    send(collection, "insert", doc! { "ordered": true }, batch, false, limit).await
}

/// What a `findAndModify` did.
pub(super) enum Modified {
    /// It was applied; contains the document after it, and how often the command was sent.
    Applied(Document, Sends),
    /// The guard didn't hold.
    Refused,
    /// The guard didn't hold when the command was sent again after this error; the first one may have been applied.
    Uncertain(Error),
}

/// Sends one update. `fields` are the other fields of the command, such as `update`.
///
/// # Errors
/// `Unavailable` or `Internal`; it may have been applied.
pub(super) async fn find_and_modify(
    collection: &Raw,
    filter: Document,
    mut fields: Document,
    is_numbered: bool,
    limit: Duration,
) -> Result<Modified, Error> {
    fields.insert("query", filter.clone());
    fields.insert("new", true);
    let mut reply = if is_numbered {
        let change = (fields, None);
        send_numbered(collection, "findAndModify", change, vec![filter], true, limit).await?
    } else {
        send(collection, "findAndModify", fields, None, true, limit).await?
    };
    if let Some(Bson::Document(after)) = reply.document.remove("value") {
        // Nothing can come of the first copy of a command with a number.
        let sends = if is_numbered { Sends::Once } else { reply.sends() };
        return Ok(Modified::Applied(after, sends));
    }
    Ok(reply.check_refusal().err().map_or(Modified::Refused, Modified::Uncertain))
}

/// Removes the document that a filter selects, by a command with a number. Returns whether there was one.
///
/// # Errors
/// `Unavailable` or `Internal`; it may have been removed.
pub(super) async fn remove(
    collection: &Raw,
    filter: Document,
    limit: Duration,
) -> Result<bool, Error> {
    let fields = doc! { "deletes": [{ "q": filter.clone(), "limit": 1 }] };
    let filters = vec![filter];
    let reply = send_numbered(collection, "delete", (fields, None), filters, true, limit).await?;
    if let Some(failed) = reply.failed()?.pop() {
        return Err(failed.error);
    }
    if reply.matched()? > 0 {
        return Ok(true);
    }
    reply.check_refusal().map(|()| false)
}

/// Inserts the document that a filter selects afterwards, by a command with a number. Returns whether its keys were free.
///
/// # Errors
/// `Unavailable` or `Internal`; it may have been inserted.
pub(super) async fn insert_numbered(
    collection: &Raw,
    filter: Document,
    document: RawDocumentBuf,
    limit: Duration,
) -> Result<bool, Error> {
    let insert = (Document::new(), Some((cstr!("documents"), vec![document])));
    let reply = send_numbered(collection, "insert", insert, vec![filter], true, limit).await?;
    match reply.failed()?.pop() {
        None => Ok(true),
        Some(failed) if failed.code == DUPLICATE_KEY => reply.check_refusal().map(|()| false),
        Some(failed) => Err(failed.error),
    }
}

/// Field of a command for its write concern.
const WRITE_CONCERN: &str = "writeConcern";

/// An array of encoded documents at the end of a command, with its name.
type Batch = (&'static CStr, Vec<RawDocumentBuf>);

/// Sends a command, with write concern `majority` unless the `fields` have another one. `batch` is beside the `fields`.
/// `is_single` tells whether it changes at most one document.
async fn send(
    collection: &Raw,
    name: &'static str,
    fields: Document,
    batch: Option<Batch>,
    is_single: bool,
    limit: Duration,
) -> Result<Reply, Error> {
    let head = encode(&command(collection, name, fields, limit))?;
    let handle = collection.clone();
    let call = async move { send_with_retry(&handle, &head, batch.as_ref()).await };
    exchange(collection, name, call, is_single, limit).await
}

/// A command with an array of documents at its end. It is written at once: appending to a document grows and copies it
/// many times.
fn with_batch(head: &RawDocumentBuf, batch: Option<&Batch>) -> Result<RawDocumentBuf, Fault> {
    const DOCUMENT: u8 = 0x03;
    const ARRAY: u8 = 0x04;
    /// What an element takes up beside its document, at most: its type and its position.
    const PER_ELEMENT: usize = 12;
    let Some((name, documents)) = batch else { return Ok(head.clone()) };
    let sizes = documents.iter().map(|document| PER_ELEMENT + document.as_bytes().len());
    let size = head.as_bytes().len() + name.len() + PER_ELEMENT + sizes.sum::<usize>();
    let mut bytes = Vec::with_capacity(size);
    bytes.extend_from_slice(head.as_bytes());
    // Its end is written anew after the array.
    bytes.pop();
    bytes.push(ARRAY);
    bytes.extend_from_slice(name.as_str().as_bytes());
    bytes.push(0);
    let array = bytes.len();
    bytes.extend_from_slice(&[0; 4]);
    for (position, document) in documents.iter().enumerate() {
        bytes.push(DOCUMENT);
        write!(bytes, "{position}\0").map_err(Fault::custom)?;
        bytes.extend_from_slice(document.as_bytes());
    }
    bytes.push(0);
    let length = i32::try_from(bytes.len() - array).map_err(Fault::custom)?;
    bytes[array..array + 4].copy_from_slice(&length.to_le_bytes());
    bytes.push(0);
    let length = i32::try_from(bytes.len()).map_err(Fault::custom)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    RawDocumentBuf::from_bytes(bytes).map_err(Fault::custom)
}

/// Like [`send`], with a number. Each of the filters selects one of the documents that the command changes.
async fn send_numbered(
    collection: &Raw,
    name: &'static str,
    (fields, batch): (Document, Option<Batch>),
    filters: Vec<Document>,
    is_single: bool,
    limit: Duration,
) -> Result<Reply, Error> {
    let head = encode(&command(collection, name, fields, limit))?;
    let command = with_batch(&head, batch.as_ref()).map_err(Error::internal)?;
    let handle = collection.clone();
    let call = async move { numbered::send_with_retry(&handle, command, filters).await };
    exchange(collection, name, call, is_single, limit).await
}

/// A command with these fields, and with write concern `majority` unless they have another one.
fn command(collection: &Raw, name: &str, fields: Document, limit: Duration) -> Document {
    let mut command = doc! { name: collection.name() };
    command.extend(fields);
    if !command.contains_key(WRITE_CONCERN) {
        command.insert(WRITE_CONCERN, doc! { "w": "majority" });
    }
    command.insert("maxTimeMS", millis(limit));
    command
}

/// Waits for the reply to a command.
async fn exchange(
    collection: &Raw,
    name: &'static str,
    call: impl Future<Output = Result<(Document, Option<Fault>), Fault>> + Send + 'static,
    is_single: bool,
    limit: Duration,
) -> Result<Reply, Error> {
    // `maxTimeMS` doesn't include the time that a command waits before the server starts it.
    let time_limit = limit + Duration::from_secs(1);
    let (reply, first_error) = collection.send_within(time_limit, name, call).await?;
    let may_be_applied = |error: &Fault| !(is_single && is_not_primary(error));
    let uncertain = first_error.filter(may_be_applied).map(Error::from);
    if let Ok(error) = reply.get_document("writeConcernError") {
        return Err(Error::unavailable(error.to_string()));
    }
    Ok(Reply { document: reply, uncertain })
}

/// Sends the command, and once more after a transient error. Returns the reply, and that error if there was
/// one.
async fn send_with_retry(
    collection: &Raw,
    head: &RawDocumentBuf,
    batch: Option<&Batch>,
) -> Result<(Document, Option<Fault>), Fault> {
    match send_once(collection, with_batch(head, batch)?).await {
        // If both fail, the first error says that the outcome is unknown.
        Err(first) if is_transient(&first) => {
            match send_once(collection, with_batch(head, batch)?).await {
                Ok(reply) => Ok((reply, Some(first))),
                Err(_second) => Err(first),
            }
        }
        reply => Ok((reply?, None)),
    }
}

async fn send_once(collection: &Raw, command: RawDocumentBuf) -> Result<Document, Fault> {
    or_refused(collection.sessions().run(collection.database(), command).await)
}

impl Reply {
    /// The failed updates.
    ///
    /// # Errors
    /// `Internal` if the reply can't be read.
    pub(super) fn failed(&self) -> Result<Vec<FailedUpdate>, Error> {
        failed_updates(&self.document)
    }

    /// Whether an upsert inserted a document.
    pub(super) fn has_upserted(&self) -> bool {
        self.document.contains_key("upserted")
    }

    /// Number of upserts that inserted a document.
    pub(super) fn upserted(&self) -> usize {
        self.document.get_array("upserted").map_or(0, Vec::len)
    }

    /// The error after which the command was sent again, if the first one may have been applied.
    pub(super) fn uncertainty(&self) -> Option<&Error> {
        self.uncertain.as_ref()
    }

    /// How often the command was sent, as far as the first one may still be applied.
    pub(super) fn sends(&self) -> Sends {
        if self.uncertain.is_some() { Sends::Twice } else { Sends::Once }
    }

    /// Number of matched documents.
    ///
    /// # Errors
    /// `Internal` if the reply can't be read.
    pub(super) fn matched(&self) -> Result<usize, Error> {
        let matched = self.document.get_i32("n").map_err(Error::internal)?;
        usize::try_from(matched).map_err(Error::internal)
    }

    /// Positions of the updates that were refused because of a duplicate key.
    ///
    /// # Errors
    /// The first failure of any other kind.
    pub(super) fn refused(&self) -> Result<Vec<usize>, Error> {
        let position = |FailedUpdate { position, code, error, .. }| match code {
            DUPLICATE_KEY => Ok(position),
            _ => Err(error),
        };
        failed_updates(&self.document)?.into_iter().map(position).collect()
    }

    /// Checks that a refused update can't have been applied by an earlier send of the same command.
    ///
    /// # Errors
    /// The error of that send, if it may have been applied.
    pub(super) fn check_refusal(self) -> Result<(), Error> {
        self.uncertain.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_with_its_documents() {
        let head = encode(&doc! { "insert": "things", "maxTimeMS": 5 }).expect("encoded");
        assert_eq!(with_batch(&head, None).expect("a command"), head);
        for count in [0, 1, 12, 1_001] {
            let all: Vec<_> =
                (0..count).map(|n| doc! { "_id": n, "text": "ä".repeat(9) }).collect();
            let raw = all.iter().map(|one| encode(one).expect("encoded")).collect();
            let command = with_batch(&head, Some(&(cstr!("documents"), raw))).expect("a command");
            let expected = doc! { "insert": "things", "maxTimeMS": 5, "documents": all };
            assert_eq!(command, encode(&expected).expect("encoded"));
        }
    }
}
