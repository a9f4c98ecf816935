//! The change hub: one change stream per collection and gateway, any number of subscribers.
//!
//! The hub reports *which* document changed and how often; subscribers read the document again. Changes are
//! counted and not queued: a slow subscriber misses only intermediate states, and receives their number.
//!
//! Subscribers of a *topic* are told of all documents of which a field gets a certain value, by an insert or by an
//! update. Each such field of a collection has a stream of its own.

use std::{
    borrow::Cow,
    collections::HashMap,
    mem,
    sync::{Arc, Mutex},
    time::Duration,
};

use mongodb::{
    bson::{Bson, Document, doc},
    change_stream::{
        ChangeStream,
        event::{ChangeStreamEvent, ResumeToken},
    },
    error::ErrorKind,
    options::ReadConcern,
};
use tokio::sync::watch;

use super::{
    Stored,
    placement::{Group, Placement},
};
use crate::{locks::lock, metrics::database::Streams};

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

/// The documents or topics of one stream that have subscribers, by `_id` or value.
#[derive(Debug, Default)]
struct Watched(HashMap<String, Watch>);

/// A document or topic that has subscribers.
#[derive(Debug, Default)]
struct Watch {
    sender: watch::Sender<Counters>,
    /// Number of subscribers. The sender's number of receivers isn't enough: two subscribers that end at the same moment
    /// would see each other's receiver.
    subscribers: usize,
}

impl Watched {
    /// Adds a subscriber.
    fn join(&mut self, id: &str) -> watch::Receiver<Counters> {
        let watch = self.0.entry(id.to_owned()).or_default();
        watch.subscribers += 1;
        watch.sender.subscribe()
    }

    /// Removes a subscriber.
    fn leave(&mut self, id: &str) {
        let Some(watch) = self.0.get_mut(id) else { return };
        watch.subscribers -= 1;
        if watch.subscribers == 0 {
            self.0.remove(id);
        }
    }
}

/// What a stream tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Source {
    group: Group,
    collection: &'static str,
    /// The field of topics, or `None` if the stream tells of documents.
    field: Option<&'static str>,
}

/// The open change streams. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    placement: Placement,
    streams: Arc<Mutex<HashMap<Source, Watched>>>,
    metrics: Streams,
}

/// A subscription to the changes of one document or topic. Dropping it ends the subscription.
pub struct Changes {
    hub: Hub,
    source: Source,
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
        if let Some(watched) = lock(&self.hub.streams).get_mut(&self.source) {
            watched.leave(&self.id);
        }
    }
}

impl Hub {
    /// A hub over the collections of `placement`.
    pub fn new(placement: Placement, metrics: Streams) -> Self {
        Self { placement, streams: Arc::default(), metrics }
    }

    /// Number of subscribers by collection.
    pub fn subscribers(&self) -> Vec<(&'static str, usize)> {
        let count =
            |watched: &Watched| watched.0.values().map(|watch| watch.subscribers).sum::<usize>();
        let mut all = HashMap::new();
        for (source, watched) in lock(&self.streams).iter() {
            *all.entry(source.collection).or_default() += count(watched);
        }
        all.into_iter().collect()
    }

    /// Subscribes to one document. The first subscription of a collection opens its stream, which is closed
    /// soon after the last one has ended. `id` is the document's `_id`, or its [`key_of`] if that isn't a string.
    pub fn watch<T: Stored>(&self, id: impl Into<String>) -> Changes {
        self.subscribe(Source::of::<T>(None), id.into())
    }

    /// Like [`Self::watch`], for a collection of the group `core` by its name.
    pub fn watch_core(&self, collection: &'static str, id: impl Into<String>) -> Changes {
        self.subscribe(Source { group: Group::Core, collection, field: None }, id.into())
    }

    /// Subscribes to a topic: documents of the collection of which `field` gets this value. The field may be a part of
    /// another one, which is then set as a whole.
    pub fn watch_topic<T: Stored>(&self, field: &'static str, value: impl Into<String>) -> Changes {
        self.subscribe(Source::of::<T>(Some(field)), value.into())
    }

    fn subscribe(&self, source: Source, id: String) -> Changes {
        let mut streams = lock(&self.streams);
        let watched = streams.entry(source).or_insert_with(|| {
            tokio::spawn(self.clone().follow(source));
            Watched::default()
        });
        let receiver = watched.join(&id);
        let seen = *receiver.borrow();
        Changes { hub: self.clone(), source, id, receiver, seen }
    }

    /// Reads the change stream while there are subscribers.
    async fn follow(self, source: Source) {
        let mut token = None;
        let mut is_reopened = false;
        while !self.remove_unused(source) {
            match self.open(source, token.clone()).await {
                Ok(mut stream) => {
                    if token.is_none() {
                        self.notify_all(source, is_reopened);
                    }
                    if self.read(source, &mut stream, &mut token).await {
                        return;
                    }
                }
                Err(error) => reset_if_lost(source.collection, &error, &mut token),
            }
            self.metrics.restarted(source.collection);
            is_reopened = true;
            tokio::time::sleep(RETRY).await;
        }
    }

