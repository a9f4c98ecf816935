//! The change hub: one change stream per collection and gateway, any number of subscribers.
//!
//! The hub reports *which* document changed and how often; subscribers read the document again. Changes are
//! counted and not queued: a slow subscriber misses only intermediate states, and receives their number.

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
struct Counters {
    /// Number of changes.
    changes: u64,
    /// Number of times that changes may have been missed.
    resets: u64,
}

/// The documents of one collection that have subscribers, by `_id`.
type Watched = HashMap<String, watch::Sender<Counters>>;

/// The open change streams. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    database: Database,
    streams: Arc<Mutex<HashMap<&'static str, Watched>>>,
    metrics: Streams,
}

/// A subscription to the changes of one document. Dropping it ends the subscription.
pub struct Changes {
    hub: Hub,
    collection: &'static str,
    id: String,
    receiver: watch::Receiver<Counters>,
    /// The counters that the subscriber saw last.
    seen: Counters,
}

/// The changes of a document since the subscriber's last call of [`Changes::take`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NewChanges {
    /// Number of changes.
    pub count: u64,
    /// Whether more changes may have been missed, because the stream was interrupted and couldn't be resumed.
    pub is_reset: bool,
}

impl Changes {
    /// Waits until the document has changed, or may have. Returns `false` if the subscription has ended.
    pub async fn changed(&mut self) -> bool {
        self.receiver.changed().await.is_ok()
    }

    /// Returns the changes since the last call. Later changes still end the wait of [`Self::changed`].
    pub fn take(&mut self) -> NewChanges {
        let now = *self.receiver.borrow();
        let seen = mem::replace(&mut self.seen, now);
        NewChanges { count: now.changes - seen.changes, is_reset: now.resets != seen.resets }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        let mut streams = self.hub.streams();
        if let Some(watched) = streams.get_mut(self.collection)
            && let Some(sender) = watched.get(&self.id)
            && sender.receiver_count() == 1
        {
            watched.remove(&self.id);
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
        let count = |watched: &Watched| watched.values().map(watch::Sender::receiver_count).sum();
        self.streams().iter().map(|(name, watched)| (*name, count(watched))).collect()
    }

    /// Subscribes to one document. The first subscription of a collection opens its stream, which is closed
    /// soon after the last one has ended.
    pub fn watch(&self, collection: &'static str, id: impl Into<String>) -> Changes {
        let id = id.into();
        let mut streams = self.streams();
        let watched = streams.entry(collection).or_insert_with(|| {
            tokio::spawn(self.clone().follow(collection));
            Watched::new()
        });
        let sender = watched.entry(id.clone()).or_default();
        let receiver = sender.subscribe();
        let seen = *receiver.borrow();
        Changes { hub: self.clone(), collection, id, receiver, seen }
    }

    /// Reads the change stream while there are subscribers.
    async fn follow(self, collection: &'static str) {
        let mut token = None;
        let mut is_reopened = false;
        while !self.remove_unused(collection) {
            match self.open(collection, token.clone()).await {
                Ok(mut stream) => {
                    if token.is_none() {
                        self.notify_all(collection, is_reopened);
                    }
                    if self.read(collection, &mut stream, &mut token).await {
                        return;
                    }
                }
                Err(error) => reset_if_lost(collection, &error, &mut token),
            }
            self.metrics.restarted(collection);
            is_reopened = true;
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn open(
        &self,
        collection: &'static str,
        token: Option<ResumeToken>,
    ) -> mongodb::error::Result<Stream> {
        // Only the key is needed, because subscribers read the document themselves.
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
                        self.notify(collection, id);
                    }
                }
                Err(error) => {
                    reset_if_lost(collection, &error, token);
                    return false;
                }
            }
            *token = stream.resume_token();
            if self.remove_unused(collection) {
                return true;
            }
        }
        // The collection was dropped or renamed, which ends the stream and makes its position useless.
        *token = None;
        false
    }

    fn notify(&self, collection: &'static str, id: &str) {
        if let Some(sender) = self.streams().get(collection).and_then(|watched| watched.get(id)) {
            sender.send_modify(|counters| counters.changes += 1);
        }
    }

    /// Wakes all subscribers: changes before the stream was opened were missed. This is a reset, unless the
    /// stream was opened directly after the first subscription.
    fn notify_all(&self, collection: &'static str, is_reset: bool) {
        for sender in self.streams().get(collection).into_iter().flat_map(Watched::values) {
            sender.send_modify(|counters| counters.resets += u64::from(is_reset));
        }
    }

    /// Removes the stream if it has no subscribers, and returns whether it did. This uses the same lock as
    /// [`Self::watch`], so that no subscriber joins a stream that ends.
    fn remove_unused(&self, collection: &'static str) -> bool {
        let mut streams = self.streams();
        let is_unused = streams.get(collection).is_none_or(Watched::is_empty);
        if is_unused {
            streams.remove(collection);
        }
        is_unused
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<&'static str, Watched>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Stream = ChangeStream<ChangeStreamEvent<Document>>;

/// Logs the error, and discards the position if the stream can't be resumed there.
fn reset_if_lost(
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
