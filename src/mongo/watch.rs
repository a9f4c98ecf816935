//! The change hub: one change stream per collection and gateway, any number of subscribers.
//!
//! It tells *which* document changed and how often; subscribers read it again. Nothing is queued: a
//! subscriber that falls behind misses no state, only intermediate ones, and hears how many.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mongodb::{
    Database,
    bson::{Document, doc},
    change_stream::{
        ChangeStream,
        event::{ChangeStreamEvent, ResumeToken},
    },
    error::ErrorKind,
    options::ReadConcern,
};
use tokio::sync::watch;

use crate::metrics::database::Streams;

/// Pause before a stream that broke is opened again.
const RETRY: Duration = Duration::from_secs(1);
/// Server codes after which a stream can't go on where it was: `InvalidResumeToken`,
/// `ChangeStreamFatalError`, `ChangeStreamHistoryLost`.
/// <https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml>
const LOST: [i32; 3] = [260, 280, 286];

/// What happened to one document since the first of its subscribers came. Each subscriber keeps
/// what it knew last.
#[derive(Debug, Clone, Copy, Default)]
struct News {
    /// How often it changed.
    changes: u64,
    /// How often changes may have gone unseen.
    resets: u64,
}

/// The documents of one collection that somebody follows, by `_id`.
type Followed = HashMap<String, watch::Sender<News>>;

/// The streams that are open. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    database: Database,
    streams: Arc<Mutex<HashMap<&'static str, Followed>>>,
    metrics: Streams,
}

/// A subscription to the changes of one document. Dropping it ends it.
pub struct Changes {
    hub: Hub,
    collection: &'static str,
    id: String,
    receiver: watch::Receiver<News>,
    known: News,
}

/// What a subscriber hears of its document.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Heard {
    /// How often it changed since it was asked the last time.
    pub changes: u64,
    /// Whether more may have happened than could be seen: the stream was interrupted, and its place
    /// was lost.
    pub is_reset: bool,
}

impl Changes {
    /// Waits until the document has (or may have) changed; `false` when that can't be told any more.
    pub async fn changed(&mut self) -> bool {
        self.receiver.changed().await.is_ok()
    }

    /// What was heard since it was asked the last time. What comes later is waited for all the same.
    pub fn heard(&mut self) -> Heard {
        let now = *self.receiver.borrow();
        let known = mem::replace(&mut self.known, now);
        Heard { changes: now.changes - known.changes, is_reset: now.resets != known.resets }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let mut streams = self.hub.streams();
        if let Some(followed) = streams.get_mut(self.collection)
            && let Some(sender) = followed.get(&self.id)
            && sender.receiver_count() == 1
        {
            followed.remove(&self.id);
        }
    }
}

impl Hub {
    /// A hub over the collections of `database`.
    pub fn new(database: Database, metrics: Streams) -> Self {
        Self { database, streams: Arc::default(), metrics }
    }

    /// How many subscribers each collection has now.
    pub fn subscribers(&self) -> Vec<(&'static str, usize)> {
        let count =
            |followed: &Followed| followed.values().map(watch::Sender::receiver_count).sum();
        self.streams().iter().map(|(name, followed)| (*name, count(followed))).collect()
    }

    /// Listens to one document. The first subscriber of a collection opens its stream; it is closed
    /// soon after the last one has left.
    pub fn watch(&self, collection: &'static str, id: impl Into<String>) -> Changes {
        let id = id.into();
        let mut streams = self.streams();
        let followed = streams.entry(collection).or_insert_with(|| {
            tokio::spawn(self.clone().follow(collection));
            Followed::new()
        });
        let sender = followed.entry(id.clone()).or_default();
        let receiver = sender.subscribe();
        let known = *receiver.borrow();
        Changes { hub: self.clone(), collection, id, receiver, known }
    }

    /// Reads the change stream for as long as anyone listens.
    async fn follow(self, collection: &'static str) {
        let mut token = None;
        let mut is_late = false;
        while !self.is_left(collection) {
            match self.open(collection, token.clone()).await {
                Ok(mut stream) => {
                    if token.is_none() {
                        self.tell_all(collection, is_late);
                    }
                    if self.read(collection, &mut stream, &mut token).await {
                        return;
                    }
                }
                Err(error) => forget_if_lost(collection, &error, &mut token),
            }
            self.metrics.restarted(collection);
            is_late = true;
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn open(
        &self,
        collection: &'static str,
        token: Option<ResumeToken>,
    ) -> mongodb::error::Result<Stream> {
        // Only the key is needed; the subscribers' own read decides what they may see.
        let only_keys = doc! { "$project": { "operationType": 1, "documentKey": 1 } };
        let collection = self.database.collection::<Document>(collection);
        let watch = collection.watch();
        watch.pipeline([only_keys]).resume_after(token).read_concern(ReadConcern::majority()).await
    }

    /// Reads until nobody listens any more (`true`) or the stream breaks; `token` is where to go on.
    /// What is on its way is never dropped: an empty answer comes after a second.
    async fn read(
        &self,
        collection: &'static str,
        stream: &mut Stream,
        token: &mut Option<ResumeToken>,
    ) -> bool {
        // Also where nothing happened yet there is a place to go on from.
        *token = stream.resume_token();
        while stream.is_alive() {
            match stream.next_if_any().await {
                Ok(event) => {
                    let key = event.and_then(|event| event.document_key);
                    if let Some(id) = key.as_ref().and_then(|key| key.get_str("_id").ok()) {
                        self.tell(collection, id);
                    }
                }
                Err(error) => {
                    forget_if_lost(collection, &error, token);
                    return false;
                }
            }
            *token = stream.resume_token();
            if self.is_left(collection) {
                return true;
            }
        }
        // The collection was dropped or renamed: that is the end of this stream and of its place.
        *token = None;
        false
    }

    fn tell(&self, collection: &'static str, id: &str) {
        if let Some(sender) = self.streams().get(collection).and_then(|followed| followed.get(id)) {
            sender.send_modify(|news| news.changes += 1);
        }
    }

    /// Lets everyone look again: what changed before the stream was there went unseen. That is a reset,
    /// unless it was opened as soon as somebody asked.
    fn tell_all(&self, collection: &'static str, is_reset: bool) {
        for sender in self.streams().get(collection).into_iter().flat_map(Followed::values) {
            sender.send_modify(|news| news.resets += u64::from(is_reset));
        }
    }

    /// Takes a stream out that nobody listens to. Under the same lock as [`Self::watch`], so that
    /// nobody joins a stream that ends.
    fn is_left(&self, collection: &'static str) -> bool {
        let mut streams = self.streams();
        let is_left = streams.get(collection).is_none_or(Followed::is_empty);
        if is_left {
            streams.remove(collection);
        }
        is_left
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<&'static str, Followed>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Stream = ChangeStream<ChangeStreamEvent<Document>>;

/// Where the error says that a stream can't go on where it was, it begins anew.
fn forget_if_lost(
    collection: &'static str,
    error: &mongodb::error::Error,
    token: &mut Option<ResumeToken>,
) {
    tracing::warn!(collection, %error, "the change stream broke");
    let is_lost = match error.kind.as_ref() {
        ErrorKind::Command(command) => LOST.contains(&command.code),
        _ => error.contains_label("NonResumableChangeStreamError"),
    };
    if is_lost {
        *token = None;
    }
}
