//! Typed access to one collection. Each function sends one command.

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use futures_util::{FutureExt, TryStreamExt};
use mongodb::{
    bson::{Bson, DateTime, Document, RawDocumentBuf, doc},
    options::ReadConcern,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

pub use super::{driver::List, readers::Timed};
use super::{
    driver::{PATIENCE, Raw, decode, encode, find_many, insert},
    expression::both,
    flow::{Bounds, Run},
    guarded::{Guarded, Outcome},
    indexes::Index,
    observe,
    plain::{Answered, update},
    readers::{Fields, Keys, Lookup, Readers},
};
use crate::error::Error;

/// A document type and the collection that holds it.
pub trait Stored: Serialize + DeserializeOwned + Send + Sync + Unpin + 'static {
    /// Name of the collection.
    const COLLECTION: &'static str;
    /// The indexes that its reads need.
    const INDEXES: &'static [Index];

    /// Reads a document of the collection.
    ///
    /// # Errors
    /// `Internal`: it is of another shape.
    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self, Error> {
        decode(&stored)
    }
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

/// One collection, typed. The driver is only spoken to in raw documents, so that its code is
/// compiled once and not once per document type.
pub struct Collection<T: Stored> {
    readers: Arc<Readers>,
    holds: PhantomData<fn() -> T>,
}

impl<T: Stored> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Self { readers: Arc::clone(&self.readers), holds: PhantomData }
    }
}

impl<T: Stored> fmt::Debug for Collection<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Collection({})", T::COLLECTION)
    }
}

impl<T: Stored> Collection<T> {
    /// The collection of `T` in the database of `readers`.
    pub fn of(readers: &Arc<Readers>) -> Self {
        Self { readers: Arc::clone(readers), holds: PhantomData }
    }

    fn inner(&self) -> Raw {
        self.readers.raw(T::COLLECTION)
    }

