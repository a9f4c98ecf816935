//! Inserts of documents that nothing refers to, such as events of a log, batched over all requests in flight; see
//! `super::batcher`.
//!
//! Calls share commands if they insert into the same collection and want the same acknowledgement. A call with more than
//! [`MAX_SHARED`] documents has a command of its own: it gains nothing by waiting.
//!
//! A document whose `_id` is taken counts as inserted. An `_id` is random, or it is that of the same document of an
//! earlier call. So a command can be sent again if its reply is lost.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use mongodb::bson::RawDocumentBuf;
use tracing::Span;

use super::{
    batcher::{Item, Source},
    driver::{DUPLICATE_KEY, Raw},
    faults::FailedWrite,
    observe::{self, SharedCommand},
    raw_writes,
    shared_writes::{MAX_BYTES, WriteBatchers, parts},
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
/// Maximum number of documents of a call that shares a command.
const MAX_SHARED: usize = 32;

/// A document that MongoDB rejected.
#[derive(Debug, Clone)]
pub struct Rejected {
    /// Position in the call.
    pub position: usize,
    /// The server's description, for the log.
    pub reason: String,
}

/// The appenders of one database, by collection and acknowledgement.
pub(super) type Appenders = WriteBatchers<(String, Concern), Appender>;

impl Appenders {
    /// Inserts documents; see [`Period::append`](super::periods::Period::append).
    pub(super) async fn append(
        &self,
        collection: &Raw,
        documents: Vec<RawDocumentBuf>,
        concern: Concern,
    ) -> Result<Vec<Rejected>, Error> {
        if documents.is_empty() {
            return Ok(Vec::new());
        }
        let (name, since) = (collection.name, Instant::now());
        let appender =
            |statements| Appender { collection: collection.clone(), concern, statements };
        let batcher = self.get((collection.name().to_owned(), concern), name, appender);
        let span = ItemSpan::new(name, INSERT);
        let answer = if self.coalesce && documents.len() <= MAX_SHARED {
            batcher.submit(documents, &span).await
        } else {
            batcher.submit_alone(documents, &span).await
        };
        let (outcome, shared) = answer.unwrap_or_else(|error| (Err(error), SharedCommand::now(1)));
        observe::record_shared(name, INSERT, since, shared);
        outcome
    }
}

/// The inserts into one collection with one acknowledgement.
pub(super) struct Appender {
    collection: Raw,
    concern: Concern,
    /// Number of documents per shared command.
    statements: Histogram,
}

impl Source for Appender {
    type Value = Vec<RawDocumentBuf>;
    /// The rejected documents, and the command.
    type Answer = (Result<Vec<Rejected>, Error>, SharedCommand);
    // While a command waits for the disks, another command can use the processor.
    const THRESHOLD: usize = 32;
    const MAX_BATCH: usize = 500;
    const MAX_QUEUE: usize = 8_192;

    async fn answer(&self, batch: Vec<Item<Self>>) {
        let size = |item: &Item<Self>| {
            item.value.iter().map(|document| document.as_bytes().len()).sum::<usize>()
        };
        for part in parts(batch, MAX_BYTES, size) {
            self.send(part).await;
        }
    }

    fn span(&self, traced: &[ItemSpan], count: usize) -> Span {
        let database = || self.collection.database_name();
        traces::shared_command(database, self.collection.name, INSERT, traced, count)
    }
}

impl Appender {
    /// Inserts the documents of these calls by one command, and answers the callers.
    async fn send(&self, part: Vec<Item<Self>>) {
        let (mut documents, mut callers) = (Vec::new(), Vec::with_capacity(part.len()));
        for Item { value, answer, .. } in part {
            callers.push((answer, value.len()));
            documents.extend(value);
        }
        let shared = SharedCommand::now(callers.len());
        if callers.len() > 1 {
            self.statements.observe_count(documents.len());
        }
        let reply = raw_writes::insert(&self.collection, documents, self.concern, LIMIT).await;
        let mut outcome = reply.and_then(|reply| reply.failed()).map(by_position);
        let mut first = 0;
        for (answer, count) in callers {
            let own = match &mut outcome {
                Ok(failed) => outcome_of(failed, first..first + count),
                Err(error) => Err(error.for_another()),
            };
            first += count;
            answer.send((own, shared));
        }
    }
}

/// The failures by position, without those of documents that are there.
fn by_position(failed: Vec<FailedWrite>) -> HashMap<usize, FailedWrite> {
    let failed = failed.into_iter().filter(|failed| failed.code != DUPLICATE_KEY);
    failed.map(|failed| (failed.position, failed)).collect()
}

/// What became of the documents of one call.
fn outcome_of(
    failed: &mut HashMap<usize, FailedWrite>,
    positions: std::ops::Range<usize>,
) -> Result<Vec<Rejected>, Error> {
    if failed.is_empty() {
        return Ok(Vec::new());
    }
    let mut rejected = Vec::new();
    for (position, at) in positions.enumerate() {
        match failed.remove(&at) {
            None => {}
            // The primary may step down between two documents.
            Some(FailedWrite { error: error @ Error::Unavailable(_), .. }) => return Err(error),
            Some(FailedWrite { text, .. }) => rejected.push(Rejected { position, reason: text }),
        }
    }
    Ok(rejected)
}
