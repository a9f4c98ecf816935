//! Reads by key, gathered over all requests in flight.
//!
//! The keys that are asked for while the earlier commands are on their way go out together in the
//! next one, as one `$in`. There is no timer: as long as fewer than [`LANES`] commands are on their
//! way a key goes out at once. A key never joins a command that was already sent, so that an answer is
//! never older than its question; nothing is kept beyond that.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use futures_util::{FutureExt, TryStreamExt};
use mongodb::{
    Database,
    bson::{Document, RawDocumentBuf, doc},
    options::ReadConcern,
};
use tokio::{sync::oneshot, time::timeout};

use super::{
    driver::{List, PATIENCE, Raw},
    observe,
};
use crate::error::Error;

/// Commands of one reader that may be on their way. With one, each read waits for the end of the
/// one before; with many, batches are small and each costs the driver as much as a large one.
const LANES: usize = 2;
/// Keys of one command.
const BATCH: usize = 512;
/// Keys that may wait; whoever comes then is told to come again.
const QUEUE: usize = 65_536;

/// What is read, and how: reads that agree in it share their commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Lookup {
    pub(super) collection: &'static str,
    /// The field that is unique and holds a string.
    pub(super) key: &'static str,
    /// Only these fields; all where none is named. The key itself must be among them.
    pub(super) fields: &'static [&'static str],
    /// Whether only what a majority holds.
    pub(super) settled: bool,
}

impl Lookup {
    fn projection(&self) -> Option<Document> {
        let fields = self.fields.iter().map(|field| ((*field).to_owned(), 1.into()));
        (!self.fields.is_empty()).then(|| fields.collect())
    }
}

/// A stored document, or `None` where no document has that key.
type Found = Option<Arc<RawDocumentBuf>>;
type Answer = Result<Found, mongodb::error::Error>;

/// One read that waits for its command.
struct Waiting {
    value: String,
    answer: oneshot::Sender<Answer>,
}

/// All reads by key of one database.
pub struct Readers {
    database: Database,
    readers: Mutex<HashMap<Lookup, Arc<Reader>>>,
    #[cfg(feature = "bench")]
    memory: std::sync::OnceLock<(&'static str, HashMap<String, Arc<RawDocumentBuf>>)>,
}

impl fmt::Debug for Readers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Readers").finish_non_exhaustive()
    }
}

impl Readers {
    /// Those of `database`.
    pub fn new(database: Database) -> Self {
        Self {
            database,
            readers: Mutex::default(),
            #[cfg(feature = "bench")]
            memory: std::sync::OnceLock::new(),
        }
    }

    /// From now on answers what the collection holds now without asking MongoDB.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    #[cfg(feature = "bench")]
    pub async fn answer_from_memory(&self, name: &'static str) -> Result<(), Error> {
        let collection = self.database.collection::<RawDocumentBuf>(name);
        let found: Vec<_> = collection.find(doc! {}).await?.try_collect().await?;
        let key = |found: &RawDocumentBuf| found.get_str("_id").unwrap_or_default().to_owned();
        let all = found.into_iter().map(|found| (key(&found), Arc::new(found))).collect();
        self.memory.set((name, all)).map_err(|_| Error::internal("one collection is enough"))
    }

    /// The document whose key has that value.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub(super) async fn read(&self, lookup: Lookup, value: &str) -> Result<Found, Error> {
        #[cfg(feature = "bench")]
        if let Some((_, memory)) = self.memory.get().filter(|(of, _)| *of == lookup.collection) {
            return Ok(memory.get(value).cloned());
        }
        let since = Instant::now();
        let answer = timeout(PATIENCE, self.reader(lookup).ask(value)?).await;
        observe::note(lookup.collection, "find", since);
        observe::note_read(observe::wanted(|| {
            let (filter, projection) = (doc! { lookup.key: value }, lookup.projection());
            List { filter, projection, limit: 1, ..List::default() }.command(lookup.collection)
        }));
        match answer {
            Ok(Ok(answer)) => Ok(answer?),
            Ok(Err(_dropped)) => Err(Error::internal("a batch of reads ended without an answer")),
            Err(elapsed) => Err(Error::unavailable(elapsed)),
        }
    }

    fn reader(&self, lookup: Lookup) -> Arc<Reader> {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let reader = readers.entry(lookup).or_insert_with(|| {
            let collection = self.database.collection(lookup.collection);
            Arc::new(Reader { lookup, collection, queue: Mutex::default() })
        });
        Arc::clone(reader)
    }
}

