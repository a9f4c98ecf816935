//! Each call of the driver, in raw documents, so that the driver's code is compiled once and not
//! once per document type.
//!
//! A driver call that is dropped in flight costs its connection, and under load many of them stall
//! everyone else for seconds. So each call runs in a task of its own ([`send`]) and is always run
//! to its end, whoever stops waiting for it.

use std::{
    future::Future,
    ops::Deref,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use mongodb::{
    Database,
    bson::{self, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc},
    options::{Hint, ReadConcern},
    raw_batch_cursor::RawBatch,
};
use serde::{Serialize, de::DeserializeOwned};
use tracing::Span;

use super::{observe, sessions::Sessions};
use crate::{
    error::Error,
    metrics::database::{Command, Commands},
    traces,
};

/// The driver's handle of a collection, and what its commands are counted in.
#[derive(Clone)]
pub(super) struct Raw {
    collection: mongodb::Collection<RawDocumentBuf>,
    name: &'static str,
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
        database: &Database,
        name: &'static str,
        commands: &Commands,
        sessions: &Arc<Sessions>,
    ) -> Self {
        let (commands, sessions) = (commands.clone(), Arc::clone(sessions));
        Self { collection: database.collection(name), name, commands, sessions }
    }

    /// Those of its database.
    pub(super) fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub(super) fn database_name(&self) -> String {
        self.namespace().db
    }

    /// Runs one command of the collection as [`send`] does, counts it and gives it a span.
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
        self.send_within(PATIENCE, command, call)
    }

    pub(super) fn send_within<T, C>(
        &self,
        patience: Duration,
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
        let sent = send_within(patience, self.name, command, call);
        sent.inspect(move |answer| told(&counted, since, &span, answer.as_ref().err()))
    }
}

/// Counts a command that several share, and says in its span how it failed.
pub(super) fn note(sent: &Command, since: Instant, error: Option<&Error>) {
    told(sent, since, &Span::current(), error);
}

fn told(sent: &Command, since: Instant, span: &Span, error: Option<&Error>) {
    let failure = error.map(|error| match error {
        Error::Unavailable(_) | Error::Unread(_) | Error::Timeout(_) => "unavailable",
        _ => "failed",
    });
    sent.answered(since.elapsed(), failure);
    if let Some(failure) = failure {
        traces::failed(span, failure);
    }
}

/// Longest time that anyone waits for the answer of one command. The command itself goes on; what
/// it did is then unknown.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Begins one driver call in a task of its own, at once, and waits for it for a bounded time.
///
/// # Errors
/// `Unavailable` when no answer came in time, else what the driver said.
pub(super) fn send<T: Send + 'static>(
    collection: &str,
    command: &'static str,
    call: impl Future<Output = mongodb::error::Result<T>> + Send + 'static,
) -> impl Future<Output = Result<T, Error>> {
    send_within(PATIENCE, collection, command, call)
}

/// As [`send`]. The call isn't part of the future that is answered with: calls are large, and who waits
/// for one would be as large.
pub(super) fn send_within<T: Send + 'static>(
    patience: Duration,
    collection: &str,
    command: &'static str,
    call: impl Future<Output = mongodb::error::Result<T>> + Send + 'static,
) -> impl Future<Output = Result<T, Error>> {
    let since = Instant::now();
    let sent = tokio::spawn(call);
    // Dropping the handle detaches the task: the call goes on to its end. No block around it, in which a
    // future has room twice: where it was made, and where it is awaited.
    tokio::time::timeout(patience, sent).map(move |answer| {
        observe::note(collection, command, since);
        let is_read = matches!(command, "find" | "aggregate");
        match answer {
            Ok(Ok(answer)) if is_read => answer.map_err(Error::of_read),
            Ok(Ok(answer)) => Ok(answer?),
            Ok(Err(panicked)) => Err(Error::internal(panicked)),
            Err(elapsed) if is_read => Err(Error::unavailable(elapsed).unread()),
            Err(elapsed) => Err(Error::unavailable(elapsed)),
        }
    })
}

