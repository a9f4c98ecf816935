//! Reads of lists of one collection. Each read is one command, which callers of the same list may share.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{FutureExt, TryStreamExt};
use mongodb::{
    bson::{Bson, DateTime, Document, RawDocumentBuf, doc},
    options::{Hint, ReadConcern},
    raw_batch_cursor::RawBatch,
};
use serde::de::DeserializeOwned;

use super::{
    Collection, Stored,
    batcher::received,
    driver::{Raw, as_document, decode},
    expression,
    loader::{Loader, Timed},
    lookup::{self, Fields},
    migrations, observe, read_bytes,
    swept::{SweptPage, decoded, id_of},
};
use crate::{error::Error, traces::ItemSpan};

/// `maxTimeMS` of reads that may examine many more documents than they return: nobody waits longer for a list or for
/// suggestions, and the server has others to serve.
pub const EXAMINING: Duration = Duration::from_secs(5);
/// `maxTimeMS` of lists that examine more documents than they return, and sort them.
const RANK_TIMEOUT: Duration = Duration::from_secs(10);
/// Documents per command when a list or a whole collection is read.
pub(super) const BATCH: u32 = 1_000;

/// A list read: one index range with a limit.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// Filter of the documents.
    pub filter: Document,
    /// Sort order; an index must provide it.
    pub sort: Document,
    /// Maximum number of documents.
    pub limit: i64,
    /// Returned fields, if not all. The document type must be decodable from them.
    pub projection: Option<Document>,
    /// Name of the index to use, if the planner could choose a worse one.
    pub hint: Option<&'static str>,
    /// Bounds in the hinted index: the first key that is read, and the key before which the read ends. The
    /// documents then come in the order of the index, and `sort` is empty.
    pub between: Option<(Document, Document)>,
    /// `maxTimeMS` of the command, if it is to be shorter than that of other reads.
    pub time: Option<Duration>,
}

impl List {
    /// The documents with these `_id`s.
    pub fn of_ids(ids: &[impl AsRef<str>]) -> Self {
        let limit = expression::count(ids.len());
        let ids: Vec<&str> = ids.iter().map(AsRef::as_ref).collect();
        Self { filter: doc! { "_id": { "$in": ids } }, limit, ..Self::default() }
    }

    /// The read as a `find` command, for `explain`.
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

impl<T: Stored> Collection<T> {
    /// Returns the documents of one list read, in order.
    pub fn list(&self, list: List) -> impl Future<Output = Result<Vec<T>, Error>> + use<T> {
        self.list_stored(list).map(|found| found?.into_iter().map(T::read).collect())
    }

