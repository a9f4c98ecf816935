//! Typed access to one collection. Each function sends one command. `super::bulk` adds the writes of many documents.

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use futures_util::{FutureExt, TryStreamExt};
use mongodb::{
    bson::{Bson, DateTime, Document, RawDocumentBuf, doc},
    options::{Hint, ReadConcern, UpdateModifications},
};
use serde::de::DeserializeOwned;

use super::{
    derived::Derived,
    driver::{Raw, decode, find_many},
    guarded::{Guarded, Outcome},
    keyset::{self, SortKey},
    loader::Loader,
    lookup::{self, Fields, Keys, Lookup},
    migrations, observe,
};
pub use super::{
    driver::List,
    loader::Timed,
    lookup::Series,
    stored::{Stored, Version},
};
use crate::{config::Config, error::Error};

/// One typed collection. It passes only raw documents to the driver, so that the driver's generic code is compiled
/// once and not once per document type.
pub struct Collection<T: Stored> {
    name: &'static str,
    loader: Arc<Loader>,
    pub(super) derived: Option<Derived>,
    holds: PhantomData<fn() -> T>,
}

impl<T: Stored> Clone for Collection<T> {
    fn clone(&self) -> Self {
        Self {
            name: self.name,
            loader: Arc::clone(&self.loader),
            derived: self.derived,
            holds: PhantomData,
        }
    }
}

impl<T: Stored> fmt::Debug for Collection<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Collection({})", self.name)
    }
}

impl<T: Stored> Collection<T> {
    /// The collection of `T` in the database of `loader`.
    pub fn of(loader: &Arc<Loader>, config: &Config) -> Self {
        let (name, derived) = (T::COLLECTION, T::derived(config));
        Self { name, loader: Arc::clone(loader), derived, holds: PhantomData }
    }