/// A list read: one index range, bounded.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// Which documents.
    pub filter: Document,
    /// In which order; an index must serve it.
    pub sort: Document,
    /// How many at the most.
    pub limit: i64,
    /// Only these fields, when set; the type must be readable from them.
    pub projection: Option<Document>,
    /// Name of the index to use, where the planner could choose a worse one.
    pub hint: Option<&'static str>,
    /// Keys of that index, the first one that is read and the one before which it ends; in the order of
    /// the index then, and without `sort`.
    pub between: Option<(Document, Document)>,
}

impl List {
    /// The read as a command, for `explain`.
    pub(super) fn command(&self, collection: &str) -> Document {
        let mut command = doc! {
            "find": collection, "filter": self.filter.clone(), "limit": self.limit,
        };
        if !self.sort.is_empty() {
            command.insert("sort", self.sort.clone());
        }
        if let Some(projection) = self.projection.as_ref().filter(|fields| !fields.is_empty()) {
            command.insert("projection", projection.clone());
        }
        if let Some(hint) = self.hint {
            command.insert("hint", hint);
        }
        if let Some((first, end)) = &self.between {
            command.insert("min", first.clone());
            command.insert("max", end.clone());
        }
        command
    }
}

/// A stored document as the type that its collection holds.
pub(super) fn decode<T: DeserializeOwned>(raw: &RawDocumentBuf) -> Result<T, Error> {
    bson::deserialize_from_slice(raw.as_bytes()).map_err(Error::internal)
}

pub(super) fn encode(document: &impl Serialize) -> Result<RawDocumentBuf, Error> {
    bson::serialize_to_raw_document_buf(document).map_err(Error::internal)
}

/// All that is found. What is asked for isn't part of the future: it is large.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub(super) fn find_many(
    inner: Raw,
    list: List,
    limit: Duration,
) -> impl Future<Output = Result<Vec<RawDocumentBuf>, Error>> {
    let handle = inner.clone();
    handle.send("find", async move {
        let mut find = inner
            .find(list.filter)
            .sort(list.sort)
            .limit(list.limit)
            .max_time(limit)
            .read_concern(ReadConcern::majority());
        // One more than the limit: the server then closes the cursor with its first batch.
        if let Ok(batch) = u32::try_from(list.limit.saturating_add(1)) {
            find = find.batch_size(batch);
        }
        if let Some(hint) = list.hint {
            find = find.hint(Hint::Name(hint.to_owned()));
        }
        if let Some((first, end)) = list.between {
            find = find.min(first).max(end);
        }
        if let Some(projection) = list.projection {
            find = find.projection(projection);
        }
        documents(&inner.sessions().find(find).await?)
    })
}

/// The documents in what the server sent.
fn documents(batches: &[RawBatch]) -> mongodb::error::Result<Vec<RawDocumentBuf>> {
    let mut documents = Vec::new();
    for batch in batches {
        for document in batch.doc_slices()? {
            documents.push(in_batch(document?)?.to_owned());
        }
    }
    Ok(documents)
}

/// One of the documents in what the server sent.
pub(super) fn in_batch(element: RawBsonRef<'_>) -> mongodb::error::Result<&RawDocument> {
    element.as_document().ok_or_else(|| mongodb::error::Error::custom("an element of a batch"))
}

/// Inserts unordered; answers the positions whose `_id` or another unique key is taken.
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

/// The server's code for a taken unique key.
pub(super) const DUPLICATE_KEY: i32 = 11_000;

/// Whether a write was refused because a unique key is taken.
pub(super) fn is_duplicate_key(error: &mongodb::error::Error) -> bool {
    use mongodb::error::{ErrorKind, WriteFailure};
    match error.kind.as_ref() {
        ErrorKind::Write(WriteFailure::WriteError(write)) => write.code == DUPLICATE_KEY,
        ErrorKind::Command(command) => command.code == DUPLICATE_KEY,
        _ => false,
    }
}
