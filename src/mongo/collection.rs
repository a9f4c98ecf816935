//! Typed access to one collection. Each function sends one command.

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use futures_util::{FutureExt, TryStreamExt};
use mongodb::{
    bson::{Bson, DateTime, Document, RawDocumentBuf, doc},
    options::ReadConcern,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::DeserializeOwned};

pub use super::{driver::List, loader::Timed};
use super::{
    driver::{PATIENCE, Raw, decode, encode, find_many, insert},
    guarded::{Guarded, Outcome},
    indexes::Index,
    keyset::{self, SortKey},
    loader::{Fields, Keys, Loader, Lookup},
    observe,
    raw_writes::{Answered, update},
};
use crate::error::Error;

/// A document type and the collection that holds it.
pub trait Stored: Serialize + DeserializeOwned + Send + Sync + Unpin + 'static {
    /// Name of the collection.
    const COLLECTION: &'static str;
    /// The indexes that its reads need. A type for a part of another type's documents declares none.
    const INDEXES: &'static [Index] = &[];

    /// Decodes a document of the collection.
    ///
    /// # Errors
    /// `Internal` if the document has another shape.
    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self, Error> {
        decode(&stored)
    }
}

/// The version of a document's shape, its field `v`. Decoding a document of a newer version than `NEWEST`
/// fails. Encoding writes `NEWEST`.
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

/// One collection, typed. It passes only raw documents to the driver, so that the driver's generic code is
/// compiled once and not once per document type.
pub struct Collection<T: Stored> {
    loader: Arc<Loader>,
    holds: PhantomData<fn() -> T>,
}

impl<T: Stored> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Self { loader: Arc::clone(&self.loader), holds: PhantomData }
    }
}

impl<T: Stored> fmt::Debug for Collection<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Collection({})", T::COLLECTION)
    }
}

impl<T: Stored> Collection<T> {
    /// The collection of `T` in the database of `loader`.
    pub fn of(loader: &Arc<Loader>) -> Self {
        Self { loader: Arc::clone(loader), holds: PhantomData }
    }

    fn inner(&self) -> Raw {
        self.loader.raw(T::COLLECTION)
    }

    /// Returns the document with this `_id`, with read concern `local` on the primary.
    pub async fn get(&self, id: &str) -> Result<Option<T>, Error> {
        self.get_by("_id", id).await
    }

    /// Returns the document whose `key`, a unique field that holds strings, is `value`.
    pub async fn get_by(&self, key: &'static str, value: &str) -> Result<Option<T>, Error> {
        self.read(Lookup { keys: Keys::Unique(key), ..Self::BY_ID }, value).await
    }

    /// Like [`Self::get`], with the server's time in the same reply.
    pub async fn get_timed(&self, id: &str) -> Result<Option<Timed<T>>, Error> {
        let timed = Lookup { fields: Fields::Timed, ..Self::BY_ID };
        self.loader.read(timed, id).await?.as_deref().map(decode).transpose()
    }

