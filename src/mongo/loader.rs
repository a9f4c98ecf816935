//! Reads by key, batched over all requests in flight: a `DataLoader` that isn't bound to one request. The loader also holds
//! the batchers of writes, and the clock. `super::batcher` describes the mechanism. ADR 4 gives the reasons against
//! async-graphql's `DataLoader`.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
    time::{Duration, Instant},
};

#[cfg(feature = "bench")]
use futures_util::TryStreamExt;
#[cfg(feature = "bench")]
use mongodb::bson::doc;
use mongodb::{
    bson::{DateTime, RawDocumentBuf},
    error::Result as DriverResult,
};
use serde::{Deserialize, Serialize};

use super::{
    appender::Appenders,
    batcher::Batcher,
    batchers::{Batchers, check_overdue},
    clock::Clock,
    driver::Raw,
    inserter::Inserters,
    lookup::{AGGREGATE, FIND, Lookup, Series},
    migrations::InForce,
    observe::{self, SharedCommand},
    placement::{Group, Placement, Reads},
    read_bytes,
    reader::{Found, Read, Reader},
    recent::Recent,
    sessions::Sessions,
    shared_lists::SharedLists,
    swept::Logged,
    writer::Writers,
};
use crate::{
    error::Error,
    metrics::{Metrics, database::Commands},
    traces::ItemSpan,
};

/// A document with the server's time of the read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Timed<T> {
    /// The server's time.
    pub now: DateTime,
    /// The document.
    pub document: T,
}

/// The batched reads by key of one gateway, its writers and its clock.
pub struct Loader {
    placement: Placement,
    sessions: Arc<Sessions>,
    by_lookup: Batchers<Lookup, Reader>,
    clock: Clock,
    commands: Commands,
    limit: Duration,
    pub(super) writers: Writers,
    pub(super) inserters: Inserters,
    pub(super) appenders: Appenders,
    recent: Arc<Recent>,
    shared_lists: Arc<SharedLists>,
    in_force: RwLock<InForce>,
    pub(super) unreadable: Logged,
    #[cfg(feature = "bench")]
    memory:
        std::sync::OnceLock<(&'static str, std::collections::HashMap<String, Arc<RawDocumentBuf>>)>,
}

impl fmt::Debug for Loader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Loader").finish_non_exhaustive()
    }
}

impl Loader {
    /// Creates the loader of the databases of `placement`, with its metrics in `metrics`. `limit` is the `maxTimeMS` of
    /// each read. `keep` is the time for which suggestions are kept. `coalesce_writes` tells whether guarded writes share
    /// commands.
    pub fn new(
        placement: Placement,
        metrics: &Metrics,
        limit: Duration,
        keep: Duration,
        coalesce_writes: bool,
    ) -> Arc<Self> {
        let (writes, commands) = (&metrics.writes, metrics.commands.clone());
        let core = placement.database(Group::Core);
        let sessions = Arc::new(Sessions::new(core.client().clone()));
        let loader = Arc::new(Self {
            clock: Clock::new(core, &sessions, metrics),
            sessions,
            placement,
            by_lookup: Batchers::new(metrics.reads.clone()),
            commands,
            limit,
            writers: Writers::new(writes, coalesce_writes),
            inserters: Inserters::new(writes, coalesce_writes),
            appenders: Appenders::new(writes, coalesce_writes),
            recent: Recent::new(keep, metrics.suggestions.clone()),
            shared_lists: SharedLists::new(limit, metrics.lists.clone()),
            in_force: RwLock::default(),
            unreadable: Logged::default(),
            #[cfg(feature = "bench")]
            memory: std::sync::OnceLock::new(),
        });
        tokio::spawn(check_overdue(Arc::downgrade(&loader), Self::send_overdue));
        loader
    }

    /// Loads the collection into memory. From then on, its reads by key are answered without MongoDB.
    #[cfg(feature = "bench")]
    pub async fn answer_from_memory(&self, name: &'static str) -> Result<(), Error> {
        let core = self.placement.database(Group::Core);
        let collection = core.collection::<RawDocumentBuf>(name);
        let found: Vec<_> = collection.find(doc! {}).await?.try_collect().await?;
        let key = |found: &RawDocumentBuf| found.get_str("_id").unwrap_or_default().to_owned();
        let all = found.into_iter().map(|found| (key(&found), Arc::new(found))).collect();
        self.memory
            .set((name, all))
            .map_err(|_| Error::internal("a collection is already loaded into memory"))
    }

    /// The driver's handle of a collection.
    pub(super) fn raw(&self, group: Group, collection: &'static str) -> Raw {
        self.for_reads(Reads { group, is_eventual: false }, collection)
    }

    /// The driver's handle of a collection for such reads.
    pub(super) fn for_reads(&self, reads: Reads, collection: &'static str) -> Raw {
        Raw::new(&self.placement, reads, collection, &self.commands, &self.sessions)
    }

    /// How a collection of the group is read by the field that is resolved now.
    pub(super) fn reads(&self, group: Group) -> Reads {
        self.placement.reads(group)
    }