    async fn open(
        &self,
        source: Source,
        token: Option<ResumeToken>,
    ) -> mongodb::error::Result<Stream> {
        let database = self.placement.database(source.group);
        let collection = database.collection::<Document>(source.collection);
        let watch = collection.watch();
        watch
            .pipeline(source.pipeline())
            .resume_after(token)
            .read_concern(ReadConcern::majority())
            .await
    }

    /// Reads until there are no subscribers (`true`) or the stream breaks (`false`). `token` is the position
    /// at which to resume. A read in flight is never dropped: an empty reply comes after a second.
    async fn read(
        &self,
        source: Source,
        stream: &mut Stream,
        token: &mut Option<ResumeToken>,
    ) -> bool {
        // There is a position to resume from even before the first event.
        *token = stream.resume_token();
        while stream.is_alive() {
            match stream.next_if_any().await {
                Ok(event) => {
                    if let Some(id) = event.as_ref().and_then(|event| source.key(event)) {
                        self.notify(source, &id);
                    }
                }
                Err(error) => {
                    reset_if_lost(source.collection, &error, token);
                    return false;
                }
            }
            *token = stream.resume_token();
            if self.remove_unused(source) {
                return true;
            }
        }
        // The collection was dropped or renamed, which ends the stream and makes its position useless.
        *token = None;
        false
    }

    fn notify(&self, source: Source, id: &str) {
        if let Some(watch) = lock(&self.streams).get(&source).and_then(|watched| watched.0.get(id))
        {
            watch.sender.send_modify(|counters| counters.changes += 1);
        }
    }

    /// Wakes all subscribers: changes before the stream was opened were missed. This is a reset, unless the
    /// stream was opened directly after the first subscription.
    fn notify_all(&self, source: Source, is_reset: bool) {
        for watch in
            lock(&self.streams).get(&source).into_iter().flat_map(|watched| watched.0.values())
        {
            watch.sender.send_modify(|counters| counters.resets += u64::from(is_reset));
        }
    }

    /// Removes the stream if it has no subscribers, and returns whether it did. This uses the same lock as
    /// [`Self::watch`], so that no subscriber joins a stream that ends.
    fn remove_unused(&self, source: Source) -> bool {
        let mut streams = lock(&self.streams);
        let is_unused = streams.get(&source).is_none_or(|watched| watched.0.is_empty());
        if is_unused {
            streams.remove(&source);
        }
        is_unused
    }
}

impl Source {
    fn of<T: Stored>(field: Option<&'static str>) -> Self {
        Self { group: T::GROUP, collection: T::COLLECTION, field }
    }

    /// The stages of the stream. Only the key is needed, because subscribers read documents themselves.
    fn pipeline(self) -> Vec<Document> {
        let Some(field) = self.field else {
            return vec![doc! { "$project": { "operationType": 1, "documentKey": 1 } }];
        };
        let inserted = format!("fullDocument.{field}");
        let updated = format!("updateDescription.updatedFields.{field}");
        let has = |field: &str| doc! { field: { "$exists": true } };
        let value = doc! { "$ifNull": [format!("${inserted}"), format!("${updated}")] };
        vec![
            doc! { "$match": { "$or": [has(&inserted), has(&updated)] } },
            doc! { "$project": { "operationType": 1, "fullDocument": { TOPIC: value } } },
        ]
    }

    /// The `_id` or topic of an event.
    fn key(self, event: &ChangeStreamEvent<Document>) -> Option<Cow<'_, str>> {
        match self.field {
            None => event.document_key.as_ref()?.get("_id").map(key_of),
            Some(_) => event.full_document.as_ref()?.get_str(TOPIC).ok().map(Cow::Borrowed),
        }
    }
}

/// The text by which the document with this `_id` is watched: the `_id` itself if it is a string. An `_id` that is a
/// document is written as JSON, with its fields in their order.
pub fn key_of(id: &Bson) -> Cow<'_, str> {
    match id {
        Bson::String(id) => Cow::Borrowed(id),
        id => Cow::Owned(id.to_string()),
    }
}

/// The field of an event that holds its topic.
const TOPIC: &str = "topic";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_watched_until_its_last_subscriber_has_left() {
        let mut watched = Watched::default();
        let both = [watched.join("a"), watched.join("a")];
        let _other = watched.join("b");
        watched.leave("a");
        assert!(watched.0.contains_key("a"));
        // Both leave before either receiver is dropped.
        watched.leave("a");
        assert!(!watched.0.contains_key("a") && watched.0.contains_key("b"));
        drop(both);
        watched.leave("b");
        assert!(watched.0.is_empty());
    }
}
