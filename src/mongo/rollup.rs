//! Roll-ups: aggregations of one collection whose results are merged into another one by `$merge`, within MongoDB.

use std::time::Duration;

use futures_util::TryStreamExt;
use mongodb::{
    bson::{Document, doc},
    options::{ReadConcern, WriteConcern},
};

use super::{
    Collection, Stored,
    expression::{before, both, choose},
};
use crate::error::Error;

/// The condition under which a computed document replaces the one that is stored.
#[derive(Debug, Clone, Copy)]
pub struct Fence {
    /// Field of the documents that holds the fence of the run which computed them.
    pub field: &'static str,
    /// The fence of this run. A later run has a greater one.
    pub number: i64,
    /// Time on the server's clock from which on the command computes nothing.
    pub deadline: mongodb::bson::DateTime,
    /// `maxTimeMS` of the command.
    pub limit: Duration,
}

impl<T: Stored> Collection<T> {
    /// Computes documents from those that match `filter`, and merges them into the collection `into` by their `_id`,
    /// whichever database that is in. A document that a run with a greater fence has computed stays as it is. The command
    /// reads what a majority holds, and is answered when a majority holds what it has written. It can be repeated.
    ///
    /// # Errors
    /// `Unread` or `Internal`; some of the documents may have been merged.
    pub async fn roll_up<U: Stored>(
        &self,
        filter: Document,
        stages: Vec<Document>,
        into: &Collection<U>,
        fence: Fence,
    ) -> Result<(), Error> {
        let (inner, into, limit) = (self.inner(), into.inner(), fence.limit);
        let into = doc! { "db": into.database_name(), "coll": into.name };
        let (field, number) = (fence.field, fence.number);
        let is_newer = doc! { "$gt": [format!("${field}"), number] };
        let newest = doc! { "$replaceWith": choose(is_newer, "$$ROOT", "$$new") };
        let mut pipeline = vec![doc! { "$match": both(filter, before(fence.deadline)) }];
        pipeline.extend(stages);
        pipeline.push(doc! { "$set": { field: number } });
        pipeline.push(doc! { "$merge": {
            "into": into, "on": "_id", "whenMatched": [newest], "whenNotMatched": "insert",
        } });
        // `maxTimeMS` doesn't include the time that a command waits before the server starts it.
        let time_limit = limit + Duration::from_secs(1);
        let call = async move {
            let merged = inner
                .aggregate(pipeline)
                .allow_disk_use(true)
                .max_time(limit)
                .read_concern(ReadConcern::majority())
                .write_concern(WriteConcern::majority())
                .await?;
            merged.try_collect::<Vec<Document>>().await
        };
        self.inner().send_within(time_limit, "aggregate", call).await?;
        Ok(())
    }
}