    /// Returns the document whose key has this value.
    pub(super) async fn read(
        &self,
        lookup: &Lookup,
        value: &str,
    ) -> Result<Option<Arc<RawDocumentBuf>>, Error> {
        Ok(self.read_with_time(lookup, value).await?.found.into_iter().next())
    }

    /// Returns every document that has this value in any of the key fields.
    pub(super) async fn read_all(&self, lookup: &Lookup, value: &str) -> Result<Found, Error> {
        Ok(self.read_with_time(lookup, value).await?.found)
    }

    /// Like [`Self::read_all`], with the server's time if the lookup asks for it.
    pub(super) async fn read_with_time(&self, lookup: &Lookup, value: &str) -> Result<Read, Error> {
        #[cfg(feature = "bench")]
        if let Some((_, memory)) = self.memory.get().filter(|(of, _)| *of == lookup.collection) {
            let found = memory.get(value).cloned().into_iter().collect();
            return Ok(Read { found, now: None });
        }
        let since = Instant::now();
        let span = ItemSpan::new(lookup.collection, FIND);
        let (read, _shared) = self.answer(lookup, value, since, &span).await?;
        Ok(read)
    }

    /// Returns the newest documents of a series, one or more of them, and whether these are known to be all.
    pub(super) async fn read_newest(
        &self,
        lookup: &Lookup,
        value: &str,
    ) -> Result<(Found, bool), Error> {
        let span = ItemSpan::new(lookup.collection, FIND);
        let (Read { found, .. }, shared) =
            self.answer(lookup, value, Instant::now(), &span).await?;
        let is_whole = found.is_empty() || Series::is_whole(shared.items, found.len());
        Ok((found, is_whole))
    }

    /// Returns the answers to many keys, in their order. One future waits for all of them.
    ///
    /// # Errors
    /// No answer came, or the documents are more than the request may read.
    pub(super) async fn read_many(
        &self,
        lookup: &Lookup,
        keys: &[String],
    ) -> Result<Vec<DriverResult<Read>>, Error> {
        let since = Instant::now();
        let span = ItemSpan::new(lookup.collection, FIND);
        let answers = self.reader(*lookup).submit_many(keys.to_vec(), &span).await;
        for (at, key) in keys.iter().enumerate() {
            let answer = answers.as_ref().ok().and_then(|answers| answers.get(at));
            observe::record_key(*lookup, key, since, answer.map(|(_, shared)| *shared));
        }
        let answers = answers.map_err(Error::for_read)?;
        let reads: Vec<_> = answers.into_iter().map(|(read, _shared)| read).collect();
        let found = reads.iter().flatten().flat_map(|read| &read.found);
        read_bytes::keep(found.map(AsRef::as_ref))?;
        Ok(reads)
    }

    /// The answer to a key. A list waits for many at once, so their futures only refer to the lookup.
    async fn answer(
        &self,
        lookup: &Lookup,
        value: &str,
        since: Instant,
        span: &ItemSpan,
    ) -> Result<(Read, SharedCommand), Error> {
        let answer = self.reader(*lookup).submit(value.to_owned(), span).await;
        let shared = answer.as_ref().ok().map(|(_, shared)| *shared);
        observe::record_key(*lookup, value, since, shared);
        let (read, shared) = answer.map_err(Error::for_read)?;
        let read = read.map_err(Error::of_read)?;
        read_bytes::keep(read.found.iter().map(AsRef::as_ref))?;
        Ok((read, shared))
    }

    /// Recent suggestions.
    pub(super) fn recent(&self) -> &Arc<Recent> {
        &self.recent
    }

    /// The lists that are being read.
    pub(super) fn shared_lists(&self) -> &Arc<SharedLists> {
        &self.shared_lists
    }

    /// The version of documents that is in force in a collection; see [`super::migrations`].
    pub(super) fn in_force(&self, collection: &str) -> i32 {
        let in_force = self.in_force.read().unwrap_or_else(PoisonError::into_inner);
        in_force.get(collection).copied().unwrap_or(1)
    }

    /// Sets the versions that are in force.
    pub(crate) fn set_in_force(&self, versions: InForce) {
        *self.in_force.write().unwrap_or_else(PoisonError::into_inner) = versions;
    }

    /// `maxTimeMS` of a read.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// The time of the primary's clock; see [`Clock::now`].
    pub async fn now(&self) -> Result<DateTime, Error> {
        self.clock.now().await
    }

    /// A time that the primary's clock has reached; see [`Clock::reached`].
    pub fn reached(&self) -> Option<DateTime> {
        self.clock.reached()
    }

    fn reader(&self, lookup: Lookup) -> Arc<Batcher<Reader>> {
        let name = lookup.collection;
        self.by_lookup.get(lookup, name, |keys| {
            let collection = self.for_reads(lookup.reads, name);
            let sent = [FIND, AGGREGATE].map(|command| self.commands.of(name, command));
            let clock = self.clock.clone();
            Reader { lookup, collection, keys, sent, clock, limit: self.limit }
        })
    }

    fn send_overdue(&self) {
        self.shared_lists.send_overdue();
        self.clock.send_overdue();
        self.writers.send_overdue();
        self.inserters.send_overdue();
        self.appenders.send_overdue();
        self.by_lookup.send_overdue();
    }
}
