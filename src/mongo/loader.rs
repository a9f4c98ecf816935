//! Reads by key and of the server's clock, batched over all requests in flight: a `DataLoader` that isn't
//! bound to one request. See `super::batcher` for the mechanism, and ADR 4 for why it isn't async-graphql's
//! `DataLoader`.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

#[cfg(feature = "bench")]
use futures_util::TryStreamExt;
use mongodb::{
    Database,
    bson::{Bson, DateTime, Document, RawBsonRef, RawDocument, RawDocumentBuf, doc},
    options::ReadConcern,
};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tracing::Span;

use super::{
    batcher::{Batches, Source, Waiting, keep_pace},
    driver::{List, Raw, in_batch, note},
    observe,
    sessions::Sessions,
};
use crate::{
    error::Error,
    metrics::{
        Metrics,
        database::{Command, Commands, Shared},
        histogram::Histogram,
    },
    traces::{self, Question},
};

/// Collection, keys, fields and read concern of a read. Reads with the same lookup share their commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Lookup {
    pub(super) collection: &'static str,
    pub(super) keys: Keys,
    pub(super) fields: Fields,
    /// Whether the read concern is `majority` instead of `local`.
    pub(super) settled: bool,
}

/// The fields in which a value is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Keys {
    /// A unique field that holds a string.
    Unique(&'static str),
    /// Several fields that hold strings, possibly inside arrays on the path. A document is found if any of
    /// them has the value.
    Any(&'static [&'static str]),
}

impl Keys {
    fn fields(&self) -> &[&'static str] {
        match self {
            Self::Unique(field) => std::slice::from_ref(field),
            Self::Any(fields) => fields,
        }
    }

    fn is_unique(self) -> bool {
        matches!(self, Self::Unique(_))
    }
}

/// The part of a document that a read returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Fields {
    /// The whole document.
    All,
    /// Only these fields; the key must be one of them.
    Only(&'static [&'static str]),
    /// The document as `document`, and the server's time as `now`.
    Timed,
}

impl Lookup {
    fn projection(&self) -> Option<Document> {
        match self.fields {
            Fields::All => None,
            Fields::Only(fields) => {
                Some(fields.iter().map(|field| ((*field).to_owned(), 1.into())).collect())
            }
            Fields::Timed => Some(doc! { "now": "$$NOW", "document": "$$ROOT" }),
        }
    }

    /// Filter of the documents in which any key field meets `condition`.
    fn filter(&self, condition: &Bson) -> Document {
        let one = |key: &&str| doc! { *key: condition };
        match self.keys.fields() {
            [key] => one(key),
            keys => doc! { "$or": keys.iter().map(one).collect::<Vec<_>>() },
        }
    }

    /// The values of the key fields in a returned document.
    fn values<'a>(&self, answered: &'a RawDocument) -> Said<Vec<&'a str>> {
        let document = match self.fields {
            Fields::Timed => {
                answered.get_document("document").map_err(|_fault| odd("no document"))?
            }
            Fields::All | Fields::Only(_) => answered,
        };
        let mut values = Vec::with_capacity(1);
        for key in self.keys.fields() {
            strings_at(document, key, &mut values)?;
        }
        Ok(values)
    }
}

/// Collects the strings at a path, including those inside arrays on the path.
fn strings_at<'a>(document: &'a RawDocument, path: &str, found: &mut Vec<&'a str>) -> Said<()> {
    let (field, rest) =
        path.split_once('.').map_or((path, None), |(field, rest)| (field, Some(rest)));
    match document.get(field).map_err(|_fault| odd("a key"))? {
        Some(RawBsonRef::Array(all)) => {
            for one in all {
                string_in(one.map_err(|_fault| odd("a key"))?, rest, found)?;
            }
            Ok(())
        }
        Some(one) => string_in(one, rest, found),
        None => Ok(()),
    }
}

fn string_in<'a>(value: RawBsonRef<'a>, rest: Option<&str>, found: &mut Vec<&'a str>) -> Said<()> {
    match (value, rest) {
        (RawBsonRef::String(value), None) => found.push(value),
        (RawBsonRef::Document(below), Some(rest)) => strings_at(below, rest, found)?,
        _ => {}
    }
    Ok(())
}

/// The documents that have one key value.
type Found = Vec<Arc<RawDocumentBuf>>;
/// The driver's result of one read.
type Said<T> = Result<T, mongodb::error::Error>;

/// Command of reads by key.
const FIND: &str = "find";
/// Command that returns the server's time.
const HELLO: &str = "hello";
/// A document with the server's time of the read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Timed<T> {
    /// The server's time.
    pub now: DateTime,
    /// The document.
    pub document: T,
}

/// Placeholder for the collection of a command without one, as in the server's own namespaces.
const NO_COLLECTION: &str = "$cmd";

