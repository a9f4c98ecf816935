//! Counters with many writers. Additions that arrive while a command is in flight are sent together in the
//! next one, with one `$inc` for each document. See `super::batcher`.
//!
//! Batching costs no durability: a caller is answered when a majority holds its addition. But a count has no
//! guard, and nothing in the document tells what was added already. Therefore no command is sent twice, and
//! without a reply the outcome stays unknown.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    error::Error as _,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use mongodb::bson::{Document, doc};
use tracing::Span;

use super::{
    Loader, Stored,
    batcher::{Batches, Source, Waiting, keep_pace},
    driver::{DUPLICATE_KEY, Raw, note, send_within},
    observe,
    raw_writes::{Failed, failed},
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

/// Command of additions.
const UPDATE: &str = "update";
/// Maximum number of documents per command: a command is a document too, of up to 16 MB.
const MOST: usize = 1_000;
/// `maxTimeMS` of a command.
const LIMIT: Duration = Duration::from_secs(10);

/// Amounts to add to the counts of one document. The document is inserted if it doesn't exist.
#[derive(Debug, Clone)]
pub struct Addition {
    /// The document's `_id`.
    pub id: Document,
    /// Amount by field. The field paths come from the code, never from a client.
    pub amounts: BTreeMap<String, i64>,
    /// The version of the document's shape, its field `v`.
    pub version: i32,
}

impl Addition {
    fn update(self) -> Document {
        let amounts: Document =
            self.amounts.into_iter().map(|(field, amount)| (field, amount.into())).collect();
        doc! {
            "q": { "_id": self.id },
            "u": { "$inc": amounts, "$setOnInsert": { "v": self.version } },
            "upsert": true,
        }
    }
}

/// The counters of one database.
pub struct Counters {
    loader: Arc<Loader>,
    counts: Shared,
    commands: Commands,
    coalesce: bool,
    by_collection: Mutex<HashMap<&'static str, Arc<Batches<Counter>>>>,
}

impl fmt::Debug for Counters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Counters").field("coalesce", &self.coalesce).finish_non_exhaustive()
    }
}

impl Counters {
    /// Creates the counters of the loader's database, with their metrics in `metrics`. Unless `coalesce` is
    /// set, each call of [`Self::add`] sends its own command.
    pub fn new(loader: &Arc<Loader>, metrics: &Metrics, coalesce: bool) -> Arc<Self> {
        let counters = Arc::new(Self {
            loader: Arc::clone(loader),
            counts: metrics.counts().clone(),
            commands: metrics.commands().clone(),
            coalesce,
            by_collection: Mutex::default(),
        });
        tokio::spawn(keep_pace(Arc::downgrade(&counters), Self::hasten));
        counters
    }

    /// Applies additions to documents of `T`, none of them twice.
    ///
    /// # Errors
    /// `Uncounted` or `Internal`; some of the additions may have been applied.
    pub async fn add<T: Stored>(&self, additions: Vec<Addition>) -> Result<(), Error> {
        let since = Instant::now();
        let question = Question::new(T::COLLECTION, UPDATE);
        let batches = self.batches(T::COLLECTION);
        let added = if self.coalesce {
            batches.ask(additions, &question).await
        } else {
            batches.ask_alone(additions, &question).await
        };
        observe::note(T::COLLECTION, UPDATE, since);
        match added {
            Ok(Ok(())) => Ok(()),
            Ok(Err(shared)) => Err(of_one(&shared)),
            Err(Error::Unavailable(source)) => Err(Error::Uncounted(source)),
            Err(error) => Err(error),
        }
    }

    fn batches(&self, name: &'static str) -> Arc<Batches<Counter>> {
        let mut all = self.by_collection();
        let batches = all.entry(name).or_insert_with(|| {
            let (collection, sent) = (self.loader.raw(name), self.commands.of(name, UPDATE));
            let counter = Counter { name, collection, together: self.counts.together(name), sent };
            Batches::new(counter, self.counts.waiting(name))
        });
        Arc::clone(batches)
    }

    fn hasten(&self) {
        self.by_collection().values().for_each(Batches::hasten);
    }

