//! Reads the documents of one lookup: one command reads all keys of a batch.

use std::{collections::HashMap, sync::Arc, time::Duration};

use mongodb::{
    bson::{Bson, DateTime, RawDocumentBuf, doc},
    error::Result as DriverResult,
    options::{Hint, ReadConcern},
    raw_batch_cursor::RawBatch,
};
use tracing::Span;

use super::{
    answers::send_all,
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
/// The answer to a key value.
#[derive(Debug, Clone, Default)]
pub(super) struct Read {
    /// The documents that have it.
    pub(super) found: Found,
    /// The server's time, if a document was found and the lookup asks for it.
    pub(super) now: Option<DateTime>,
}

/// The key values of a command, each with its place among the documents that are found.
type Places<'a> = HashMap<&'a str, usize>;

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
    type Answer = (DriverResult<Read>, SharedCommand);

    async fn answer(&self, batch: Vec<Item<Self>>) {
        let shared = SharedCommand::now(batch.len());
        let mut places: Places<'_> = HashMap::with_capacity(batch.len());
        let requested = batch.iter().map(|item| {
            let next = places.len();
            *places.entry(item.value.as_str()).or_insert(next)
        });
        let requested: Vec<usize> = requested.collect();
        let mut found = vec![Found::new(); places.len()];
        let fetched = self.fetch(&places, &mut found, shared).await;
        let [find, aggregate] = &self.sent;
        let sent = if self.lookup.command(shared.items) == FIND { find } else { aggregate };
        record_batched(sent, shared.sent, fault(&fetched).as_ref());
        let read = |place: usize| {
            let documents = || found.get(place).cloned().unwrap_or_default();
            (fetched.clone().map(|now| Read { found: documents(), now }), shared)
        };
        let callers = batch.into_iter().map(|item| item.answer);
        send_all(callers.zip(requested.into_iter().map(read)));
    }

    fn span(&self, traced: &[ItemSpan], count: usize) -> Span {
        let database = || self.collection.database_name();
        let command = self.lookup.command(count);
        traces::shared_command(database, self.lookup.collection, command, traced, count)
    }
}

impl Reader {
    /// Reads the documents that have these values, and adds each at the places of its values. Returns the server's time, if a
    /// document was found and the lookup asks for it.
    async fn fetch(
        &self,
        places: &Places<'_>,
        found: &mut [Found],
        shared: SharedCommand,
    ) -> DriverResult<Option<DateTime>> {
        let count = places.len();
        self.keys.observe_count(count);
        let mut values = places.keys();
        let condition = if let (Some(value), None) = (values.next(), values.next()) {
            (*value).into() // the server has a shorter path for equality
        } else {
            doc! { "$in": places.keys().copied().collect::<Vec<_>>() }.into()
        };
        let batches = match self.lookup.keys {
            Keys::Newest(series) => self.newest(series, &condition, count, shared.items).await?,
            Keys::Id | Keys::Any(_) => self.find(condition, count).await?,
        };
        let mut time = None;
        for batch in batches {
            let mut own = Vec::with_capacity(1);
            for document in batch.doc_slices()? {
                let returned = as_document(document?)?;
                // It is the same in all documents of the command.
                if time.is_none() {
                    time = self.lookup.time(returned)?;
                }
                let stored = self.lookup.document(returned)?;
                let document = Arc::new(stored.to_owned());
                self.lookup.values(stored, &mut own)?;
                for value in own.drain(..) {
                    let all = places.get(value).and_then(|place| found.get_mut(*place));
                    let Some(all) = all else { continue };
                    // A document may contain the value several times.
                    if !all.last().is_some_and(|last| Arc::ptr_eq(last, &document)) {
                        all.push(Arc::clone(&document));
                    }
                }
            }
        }
        // Deadlines are times of the primary's clock.
        if let Some(time) = time.filter(|_| !self.lookup.reads.is_eventual) {
            self.clock.observe(time);
        }
        Ok(time)
    }

    /// The documents in which a key field meets the condition.
    async fn find(&self, condition: Bson, count: usize) -> DriverResult<Vec<RawBatch>> {
        let filter = self.lookup.filter(condition);
        let concern = self.concern();
        let mut find = self.collection.find(filter).read_concern(concern).max_time(self.limit);
        if let Some(fields) = self.lookup.fields.projection() {
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

fn fault<T>(reply: &DriverResult<T>) -> Option<Error> {
    reply.as_ref().err().map(|fault| Error::from(fault.clone()))
}
