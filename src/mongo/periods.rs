//! Collections whose names are made at run time, one for each period, such as a month. They are created with their
//! indexes when they are needed, and dropped as a whole, which costs the same whatever they contain.

use std::{future::Future, marker::PhantomData, sync::Arc, time::Duration};

use futures_util::{FutureExt, TryStreamExt};
use mongodb::{
    IndexModel,
    bson::{Document, RawDocumentBuf, doc},
    options::{Hint, ReadConcern},
};

use super::{
    appender::Rejected,
    collection::{Collection, List},
    driver::Raw,
    expression::starts_with,
    indexes::{Index, name_of},
    lists::{count, find_recorded},
    loader::Loader,
    observe,
    placement::create,
    stored::Stored,
};
use crate::{config::Concern, error::Error};

/// Time limit of the creation of a collection with its indexes, which are built at once in an empty one.
const BUILD_TIMEOUT: Duration = Duration::from_secs(30);
/// The same for a collection with documents.
const REBUILD_TIMEOUT: Duration = Duration::from_secs(24 * 3_600);

/// The documents of one period. Cheap to clone.
pub struct Period<T: Stored> {
    raw: Raw,
    loader: Arc<Loader>,
    holds: PhantomData<fn() -> T>,
}

impl<T: Stored> Collection<T> {
    /// The collection of the period with this name. Its commands are counted as those of this collection.
    pub fn period(&self, name: &str) -> Period<T> {
        Period {
            raw: self.for_reads().with_name(name),
            loader: Arc::clone(self.loader()),
            holds: PhantomData,
        }
    }

    /// Names of the collections that begin with `prefix`, sorted.
    ///
    /// # Errors
    /// `Unread` or `Internal`.
    pub async fn period_names(&self, prefix: &str) -> Result<Vec<String>, Error> {
        let (raw, filter) = (self.inner(), doc! { "name": starts_with(prefix) });
        let database = raw.database().clone();
        let found = raw.send("listCollections", async move {
            database.list_collection_names().filter(filter).await
        });
        let mut names = found.await.map_err(Error::for_read)?;
        names.sort();
        Ok(names)
    }
}

impl<T: Stored> Period<T> {
    /// Creates the collection and its missing indexes. It can be repeated, also by several gateways at once.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn prepare(&self) -> Result<(), Error> {
        self.build(BUILD_TIMEOUT).await
    }

    /// Like [`Self::prepare`], for a collection that has documents.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn rebuild(&self) -> Result<(), Error> {
        self.build(REBUILD_TIMEOUT).await
    }

    async fn build(&self, limit: Duration) -> Result<(), Error> {
        let models: Vec<_> = T::INDEXES.iter().map(Index::model).collect();
        create(self.raw.place(), self.raw.name()).await?;
        let collection = self.raw.clone_collection();
        let built = async move { collection.create_indexes(models).await };
        self.raw.send_within(limit, "createIndexes", built).await.map(|_| ())
    }

    /// Names of the declared indexes that are missing or differ.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn missing_indexes(&self) -> Result<Vec<&'static str>, Error> {
        let collection = self.raw.clone_collection();
        let listed = self.raw.send("listIndexes", async move {
            collection.list_indexes().await?.try_collect::<Vec<IndexModel>>().await
        });
        let existing = listed.await?;
        let is_there = |index: &&Index| {
            existing.iter().any(|model| name_of(model) == index.name && index.matches(model))
        };
        let missing = T::INDEXES.iter().filter(|index| !is_there(index));
        Ok(missing.map(|index| index.name).collect())
    }

    /// Drops the collection. It may not exist.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: it can be repeated.
    pub async fn drop(&self) -> Result<(), Error> {
        let collection = self.raw.clone_collection();
        self.raw.send("drop", async move { collection.drop().await }).await
    }

    /// Inserts documents unordered. One whose `_id` is taken is skipped, and counts as inserted. Calls of one moment share
    /// commands; see `super::appender`. Returns the documents that were rejected.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: some of them may have been inserted.
    pub async fn append(
        &self,
        documents: Vec<RawDocumentBuf>,
        concern: Concern,
    ) -> Result<Vec<Rejected>, Error> {
        self.loader.appenders.append(&self.raw, documents, concern).await
    }

    /// Returns the documents of one list read, in order.
    ///
    /// # Errors
    /// `Unread`, `Timeout` or `Internal`.
    pub fn list(&self, list: List) -> impl Future<Output = Result<Vec<T>, Error>> + use<T> {
        let read = |stored| T::read(Arc::new(stored));
        find_recorded(self.raw.clone(), list, self.loader.limit())
            .map(move |found| found?.into_iter().map(read).collect())
    }

    /// Number of matching documents, counted up to `limit` by the index with this name.
    ///
    /// # Errors
    /// `Unread`, `Timeout` or `Internal`.
    pub async fn count_by(
        &self,
        hint: &'static str,
        filter: Document,
        limit: u64,
    ) -> Result<u64, Error> {
        count(self.raw.clone(), Some(hint), filter, limit, self.loader.limit()).await
    }

    /// Runs an aggregation that begins with the index of this name. The pipeline itself must limit its result.
    ///
    /// # Errors
    /// `Unread`, `Timeout` or `Internal`.
    pub async fn aggregate_by(
        &self,
        hint: &'static str,
        pipeline: Vec<Document>,
    ) -> Result<Vec<Document>, Error> {
        let (collection, time) = (self.raw.clone_collection(), self.loader.limit());
        let command = || {
            let name = self.raw.name();
            doc! { "aggregate": name, "pipeline": &pipeline, "hint": hint, "cursor": {} }
        };
        let recorded = observe::if_collecting(command);
        let found = self
            .raw
            .send("aggregate", async move {
                collection
                    .aggregate(pipeline)
                    .max_time(time)
                    .allow_disk_use(true)
                    .hint(Hint::Name(hint.to_owned()))
                    .read_concern(ReadConcern::majority())
                    .await?
                    .try_collect()
                    .await
            })
            .await;
        observe::record_read(self.raw.reads, recorded);
        found
    }
}
