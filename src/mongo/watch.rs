//! The change hub: one change stream per collection and gateway, any number of subscribers.
//!
//! It tells *which* document changed; subscribers read it again. A subscriber that falls behind
//! therefore misses no state, only intermediate ones.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::StreamExt;
use mongodb::{
    Database,
    bson::{Bson, Document, doc},
    options::ReadConcern,
};
use tokio::sync::broadcast;

/// Ids that wait for a slow subscriber before it is told to look at everything again.
const QUEUE: usize = 1_024;

/// What a subscriber hears.
#[derive(Debug, Clone, PartialEq)]
enum Change {
    /// This document changed.
    Document(Bson),
    /// The stream was interrupted: anything may have changed.
    Reset,
}

/// The streams that are open.
#[derive(Clone)]
pub struct Hub {
    database: Database,
    streams: Arc<Mutex<HashMap<&'static str, broadcast::Sender<Change>>>>,
}

/// A subscription to the changes of one document.
pub struct Changes {
    receiver: broadcast::Receiver<Change>,
    id: Bson,
}

impl Changes {
    /// Waits until the document has (or may have) changed; `false` when the gateway shuts down.
    pub async fn changed(&mut self) -> bool {
        loop {
            match self.receiver.recv().await {
                Ok(Change::Document(id)) if id != self.id => {}
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return true,
                Err(broadcast::error::RecvError::Closed) => return false,
            }
        }
    }
}

impl Hub {
    /// A hub over the collections of `database`.
    pub fn new(database: Database) -> Self {
        Self { database, streams: Arc::default() }
    }

    /// Listens to one document. The first subscriber of a collection opens its stream, the last
    /// one to leave closes it.
    pub fn watch(&self, collection: &'static str, id: impl Into<Bson>) -> Changes {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let receiver = if let Some(sender) = streams.get(collection) {
            sender.subscribe()
        } else {
            let (sender, receiver) = broadcast::channel(QUEUE);
            streams.insert(collection, sender.clone());
            tokio::spawn(self.clone().follow(collection, sender));
            receiver
        };
        Changes { receiver, id: id.into() }
    }

    /// Reads the change stream for as long as anyone listens.
    async fn follow(self, collection: &'static str, sender: broadcast::Sender<Change>) {
        let mut token = None;
        loop {
            // Only the key is needed; the subscribers' own read decides what they may see.
            let only_keys = doc! { "$project": { "operationType": 1, "documentKey": 1 } };
            let opened = self
                .database
                .collection::<Document>(collection)
                .watch()
                .pipeline([only_keys])
                .resume_after(token.clone())
                .read_concern(ReadConcern::majority())
                .await;
            match opened {
                Ok(mut stream) => {
                    if token.is_none() {
                        // What changed before the stream was there went unseen.
                        self.tell(&sender, Change::Reset);
                    }
                    loop {
                        tokio::select! {
                            next = stream.next() => match next {
                                Some(Ok(event)) => {
                                    token = stream.resume_token();
                                    if let Some(id) = event.document_key.as_ref().and_then(|key| key.get("_id")) {
                                        self.tell(&sender, Change::Document(id.clone()));
                                    }
                                }
                                Some(Err(error)) => {
                                    tracing::warn!(collection, %error, "the change stream broke");
                                    break;
                                }
                                None => break,
                            },
                            () = tokio::time::sleep(IDLE) => {}
                        }
                        if self.leave_if_unheard(collection, &sender) {
                            return;
                        }
                    }
                }
                Err(error) => {
                    tracing::warn!(collection, %error, "the change stream can't be opened");
                    // The token may be the reason (its place in the oplog is gone): begin anew.
                    token = None;
                    tokio::time::sleep(RETRY).await;
                }
            }
            if self.leave_if_unheard(collection, &sender) {
                return;
            }
        }
    }

    #[expect(clippy::unused_self, reason = "reads as the hub's act beside its siblings")]
    fn tell(&self, sender: &broadcast::Sender<Change>, change: Change) {
        // No receiver at this moment is fine: the stream is left at the next look.
        if sender.send(change).is_err() {
            tracing::trace!("nobody listens");
        }
    }

    /// Under the same lock as [`Self::watch`], so that no subscriber joins a stream that ends.
    fn leave_if_unheard(
        &self,
        collection: &'static str,
        sender: &broadcast::Sender<Change>,
    ) -> bool {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let unheard = sender.receiver_count() == 0;
        if unheard {
            streams.remove(collection);
        }
        unheard
    }
}

/// How often a quiet stream looks whether anyone still listens.
const IDLE: Duration = Duration::from_secs(5);
/// Pause before a stream that couldn't be opened is tried again.
const RETRY: Duration = Duration::from_secs(1);
