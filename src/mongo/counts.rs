//! Counters with many writers. Additions that arrive while a command is in flight share the next command, which
//! has one `$inc` for each document. See `super::batcher`.
//!
//! Batching costs no durability: a caller is answered when a majority holds its addition, or earlier if the
//! collection's group has another write concern. But an addition has no guard, and the document doesn't record which
//! additions it contains. So an addition that may have been applied isn't sent again. If its reply is lost, its outcome
//! stays unknown.
//!
//! The filter of an addition is the `_id` alone, unless a newer version of documents is in force than this gateway knows; see
//! [`migrations`](super::migrations).
//!
//! In a [time-series collection](super::time_series) a document can't be incremented: the sums are inserted as
//! measurements, which its reads add up ([`Counters::measure`]). The rest is the same.

use std::{
    collections::HashMap,
    error::Error as _,
    fmt, mem,
    sync::Arc,
    time::{Duration, Instant},
};

use mongodb::bson::{Bson, doc};
use tracing::Span;

pub use super::additions::Addition;
use super::{
    Loader, Stored,
    additions::Sums,
    batcher::{Batcher, Item, Source},
    batchers::check_overdue,
    driver::{DUPLICATE_KEY, Raw, encode, record_batched, send_within},
    expression::millis,
    faults::{FailedWrite, failed_writes},
    migrations::newest,
    observe,
    shared_writes::WriteBatchers,
};
use crate::{
    error::Error,
    metrics::{
        Metrics,
        database::{Command, Commands},
        histogram::Histogram,
    },
    traces::{self, ItemSpan},
};

/// Command of additions to documents.
const UPDATE: &str = "update";
/// Command of measurements.
const INSERT: &str = "insert";
/// Maximum number of documents per command: the size of a command is limited to 16 MB, like that of a document.
const MAX_DOCUMENTS: usize = 1_000;
/// How often what found its `_id` taken is sent again.
const AGAIN: usize = 3;
/// `maxTimeMS` of a command.
const LIMIT: Duration = Duration::from_secs(10);

/// The counters of one database.
pub struct Counters {
    loader: Arc<Loader>,
    commands: Commands,
    batchers: WriteBatchers<&'static str, Counter>,
}

impl fmt::Debug for Counters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let coalesce = self.batchers.coalesce;
        formatter.debug_struct("Counters").field("coalesce", &coalesce).finish_non_exhaustive()
    }
}

impl Counters {
    /// Creates the counters of the loader's database, with their metrics in `metrics`. Unless `coalesce` is
    /// set, each call of [`Self::add`] sends its own command.
    pub fn new(loader: &Arc<Loader>, metrics: &Metrics, coalesce: bool) -> Arc<Self> {
        let counters = Arc::new(Self {
            loader: Arc::clone(loader),
            commands: metrics.commands.clone(),
            batchers: WriteBatchers::new(&metrics.counts, coalesce),
        });
        tokio::spawn(check_overdue(Arc::downgrade(&counters), Self::send_overdue));
        counters
    }

    /// Applies additions to documents of `T`, each at most once.
    ///
    /// # Errors
    /// `Uncounted` or `Internal`; some of the additions may have been applied.
    pub async fn add<T: Stored>(&self, additions: Vec<Addition>) -> Result<(), Error> {
        self.send::<T>(UPDATE, additions).await
    }

    /// Inserts measurements into the time-series collection of `T`, each at most once. The fields of a measurement are
    /// those of the addition's id and its amounts.
    ///
    /// # Errors
    /// As those of [`Self::add`].
    pub async fn measure<T: Stored>(&self, additions: Vec<Addition>) -> Result<(), Error> {
        self.send::<T>(INSERT, additions).await
    }