    /// The same in the collection with this name. It is for a type that is a part of the documents of several
    /// collections.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn inner(&self) -> Raw {
        self.loader.raw(T::GROUP, self.name)
    }

    /// The driver's handle for reads of which nobody decides anything by the state of the primary.
    pub(super) fn for_reads(&self) -> Raw {
        self.loader.for_reads(self.loader.reads(T::GROUP), self.name)
    }

    /// Returns the document with this `_id`, with read concern `local` on the primary.
    pub async fn get(&self, id: &str) -> Result<Option<T>, Error> {
        self.get_by("_id", id).await
    }

    /// Returns the document whose `key`, a unique field that holds strings, is `value`.
    pub async fn get_by(&self, key: &'static str, value: &str) -> Result<Option<T>, Error> {
        self.read(Lookup { keys: Keys::Unique(key), ..self.by_id() }, value).await
    }

    /// Like [`Self::get`], with the server's time in the same reply.
    pub async fn get_timed(&self, id: &str) -> Result<Option<Timed<T>>, Error> {
        let timed = Lookup { fields: Fields::Timed, ..self.by_id() };
        self.loader.read(timed, id).await?.as_deref().map(migrations::read_timed).transpose()
    }

    /// Returns every document that has `value` in any of the fields `keys`. The fields hold strings, possibly inside arrays
    /// on the path. Each field needs an index.
    pub async fn find_by(
        &self,
        keys: &'static [&'static str],
        value: &str,
    ) -> Result<Vec<T>, Error> {
        let lookup = Lookup { keys: Keys::Any(keys), ..self.by_id() };
        self.loader.read_all(lookup, value).await?.into_iter().map(T::read).collect()
    }

    /// Like [`Self::find_by`], with read concern `majority`.
    pub async fn find_settled_by(
        &self,
        keys: &'static [&'static str],
        value: &str,
    ) -> Result<Vec<T>, Error> {
        let lookup = Lookup { keys: Keys::Any(keys), majority: true, ..self.by_id() };
        self.loader.read_all(lookup, value).await?.into_iter().map(T::read).collect()
    }

    /// Returns the newest documents of the series that has `value`: one or more of them, the newest first. Also returns
    /// whether these are known to be all of the series.
    pub async fn newest(
        &self,
        series: &'static Series,
        value: &str,
    ) -> Result<(Vec<T>, bool), Error> {
        let lookup = Lookup { keys: Keys::Newest(series), ..self.by_id() };
        let (found, is_whole) = self.loader.read_newest(lookup, value).await?;
        Ok((found.into_iter().map(T::read).collect::<Result<_, _>>()?, is_whole))
    }

    /// Returns every document that has `value` in any of the fields `keys`, each with the server's time. The
    /// fields hold strings, possibly inside arrays on the path. Each field needs an index.
    pub async fn find_timed(
        &self,
        keys: &'static [&'static str],
        value: &str,
    ) -> Result<Vec<Timed<T>>, Error> {
        let timed = Lookup { keys: Keys::Any(keys), fields: Fields::Timed, ..self.by_id() };
        let found = self.loader.read_all(timed, value).await?;
        found.iter().map(|found| migrations::read_timed(found)).collect()
    }

    /// Like [`Self::get_by`], with the server's time in the same reply.
    pub async fn get_timed_by(
        &self,
        key: &'static str,
        value: &str,
    ) -> Result<Option<(DateTime, T)>, Error> {
        let keys = Keys::Unique(key);
        let lookup = Lookup { keys, fields: Fields::Timed, ..self.by_id() };
        let Some(found) = self.loader.read(lookup, value).await? else { return Ok(None) };
        let Timed { now, document } = migrations::read_timed(&found)?;
        Ok(Some((now, document)))
    }

    /// Like [`Self::get`], with only these fields, including `_id`. `T` must be decodable from them.
    pub async fn get_part(
        &self,
        id: &str,
        fields: &'static [&'static str],
    ) -> Result<Option<T>, Error> {
        self.read(Lookup { fields: Fields::Only(fields), ..self.by_id() }, id).await
    }

    /// Like [`Self::get_part`], with read concern `majority`.
    pub async fn get_part_settled(
        &self,
        id: &str,
        fields: &'static [&'static str],
    ) -> Result<Option<T>, Error> {
        let fields = Fields::Only(fields);
        self.read(Lookup { fields, majority: true, ..self.by_id() }, id).await
    }

    /// Like [`Self::get`], with read concern `majority`. It is for flows, and for the explanation of a refusal.
    pub async fn get_settled(&self, id: &str) -> Result<Option<T>, Error> {
        self.read(Lookup { majority: true, ..self.by_id() }, id).await
    }

    /// Like [`Self::get_settled`], with the server's time in the same reply.
    pub async fn get_timed_settled(&self, id: &str) -> Result<Option<Timed<T>>, Error> {
        let timed = Lookup { fields: Fields::Timed, majority: true, ..self.by_id() };
        self.loader.read(timed, id).await?.as_deref().map(migrations::read_timed).transpose()
    }

    /// The batched reads of the collection's database.
    pub(crate) fn loader(&self) -> &Loader {
        &self.loader
    }

    /// The same, for a handle of its own.
    pub(super) fn loader_handle(&self) -> &Arc<Loader> {
        &self.loader
    }

    /// The read of a document by its `_id`.
    fn by_id(&self) -> Lookup {
        Lookup {
            collection: self.name,
            reads: self.loader.reads(T::GROUP),
            keys: Keys::Unique("_id"),
            fields: Fields::but(T::UNREAD),
            majority: false,
        }
    }

    /// The driver's handle, and the `maxTimeMS` of a read.
    pub(super) fn raw(&self) -> (Raw, Duration) {
        (self.inner(), self.loader.limit())
    }

    async fn read(&self, lookup: Lookup, value: &str) -> Result<Option<T>, Error> {
        self.loader.read(lookup, value).await?.map(T::read).transpose()
    }

    /// Returns the documents of one list read, in order.
    pub fn list(&self, mut list: List) -> impl Future<Output = Result<Vec<T>, Error>> + use<T> {
        if list.projection.is_none() && !T::UNREAD.is_empty() {
            list.projection = Some(lookup::each(T::UNREAD, 0));
        }
        let read = |stored| T::read(Arc::new(stored));
        self.list_raw(list).map(move |found| found?.into_iter().map(read).collect())
    }

    /// Returns the first document of one list read.
    pub async fn first(&self, list: List) -> Result<Option<T>, Error> {
        Ok(self.list(List { limit: 1, ..list }).await?.pop())
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

    /// Like [`Self::list_older`], from a time on, for sweeps that read page by page. Of an array, the oldest element that isn't
    /// before `from` determines the order. A filter alone doesn't do this: of two limits of an array's elements, the server
    /// uses one.
    pub fn list_between(
        &self,
        (field, hint): (&str, &'static str),
        from: DateTime,
        before: DateTime,
        limit: i64,
    ) -> impl Future<Output = Result<Vec<T>, Error>> + use<T> {
        let filter = doc! { field: { "$lt": before } };
        let between = Some((doc! { field: from }, doc! { field: before }));
        self.list(List { filter, limit, hint: Some(hint), between, ..List::default() })
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
        let found = self.list_raw(List { projection, ..list }).await?;
        found.iter().map(migrations::read_timed).collect()
    }

    pub(super) fn list_raw(
        &self,
        list: List,
    ) -> impl Future<Output = Result<Vec<RawDocumentBuf>, Error>> + use<T> {
        let (raw, recorded) =
            (self.for_reads(), observe::if_collecting(|| list.command(self.name)));
        let reads = raw.reads;
        let found = find_many(raw, list, self.loader.limit());
        found.inspect(move |_| observe::record_read(reads, recorded))
    }

    /// Inserts `document`. *Refused* means that its `_id` or another unique key is taken.
    pub async fn insert(&self, document: T) -> Outcome<()> {
        match self.new_document(&document) {
            Ok(raw) => self.loader.insert(&self.inner(), T::SHARD_KEY.field(), raw).await,
            Err(error) => Outcome::Unknown(error),
        }
    }

    /// A guarded write: `update` is applied only if `filter` still matches at that moment. `filter` selects
    /// one document by its unique key and contains the guard.
    pub fn guarded(&self, filter: Document, update: impl Into<UpdateModifications>) -> Guarded<T> {
        let (update, derives) = (self.derive(update.into()), self.derived.is_some());
        let newest = migrations::newest(T::UPGRADES);
        Guarded::new(&self.loader, self.inner(), filter, (update, derives), newest)
    }

    /// A guarded write that sets fields to the values of expressions; see [`Self::guarded`].
    pub fn set(&self, guard: Document, fields: Document) -> Guarded<T> {
        self.guarded(guard, vec![doc! { "$set": fields }])
    }

    /// Removes the document that `filter` selects, if its guard holds.
    pub async fn remove(&self, filter: Document) -> Outcome<()> {
        let inner = self.inner();
        let filter = migrations::known(filter, migrations::newest(T::UPGRADES));
        match self.inner().send("delete", async move { inner.delete_one(filter).await }).await {
            Ok(result) if result.deleted_count > 0 => Outcome::Applied(()),
            Ok(_) => Outcome::Refused,
            Err(error) => Outcome::Unknown(error),
        }
    }

    /// Number of matching documents, counted up to `limit`.
    pub async fn count(&self, filter: Document, limit: u64) -> Result<u64, Error> {
        self.count_with(None, filter, limit).await
    }

    /// Like [`Self::count`], by the index with this name.
    pub async fn count_by(
        &self,
        hint: &'static str,
        filter: Document,
        limit: u64,
    ) -> Result<u64, Error> {
        self.count_with(Some(hint), filter, limit).await
    }

    async fn count_with(
        &self,
        hint: Option<&'static str>,
        filter: Document,
        limit: u64,
    ) -> Result<u64, Error> {
        let (inner, time) = (self.for_reads(), self.loader.limit());
        self.inner()
            .send("aggregate", async move {
                let mut counted = inner
                    .count_documents(filter)
                    .limit(limit)
                    .max_time(time)
                    .read_concern(ReadConcern::majority());
                if let Some(hint) = hint {
                    counted = counted.hint(Hint::Name(hint.to_owned()));
                }
                counted.await
            })
            .await
    }

    /// A list read in an order that no index provides, such as full text by score. The pipeline itself must
    /// limit its result. `time` is `maxTimeMS`; by default it is 10 seconds.
    ///
    /// # Errors
    /// `Timeout` if it takes longer; `Unread` or `Internal`.
    pub async fn rank<R>(
        &self,
        pipeline: Vec<Document>,
        time: Option<Duration>,
    ) -> Result<Vec<R>, Error>
    where
        R: DeserializeOwned,
    {
        let inner = self.for_reads();
        let reads = inner.reads;
        let read = || doc! { "aggregate": self.name, "pipeline": &pipeline, "cursor": {} };
        let recorded = observe::if_collecting(read);
        let found = self
            .inner()
            .send("aggregate", async move {
                inner
                    .aggregate(pipeline)
                    .with_type::<RawDocumentBuf>()
                    .max_time(time.unwrap_or(RANK_TIMEOUT))
                    .batch_size(BATCH)
                    .read_concern(ReadConcern::majority())
                    .await?
                    .try_collect::<Vec<_>>()
                    .await
            })
            .await;
        observe::record_read(reads, recorded);
        found?.iter().map(decode).collect()
    }
}

/// `maxTimeMS` of reads that may examine many more documents than they return: nobody waits longer for a list or for
/// suggestions, and the server has others to serve.
pub const EXAMINING: Duration = Duration::from_secs(5);
/// `maxTimeMS` of lists that examine more documents than they return, and sort them.
const RANK_TIMEOUT: Duration = Duration::from_secs(10);
/// Documents per command when a list or a whole collection is read.
pub(super) const BATCH: u32 = 1_000;
