//! Typed access to one collection. Each function sends one command.
//!
//! A driver call that is dropped in flight costs its connection, and under load many of them stall
//! everyone else for seconds. So each call runs in a task of its own ([`send`]) and is always run
//! to its end, whoever stops waiting for it.

use std::{fmt, future::Future, marker::PhantomData, time::Duration, time::Instant};

use futures_util::TryStreamExt;
use mongodb::{
    Database,
    bson::{self, Bson, Document, RawDocumentBuf, doc},
    options::{Hint, ReadConcern},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

use super::{
    guarded::{Guarded, Outcome},
    indexes::Index,
    observe,
};
use crate::error::Error;

/// A document type and the collection that holds it.
pub trait Stored: Serialize + DeserializeOwned + Send + Sync + Unpin + 'static {
    /// Name of the collection.
    const COLLECTION: &'static str;
    /// The indexes that its reads need.
    const INDEXES: &'static [Index];
}

/// The version of a document's shape, its field `v`. Reading a document of a newer version than the
/// binary knows is an error; writing writes `NEWEST`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Version<const NEWEST: i32>;

impl<const NEWEST: i32> Serialize for Version<NEWEST> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(NEWEST)
    }
}

impl<'de, const NEWEST: i32> Deserialize<'de> for Version<NEWEST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = i32::deserialize(deserializer)?;
        if found > NEWEST {
            return Err(serde::de::Error::custom(format!(
                "the document is of version {found}, this docgate knows up to {NEWEST}"
            )));
        }
        Ok(Self)
    }
}

/// Longest time that anyone waits for the answer of one command. The command itself goes on; what
/// it did is then unknown.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs one driver call in a task of its own and waits for it for a bounded time.
///
/// # Errors
/// `Unavailable` when no answer came in time, else what the driver said.
pub async fn send<T: Send + 'static>(
    collection: &str,
    command: &'static str,
    call: impl Future<Output = mongodb::error::Result<T>> + Send + 'static,
) -> Result<T, Error> {
    send_within(PATIENCE, collection, command, call).await
}

pub(super) async fn send_within<T: Send + 'static>(
    patience: Duration,
    collection: &str,
    command: &'static str,
    call: impl Future<Output = mongodb::error::Result<T>> + Send + 'static,
) -> Result<T, Error> {
    let since = Instant::now();
    // Dropping the handle detaches the task: the call goes on to its end.
    let answer = tokio::time::timeout(patience, tokio::spawn(call)).await;
    observe::note(collection, command, since);
    match answer {
        Ok(Ok(answer)) => Ok(answer?),
        Ok(Err(panicked)) => Err(Error::internal(panicked)),
        Err(elapsed) => Err(Error::unavailable(elapsed)),
    }
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
}

impl List {
    /// The read as a command, for `explain`.
    fn command(&self, collection: &str) -> Document {
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
        command
    }
}

/// One collection, typed. The driver is only spoken to in raw documents, so that its code is
/// compiled once and not once per document type.
pub struct Collection<T: Stored> {
    inner: Raw,
    holds: PhantomData<fn() -> T>,
}

/// The driver's handle of a collection.
pub(super) type Raw = mongodb::Collection<RawDocumentBuf>;

impl<T: Stored> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), holds: PhantomData }
    }
}

impl<T: Stored> fmt::Debug for Collection<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Collection({})", T::COLLECTION)
    }
}

impl<T: Stored> Collection<T> {
    /// The collection of `T` in `database`.
    pub fn of(database: &Database) -> Self {
        Self { inner: database.collection(T::COLLECTION), holds: PhantomData }
    }

    /// The driver's own handle, for the rest of the kit.
    pub(super) fn driver(&self) -> &Raw {
        &self.inner
    }

