//! Typed access to one collection: reads by key, and writes of one document. Each function sends one command. `super::lists`
//! adds the reads of lists, and `super::bulk` the writes of many documents.

use std::{fmt, marker::PhantomData, sync::Arc};

use mongodb::{
    bson::{Document, RawDocumentBuf, doc},
    options::UpdateModifications,
};

use super::{
    derived::Derived,
    driver::{Raw, own_filter, stored_id},
    guarded::{DEFAULT_LIMIT, Guarded, Outcome},
    lists::count,
    loader::Loader,
    lookup::{Fields, Keys, Lookup},
    migrations,
    parts::Parts,
    raw_writes,
    reader::Read,
};
pub use super::{
    lists::List,
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
        self.read(self.by_id(), id).await
    }

    /// Like [`Self::get`], with the server's time in the same reply.
    pub async fn get_timed(&self, id: &str) -> Result<Option<Timed<T>>, Error> {
        let timed = Lookup { fields: Fields::Timed, ..self.by_id() };
        Ok(self.read_timed(timed, id).await?.pop())
    }

    /// Returns every document that has `value` in any of the fields `keys`. The fields hold strings, possibly inside arrays
    /// on the path. Each field needs an index.
    pub async fn find_by(
        &self,
        keys: &'static [&'static str],
        value: &str,
    ) -> Result<Vec<T>, Error> {
        let lookup = Lookup { keys: Keys::Any(keys), ..self.by_id() };
        self.loader.read_all(&lookup, value).await?.into_iter().map(T::read).collect()
    }

    /// Like [`Self::find_by`], with read concern `majority`.
    pub async fn find_settled_by(
        &self,
        keys: &'static [&'static str],
        value: &str,
    ) -> Result<Vec<T>, Error> {
        let lookup = Lookup { keys: Keys::Any(keys), majority: true, ..self.by_id() };
        self.loader.read_all(&lookup, value).await?.into_iter().map(T::read).collect()
    }

    /// Returns the newest documents of the series that has `value`: one or more of them, the newest first. Also returns
    /// whether these are known to be all of the series.
    pub async fn newest(
        &self,
        series: &'static Series,
        value: &str,
    ) -> Result<(Vec<T>, bool), Error> {
        let lookup = Lookup { keys: Keys::Newest(series), ..self.by_id() };
        let (found, is_whole) = self.loader.read_newest(&lookup, value).await?;
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
        self.read_timed(timed, value).await
    }

    /// Like [`Self::get`], with only these fields, including `_id`. `T` must be decodable from them.
    pub async fn get_part(
        &self,
        id: &str,
        fields: &'static [&'static str],
    ) -> Result<Option<T>, Error> {
        self.read(Lookup { fields: Fields::Only(fields), ..self.by_id() }, id).await
    }

    /// Like [`Self::get_part`], for many documents. One future waits for all of them.
    ///
    /// # Errors
    /// No answer came, or the documents are more than the request may read. If the command of a document fails, that is the
    /// error of its part.
    pub async fn get_parts(
        &self,
        mut ids: Vec<&str>,
        fields: &'static [&'static str],
    ) -> Result<Parts<T>, Error> {
        ids.sort_unstable();
        ids.dedup();
        let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
        let lookup = Lookup { fields: Fields::Only(fields), ..self.by_id() };
        let reads = self.loader.read_many(&lookup, &ids).await?;
        Ok(Parts::new(ids, reads))
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
        Ok(self.read_timed(timed, id).await?.pop())
    }

    /// The batched reads of the collection's database.
    pub(crate) fn loader(&self) -> &Arc<Loader> {
        &self.loader
    }

    /// The read of a document by its `_id`.
    fn by_id(&self) -> Lookup {
        Lookup {
            collection: self.name,
            reads: self.loader.reads(T::GROUP),
            keys: Keys::Id,
            fields: Fields::of::<T>(),
            majority: false,
        }
    }

    async fn read(&self, lookup: Lookup, value: &str) -> Result<Option<T>, Error> {
        self.loader.read(&lookup, value).await?.map(T::read).transpose()
    }

    /// The documents that a lookup with [`Fields::Timed`] finds.
    async fn read_timed(&self, lookup: Lookup, value: &str) -> Result<Vec<Timed<T>>, Error> {
        let Read { found, now } = self.loader.read_with_time(&lookup, value).await?;
        // A reply with documents has the time.
        let Some(now) = now else { return Ok(Vec::new()) };
        let timed = |stored| Ok::<_, Error>(Timed { now, document: T::read(stored)? });
        found.into_iter().map(timed).collect()
    }

    /// Inserts `document`. *Refused* means that its `_id` or another unique key is taken.
    pub async fn insert(&self, document: &T) -> Outcome<()> {
        match self.new_document(document) {
            Ok(raw) => self.insert_raw(raw).await,
            Err(error) => Outcome::Unknown(error),
        }
    }

    /// Inserts `document`, unless its `_id` is taken. Returns the document that has the `_id` then: this one, or the one
    /// before as [`Self::get_settled`] reads it. The collection has no other unique key.
    ///
    /// # Errors
    /// The outcome is unknown. `Unavailable` also if the one before isn't settled yet, or was removed meanwhile.
    pub async fn insert_once(&self, document: T) -> Result<T, Error> {
        let raw = self.new_document(&document)?;
        let id = stored_id(&raw)?;
        if self.insert_raw(raw).await.decided()?.is_some() {
            return Ok(document);
        }
        let before = self.get_settled(id.as_str().unwrap_or_default()).await?;
        before.ok_or_else(|| Error::unavailable("the document exists, but isn't settled yet"))
    }

    async fn insert_raw(&self, document: RawDocumentBuf) -> Outcome<()> {
        self.loader.inserters.insert(&self.inner(), T::SHARD_KEY.field(), document).await
    }

    /// Like [`Self::insert`], of a document that can be removed later: its command has a number, so no copy of it is inserted
    /// after the outcome is known; see `super::numbered`. No other insert shares the command.
    pub async fn insert_numbered(&self, document: &T) -> Outcome<()> {
        let inserted = async {
            let raw = self.new_document(document)?;
            let filter = own_filter(&raw, T::SHARD_KEY.field())?;
            raw_writes::insert_numbered(&self.inner(), filter, raw, DEFAULT_LIMIT).await
        };
        Outcome::of(inserted.await)
    }

    /// A guarded write: `update` is applied only if `filter` still matches at that moment. `filter` selects
    /// one document by its unique key and contains the guard.
    pub fn guarded(&self, filter: Document, update: impl Into<UpdateModifications>) -> Guarded<T> {
        let (update, derives) = (self.derive(update.into()), self.derived.is_some());
        let newest = migrations::newest(T::UPGRADES);
        Guarded::new(&self.loader, self.inner(), filter, update, derives, newest)
    }

    /// A guarded write that sets fields to the values of expressions; see [`Self::guarded`].
    pub fn set(&self, guard: Document, fields: Document) -> Guarded<T> {
        self.guarded(guard, vec![doc! { "$set": fields }])
    }

    /// Removes the document that `filter` selects, if its guard holds. No copy of the command removes anything after the
    /// outcome is known; see `super::numbered`.
    pub async fn remove(&self, filter: Document) -> Outcome<()> {
        let filter = migrations::known(filter, migrations::newest(T::UPGRADES));
        Outcome::of(raw_writes::remove(&self.inner(), filter, DEFAULT_LIMIT).await)
    }

    /// Number of matching documents, counted up to `limit`.
    pub async fn count(&self, filter: Document, limit: u64) -> Result<u64, Error> {
        count(self.for_reads(), None, filter, limit, self.loader.limit()).await
    }

    /// Like [`Self::count`], by the index with this name.
    pub async fn count_by(
        &self,
        hint: &'static str,
        filter: Document,
        limit: u64,
    ) -> Result<u64, Error> {
        count(self.for_reads(), Some(hint), filter, limit, self.loader.limit()).await
    }
}
