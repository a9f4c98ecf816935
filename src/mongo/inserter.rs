//! Inserts of single documents, batched over all requests in flight; see `super::batcher`.
//!
//! Several documents are inserted by one unordered `insert`, whose reply names those that were refused because their
//! `_id` or another unique key is taken. The command is sent without a transaction number: an insert that is sent again
//! finds its own document. Whether the document is the same is then decided by its bytes. Of the same documents in one
//! command one is inserted.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use mongodb::bson::RawDocumentBuf;
use tracing::Span;

use super::{
    batcher::{Item, Source},
    driver::{DUPLICATE_KEY, Raw, own_filter},
    faults::FailedWrite,
    guarded::Outcome,
    lists::{List, find_many},
    observe::{self, SharedCommand},
    raw_writes,
    shared_writes::{MAX_BYTES, WriteBatchers, parts},
    write_command::Reply,
};
use crate::{
    config::Concern,
    error::Error,
    metrics::histogram::Histogram,
    traces::{self, ItemSpan},
};

/// Command of inserts.
const INSERT: &str = "insert";
/// `maxTimeMS` of a command.
const LIMIT: Duration = Duration::from_secs(10);

/// The inserters of one database, by collection.
pub(super) type Inserters = WriteBatchers<&'static str, Inserter>;

impl Inserters {
    /// Inserts a document. `shard_key` is the field that routes commands on it.
    pub(super) async fn insert(
        &self,
        collection: &Raw,
        shard_key: Option<&'static str>,
        document: RawDocumentBuf,
    ) -> Outcome<()> {
        let (name, since) = (collection.name, Instant::now());
        let inserter =
            |statements| Inserter { collection: collection.clone(), shard_key, statements };
        let batcher = self.get(name, name, inserter);
        let span = ItemSpan::new(name, INSERT);
        let answer = if self.coalesce {
            batcher.submit(document, &span).await
        } else {
            batcher.submit_alone(document, &span).await
        };
        let (outcome, shared) =
            answer.unwrap_or_else(|error| (Outcome::Unknown(error), SharedCommand::now(1)));
        observe::record_shared(name, INSERT, since, shared);
        outcome
    }
}

/// The inserts into one collection.
pub(super) struct Inserter {
    collection: Raw,
    /// The field that routes commands on one document, if the collection is sharded.
    shard_key: Option<&'static str>,
    /// Number of documents per command.
    statements: Histogram,
}

impl Source for Inserter {
    type Value = RawDocumentBuf;
    /// The outcome, and the command.
    type Answer = (Outcome<()>, SharedCommand);
    // While a command waits for the disks of a majority, another command can use the processor.
    const THRESHOLD: usize = 32;
    const MAX_BATCH: usize = 200;
    const MAX_QUEUE: usize = 8_192;

    async fn answer(&self, batch: Vec<Item<Self>>) {
        for part in parts(batch, MAX_BYTES, |item| item.value.as_bytes().len()) {
            self.send(part).await;
        }
    }

    fn span(&self, traced: &[ItemSpan], count: usize) -> Span {
        let database = || self.collection.database_name();
        traces::shared_command(database, self.collection.name, INSERT, traced, count)
    }
}

impl Inserter {
    /// Inserts the documents by one command, and answers their callers. If that fails as a whole, each document is
    /// inserted by itself.
    async fn send(&self, part: Vec<Item<Self>>) {
        let count = part.len();
        let shared = SharedCommand::now(count);
        if count > 1 {
            self.statements.observe_count(count);
        }
        let documents = part.iter().map(|item| item.value.clone()).collect();
        // Callers decide by the outcome.
        let concern = Concern::Majority;
        let reply = raw_writes::insert(&self.collection, documents, concern, LIMIT).await;
        match reply.and_then(|reply| Ok((failed(&reply)?, reply))) {
            Ok((mut failed, reply)) => {
                // After a second copy of the command, of documents that are the same to the byte only one is inserted.
                let mut inserted = Vec::new();
                for (position, Item { value, answer, .. }) in part.into_iter().enumerate() {
                    let outcome = match (failed.remove(&position), reply.uncertainty()) {
                        (None, None) => Outcome::Applied(()),
                        (None, Some(_)) => {
                            inserted.push(value);
                            Outcome::Applied(())
                        }
                        (Some(failed), None) => refused(failed),
                        (Some(failed), Some(first)) => match self.has(&value).await {
                            Ok(true) if inserted.contains(&value) => Outcome::Refused,
                            Ok(true) => {
                                inserted.push(value);
                                Outcome::Applied(())
                            }
                            Ok(false) if failed.code != DUPLICATE_KEY => refused(failed),
                            Ok(false) => Outcome::Unknown(Error::unavailable(first.to_string())),
                            Err(error) => Outcome::Unknown(error),
                        },
                    };
                    answer.send((outcome, shared));
                }
            }
            // One document has spoilt the command, and none was inserted.
            Err(Error::Internal(_)) if count > 1 => {
                for item in part {
                    Box::pin(self.send(vec![item])).await;
                }
            }
            Err(error) => {
                for Item { answer, .. } in part {
                    answer.send((Outcome::Unknown(error.for_another()), shared));
                }
            }
        }
    }

    /// Whether exactly this document is stored.
    async fn has(&self, document: &RawDocumentBuf) -> Result<bool, Error> {
        let filter = own_filter(document, self.shard_key)?;
        let list = List { filter, limit: 1, ..List::default() };
        let found = find_many(self.collection.clone(), list, LIMIT).await?;
        Ok(found.first().is_some_and(|found| found.as_bytes() == document.as_bytes()))
    }
}

/// The documents that weren't inserted, by position.
fn failed(reply: &Reply) -> Result<HashMap<usize, FailedWrite>, Error> {
    Ok(reply.failed()?.into_iter().map(|failed| (failed.position, failed)).collect())
}

fn refused(failed: FailedWrite) -> Outcome<()> {
    match failed.code {
        DUPLICATE_KEY => Outcome::Refused,
        _ => Outcome::Unknown(failed.error),
    }
}
