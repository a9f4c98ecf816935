//! Calls of the MongoDB driver. All of them use raw documents, so that the driver's generic code is compiled once
//! and not once per document type.
//!
//! Dropping a driver call in flight closes its connection. Under load, many dropped calls stall all other calls
//! for seconds. Therefore each call runs in its own task ([`send`]) and always runs to completion, even if its
//! caller no longer waits.

use std::{
    future::Future,
    ops::Deref,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use mongodb::{
    Database,
    bson::{self, Bson, Document, RawBsonRef, RawDocument, RawDocumentBuf},
    options::CollectionOptions,
};
use serde::{Serialize, de::DeserializeOwned};
use tracing::Span;

use super::{
    decoder, observe,
    placement::{Place, Placement, Reads},
    sessions::Sessions,
    stored::NEWER,
};
use crate::{
    config::Concern,
    error::Error,
    metrics::database::{Command, Commands},
    traces,
};

/// The driver's handle of a collection, with its place and the metrics of its commands.
#[derive(Clone)]
pub(super) struct Raw {
    collection: mongodb::Collection<RawDocumentBuf>,
    pub(super) name: &'static str,
    pub(super) reads: Reads,
    place: Arc<Place>,
    commands: Commands,
    sessions: Arc<Sessions>,
}

impl Deref for Raw {
    type Target = mongodb::Collection<RawDocumentBuf>;

    fn deref(&self) -> &Self::Target {
        &self.collection
    }
}

impl Raw {
    pub(super) fn new(
        placement: &Placement,
        reads: Reads,
        name: &'static str,
        commands: &Commands,
        sessions: &Arc<Sessions>,
    ) -> Self {
        let (commands, sessions) = (commands.clone(), Arc::clone(sessions));
        let place = Arc::clone(placement.of(reads.group));
        let collection = match placement.selection(reads) {
            // The driver's writes go to the primary all the same.
            Some(criteria) => {
                let mut options = CollectionOptions::default();
                options.selection_criteria = Some(criteria);
                place.database().collection_with_options(name, options)
            }
            None => place.database().collection(name),
        };
        Self { collection, name, reads, place, commands, sessions }
    }

    /// The same with the collection of this name in the same place, whose commands are counted as those of this one.
    pub(super) fn with_name(self, name: &str) -> Self {
        let mut options = CollectionOptions::default();
        options.selection_criteria = self.collection.selection_criteria().cloned();
        let collection = self.place.database().collection_with_options(name, options);
        Self { collection, ..self }
    }

    /// The database of the collection.
    pub(super) fn database(&self) -> &Database {
        self.place.database()
    }

    /// When additions to the collection are acknowledged.
    pub(super) fn concern(&self) -> Concern {
        self.place.concern()
    }

    /// The place of the collection's group.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The driver's own handle.
    pub(super) fn clone_collection(&self) -> mongodb::Collection<RawDocumentBuf> {
        self.collection.clone()
    }

    /// The sessions of the collection's database.
    pub(super) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub(super) fn database_name(&self) -> String {
        self.namespace().db
    }

    /// The metrics of a command of the collection.
    pub(super) fn command(&self, command: &'static str) -> Command {
        self.commands.of(self.name, command)
    }

    /// Runs one command of the collection as the function [`send`] does, and records its metrics and a span.
    ///
    /// # Errors
    /// As [`send`].
    pub(super) fn send<T, C>(
        &self,
        command: &'static str,
        call: C,
    ) -> impl Future<Output = Result<T, Error>> + use<T, C>
    where
        T: Send + 'static,
        C: Future<Output = mongodb::error::Result<T>> + Send + 'static,
    {
        self.send_within(REPLY_TIMEOUT, command, call)
    }

    /// Like [`send`](Self::send), for a command that waits in the server until there is something to say. It is counted,
    /// without its duration and without a span.
    pub(super) fn send_waiting<T, C>(
        &self,
        command: &'static str,
        call: C,
    ) -> impl Future<Output = Result<T, Error>> + use<T, C>
    where
        T: Send + 'static,
        C: Future<Output = mongodb::error::Result<T>> + Send + 'static,
    {
        let counted = self.commands.of(self.name, command);
        let sent = send(self.name, command, call);
        sent.inspect(move |reply| counted.awaited(reply.as_ref().err().map(failure)))
    }

    pub(super) fn send_within<T, C>(
        &self,
        time_limit: Duration,
        command: &'static str,
        call: C,
    ) -> impl Future<Output = Result<T, Error>> + use<T, C>
    where
        T: Send + 'static,
        C: Future<Output = mongodb::error::Result<T>> + Send + 'static,
    {
        let span = traces::command(|| self.database_name(), self.name, command);
        let counted = self.commands.of(self.name, command);
        let since = Instant::now();
        let sent = send_within(time_limit, self.name, command, call);
        sent.inspect(move |reply| record(&counted, since, &span, reply.as_ref().err()))
    }
}

/// Records the metrics of a batched command, and its failure on the current span.
pub(super) fn record_batched(sent: &Command, since: Instant, error: Option<&Error>) {
    record(sent, since, &Span::current(), error);
}

fn record(sent: &Command, since: Instant, span: &Span, error: Option<&Error>) {
    let failure = error.map(failure);
    sent.answered(since.elapsed(), failure);
    if let Some(failure) = failure {
        traces::failed(span, failure);
    }
}

/// The outcome of a failed command in the metrics.
fn failure(error: &Error) -> &'static str {
    match error {
        Error::Unavailable(_) | Error::Unread(_) | Error::Timeout(_) => "unavailable",
        _ => "failed",
    }
}