    /// Opens a run with its first read: the document with that `_id`, as a majority holds it, and
    /// the server's time in the same answer.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn open(&self, bounds: Bounds, id: &str) -> Result<(Run, Option<T>), Error> {
        Run::open(bounds, &self.readers, Self::BY_ID, id).await
    }

    /// Begins a run where there is nothing to read first.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn begin(&self, bounds: Bounds) -> Result<Run, Error> {
        Run::begin(bounds, &self.readers).await
    }

    /// The document with that `_id`, as the primary has it.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn get(&self, id: &str) -> Result<Option<T>, Error> {
        self.get_by("_id", id).await
    }

    /// The document whose `key`, a unique field that holds strings, is `value`.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn get_by(&self, key: &'static str, value: &str) -> Result<Option<T>, Error> {
        self.read(Lookup { keys: Keys::Unique(key), ..Self::BY_ID }, value).await
    }

    /// As [`Self::get`], with the server's time in the same answer.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn get_timed(&self, id: &str) -> Result<Option<Timed<T>>, Error> {
        let timed = Lookup { fields: Fields::Timed, ..Self::BY_ID };
        self.readers.read(timed, id).await?.as_deref().map(decode).transpose()
    }

    /// Every document that has `value` in any of the fields `keys`, which hold strings, or arrays on the
    /// way to them; each with the server's time. Each field needs an index.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn find_timed(
        &self,
        keys: &'static [&'static str],
        value: &str,
    ) -> Result<Vec<Timed<T>>, Error> {
        let timed = Lookup { keys: Keys::Any(keys), fields: Fields::Timed, ..Self::BY_ID };
        self.readers.read_all(timed, value).await?.iter().map(|found| decode(found)).collect()
    }

    /// As [`Self::get_by`], with the server's time in the same answer.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn get_timed_by(
        &self,
        key: &'static str,
        value: &str,
    ) -> Result<Option<(DateTime, T)>, Error> {
        let keys = Keys::Unique(key);
        let lookup = Lookup { keys, fields: Fields::Timed, ..Self::BY_ID };
        let Some(found) = self.readers.read(lookup, value).await? else { return Ok(None) };
        let Timed { now, document } = decode(&found)?;
        Ok(Some((now, document)))
    }

    /// As [`Self::get`], with only some fields, `_id` among them; `T` must be readable from them.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn get_part(
        &self,
        id: &str,
        fields: &'static [&'static str],
    ) -> Result<Option<T>, Error> {
        self.read(Lookup { fields: Fields::Only(fields), ..Self::BY_ID }, id).await
    }

    /// As [`Self::get_part`], of what a majority holds.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn get_part_settled(
        &self,
        id: &str,
        fields: &'static [&'static str],
    ) -> Result<Option<T>, Error> {
        let fields = Fields::Only(fields);
        self.read(Lookup { fields, settled: true, ..Self::BY_ID }, id).await
    }

    /// As [`Self::get`], of what a majority holds: what flows and explanations of a refusal read.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn get_settled(&self, id: &str) -> Result<Option<T>, Error> {
        self.read(Lookup { settled: true, ..Self::BY_ID }, id).await
    }

    const BY_ID: Lookup = Lookup {
        collection: T::COLLECTION,
        keys: Keys::Unique("_id"),
        fields: Fields::All,
        settled: false,
    };

    /// The driver's handle, and how long a read may take.
    pub(super) fn raw(&self) -> (Raw, Duration) {
        (self.inner(), self.readers.limit())
    }

    async fn read(&self, lookup: Lookup, value: &str) -> Result<Option<T>, Error> {
        self.readers.read(lookup, value).await?.map(T::read).transpose()
    }

    /// The documents of one list read, in order.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub fn list(&self, list: List) -> impl Future<Output = Result<Vec<T>, Error>> + use<T> {
        let read = |stored| T::read(Arc::new(stored));
        self.list_raw(list).map(move |found| found?.into_iter().map(read).collect())
    }

    /// As [`Self::list`], each with the server's time. `shape` is the expression of the document as it is
    /// answered; `T` must be readable from it.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn list_timed(
        &self,
        list: List,
        shape: impl Into<Bson>,
    ) -> Result<Vec<Timed<T>>, Error> {
        let projection = Some(doc! { "now": "$$NOW", "document": shape.into() });
        self.list_raw(List { projection, ..list }).await?.iter().map(decode).collect()
    }

    fn list_raw(
        &self,
        list: List,
    ) -> impl Future<Output = Result<Vec<RawDocumentBuf>, Error>> + use<T> {
        let noted = observe::wanted(|| list.command(T::COLLECTION));
        let found = find_many(self.inner(), list, self.readers.limit());
        found.inspect(|_| observe::note_read(noted))
    }

    /// Inserts `document`. *Refused* means that its `_id` or another unique key is taken.
    pub async fn insert(&self, document: T) -> Outcome<()> {
        let sent = match encode(&document) {
            Ok(raw) => insert(self.inner(), vec![raw]).await,
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
        if documents.is_empty() {
            return Ok(Vec::new());
        }
        let raw = documents.iter().map(encode).collect::<Result<_, _>>()?;
        insert(self.inner(), raw).await
    }

    /// A guarded write: `update` is applied where `filter`, which names one document by its unique
    /// key and holds the guard, still matches when the update is applied.
    pub fn guarded(
        &self,
        filter: Document,
        update: impl Into<mongodb::options::UpdateModifications>,
    ) -> Guarded<T> {
        Guarded::new(self.inner(), filter, update.into())
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
        let inner = self.inner();
        let update = update.into();
        self.inner()
            .send("update", async move {
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
        let inner = self.inner();
        match self.inner().send("delete", async move { inner.delete_one(filter).await }).await {
            Ok(result) if result.deleted_count > 0 => Outcome::Applied(()),
            Ok(_) => Outcome::Refused,
            Err(error) => Outcome::Unknown(error),
        }
    }

    /// Removes every document that matches; answers how many. For what may be repeated.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been removed.
    pub async fn remove_many(&self, filter: Document) -> Result<u64, Error> {
        let inner = self.inner();
        let removed =
            self.inner().send("delete", async move { inner.delete_many(filter).await }).await?;
        Ok(removed.deleted_count)
    }

    /// How many documents match, counted up to `limit`.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn count(&self, filter: Document, limit: u64) -> Result<u64, Error> {
        let (inner, time) = (self.inner(), self.readers.limit());
        self.inner()
            .send("aggregate", async move {
                inner
                    .count_documents(filter)
                    .limit(limit)
                    .max_time(time)
                    .read_concern(ReadConcern::majority())
                    .await
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
        let inner = self.inner();
        let read = || doc! { "aggregate": T::COLLECTION, "pipeline": &pipeline, "cursor": {} };
        let noted = observe::wanted(read);
        let found = self
            .inner()
            .send("aggregate", async move {
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
        observe::note_read(noted);
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
        let done = self.update(updates, true, PATIENCE).await?;
        let refused = done.refused()?;
        if !refused.is_empty() {
            done.told()?;
        }
        Ok(refused)
    }

    /// Applies many guarded updates in one command, each to the one document that its filter names,
    /// before the run's deadline. Says whether the guards of all held; which of them didn't isn't
    /// told. For gives that are looked at one by one where they can't be made together.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the updates may have been applied.
    pub async fn update_each(
        &self,
        updates: Vec<(Document, Vec<Document>)>,
        run: &Run,
    ) -> Result<bool, Error> {
        if updates.is_empty() {
            return Ok(true);
        }
        let wanted = updates.len();
        let updates = updates
            .into_iter()
            .map(|(filter, update)| (both(filter, run.alive()), update))
            .collect();
        let done = self.update(updates, false, run.command_limit()).await?;
        Ok(done.refused()?.is_empty() && done.matched()? == wanted)
    }

    async fn update(
        &self,
        updates: Vec<(Document, Vec<Document>)>,
        upsert: bool,
        limit: Duration,
    ) -> Result<Answered, Error> {
        let updates = updates
            .into_iter()
            .map(|(filter, update)| doc! { "q": filter, "u": update, "upsert": upsert })
            .collect();
        update(&self.inner(), updates, limit).await
    }

    /// Runs an aggregation (invariants, reports).
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn aggregate(&self, pipeline: Vec<Document>) -> Result<Vec<Document>, Error> {
        let inner = self.inner();
        self.inner()
            .send_within(LONG_PATIENCE, "aggregate", async move {
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
            let batch = find_many(self.inner(), read, PATIENCE).await?;
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

/// `maxTimeMS` of lists that look at more than they return.
const RANK_LIMIT: Duration = Duration::from_secs(10);
/// Documents per command when a whole collection is read.
const BATCH: u32 = 1_000;
/// For aggregations over whole collections.
const LONG_PATIENCE: Duration = Duration::from_secs(600);