/// The batched reads by key of one database, and of its clock.
pub struct Loader {
    database: Database,
    sessions: Arc<Sessions>,
    by_lookup: Mutex<HashMap<Lookup, Arc<Batches<Reader>>>>,
    clock: Arc<Batches<Clock>>,
    reads: Shared,
    commands: Commands,
    limit: Duration,
    #[cfg(feature = "bench")]
    memory: std::sync::OnceLock<(&'static str, HashMap<String, Arc<RawDocumentBuf>>)>,
}

impl fmt::Debug for Loader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Loader").finish_non_exhaustive()
    }
}

impl Loader {
    /// Creates the loader of `database`, with its metrics in `metrics`. `limit` is the `maxTimeMS` of each
    /// read.
    pub fn new(database: Database, metrics: &Metrics, limit: Duration) -> Arc<Self> {
        let (reads, commands) = (metrics.reads().clone(), metrics.commands().clone());
        let sent = commands.of(NO_COLLECTION, HELLO);
        let sessions = Arc::new(Sessions::new(database.clone()));
        let clock = Clock { database: database.clone(), sessions: Arc::clone(&sessions), sent };
        let loader = Arc::new(Self {
            clock: Batches::new(clock, reads.waiting(NO_COLLECTION)),
            sessions,
            database,
            by_lookup: Mutex::default(),
            reads,
            commands,
            limit,
            #[cfg(feature = "bench")]
            memory: std::sync::OnceLock::new(),
        });
        tokio::spawn(keep_pace(Arc::downgrade(&loader), Self::hasten));
        loader
    }

    /// Loads the collection into memory. From then on, its reads by key are answered without MongoDB.
    #[cfg(feature = "bench")]
    pub async fn answer_from_memory(&self, name: &'static str) -> Result<(), Error> {
        let collection = self.database.collection::<RawDocumentBuf>(name);
        let found: Vec<_> = collection.find(doc! {}).await?.try_collect().await?;
        let key = |found: &RawDocumentBuf| found.get_str("_id").unwrap_or_default().to_owned();
        let all = found.into_iter().map(|found| (key(&found), Arc::new(found))).collect();
        self.memory.set((name, all)).map_err(|_| Error::internal("one collection is enough"))
    }

    /// The driver's handle of a collection.
    pub(super) fn raw(&self, collection: &'static str) -> Raw {
        Raw::new(&self.database, collection, &self.commands, &self.sessions)
    }

    /// Returns the document whose key has this value.
    pub(super) async fn read(
        &self,
        lookup: Lookup,
        value: &str,
    ) -> Result<Option<Arc<RawDocumentBuf>>, Error> {
        Ok(self.read_all(lookup, value).await?.into_iter().next())
    }

    /// Returns every document that has this value in any of the key fields.
    pub(super) async fn read_all(&self, lookup: Lookup, value: &str) -> Result<Found, Error> {
        #[cfg(feature = "bench")]
        if let Some((_, memory)) = self.memory.get().filter(|(of, _)| *of == lookup.collection) {
            return Ok(memory.get(value).cloned().into_iter().collect());
        }
        let since = Instant::now();
        let question = Question::new(lookup.collection, FIND);
        let answer = self.reader(lookup).ask(value.to_owned(), &question).await;
        observe::note(lookup.collection, FIND, since);
        observe::note_read(observe::wanted(|| {
            let (filter, projection) = (lookup.filter(&value.into()), lookup.projection());
            let limit = i64::from(lookup.keys.is_unique());
            List { filter, limit, projection, ..List::default() }.command(lookup.collection)
        }));
        answer.map_err(Error::unread)?.map_err(Error::of_read)
    }

    /// `maxTimeMS` of a read.
    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    /// Returns the time of the primary's clock, which is read after this call begins.
    pub async fn now(&self) -> Result<DateTime, Error> {
        let since = Instant::now();
        let question = Question::new(NO_COLLECTION, HELLO);
        let answer = Arc::clone(&self.clock).ask((), &question).await;
        observe::note(self.database.name(), HELLO, since);
        Ok(answer??)
    }

    fn reader(&self, lookup: Lookup) -> Arc<Batches<Reader>> {
        let mut readers = self.by_lookup();
        let reader = readers.entry(lookup).or_insert_with(|| {
            let name = lookup.collection;
            let collection = self.raw(name);
            let (keys, sent) = (self.reads.together(name), self.commands.of(name, FIND));
            let reader = Reader { lookup, collection, keys, sent, limit: self.limit };
            Batches::new(reader, self.reads.waiting(name))
        });
        Arc::clone(reader)
    }

    fn hasten(&self) {
        self.clock.hasten();
        self.by_lookup().values().for_each(Batches::hasten);
    }