    fn by_collection(&self) -> MutexGuard<'_, HashMap<&'static str, Arc<Batches<Counter>>>> {
        self.by_collection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The error of a shared command, for one of its callers.
fn of_one(shared: &Error) -> Error {
    let inner = shared.source().map_or_else(|| shared.to_string(), ToString::to_string);
    match shared {
        Error::Internal(_) => Error::internal(inner),
        _ => Error::Uncounted(inner.into()),
    }
}

/// The counters of one collection.
struct Counter {
    name: &'static str,
    collection: Raw,
    /// Number of documents per command.
    together: Histogram,
    sent: Command,
}

impl Source for Counter {
    type Value = Vec<Addition>;
    type Answer = Result<(), Arc<Error>>;
    // A command waits for the disks of a majority, and others can use the processor meanwhile.
    const ENOUGH: usize = 32;

    async fn answer(&self, batch: Vec<Waiting<Self>>) {
        let mut sums = Sums::default();
        let asked: Vec<_> = batch
            .into_iter()
            .map(|Waiting { value, answer, .. }| {
                let places: Vec<_> = value.into_iter().map(|one| sums.add(one)).collect();
                (answer, places)
            })
            .collect();
        let failed = self.send_all(sums.documents).await;
        for (answer, places) in asked {
            let fault = places.iter().find_map(|place| failed.get(place));
            // Sending fails if the caller no longer waits.
            let _gone = answer.send(fault.map_or(Ok(()), |fault| Err(Arc::clone(fault))));
        }
    }

    fn span(&self, traced: &[Question], questions: usize) -> Span {
        let database = || self.collection.database_name();
        traces::shared_command(database, self.name, UPDATE, traced, questions)
    }
}

impl Counter {
    /// Sends all sums. Returns the errors, by the position of the document.
    async fn send_all(&self, mut sums: Vec<Addition>) -> HashMap<usize, Arc<Error>> {
        let (mut failed, mut first) = (HashMap::new(), 0);
        while !sums.is_empty() {
            let rest = sums.split_off(sums.len().min(MOST));
            let places = first..first + sums.len();
            first = places.end;
            match self.send(sums).await {
                Ok(some) => failed.extend(
                    some.into_iter().map(|(place, error)| (places.start + place, Arc::new(error))),
                ),
                Err(error) => {
                    // The rest isn't sent: it would take as long, and the callers have waited long enough.
                    let (error, all) = (Arc::new(error), places.start..places.end + rest.len());
                    failed.extend(all.map(|place| (place, Arc::clone(&error))));
                    break;
                }
            }
            sums = rest;
        }
        failed
    }

    /// Sends one command. Returns the errors, by the position of the document.
    async fn send(&self, sums: Vec<Addition>) -> Result<Vec<(usize, Error)>, Error> {
        self.together.observe(u64::try_from(sums.len()).unwrap_or(u64::MAX));
        let updates: Vec<Document> = sums.into_iter().map(Addition::update).collect();
        let limit = i64::try_from(LIMIT.as_millis()).unwrap_or(i64::MAX);
        let command = doc! {
            UPDATE: self.name,
            "updates": updates,
            "ordered": false,
            "writeConcern": { "w": "majority" },
            "maxTimeMS": limit,
        };
        let since = Instant::now();
        let collection = self.collection.clone();
        let call = async move { collection.sessions().run(command).await };
        // `maxTimeMS` doesn't include the time that a command waits before the server starts it.
        let answered = send_within(LIMIT + Duration::from_secs(1), self.name, UPDATE, call).await;
        let answered = answered.and_then(|answer| match answer.get_document("writeConcernError") {
            Ok(unsure) => Err(Error::unavailable(unsure.to_string())),
            Err(_none) => Ok(answer),
        });
        note(&self.sent, since, answered.as_ref().err());
        let answer = answered?;
        let fault = |Failed { position, code, error }| match code {
            // Two upserts inserted the document at the same time; this one wasn't counted.
            DUPLICATE_KEY => (position, Error::unavailable(error)),
            _ => (position, error),
        };
        Ok(failed(&answer)?.into_iter().map(fault).collect())
    }
}

/// The additions of a batch, summed by document.
#[derive(Default)]
struct Sums {
    documents: Vec<Addition>,
    places: HashMap<Document, usize>,
}

impl Sums {
    /// Adds to the sum of a document, and returns the document's position.
    fn add(&mut self, addition: Addition) -> usize {
        match self.places.entry(addition.id.clone()) {
            Entry::Vacant(place) => {
                self.documents.push(addition);
                *place.insert(self.documents.len() - 1)
            }
            Entry::Occupied(place) => {
                let place = *place.get();
                for (field, amount) in addition.amounts {
                    *self.documents[place].amounts.entry(field).or_default() += amount;
                }
                place
            }
        }
    }
}