    /// The one document that `filter` (a unique key) names.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn find(&self, filter: Document) -> Result<Option<T>, Error> {
        self.find_part(filter, Document::new()).await
    }

    /// As [`Self::find`], with only some fields; `T` must be readable from them.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn find_part(
        &self,
        filter: Document,
        projection: Document,
    ) -> Result<Option<T>, Error> {
        self.one(filter, projection, ReadConcern::local()).await
    }

    /// As [`Self::find`], of what a majority holds: what flows and explanations of a refusal read.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn find_settled(&self, filter: Document) -> Result<Option<T>, Error> {
        self.one(filter, Document::new(), ReadConcern::majority()).await
    }

    async fn one(
        &self,
        filter: Document,
        projection: Document,
        concern: ReadConcern,
    ) -> Result<Option<T>, Error> {
        let read = List { filter, projection: Some(projection), limit: 1, ..List::default() };
        let found = find_one(self.inner.clone(), read.clone(), concern).await;
        observe::note_read(|| read.command(T::COLLECTION));
        found?.as_ref().map(decode).transpose()
    }

    /// The documents of one list read, in order.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn list(&self, list: List) -> Result<Vec<T>, Error> {
        let found = find_many(self.inner.clone(), list.clone()).await;
        observe::note_read(|| list.command(T::COLLECTION));
        found?.iter().map(decode).collect()
    }

    /// Inserts `document`. *Refused* means that its `_id` or another unique key is taken.
    pub async fn insert(&self, document: T) -> Outcome<()> {
        let sent = match encode(&document) {
            Ok(raw) => insert(self.inner.clone(), vec![raw]).await,
            Err(error) => Err(error),
        };
        match sent {
            Ok(refused) if refused.is_empty() => Outcome::Applied(()),
            Ok(_) => Outcome::Refused,
            Err(error) => Outcome::Unknown(error),
        }
    }

    /// Inserts many documents, unordered, and says which positions were refused as duplicates.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been inserted.
    pub async fn insert_many(&self, documents: Vec<T>) -> Result<Vec<usize>, Error> {
        let raw = documents.iter().map(encode).collect::<Result<_, _>>()?;
        insert(self.inner.clone(), raw).await
    }

    /// A guarded write: `update` is applied where `filter`, which names one document by its unique
    /// key and holds the guard, still matches when the update is applied.
    pub fn guarded(
        &self,
        filter: Document,
        update: impl Into<mongodb::options::UpdateModifications>,
    ) -> Guarded<T> {
        Guarded::new(self.inner.clone(), filter, update.into())
    }

    /// Updates every document that matches; answers how many did. For copies, which carry a guard
    /// of their own (their version) and may be repeated.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been updated.
    pub async fn update_many(
        &self,
        filter: Document,
        update: impl Into<mongodb::options::UpdateModifications>,
        array_filters: Vec<Document>,
    ) -> Result<u64, Error> {
        let inner = self.inner.clone();
        let update = update.into();
        send(T::COLLECTION, "update", async move {
            let mut action = inner.update_many(filter, update);
            if !array_filters.is_empty() {
                action = action.array_filters(array_filters);
            }
            Ok(action.await?.matched_count)
        })
        .await
    }

    /// Removes the document that `filter` names where its guard holds.
    pub async fn remove(&self, filter: Document) -> Outcome<()> {
        let inner = self.inner.clone();
        match send(T::COLLECTION, "delete", async move { inner.delete_one(filter).await }).await {
            Ok(result) if result.deleted_count > 0 => Outcome::Applied(()),
            Ok(_) => Outcome::Refused,
            Err(error) => Outcome::Unknown(error),
        }
    }

    /// How many documents match, counted up to `limit`.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn count(&self, filter: Document, limit: u64) -> Result<u64, Error> {
        let inner = self.inner.clone();
        send(T::COLLECTION, "aggregate", async move {
            inner.count_documents(filter).limit(limit).read_concern(ReadConcern::majority()).await
        })
        .await
    }

    /// A list read in an order that no index has, such as full text by score: the pipeline itself
    /// must cut it to a bound.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn rank<R>(&self, pipeline: Vec<Document>) -> Result<Vec<R>, Error>
    where
        R: DeserializeOwned,
    {
        let inner = self.inner.clone();
        let read = doc! { "aggregate": T::COLLECTION, "pipeline": &pipeline, "cursor": {} };
        let found = send(T::COLLECTION, "aggregate", async move {
            inner
                .aggregate(pipeline)
                .with_type::<RawDocumentBuf>()
                .max_time(RANK_LIMIT)
                .batch_size(BATCH)
                .read_concern(ReadConcern::majority())
                .await?
                .try_collect::<Vec<_>>()
                .await
        })
        .await;
        observe::note_read(|| read);
        found?.iter().map(decode).collect()
    }

    /// Applies many updates in one command, each to the one document that its filter names, which
    /// is inserted where it isn't there. Says which were refused because their guard didn't hold:
    /// the insert then found the key taken. For bulk work that may be repeated.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the updates may have been applied.
    pub async fn upsert_each(
        &self,
        updates: Vec<(Document, Vec<Document>)>,
    ) -> Result<Vec<usize>, Error> {
        if updates.is_empty() {
            return Ok(Vec::new());
        }
        let updates: Vec<Bson> = updates
            .into_iter()
            .map(|(filter, update)| doc! { "q": filter, "u": update, "upsert": true }.into())
            .collect();
        // The driver's own bulk write wants MongoDB 8.0.
        let command = doc! {
            "update": T::COLLECTION,
            "updates": updates,
            "ordered": false,
            "writeConcern": { "w": "majority" },
        };
        let client = self.inner.client().clone();
        let database = self.inner.namespace().db;
        let answer = send(T::COLLECTION, "update", async move {
            client.database(&database).run_command(command).await
        })
        .await?;
        refused_positions(&answer)
    }

    /// Runs an aggregation (invariants, reports).
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn aggregate(&self, pipeline: Vec<Document>) -> Result<Vec<Document>, Error> {
        let inner = self.inner.clone();
        send_within(LONG_PATIENCE, T::COLLECTION, "aggregate", async move {
            inner
                .aggregate(pipeline)
                .allow_disk_use(true)
                .read_concern(ReadConcern::majority())
                .await?
                .try_collect()
                .await
        })
        .await
    }

    /// Calls `each` for every document of the collection, in `_id` order, a batch at a time.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`, or what `each` says.
    pub async fn for_each(
        &self,
        mut each: impl FnMut(T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut last = None;
        loop {
            let filter = last.take().map_or_else(Document::new, |id| doc! { "_id": { "$gt": id } });
            let sort = doc! { "_id": 1 };
            let read = List { filter, sort, limit: i64::from(BATCH), ..List::default() };
            let batch = find_many(self.inner.clone(), read).await?;
            let Some(end) = batch.last() else { return Ok(()) };
            let id = end
                .get("_id")
                .map_err(Error::internal)?
                .ok_or_else(|| Error::internal("a document without _id"))?;
            last = Some(Bson::try_from(id).map_err(Error::internal)?);
            for raw in &batch {
                each(decode(raw)?)?;
            }
        }
    }
}

