//! A write command: how it is encoded, sent, sent once more and answered. `super::raw_writes` has the commands themselves.

use std::time::Duration;

use mongodb::{
    bson::{Document, RawDocumentBuf, doc, raw::CStr},
    error::{Error as Fault, Result as DriverResult},
};

use super::{
    driver::{DUPLICATE_KEY, Raw, encode},
    expression::millis,
    faults::{FailedWrite, failed_writes, is_not_primary, is_transient, or_refused},
    guarded::Sends,
    numbered,
};
use crate::{config::Concern, error::Error};

/// A write command that is ready to be sent.
pub(super) struct WriteCommand<'a> {
    pub(super) collection: &'a Raw,
    pub(super) name: &'static str,
    /// Its fields, without those that every command has.
    pub(super) fields: Document,
    /// The array at its end.
    pub(super) batch: Option<Batch>,
    pub(super) concern: Concern,
    /// If it has a number: filters that each select one of the documents that it changes.
    pub(super) numbered: Option<Vec<Document>>,
    /// Whether it changes at most one document.
    pub(super) is_single: bool,
    /// Its `maxTimeMS`.
    pub(super) limit: Duration,
}

/// An array of encoded documents, with its name.
pub(super) struct Batch {
    pub(super) name: &'static CStr,
    pub(super) documents: Vec<RawDocumentBuf>,
}

impl<'a> WriteCommand<'a> {
    /// A command without a number that changes one document, with write concern `majority`.
    pub(super) fn new(
        collection: &'a Raw,
        name: &'static str,
        fields: Document,
        limit: Duration,
    ) -> Self {
        let (batch, concern, numbered) = (None, Concern::Majority, None);
        Self { collection, name, fields, batch, concern, numbered, is_single: true, limit }
    }

    /// Sends it, and once more after a transient error.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; it may have been applied, in part too.
    pub(super) async fn send(mut self) -> Result<Reply, Error> {
        let mut head = doc! { self.name: self.collection.name() };
        head.extend(std::mem::take(&mut self.fields));
        head.insert("writeConcern", self.concern.document());
        head.insert("maxTimeMS", millis(self.limit));
        let (head, batch) = (encode(&head)?, self.batch.take());
        let handle = self.collection.clone();
        if let Some(filters) = self.numbered.take() {
            let command = with_batch(&head, batch.as_ref()).map_err(Error::internal)?;
            let call = async move { numbered::send_with_retry(&handle, command, filters).await };
            return self.exchange(call, true).await;
        }
        let call = async move { send_with_retry(&handle, &head, batch.as_ref()).await };
        self.exchange(call, false).await
    }

    /// Waits for the reply.
    async fn exchange(
        &self,
        call: impl Future<Output = DriverResult<(Document, Option<Fault>)>> + Send + 'static,
        is_numbered: bool,
    ) -> Result<Reply, Error> {
        // `maxTimeMS` doesn't include the time that a command waits before the server starts it.
        let time_limit = self.limit + Duration::from_secs(1);
        let sent = self.collection.send_within(time_limit, self.name, call);
        let (document, first_error) = sent.await?;
        let may_be_applied = |error: &Fault| !(self.is_single && is_not_primary(error));
        let uncertain = first_error.filter(may_be_applied).map(Error::from);
        if let Ok(error) = document.get_document("writeConcernError") {
            return Err(Error::unavailable(error.to_string()));
        }
        Ok(Reply { document, uncertain, is_numbered })
    }
}

/// A command with an array of documents at its end. It is written at once: appending to a document grows and copies it
/// many times.
fn with_batch(head: &RawDocumentBuf, batch: Option<&Batch>) -> DriverResult<RawDocumentBuf> {
    const DOCUMENT: u8 = 0x03;
    const ARRAY: u8 = 0x04;
    /// What an element takes up beside its document, at most: its type and its position.
    const PER_ELEMENT: usize = 12;
    let Some(Batch { name, documents }) = batch else { return Ok(head.clone()) };
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
    let mut position = b"0".to_vec();
    for document in documents {
        bytes.push(DOCUMENT);
        bytes.extend_from_slice(&position);
        bytes.push(0);
        bytes.extend_from_slice(document.as_bytes());
        increment(&mut position);
    }
    bytes.push(0);
    let length = i32::try_from(bytes.len() - array).map_err(Fault::custom)?;
    bytes[array..array + 4].copy_from_slice(&length.to_le_bytes());
    bytes.push(0);
    let length = i32::try_from(bytes.len()).map_err(Fault::custom)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    RawDocumentBuf::from_bytes(bytes).map_err(Fault::custom)
}

/// Adds one to a number in decimal digits. Formatting each number would cost many times as much.
fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
}

/// Sends the command, and once more after a transient error. Returns the reply, and that error if there was
/// one.
async fn send_with_retry(
    collection: &Raw,
    head: &RawDocumentBuf,
    batch: Option<&Batch>,
) -> DriverResult<(Document, Option<Fault>)> {
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

async fn send_once(collection: &Raw, command: RawDocumentBuf) -> DriverResult<Document> {
    or_refused(collection.sessions().run(collection.database(), command).await)
}

/// The reply to a command.
pub(super) struct Reply {
    pub(super) document: Document,
    /// The error after which the command was sent again, if the first one may have been applied. A guard that
    /// doesn't hold then means that the write was either refused or already applied.
    uncertain: Option<Error>,
    is_numbered: bool,
}

impl Reply {
    /// The failed writes.
    ///
    /// # Errors
    /// `Internal` if the reply can't be read.
    pub(super) fn failed(&self) -> Result<Vec<FailedWrite>, Error> {
        failed_writes(&self.document)
    }

    /// Number of upserts that inserted a document.
    pub(super) fn upserted(&self) -> usize {
        self.document.get_array("upserted").map_or(0, Vec::len)
    }

    /// The error after which the command was sent again, if the first one may have been applied.
    pub(super) fn uncertainty(&self) -> Option<&Error> {
        self.uncertain.as_ref()
    }

    /// How often the command was sent, as far as the first one may still be applied. Nothing can come of the first copy of a
    /// command with a number.
    pub(super) fn sends(&self) -> Sends {
        if self.uncertain.is_some() && !self.is_numbered { Sends::Twice } else { Sends::Once }
    }

    /// Whether it is of a member of a replica set, which names its election in each reply to a write. A router doesn't.
    pub(super) fn is_of_member(&self) -> bool {
        self.document.contains_key("electionId")
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
        let position = |FailedWrite { position, code, error, .. }| match code {
            DUPLICATE_KEY => Ok(position),
            _ => Err(error),
        };
        self.failed()?.into_iter().map(position).collect()
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
    use mongodb::bson::raw::cstr;

    use super::*;

    #[test]
    fn a_command_ends_with_its_documents() {
        let head = encode(&doc! { "insert": "things", "maxTimeMS": 5 }).expect("encoded");
        assert_eq!(with_batch(&head, None).expect("a command"), head);
        for count in [0, 1, 12, 1_001] {
            let all: Vec<_> =
                (0..count).map(|n| doc! { "_id": n, "text": "ä".repeat(9) }).collect();
            let documents = all.iter().map(|one| encode(one).expect("encoded")).collect();
            let batch = Batch { name: cstr!("documents"), documents };
            let command = with_batch(&head, Some(&batch)).expect("a command");
            let expected = doc! { "insert": "things", "maxTimeMS": 5, "documents": all };
            assert_eq!(command, encode(&expected).expect("encoded"));
        }
    }
}
