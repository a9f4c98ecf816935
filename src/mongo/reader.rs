//! The reads by key of one lookup: the keys of a batch are read by one command.

use std::{collections::HashMap, sync::Arc, time::Duration};

use mongodb::{
    bson::{Bson, RawDocumentBuf, doc},
    error::Result as DriverResult,
    options::{Hint, ReadConcern},
    raw_batch_cursor::RawBatch,
};
use tokio::sync::oneshot;
use tracing::Span;

use super::{
    batcher::{Item, Source},
    clock::Clock,
    driver::{Raw, as_document, record_batched},
    lists::List,
    lookup::{FIND, Keys, Lookup, Series},
    observe::SharedCommand,
};
use crate::{
    error::Error,
    metrics::{database::Command, histogram::Histogram},
    traces::{self, ItemSpan},
};

/// The documents that have one key value.
pub(super) type Found = Vec<Arc<RawDocumentBuf>>;
/// The callers that wait for a key value.
type Callers = Vec<oneshot::Sender<<Reader as Source>::Answer>>;

/// The reads of one lookup, which share their commands.
pub(super) struct Reader {
    pub(super) lookup: Lookup,
    pub(super) collection: Raw,
    /// Number of keys per command.
    pub(super) keys: Histogram,
    /// Metrics of `find` and `aggregate`.
    pub(super) sent: [Command; 2],
    pub(super) clock: Clock,
    pub(super) limit: Duration,
}

impl Source for Reader {
    type Value = String;
    type Answer = (DriverResult<Found>, SharedCommand);

    async fn answer(&self, batch: Vec<Item<Self>>) {
        let shared = SharedCommand::now(batch.len());
        let mut waiting: HashMap<String, Callers> = HashMap::new();
        for Item { value, answer, .. } in batch {
            waiting.entry(value).or_default().push(answer);
        }
        let fetched = self.fetch(&mut waiting, shared).await;
        let [find, aggregate] = &self.sent;
        let sent = if self.lookup.command(shared.items) == FIND { find } else { aggregate };
        record_batched(sent, shared.sent, fault(&fetched).as_ref());
        for answer in waiting.into_values().flatten() {
            // These keys have no document, or the command failed. Sending fails if the caller no longer
            // waits.
            let _gone = answer.send((fetched.clone().map(|()| Vec::new()), shared));
        }
    }

    fn span(&self, traced: &[ItemSpan], count: usize) -> Span {
        let database = || self.collection.database_name();
        let command = self.lookup.command(count);
        traces::shared_command(database, self.lookup.collection, command, traced, count)
    }
}

impl Reader {
    /// Reads the documents, and answers the callers of the keys that are found.
    async fn fetch(
        &self,
        waiting: &mut HashMap<String, Callers>,
        shared: SharedCommand,
    ) -> DriverResult<()> {
        let count = waiting.len();
        self.keys.observe(u64::try_from(count).unwrap_or(u64::MAX));
        let mut values = waiting.keys();
        let condition = if let (Some(value), None) = (values.next(), values.next()) {
            value.as_str().into() // the server has a shorter path for equality
        } else {
            doc! { "$in": waiting.keys().collect::<Vec<_>>() }.into()
        };
        let batches = match self.lookup.keys {
            Keys::Newest(series) => self.newest(series, &condition, count, shared.items).await?,
            Keys::Unique(_) | Keys::Any(_) => self.find(&condition, count).await?,
        };
        let unique = self.lookup.keys.is_unique();
        let mut time = None;
        let mut several: HashMap<String, Found> = HashMap::new();
        for batch in batches {
            for document in batch.doc_slices()? {
                let returned = as_document(document?)?;
                // It is the same in all documents of the command.
                if time.is_none() {
                    time = self.lookup.time(returned)?;
                }
                let document = Arc::new(returned.to_owned());
                for value in self.lookup.values(returned)? {
                    if unique {
                        answer_all(waiting, value, || (Ok(vec![Arc::clone(&document)]), shared));
                    } else if waiting.contains_key(value) {
                        let found = several.entry(value.to_owned()).or_default();
                        // A document may contain the value several times.
                        if !found.last().is_some_and(|last| Arc::ptr_eq(last, &document)) {
                            found.push(Arc::clone(&document));
                        }
                    }
                }
            }
        }
        // Deadlines are times of the primary's clock.
        if let Some(time) = time.filter(|_| !self.lookup.reads.is_eventual) {
            self.clock.observe(time);
        }
        for (value, found) in several {
            answer_all(waiting, &value, || (Ok(found.clone()), shared));
        }
        Ok(())
    }

    /// The documents in which a key field meets the condition.
    async fn find(&self, condition: &Bson, count: usize) -> DriverResult<Vec<RawBatch>> {
        let filter = self.lookup.filter(condition);
        let concern = self.concern();
        let mut find = self.collection.find(filter).read_concern(concern).max_time(self.limit);
        if let Some(fields) = self.lookup.projection() {
            find = find.projection(fields);
        }
        // With a batch size of one more than can be found, the server closes the cursor with its first batch.
        if let (true, Ok(size)) = (self.lookup.keys.is_unique(), u32::try_from(count + 1)) {
            find = find.batch_size(size);
        }
        self.collection.sessions().find(find).await
    }

    /// The newest documents of one series, or the newest one of each of several.
    async fn newest(
        &self,
        series: &Series,
        condition: &Bson,
        count: usize,
        items: usize,
    ) -> DriverResult<Vec<RawBatch>> {
        let concern = self.concern();
        let hint = Hint::Name(series.index.to_owned());
        if self.lookup.command(items) == FIND {
            let List { filter, sort, limit, .. } = series.newest(condition);
            let size = u32::try_from(limit.saturating_add(1)).unwrap_or_default();
            let find = self.collection.find(filter).sort(sort).limit(limit).batch_size(size);
            let find = find.hint(hint).max_time(self.limit).read_concern(concern);
            return self.collection.sessions().find(find).await;
        }
        let newest = self.collection.aggregate(series.newest_of_each(condition));
        let size = u32::try_from(count + 1).unwrap_or(u32::MAX);
        let newest = newest.hint(hint).max_time(self.limit).batch_size(size).read_concern(concern);
        self.collection.sessions().aggregate(newest).await
    }

    fn concern(&self) -> ReadConcern {
        if self.lookup.majority { ReadConcern::majority() } else { ReadConcern::local() }
    }
}

/// Answers all callers that wait for this value.
fn answer_all(
    waiting: &mut HashMap<String, Callers>,
    value: &str,
    found: impl Fn() -> <Reader as Source>::Answer,
) {
    for answer in waiting.remove(value).into_iter().flatten() {
        let _gone = answer.send(found());
    }
}

fn fault<T>(reply: &DriverResult<T>) -> Option<Error> {
    reply.as_ref().err().map(|fault| Error::from(fault.clone()))
}