/// Which updates of a bulk were refused as duplicates; any other failure is one of the whole.
fn refused_positions(answer: &Document) -> Result<Vec<usize>, Error> {
    if let Ok(unsure) = answer.get_document("writeConcernError") {
        return Err(Error::unavailable(unsure.to_string()));
    }
    let Ok(failed) = answer.get_array("writeErrors") else { return Ok(Vec::new()) };
    let position = |error: &Bson| {
        let error = error.as_document()?;
        let duplicate = error.get_i32("code").ok()? == DUPLICATE_KEY;
        let index = usize::try_from(error.get_i32("index").ok()?).ok()?;
        duplicate.then_some(index)
    };
    failed
        .iter()
        .map(|error| position(error).ok_or_else(|| Error::internal(error.to_string())))
        .collect()
}

/// `maxTimeMS` of lists that look at more than they return.
const RANK_LIMIT: Duration = Duration::from_secs(10);
/// A stored document as the type that its collection holds.
pub(super) fn decode<T: DeserializeOwned>(raw: &RawDocumentBuf) -> Result<T, Error> {
    bson::deserialize_from_slice(raw.as_bytes()).map_err(Error::internal)
}

fn encode(document: &impl Serialize) -> Result<RawDocumentBuf, Error> {
    bson::serialize_to_raw_document_buf(document).map_err(Error::internal)
}

async fn find_one(
    inner: Raw,
    read: List,
    concern: ReadConcern,
) -> Result<Option<RawDocumentBuf>, Error> {
    let name = inner.name().to_owned();
    send(&name, "find", async move {
        let find = inner.find_one(read.filter).read_concern(concern);
        match read.projection.filter(|fields| !fields.is_empty()) {
            Some(fields) => find.projection(fields).await,
            None => find.await,
        }
    })
    .await
}

async fn find_many(inner: Raw, list: List) -> Result<Vec<RawDocumentBuf>, Error> {
    let name = inner.name().to_owned();
    send(&name, "find", async move {
        let mut find = inner
            .find(list.filter)
            .sort(list.sort)
            .limit(list.limit)
            .read_concern(ReadConcern::majority());
        // One more than the limit: the server then closes the cursor with its first batch.
        if let Ok(batch) = u32::try_from(list.limit.saturating_add(1)) {
            find = find.batch_size(batch);
        }
        if let Some(hint) = list.hint {
            find = find.hint(Hint::Name(hint.to_owned()));
        }
        if let Some(projection) = list.projection {
            find = find.projection(projection);
        }
        find.await?.try_collect().await
    })
    .await
}

/// Inserts unordered; answers the positions whose `_id` or another unique key is taken.
async fn insert(inner: Raw, documents: Vec<RawDocumentBuf>) -> Result<Vec<usize>, Error> {
    use mongodb::error::ErrorKind;
    let name = inner.name().to_owned();
    send(&name, "insert", async move {
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
    .await
}

/// Documents per command when a whole collection is read.
const BATCH: u32 = 1_000;
/// For aggregations over whole collections.
const LONG_PATIENCE: Duration = Duration::from_secs(600);
/// The server's code for a taken unique key.
const DUPLICATE_KEY: i32 = 11_000;

/// Whether a write was refused because a unique key is taken.
pub(super) fn is_duplicate_key(error: &mongodb::error::Error) -> bool {
    use mongodb::error::{ErrorKind, WriteFailure};
    match error.kind.as_ref() {
        ErrorKind::Write(WriteFailure::WriteError(write)) => write.code == DUPLICATE_KEY,
        ErrorKind::Command(command) => command.code == DUPLICATE_KEY,
        _ => false,
    }
}