    /// Returns every document that has `value` in any of the fields `keys`, each with the server's time. The
    /// fields hold strings, possibly inside arrays on the path. Each field needs an index.
    pub async fn find_timed(
        &self,
        keys: &'static [&'static str],
        value: &str,
    ) -> Result<Vec<Timed<T>>, Error> {
        let timed = Lookup { keys: Keys::Any(keys), fields: Fields::Timed, ..Self::BY_ID };
        self.loader.read_all(timed, value).await?.iter().map(|found| decode(found)).collect()
    }

    /// Like [`Self::get_by`], with the server's time in the same reply.
    pub async fn get_timed_by(
        &self,
        key: &'static str,
        value: &str,
    ) -> Result<Option<(DateTime, T)>, Error> {
        let keys = Keys::Unique(key);
        let lookup = Lookup { keys, fields: Fields::Timed, ..Self::BY_ID };
        let Some(found) = self.loader.read(lookup, value).await? else { return Ok(None) };
        let Timed { now, document } = decode(&found)?;
        Ok(Some((now, document)))
    }

    /// Like [`Self::get`], with only these fields, including `_id`. `T` must be decodable from them.
    pub async fn get_part(
        &self,
        id: &str,
        fields: &'static [&'static str],
    ) -> Result<Option<T>, Error> {
        self.read(Lookup { fields: Fields::Only(fields), ..Self::BY_ID }, id).await
    }

    /// Like [`Self::get_part`], with read concern `majority`.
    pub async fn get_part_settled(
        &self,
        id: &str,
        fields: &'static [&'static str],
    ) -> Result<Option<T>, Error> {
        let fields = Fields::Only(fields);
        self.read(Lookup { fields, settled: true, ..Self::BY_ID }, id).await
    }

    /// Like [`Self::get`], with read concern `majority`. Flows use it, and so do explanations of a refusal.
    pub async fn get_settled(&self, id: &str) -> Result<Option<T>, Error> {
        self.read(Lookup { settled: true, ..Self::BY_ID }, id).await
    }

    /// Like [`Self::get_settled`], with the server's time in the same reply.
    pub async fn get_timed_settled(&self, id: &str) -> Result<Option<Timed<T>>, Error> {
        let timed = Lookup { fields: Fields::Timed, settled: true, ..Self::BY_ID };
        self.loader.read(timed, id).await?.as_deref().map(decode).transpose()
    }

    /// The batched reads of the collection's database.
    pub(crate) fn loader(&self) -> &Loader {
        &self.loader
    }

    const BY_ID: Lookup = Lookup {
        collection: T::COLLECTION,
        keys: Keys::Unique("_id"),
        fields: Fields::All,
        settled: false,
    };

    /// The driver's handle, and the `maxTimeMS` of a read.
    pub(super) fn raw(&self) -> (Raw, Duration) {
        (self.inner(), self.loader.limit())
    }

    async fn read(&self, lookup: Lookup, value: &str) -> Result<Option<T>, Error> {
        self.loader.read(lookup, value).await?.map(T::read).transpose()
    }

    /// Returns the documents of one list read, in order.
    pub fn list(&self, list: List) -> impl Future<Output = Result<Vec<T>, Error>> + use<T> {
        let read = |stored| T::read(Arc::new(stored));
        self.list_raw(list).map(move |found| found?.into_iter().map(read).collect())
    }

    /// Returns documents whose time in `field` is before `before`, for sweeps. The index `hint` begins with the
    /// field and returns the oldest first. The read isn't sorted: a sort by the least element of an array
    /// couldn't use the index.
    pub fn list_older(
        &self,
        (field, hint): (&str, &'static str),
        before: DateTime,
        limit: i64,
    ) -> impl Future<Output = Result<Vec<T>, Error>> + use<T> {
        let filter = doc! { field: { "$lt": before } };
        self.list(List { filter, limit, hint: Some(hint), ..List::default() })
    }

    /// Returns the `_id`s of all matching documents in the order of `keys`, a batch at a time. The keys are fields
    /// of the documents, not of parts of them, and the last one is unique.
    pub async fn ids(
        &self,
        filter: Document,
        keys: &[SortKey],
        hint: Option<&'static str>,
    ) -> Result<Vec<String>, Error> {
        let projection =
            Some(keyset::sort(keys).into_iter().map(|(key, _)| (key, 1.into())).collect());
        let read = List {
            filter,
            sort: keyset::sort(keys),
            limit: BATCH.into(),
            projection,
            hint,
            ..List::default()
        };
        let (mut ids, mut next) = (Vec::new(), read.clone());
        loop {
            let found = self.list_raw(next).await?;
            let found = found.iter().map(decode).collect::<Result<Vec<Document>, _>>()?;
            let Some(last) = found.last() else { return Ok(ids) };
            let values: Vec<Bson> =
                keys.iter().map(|(key, _)| last.get(key).cloned().unwrap_or(Bson::Null)).collect();
            next =
                List { filter: keyset::beyond(read.filter.clone(), keys, &values), ..read.clone() };
            for document in &found {
                ids.push(document.get_str("_id").map_err(Error::internal)?.to_owned());
            }
        }
    }

    /// Like [`Self::list`], each with the server's time. `shape` is the expression of the returned document;
    /// `T` must be decodable from it.
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
        let found = find_many(self.inner(), list, self.loader.limit());
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

    /// Inserts many documents unordered. Returns the positions that were refused as duplicates.
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

    /// A guarded write: `update` is applied only if `filter` still matches at that moment. `filter` selects
    /// one document by its unique key and contains the guard.
    pub fn guarded(
        &self,
        filter: Document,
        update: impl Into<mongodb::options::UpdateModifications>,
    ) -> Guarded<T> {
        Guarded::new(self.inner(), filter, update.into())
    }

    /// A guarded write that sets fields to the values of expressions; see [`Self::guarded`].
    pub fn set(&self, guard: Document, fields: Document) -> Guarded<T> {
        self.guarded(guard, vec![doc! { "$set": fields }])
    }

    /// Updates every matching document, and returns their number. This is for copies: their version is their
    /// guard, and the update may be repeated.
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

    /// Removes the document that `filter` selects, if its guard holds.
    pub async fn remove(&self, filter: Document) -> Outcome<()> {
        let inner = self.inner();
        match self.inner().send("delete", async move { inner.delete_one(filter).await }).await {
            Ok(result) if result.deleted_count > 0 => Outcome::Applied(()),
            Ok(_) => Outcome::Refused,
            Err(error) => Outcome::Unknown(error),
        }
    }

    /// Removes every matching document, and returns their number. This is for removals that may be repeated.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the documents may have been removed.
    pub async fn remove_many(&self, filter: Document) -> Result<u64, Error> {
        let inner = self.inner();
        let removed =
            self.inner().send("delete", async move { inner.delete_many(filter).await }).await?;
        Ok(removed.deleted_count)
    }

    /// Number of matching documents, counted up to `limit`.
    pub async fn count(&self, filter: Document, limit: u64) -> Result<u64, Error> {
        let (inner, time) = (self.inner(), self.loader.limit());
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

    /// A list read in an order that no index provides, such as full text by score. The pipeline itself must
    /// limit its result.
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

    /// Applies many upserts in one command, each to the one document that its filter selects. Returns the
    /// positions that were refused because their guard didn't hold, so that the insert found the key taken.
    /// This is for bulk work that may be repeated.
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

    /// Applies many guarded updates in one command, each to the one document that its filter selects. Returns
    /// whether all guards held, but not which of them didn't.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of the updates may have been applied.
    pub async fn update_all(
        &self,
        updates: Vec<(Document, Vec<Document>)>,
        limit: Duration,
    ) -> Result<bool, Error> {
        if updates.is_empty() {
            return Ok(true);
        }
        let wanted = updates.len();
        let done = self.update(updates, false, limit).await?;
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
    /// `Unavailable`, `Internal`, or the error of `each`.
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

/// `maxTimeMS` of lists that examine more documents than they return.
const RANK_LIMIT: Duration = Duration::from_secs(10);
/// Documents per command when a whole collection is read.
const BATCH: u32 = 1_000;
/// Time limit of aggregations over whole collections.
const LONG_PATIENCE: Duration = Duration::from_secs(600);