    async fn send<T: Stored>(
        &self,
        command: &'static str,
        additions: Vec<Addition>,
    ) -> Result<(), Error> {
        let name = T::COLLECTION;
        let since = Instant::now();
        let span = ItemSpan::new(name, command);
        let batcher = self.batcher::<T>(command);
        let added = if self.batchers.coalesce {
            batcher.submit(additions, &span).await
        } else {
            batcher.submit_alone(additions, &span).await
        };
        observe::record(name, command, since);
        match added {
            Ok(Ok(())) => Ok(()),
            Ok(Err(shared)) => Err(error_for_caller(&shared)),
            Err(Error::Unavailable(source)) => Err(Error::Uncounted(source)),
            Err(error) => Err(error),
        }
    }

    /// The batcher of the collection of `T`, all of whose additions are sent by the same kind of command.
    fn batcher<T: Stored>(&self, command: &'static str) -> Arc<Batcher<Counter>> {
        let name = T::COLLECTION;
        self.batchers.get(name, name, |documents| Counter {
            name,
            newest: newest(T::UPGRADES),
            command,
            loader: Arc::clone(&self.loader),
            collection: self.loader.raw(T::GROUP, name),
            documents,
            sent: self.commands.of(name, command),
        })
    }

    fn send_overdue(&self) {
        self.batchers.send_overdue();
    }
}

/// The error of a shared command, for one of its callers.
fn error_for_caller(shared: &Error) -> Error {
    let inner = shared.source().map_or_else(|| shared.to_string(), ToString::to_string);
    match shared {
        Error::Internal(_) => Error::internal(inner),
        Error::NewerVersion(_) => Error::NewerVersion(inner.into()),
        _ => Error::Uncounted(inner.into()),
    }
}

/// The counters of one collection.
struct Counter {
    name: &'static str,
    /// The newest version of documents that it may change; see `super::migrations`.
    newest: i32,
    /// [`UPDATE`] or [`INSERT`].
    command: &'static str,
    loader: Arc<Loader>,
    collection: Raw,
    /// Number of documents per command.
    documents: Histogram,
    sent: Command,
}

impl Source for Counter {
    type Value = Vec<Addition>;
    type Answer = Result<(), Arc<Error>>;
    // While a command waits for the disks of a majority, another command can use the processor.
    const THRESHOLD: usize = 32;

    async fn answer(&self, batch: Vec<Item<Self>>) {
        let mut sums = Sums::default();
        let callers: Vec<_> = batch
            .into_iter()
            .map(|Item { value, answer, .. }| {
                let positions: Vec<_> = value.into_iter().map(|one| sums.add(one)).collect();
                (answer, positions)
            })
            .collect();
        let failed = self.send_all(sums.documents).await;
        for (answer, positions) in callers {
            let fault = positions.iter().find_map(|position| failed.get(position));
            answer.send(fault.map_or(Ok(()), |fault| Err(Arc::clone(fault))));
        }
    }

    fn span(&self, traced: &[ItemSpan], count: usize) -> Span {
        let database = || self.collection.database_name();
        traces::shared_command(database, self.name, self.command, traced, count)
    }
}

impl Counter {
    /// Sends all sums. Returns the errors, by the position of the document.
    async fn send_all(&self, mut sums: Vec<Addition>) -> HashMap<usize, Arc<Error>> {
        let (mut failed, mut first) = (HashMap::new(), 0);
        while !sums.is_empty() {
            let rest = sums.split_off(sums.len().min(MAX_DOCUMENTS));
            let positions = first..first + sums.len();
            let start = positions.start;
            first = positions.end;
            match self.send(sums).await {
                Ok(some) => failed.extend(
                    some.into_iter().map(|(position, error)| (start + position, Arc::new(error))),
                ),
                Err(error) => {
                    // The rest isn't sent: it would take as long, and the callers have waited long enough.
                    let (error, all) = (Arc::new(error), start..positions.end + rest.len());
                    failed.extend(all.map(|position| (position, Arc::clone(&error))));
                    break;
                }
            }
            sums = rest;
        }
        failed
    }

    /// The newest version of documents that an update may match, while a newer one is in force. Otherwise the filters of
    /// updates are `_id` alone, because MongoDB then finds a document without planning a query, and repeats an upsert
    /// that finds its `_id` taken.
    fn bound(&self) -> Option<i32> {
        (self.loader.in_force(self.name) > self.newest).then_some(self.newest)
    }

