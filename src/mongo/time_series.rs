//! MongoDB's time-series collections: measurements with a time and a subject, which MongoDB stores together in buckets
//! of its own. <https://www.mongodb.com/docs/manual/core/timeseries-collections/>
//!
//! They have restrictions:
//!
//! - `_id` isn't unique, and no index can be. A measurement that is inserted twice is there twice.
//! - A measurement can't be updated by its time or its values.
//! - They can't be written in transactions. Reads take the read concerns `local` and `majority`.
//! - An insert into a collection that doesn't exist makes a collection of another kind. So a process creates it before
//!   its first insert ([`Collection::create_time_series`]).

use std::time::Duration;

use mongodb::bson::{Bson, Document, doc};

use super::{
    Collection, Stored,
    expression::seconds,
    faults::{COLLECTION_EXISTS, has_code},
};
use crate::error::Error;

/// A time-series collection.
#[derive(Debug, Clone, Copy)]
pub struct TimeSeries {
    /// Field with the time of a measurement.
    pub time: &'static str,
    /// Field with the subject of a measurement.
    pub subject: &'static str,
    /// Name of the index by subject and time. MongoDB 6.3 and later make such an index themselves.
    pub index: &'static str,
    /// How long a measurement is kept. MongoDB removes it some time later. `None` keeps it forever.
    pub retention: Option<Duration>,
}

impl<T: Stored> Collection<T> {
    /// Creates the collection with its index. If it exists, its retention is changed to this one.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: it can be repeated. `Internal` also if a collection of another kind has the name.
    pub async fn create_time_series(&self, of: TimeSeries) -> Result<(), Error> {
        let name = T::COLLECTION;
        let options = doc! { "timeField": of.time, "metaField": of.subject };
        let mut create = doc! { "create": name, "timeseries": options };
        let retention = of.retention.map(|retention| Bson::from(seconds(retention)));
        create.extend(self.inner().place().storage());
        create.extend(retention.clone().map(|after| ("expireAfterSeconds".to_owned(), after)));
        if !self.run("create", create, Some(COLLECTION_EXISTS)).await? {
            let after = retention.unwrap_or_else(|| "off".into());
            let change = doc! { "collMod": name, "expireAfterSeconds": after };
            self.run("collMod", change, None).await?;
        }
        let keys = doc! { of.subject: 1, of.time: 1 };
        let index = doc! { "key": keys, "name": of.index };
        let build = doc! { "createIndexes": name, "indexes": [index] };
        self.run("createIndexes", build, None).await?;
        Ok(())
    }

    /// Runs a command that changes the collection itself. Returns `false` if it failed with the error code `unless`.
    async fn run(
        &self,
        name: &'static str,
        mut command: Document,
        unless: Option<i32>,
    ) -> Result<bool, Error> {
        command.insert("writeConcern", doc! { "w": "majority" });
        let raw = self.inner();
        let database = raw.database().clone();
        let run = async move {
            match database.run_command(command).await {
                Err(fault) if has_code(&fault, unless.as_slice()) => Ok(false),
                reply => reply.map(|_| true),
            }
        };
        raw.send(name, run).await
    }
}