    /// Returns the documents of one list read for a sweep, in order. A document that can't be decoded fails only itself. The list
    /// is ordered by the times from `from` on at the path `field`.
    pub fn list_swept(
        &self,
        (field, from): (&'static str, DateTime),
        list: List,
    ) -> impl Future<Output = Result<SweptPage<T>, Error>> + use<T> {
        let (name, loader) = (self.name(), Arc::clone(self.loader()));
        let decoded = move |found| decoded((name, &loader.unreadable), (field, from), found);
        self.list_stored(list).map(|found| found.map(decoded))
    }

    fn list_stored(
        &self,
        mut list: List,
    ) -> impl Future<Output = Result<Vec<Arc<RawDocumentBuf>>, Error>> + use<T> {
        list.projection = list.projection.or_else(|| Fields::of::<T>().projection());
        read_shared(self.loader(), self.for_reads(), list)
    }

    /// Returns the first document of one list read.
    pub async fn first(&self, list: List) -> Result<Option<T>, Error> {
        Ok(self.list(List { limit: 1, ..list }).await?.pop())
    }

    /// A page of the documents whose time in `field` is from `from` on and before `before`, for sweeps. The index `hint` begins with
    /// the field and returns the oldest first. No document has an array in `field`. The sort is that of the index; a router needs it
    /// to put the lists of several shards together.
    pub fn list_between(
        &self,
        (field, hint): (&'static str, &'static str),
        from: DateTime,
        before: DateTime,
        limit: i64,
    ) -> impl Future<Output = Result<SweptPage<T>, Error>> + use<T> {
        let filter = doc! { field: { "$gte": from, "$lt": before } };
        let sort = doc! { field: 1 };
        let list = List { filter, sort, limit, hint: Some(hint), ..List::default() };
        self.list_swept((field, from), list)
    }

    /// Like [`Self::list_between`], of times in the elements of an array. The oldest element that isn't before `from` determines the
    /// order, which holds for each shard by itself: the list isn't sorted, because a sort by the least element of an array couldn't
    /// use the index. A filter alone doesn't begin at `from`: of two limits of an array's elements, the server uses one.
    pub fn list_elements_between(
        &self,
        (field, hint): (&'static str, &'static str),
        from: DateTime,
        before: DateTime,
        limit: i64,
    ) -> impl Future<Output = Result<SweptPage<T>, Error>> + use<T> {
        let filter = doc! { field: { "$lt": before } };
        let between = Some((doc! { field: from }, doc! { field: before }));
        let list = List { filter, limit, hint: Some(hint), between, ..List::default() };
        self.list_swept((field, from), list)
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

    /// Like [`Self::list_timed`], without the documents that can't be decoded. Also returns their number.
    pub async fn list_timed_readable(
        &self,
        list: List,
        shape: impl Into<Bson>,
    ) -> Result<(Vec<Timed<T>>, usize), Error> {
        let projection = Some(doc! { "now": "$$NOW", "document": shape.into() });
        let found = self.list_raw(List { projection, ..list }).await?;
        let decode = |stored: &RawDocumentBuf| {
            let log = |error: &Error| {
                let id = stored.get_document("document").map(id_of).unwrap_or_default();
                self.loader().unreadable.log(self.name(), &id, error);
            };
            migrations::read_timed(stored).inspect_err(log).ok()
        };
        let readable: Vec<_> = found.iter().filter_map(decode).collect();
        let unreadable = found.len() - readable.len();
        Ok((readable, unreadable))
    }

    pub(super) fn list_raw(
        &self,
        list: List,
    ) -> impl Future<Output = Result<Vec<RawDocumentBuf>, Error>> + use<T> {
        find_recorded(self.for_reads(), list, self.loader().limit())
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
        let read = || doc! { "aggregate": self.name(), "pipeline": &pipeline, "cursor": {} };
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
        let found = found?;
        read_bytes::keep(&found)?;
        found.iter().map(decode).collect()
    }
}

/// Returns all matching documents, by a command that callers of the same list may share. The read is noted for `explain`,
/// and its bytes are counted.
fn read_shared(
    loader: &Arc<Loader>,
    raw: Raw,
    list: List,
) -> impl Future<Output = Result<Vec<Arc<RawDocumentBuf>>, Error>> + use<> {
    let (name, reads, since) = (raw.name, raw.reads, Instant::now());
    let recorded = observe::if_collecting(|| list.command(name));
    let span = ItemSpan::new(name, lookup::FIND);
    let answer = loader.shared_lists().read(raw, list, span.clone());
    async move {
        // It ends with the answer.
        let _span = span;
        let answer = received(answer?).await;
        let shared = answer.as_ref().ok().map(|(_, shared)| *shared);
        observe::record_list(name, since, shared, (reads, recorded));
        let (found, _shared) = answer.map_err(Error::for_read)?;
        let found = found.map_err(Error::of_read)?;
        read_bytes::keep(found.iter().map(AsRef::as_ref))?;
        Ok(found)
    }
}

/// Like [`find_many`], for the field that is resolved now: the read is noted for `explain`, and its bytes are counted.
pub(super) fn find_recorded(
    raw: Raw,
    list: List,
    limit: Duration,
) -> impl Future<Output = Result<Vec<RawDocumentBuf>, Error>> {
    let recorded = observe::if_collecting(|| list.command(raw.name()));
    let reads = raw.reads;
    find_many(raw, list, limit).map(move |found| {
        observe::record_read(reads, recorded);
        let found = found?;
        read_bytes::keep(&found)?;
        Ok(found)
    })
}

/// Number of matching documents, counted up to `limit`, by the index with the name `hint` if one is given. `time` is
/// `maxTimeMS`.
pub(super) async fn count(
    raw: Raw,
    hint: Option<&'static str>,
    filter: Document,
    limit: u64,
    time: Duration,
) -> Result<u64, Error> {
    let handle = raw.clone();
    let counted = handle.send("aggregate", async move {
        let counted = raw.count_documents(filter).limit(limit).max_time(time);
        let mut counted = counted.read_concern(ReadConcern::majority());
        if let Some(hint) = hint {
            counted = counted.hint(Hint::Name(hint.to_owned()));
        }
        counted.await
    });
    counted.await
}

/// Returns all matching documents. The returned future doesn't contain the query, which is large.
pub(super) fn find_many(
    inner: Raw,
    list: List,
    limit: Duration,
) -> impl Future<Output = Result<Vec<RawDocumentBuf>, Error>> {
    inner.clone().send("find", find(inner, list, limit))
}

/// Sends the command of a list, and returns the documents.
pub(super) async fn find(
    inner: Raw,
    list: List,
    limit: Duration,
) -> mongodb::error::Result<Vec<RawDocumentBuf>> {
    let mut find = inner
        .find(list.filter)
        .sort(list.sort)
        .limit(list.limit)
        .max_time(list.time.map_or(limit, |time| time.min(limit)))
        .read_concern(ReadConcern::majority());
    // With a batch size of one more than the limit, the server closes the cursor with its first batch.
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
}

/// The documents of the server's batches.
fn documents(batches: &[RawBatch]) -> mongodb::error::Result<Vec<RawDocumentBuf>> {
    let mut documents = Vec::new();
    for batch in batches {
        for document in batch.doc_slices()? {
            documents.push(as_document(document?)?.to_owned());
        }
    }
    Ok(documents)
}