    /// Sends one command. Returns the errors, by the position of the document.
    async fn send(&self, sums: Vec<Addition>) -> Result<Vec<(usize, Error)>, Error> {
        self.documents.observe_count(sums.len());
        let (bound, sums) = (self.bound(), sums.into_iter());
        let sums: Vec<Bson> = match self.command {
            INSERT => sums.map(|sum| sum.measurement().into()).collect(),
            _ => sums.map(|sum| sum.update(bound).into()).collect(),
        };
        let (sums, failed) = self.send_once(sums).await?;
        if bound.is_some() {
            return Ok(self.send_again(sums, failed).await);
        }
        let fault = |FailedWrite { position, code, error, .. }| match code {
            // Two upserts inserted the document at the same time; this one wasn't counted.
            DUPLICATE_KEY => (position, Error::unavailable(error)),
            _ => (position, error),
        };
        Ok(failed.into_iter().map(fault).collect())
    }

    /// Sends again what found its `_id` taken, of updates whose filter contains the version. Returns the errors, by the
    /// position of the document.
    ///
    /// Such an upsert finds its `_id` taken if another one inserted the document at the same moment. Then it has added
    /// nothing, and adds to that document when it is sent again. If it finds the `_id` taken again and again, the document
    /// doesn't match its filter, because it is of a newer version.
    async fn send_again(&self, sums: Vec<Bson>, failed: Vec<FailedWrite>) -> Vec<(usize, Error)> {
        let (taken, failed): (Vec<_>, Vec<_>) =
            failed.into_iter().partition(|failed| failed.code == DUPLICATE_KEY);
        let mut taken: Vec<usize> = taken.into_iter().map(|failed| failed.position).collect();
        let mut faults: Vec<_> =
            failed.into_iter().map(|failed| (failed.position, failed.error)).collect();
        for _ in 0..AGAIN {
            if taken.is_empty() {
                break;
            }
            let again = taken.iter().filter_map(|at| sums.get(*at).cloned()).collect();
            let sent = mem::take(&mut taken);
            match self.send_once(again).await {
                Ok((_, refused)) => {
                    for FailedWrite { position, code, error, .. } in refused {
                        match sent.get(position) {
                            Some(at) if code == DUPLICATE_KEY => taken.push(*at),
                            Some(at) => faults.push((*at, error)),
                            None => {}
                        }
                    }
                }
                Err(error) => {
                    let text = error.to_string();
                    faults
                        .extend(sent.into_iter().map(|at| (at, Error::unavailable(text.clone()))));
                }
            }
        }
        let newer = taken.into_iter().map(|at| (at, Error::NewerVersion("a count".into())));
        faults.into_iter().chain(newer).collect()
    }

    /// Sends one command. Returns its statements, and those that failed.
    async fn send_once(&self, sums: Vec<Bson>) -> Result<(Vec<Bson>, Vec<FailedWrite>), Error> {
        let field = if self.command == INSERT { "documents" } else { "updates" };
        let mut command = doc! {
            self.command: self.name,
            field: sums,
            "ordered": false,
            "writeConcern": self.collection.concern().document(),
            "maxTimeMS": millis(LIMIT),
        };
        let raw = encode(&command)?;
        let since = Instant::now();
        let collection = self.collection.clone();
        let call = async move { collection.sessions().run(collection.database(), raw).await };
        // `maxTimeMS` doesn't include the time that a command waits before the server starts it.
        let reply =
            send_within(LIMIT + Duration::from_secs(1), self.name, self.command, call).await;
        let reply = reply.and_then(|reply| match reply.get_document("writeConcernError") {
            Ok(error) => Err(Error::unavailable(error.to_string())),
            Err(_none) => Ok(reply),
        });
        record_batched(&self.sent, since, reply.as_ref().err());
        let sums = match command.remove(field) {
            Some(Bson::Array(sums)) => sums,
            _ => Vec::new(),
        };
        Ok((sums, failed_writes(&reply?)?))
    }
}