/// The reads that share their commands.
struct Reader {
    lookup: Lookup,
    collection: Raw,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    /// Lanes that are open; each has one command on its way.
    lanes: usize,
}

impl Reader {
    /// Queues one key, and opens a lane for it if there may be another.
    fn ask(self: Arc<Self>, value: &str) -> Result<oneshot::Receiver<Answer>, Error> {
        let (answer, receiver) = oneshot::channel();
        let mut queue = self.queue();
        if queue.waiting.len() >= QUEUE {
            return Err(Error::unavailable("too many reads wait"));
        }
        queue.waiting.push_back(Waiting { value: value.to_owned(), answer });
        if queue.lanes < LANES {
            queue.lanes += 1;
            drop(queue);
            tokio::spawn(self.lane());
        }
        Ok(receiver)
    }

    /// Sends one command after the other until nothing waits.
    async fn lane(self: Arc<Self>) {
        while let Some(batch) = self.next() {
            // A panic must not take the lane along; who waited in it hears that nothing came.
            let _panicked = AssertUnwindSafe(self.answer(batch)).catch_unwind().await;
        }
    }

    /// What goes out next; closes the lane where nothing waits.
    fn next(&self) -> Option<Vec<Waiting>> {
        let mut queue = self.queue();
        let count = queue.waiting.len().min(BATCH);
        if count == 0 {
            queue.lanes -= 1;
            return None;
        }
        Some(queue.waiting.drain(..count).collect())
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, batch: Vec<Waiting>) {
        let mut waiting: HashMap<String, Vec<oneshot::Sender<Answer>>> = HashMap::new();
        for Waiting { value, answer } in batch {
            // Who has stopped waiting isn't asked for.
            if !answer.is_closed() {
                waiting.entry(value).or_default().push(answer);
            }
        }
        if waiting.is_empty() {
            return;
        }
        let fetched = self.fetch(&mut waiting).await;
        for answer in waiting.into_values().flatten() {
            // Keys that no document was found for, or all that are left after a failure. Who has
            // stopped waiting doesn't hear it.
            let _gone = answer.send(fetched.clone().map(|()| None));
        }
    }

    /// Hands out what is found.
    async fn fetch(
        &self,
        waiting: &mut HashMap<String, Vec<oneshot::Sender<Answer>>>,
    ) -> mongodb::error::Result<()> {
        let count = waiting.len();
        let mut values = waiting.keys();
        let filter = if let (Some(value), None) = (values.next(), values.next()) {
            doc! { self.lookup.key: value } // for which the server has a shorter way
        } else {
            doc! { self.lookup.key: { "$in": waiting.keys().collect::<Vec<_>>() } }
        };
        let concern =
            if self.lookup.settled { ReadConcern::majority() } else { ReadConcern::local() };
        let mut find = self.collection.find(filter).read_concern(concern);
        if let Some(fields) = self.lookup.projection() {
            find = find.projection(fields);
        }
        // One more than can be found: the server then closes the cursor with its first batch.
        if let Ok(size) = u32::try_from(count + 1) {
            find = find.batch_size(size);
        }
        let mut batches = find.batch().await?;
        while let Some(batch) = batches.try_next().await? {
            for document in batch.doc_slices()? {
                let document = document?.as_document().ok_or_else(|| odd("an element"))?;
                let value = document.get_str(self.lookup.key).map_err(|_fault| odd("a key"))?;
                let Some(answers) = waiting.remove(value) else { continue };
                let document = Arc::new(document.to_owned());
                for answer in answers {
                    let _gone = answer.send(Ok(Some(Arc::clone(&document))));
                }
            }
        }
        Ok(())
    }
}

/// What the server can't answer.
fn odd(what: &'static str) -> mongodb::error::Error {
    mongodb::error::Error::custom(what)
}