    fn by_lookup(&self) -> MutexGuard<'_, HashMap<Lookup, Arc<Batches<Reader>>>> {
        self.by_lookup.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reads of one lookup, which share their commands.
struct Reader {
    lookup: Lookup,
    collection: Raw,
    /// Number of keys per command.
    keys: Histogram,
    sent: Command,
    limit: Duration,
}

impl Source for Reader {
    type Value = String;
    type Answer = Said<Found>;

    async fn answer(&self, batch: Vec<Waiting<Self>>) {
        let mut waiting: HashMap<String, Vec<oneshot::Sender<Self::Answer>>> = HashMap::new();
        for Waiting { value, answer, .. } in batch {
            waiting.entry(value).or_default().push(answer);
        }
        let since = Instant::now();
        let fetched = self.fetch(&mut waiting).await;
        note(&self.sent, since, fault(&fetched).as_ref());
        for answer in waiting.into_values().flatten() {
            // These keys have no document, or the command failed. Sending fails if the caller no longer
            // waits.
            let _gone = answer.send(fetched.clone().map(|()| Vec::new()));
        }
    }

    fn span(&self, traced: &[Question], questions: usize) -> Span {
        let database = || self.collection.database_name();
        traces::shared_command(database, self.lookup.collection, FIND, traced, questions)
    }
}

impl Reader {
    /// Reads the documents, and answers the callers of the keys that are found.
    async fn fetch(
        &self,
        waiting: &mut HashMap<String, Vec<oneshot::Sender<Said<Found>>>>,
    ) -> Said<()> {
        let count = waiting.len();
        self.keys.observe(u64::try_from(count).unwrap_or(u64::MAX));
        let mut values = waiting.keys();
        let condition = if let (Some(value), None) = (values.next(), values.next()) {
            value.as_str().into() // the server has a shorter path for equality
        } else {
            doc! { "$in": waiting.keys().collect::<Vec<_>>() }.into()
        };
        let filter = self.lookup.filter(&condition);
        let concern =
            if self.lookup.settled { ReadConcern::majority() } else { ReadConcern::local() };
        let mut find = self.collection.find(filter).read_concern(concern).max_time(self.limit);
        if let Some(fields) = self.lookup.projection() {
            find = find.projection(fields);
        }
        let unique = self.lookup.keys.is_unique();
        // With a batch size of one more than can be found, the server closes the cursor with its first batch.
        if let (true, Ok(size)) = (unique, u32::try_from(count + 1)) {
            find = find.batch_size(size);
        }
        let mut several: HashMap<String, Found> = HashMap::new();
        for batch in self.collection.sessions().find(find).await? {
            for document in batch.doc_slices()? {
                let answered = in_batch(document?)?;
                let document = Arc::new(answered.to_owned());
                for value in self.lookup.values(answered)? {
                    if unique {
                        hand_out(waiting, value, || vec![Arc::clone(&document)]);
                    } else if waiting.contains_key(value) {
                        let found = several.entry(value.to_owned()).or_default();
                        // A document may have the value twice.
                        if !found.last().is_some_and(|last| Arc::ptr_eq(last, &document)) {
                            found.push(Arc::clone(&document));
                        }
                    }
                }
            }
        }
        for (value, found) in several {
            hand_out(waiting, &value, || found.clone());
        }
        Ok(())
    }
}

/// Answers all callers that asked for this value.
fn hand_out(
    waiting: &mut HashMap<String, Vec<oneshot::Sender<Said<Found>>>>,
    value: &str,
    found: impl Fn() -> Found,
) {
    for answer in waiting.remove(value).into_iter().flatten() {
        let _gone = answer.send(Ok(found()));
    }
}

/// The primary's clock.
struct Clock {
    database: Database,
    sessions: Arc<Sessions>,
    sent: Command,
}

impl Source for Clock {
    type Value = ();
    type Answer = Said<DateTime>;

    async fn answer(&self, batch: Vec<Waiting<Self>>) {
        let since = Instant::now();
        let answered = self.sessions.run(doc! { HELLO: 1 }).await;
        note(&self.sent, since, fault(&answered).as_ref());
        let read = |answer: Document| answer.get_datetime("localTime").copied();
        let now = answered.and_then(|answer| read(answer).map_err(|_| odd("no localTime")));
        for Waiting { answer, .. } in batch {
            let _gone = answer.send(now.clone());
        }
    }

    fn span(&self, traced: &[Question], questions: usize) -> Span {
        let database = || self.database.name().to_owned();
        traces::shared_command(database, NO_COLLECTION, HELLO, traced, questions)
    }
}

fn fault<T>(answered: &Said<T>) -> Option<Error> {
    answered.as_ref().err().map(|fault| Error::from(fault.clone()))
}

/// The error for a reply that the server never sends.
fn odd(what: &'static str) -> mongodb::error::Error {
    mongodb::error::Error::custom(what)
}
