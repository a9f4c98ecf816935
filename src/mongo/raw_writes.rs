//! Raw write commands with `maxTimeMS` and without retryable-write sessions, which the driver doesn't offer.
//!
//! For a retryable write, MongoDB keeps a record, by which it recognises a command that the driver sends again
//! after a broken connection or a change of the primary. Here the command is sent again in the same cases,
//! without that record: its guard shows whether the first one was applied. Writes whose guard can't show it have the
//! record; see `super::numbered`.
//! <https://github.com/mongodb/specifications/blob/master/source/retryable-writes/retryable-writes.md>

use std::time::Duration;

use mongodb::bson::{Bson, Document, RawDocumentBuf, doc, raw::cstr};

use super::{
    driver::{DUPLICATE_KEY, Raw, encode},
    guarded::Sends,
    write_command::{Batch, Reply, WriteCommand},
};
use crate::{config::Concern, error::Error};

/// Sends updates in one command, with this write concern. `updates` are encoded elements of the command's array, with the fields
/// `q` and `u`. Each changes one document, or several if it has `multi`. If filters of the documents are given, the command has
/// a number; then none has `multi`.
///
/// # Errors
/// `Unavailable`: some of the updates may have been applied. `Internal`: none of them was.
pub(super) async fn update(
    collection: &Raw,
    updates: Vec<RawDocumentBuf>,
    numbered: Option<Vec<Document>>,
    concern: Concern,
    limit: Duration,
) -> Result<Reply, Error> {
    // The driver's own bulk write requires MongoDB 8.0.
    let is_single = matches!(&*updates, [one] if !one.get_bool("multi").unwrap_or_default());
    let command = WriteCommand::new(collection, "update", doc! { "ordered": false }, limit);
    let batch = Some(Batch { name: cstr!("updates"), documents: updates });
    WriteCommand { batch, concern, numbered, is_single, ..command }.send().await
}

/// Inserts documents unordered by one command, with this write concern.
///
/// # Errors
/// `Unavailable`: some of the documents may have been inserted. `Internal`: none of them was.
pub(super) async fn insert(
    collection: &Raw,
    documents: Vec<RawDocumentBuf>,
    concern: Concern,
    limit: Duration,
) -> Result<Reply, Error> {
    let is_single = documents.len() == 1;
    let command = WriteCommand::new(collection, "insert", doc! { "ordered": false }, limit);
    let batch = Some(Batch { name: cstr!("documents"), documents });
    WriteCommand { batch, concern, is_single, ..command }.send().await
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
    let command = WriteCommand::new(collection, "insert", doc! { "ordered": true }, limit);
    let batch = Some(Batch { name: cstr!("documents"), documents });
    WriteCommand { batch, is_single: false, ..command }.send().await
}

/// What a `findAndModify` did.
pub(super) enum Modified {
    /// It was applied; contains the document after it, and how often the command was sent.
    Applied(RawDocumentBuf, Sends),
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
    let numbered = is_numbered.then(|| vec![filter.clone()]);
    fields.insert("query", filter);
    fields.insert("new", true);
    let command = WriteCommand::new(collection, "findAndModify", fields, limit);
    let mut reply = WriteCommand { numbered, ..command }.send().await?;
    if let Some(Bson::Document(after)) = reply.document.remove("value") {
        return Ok(Modified::Applied(encode(&after)?, reply.sends()));
    }
    Ok(reply.check_refusal().err().map_or(Modified::Refused, Modified::Uncertain))
}

/// Removes the document that a filter selects, by a command with a number. Returns nothing if there was none.
///
/// # Errors
/// `Unavailable` or `Internal`; it may have been removed.
pub(super) async fn remove(
    collection: &Raw,
    filter: Document,
    limit: Duration,
) -> Result<Option<()>, Error> {
    let fields = doc! { "deletes": [{ "q": filter.clone(), "limit": 1 }] };
    let command = WriteCommand::new(collection, "delete", fields, limit);
    let reply = WriteCommand { numbered: Some(vec![filter]), ..command }.send().await?;
    if let Some(failed) = reply.failed()?.pop() {
        return Err(failed.error);
    }
    if reply.matched()? > 0 {
        return Ok(Some(()));
    }
    reply.check_refusal().map(|()| None)
}

/// Inserts the document that a filter selects afterwards, by a command with a number. Returns nothing if one of its keys is
/// taken.
///
/// # Errors
/// `Unavailable` or `Internal`; it may have been inserted.
pub(super) async fn insert_numbered(
    collection: &Raw,
    filter: Document,
    document: RawDocumentBuf,
    limit: Duration,
) -> Result<Option<()>, Error> {
    let command = WriteCommand::new(collection, "insert", Document::new(), limit);
    let batch = Some(Batch { name: cstr!("documents"), documents: vec![document] });
    let reply = WriteCommand { batch, numbered: Some(vec![filter]), ..command }.send().await?;
    match reply.failed()?.pop() {
        None => Ok(Some(())),
        Some(failed) if failed.code == DUPLICATE_KEY => reply.check_refusal().map(|()| None),
        Some(failed) => Err(failed.error),
    }
}
