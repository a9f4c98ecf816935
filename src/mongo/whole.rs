//! Reads of whole collections, document by document or aggregated, for invariants, repairs and exports.

use std::time::Duration;

use futures_util::TryStreamExt;
use mongodb::{
    bson::{Document, doc},
    options::ReadConcern,
};

use super::{
    Collection, Stored,
    driver::{REPLY_TIMEOUT, stored_id},
    lists::{BATCH, List, find_many},
    migrations,
};
use crate::error::Error;

/// Time limit of aggregations over whole collections.
const AGGREGATION_TIMEOUT: Duration = Duration::from_secs(600);

impl<T: Stored> Collection<T> {
    /// Runs an aggregation (invariants, reports).
    pub async fn aggregate(&self, pipeline: Vec<Document>) -> Result<Vec<Document>, Error> {
        let inner = self.inner();
        self.inner()
            .send_within(AGGREGATION_TIMEOUT, "aggregate", async move {
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
    /// `Unavailable` or `Internal`.
    pub async fn for_each(&self, mut each: impl FnMut(T)) -> Result<(), Error> {
        let mut last = None;
        loop {
            let filter = last.take().map_or_else(Document::new, |id| doc! { "_id": { "$gt": id } });
            let sort = doc! { "_id": 1 };
            let read = List { filter, sort, limit: i64::from(BATCH), ..List::default() };
            let batch = find_many(self.inner(), read, REPLY_TIMEOUT).await?;
            let Some(end) = batch.last() else { return Ok(()) };
            last = Some(stored_id(end)?);
            for raw in &batch {
                each(migrations::read(raw)?);
            }
        }
    }
}
