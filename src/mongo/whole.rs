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
    swept::id_of,
};
use crate::error::Error;

/// Time limit of aggregations over whole collections.
const AGGREGATION_TIMEOUT: Duration = Duration::from_secs(600);
/// Number of documents that an error names because they can't be decoded.
const NAMED: usize = 20;

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
    /// `Unavailable` or `Internal`. `Internal` or `NewerVersion` also if documents can't be decoded: the error names the first of
    /// them. `each` isn't called for those behind them.
    pub async fn for_each(&self, mut each: impl FnMut(T)) -> Result<(), Error> {
        let (mut last, mut unreadable) = (None, Vec::new());
        loop {
            let filter = last.take().map_or_else(Document::new, |id| doc! { "_id": { "$gt": id } });
            let sort = doc! { "_id": 1 };
            let read = List { filter, sort, limit: i64::from(BATCH), ..List::default() };
            let batch = find_many(self.inner(), read, REPLY_TIMEOUT).await?;
            let Some(end) = batch.last() else { return self.unless_unreadable(unreadable) };
            last = Some(stored_id(end)?);
            for raw in &batch {
                match migrations::read(raw) {
                    Ok(document) if unreadable.is_empty() => each(document),
                    Ok(_) => {}
                    Err(error) => unreadable.push((id_of(raw), error)),
                }
            }
            if unreadable.len() >= NAMED {
                return self.unless_unreadable(unreadable);
            }
        }
    }

    /// The error that names the documents that can't be decoded, if there is one.
    fn unless_unreadable(&self, unreadable: Vec<(String, Error)>) -> Result<(), Error> {
        let is_newer = unreadable.iter().all(|(_, error)| matches!(error, Error::NewerVersion(_)));
        let why = |(id, error): (String, Error)| match error {
            Error::Internal(why) | Error::NewerVersion(why) => format!("{id} ({why})"),
            other => format!("{id} ({other})"),
        };
        let named: Vec<String> = unreadable.into_iter().take(NAMED).map(why).collect();
        if named.is_empty() {
            return Ok(());
        }
        let text = format!("documents of {} that can't be read: {}", self.name(), named.join(", "));
        Err(if is_newer { Error::NewerVersion(text.into()) } else { Error::internal(text) })
    }
}
