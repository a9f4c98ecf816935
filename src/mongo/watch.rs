//! The change hub: one change stream per collection and gateway, any number of subscribers.
//!
//! It reports *which* document changed and how often; subscribers read the document again. Nothing is queued:
//! a subscriber that falls behind misses only intermediate states, and learns how many.

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

/// Pause before a broken stream is opened again.
const RETRY: Duration = Duration::from_secs(1);
/// The server's error codes after which a stream can't be resumed: `InvalidResumeToken`,
/// `ChangeStreamFatalError`, `ChangeStreamHistoryLost`.
/// <https://github.com/mongodb/mongo/blob/master/src/mongo/base/error_codes.yml>
const LOST: [i32; 3] = [260, 280, 286];

/// Counters of one document since its first subscription. Each subscriber keeps the values that it saw last.
#[derive(Debug, Clone, Copy, Default)]
struct News {
    /// Number of changes.
    changes: u64,
    /// Number of times that changes may have been missed.
    resets: u64,
}

/// The documents of one collection that have subscribers, by `_id`.
type Followed = HashMap<String, watch::Sender<News>>;

/// The open change streams. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    database: Database,
    streams: Arc<Mutex<HashMap<&'static str, Followed>>>,
    metrics: Streams,
}

/// A subscription to the changes of one document. Dropping it ends the subscription.
pub struct Changes {
    hub: Hub,
    collection: &'static str,
    id: String,
    receiver: watch::Receiver<News>,
    known: News,
}

/// The changes of a document since the subscriber's last call of [`Changes::heard`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Heard {
    /// Number of changes.
    pub changes: u64,
    /// Whether more changes may have been missed, because the stream was interrupted and couldn't be resumed.
    pub is_reset: bool,
}

impl Changes {
    /// Waits until the document has changed, or may have. Returns `false` if that can't be told any more.
    pub async fn changed(&mut self) -> bool {
        self.receiver.changed().await.is_ok()
    }

    /// Returns the changes since the last call. Later changes still end the wait of [`Self::changed`].
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

    /// Number of subscribers by collection.
    pub fn subscribers(&self) -> Vec<(&'static str, usize)> {
        let count =
            |followed: &Followed| followed.values().map(watch::Sender::receiver_count).sum();
        self.streams().iter().map(|(name, followed)| (*name, count(followed))).collect()
    }

    /// Subscribes to one document. The first subscription of a collection opens its stream, which is closed
    /// soon after the last one has ended.
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

    /// Reads the change stream while there are subscribers.
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

    /// Reads until there are no subscribers (`true`) or the stream breaks (`false`). `token` is the position
    /// at which to resume. A read in flight is never dropped: an empty reply comes after a second.
    async fn read(
        &self,
        collection: &'static str,
        stream: &mut Stream,
        token: &mut Option<ResumeToken>,
    ) -> bool {
        // There is a position to resume from even before the first event.
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
        // The collection was dropped or renamed, which ends the stream and makes its position useless.
        *token = None;
        false
    }

    fn tell(&self, collection: &'static str, id: &str) {
        if let Some(sender) = self.streams().get(collection).and_then(|followed| followed.get(id)) {
            sender.send_modify(|news| news.changes += 1);
        }
    }

    /// Wakes all subscribers: changes before the stream was opened were missed. This is a reset, unless the
    /// stream was opened directly after the first subscription.
    fn tell_all(&self, collection: &'static str, is_reset: bool) {
        for sender in self.streams().get(collection).into_iter().flat_map(Followed::values) {
            sender.send_modify(|news| news.resets += u64::from(is_reset));
        }
    }

    /// Removes a stream without subscribers. This uses the same lock as [`Self::watch`], so that nobody
    /// subscribes to a stream that ends.
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

/// Logs the error, and forgets the position if the stream can't be resumed there.
fn forget_if_lost(
    collection: &'static str,
    error: &mongodb::error::Error,
    token: &mut Option<ResumeToken>,
) {
    tracing::warn!(
        event = "change_stream_failed",
        collection,
        %error,
        "change stream failed; it is opened again"
    );
    let is_lost = match error.kind.as_ref() {
        ErrorKind::Command(command) => LOST.contains(&command.code),
        _ => error.contains_label("NonResumableChangeStreamError"),
    };
    if is_lost {
        *token = None;
    }
}