/// Longest time that a caller waits for the reply to one command. The command continues after that, so that its
/// outcome is unknown.
pub(super) const REPLY_TIMEOUT: Duration = Duration::from_secs(30);

/// Starts one driver call immediately in its own task, and waits for it for at most
/// [`REPLY_TIMEOUT`].
///
/// # Errors
/// `Unavailable` if no reply arrives in time (`Unread` for a read), `Internal` if the task panics, otherwise
/// the converted error of the driver.
pub(super) fn send<T: Send + 'static>(
    collection: &str,
    command: &'static str,
    call: impl Future<Output = mongodb::error::Result<T>> + Send + 'static,
) -> impl Future<Output = Result<T, Error>> {
    send_within(REPLY_TIMEOUT, collection, command, call)
}

/// Like [`send`], with another time limit. The returned future doesn't contain the call: calls are
/// large, and each future that awaits one would be as large.
pub(super) fn send_within<T: Send + 'static>(
    time_limit: Duration,
    collection: &str,
    command: &'static str,
    call: impl Future<Output = mongodb::error::Result<T>> + Send + 'static,
) -> impl Future<Output = Result<T, Error>> {
    let since = Instant::now();
    // Boxed, so that tasks are compiled once for each type of reply, and not for each call.
    let sent = tokio::spawn(call.boxed());
    // Dropping the handle detaches the task, and the call runs to completion. There is no `async` block here,
    // because its state would contain two copies of the future: one from its creation, one for its await.
    tokio::time::timeout(time_limit, sent).map(move |reply| {
        observe::record(collection, command, since);
        let is_read = matches!(command, "find" | "aggregate");
        match reply {
            Ok(Ok(reply)) if is_read => reply.map_err(Error::of_read),
            Ok(Ok(reply)) => Ok(reply?),
            Ok(Err(panicked)) => Err(Error::internal(panicked)),
            Err(elapsed) if is_read => Err(Error::unavailable(elapsed).for_read()),
            Err(elapsed) => Err(Error::unavailable(elapsed)),
        }
    })
}

/// Decodes a stored document as the document type of its collection.
pub(super) fn decode<T: DeserializeOwned>(raw: &RawDocumentBuf) -> Result<T, Error> {
    decoder::decode(raw.as_bytes()).map_err(|error| {
        let text = error.to_string();
        if text.contains(NEWER) { Error::NewerVersion(text.into()) } else { Error::internal(error) }
    })
}

/// Decodes a document that a command returned.
pub(crate) fn decode_document<T: DeserializeOwned>(document: &Document) -> Result<T, Error> {
    decode(&encode(document)?)
}

pub(super) fn encode(document: &impl Serialize) -> Result<RawDocumentBuf, Error> {
    bson::serialize_to_raw_document_buf(document).map_err(Error::internal)
}

/// The value of a field, if the document has it.
pub(super) fn field_of(document: &RawDocument, field: &str) -> Result<Option<Bson>, Error> {
    let value = document.get(field).map_err(Error::internal)?;
    value.map(|value| Bson::try_from(value).map_err(Error::internal)).transpose()
}

/// The `_id` of a stored document.
pub(super) fn stored_id(document: &RawDocument) -> Result<Bson, Error> {
    let id = field_of(document, "_id")?;
    id.ok_or_else(|| Error::internal("a document without _id"))
}

/// The filter that selects a document on its shard: its `_id`, and the field that routes commands on it.
pub(super) fn own_filter(
    document: &RawDocument,
    shard_key: Option<&str>,
) -> Result<Document, Error> {
    let mut filter = Document::new();
    for field in ["_id"].into_iter().chain(shard_key) {
        filter.extend(field_of(document, field)?.map(|value| (field.to_owned(), value)));
    }
    Ok(filter)
}

/// Reads one element of a batch as a document.
pub(super) fn as_document(element: RawBsonRef<'_>) -> mongodb::error::Result<&RawDocument> {
    element.as_document().ok_or_else(|| malformed("an element of a batch"))
}

/// The error for a reply of a form that the server never sends.
pub(super) fn malformed(what: &'static str) -> mongodb::error::Error {
    mongodb::error::Error::custom(what)
}

/// Inserts documents unordered. Returns the positions of those whose `_id` or another unique key is taken.
pub(super) fn insert(
    inner: Raw,
    documents: Vec<RawDocumentBuf>,
) -> impl Future<Output = Result<Vec<usize>, Error>> {
    use mongodb::error::ErrorKind;
    let handle = inner.clone();
    handle.send("insert", async move {
        match inner.insert_many(&documents).ordered(false).await {
            Ok(_) => Ok(Vec::new()),
            Err(error) => match error.kind.as_ref() {
                ErrorKind::InsertMany(failed)
                    if failed.write_concern_error.is_none()
                        && failed
                            .write_errors
                            .as_ref()
                            .is_some_and(|all| all.iter().all(|one| one.code == DUPLICATE_KEY)) =>
                {
                    let errors = failed.write_errors.iter().flatten();
                    Ok(errors.map(|one| one.index).collect())
                }
                _ => Err(error),
            },
        }
    })
}

/// The server's error code for a duplicate key.
pub(super) const DUPLICATE_KEY: i32 = 11_000;

/// Whether a write failed because of a duplicate key.
pub(super) fn is_duplicate_key(error: &mongodb::error::Error) -> bool {
    use mongodb::error::{ErrorKind, WriteFailure};
    match error.kind.as_ref() {
        ErrorKind::Write(WriteFailure::WriteError(write)) => write.code == DUPLICATE_KEY,
        ErrorKind::Command(command) => command.code == DUPLICATE_KEY,
        _ => false,
    }
}
