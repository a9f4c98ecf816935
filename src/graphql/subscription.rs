//! Subscriptions to one document: its current state first, then each new state after a change.

use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::{Context, Response, Result, value};
use futures_util::Stream;

use super::app;
use crate::{error::Error, mongo::watch::NewChanges};

/// The changes that a subscriber missed before a response. It is part of the request's data: [`follow`] writes
/// it, and the sender of the response reads it.
#[derive(Debug, Default)]
pub struct MissedChanges(Mutex<NewChanges>);

impl MissedChanges {
    fn set(&self, changes: NewChanges) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = changes;
    }

    /// Adds them to the response's `extensions.docgate`: `missed` is the number of skipped changes of the
    /// document; `reset` means that any number of changes may have been missed. Changes that arrived at the
    /// same time have one response, and some of them may not affect the visible part of the document.
    pub fn add_to(&self, response: &mut Response) {
        let mut changes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let NewChanges { count, is_reset } = std::mem::take(&mut *changes);
        let extension = match (is_reset, count) {
            (true, _) => value!({ "reset": true }),
            (false, 0 | 1) => return,
            (false, count) => value!({ "missed": (count - 1) }),
        };
        response.extensions.insert("docgate".to_owned(), extension);
    }
}

/// Follows the document `id` of `collection`, which is read now and after each change. A response is sent if the
/// `visible` part of the document differs from the previous one, or if changes may have been lost. If `read`
/// returns `None`, the stream ends: the document was deleted or isn't visible to the caller any more.
///
/// The document isn't read again before the previous response was taken. A slow subscriber therefore gets the
/// newest state and the number of changes that it missed.
pub fn follow<T, K, Read, Reading, Visible>(
    context: &Context<'_>,
    collection: &'static str,
    id: String,
    read: Read,
    visible: Visible,
) -> impl Stream<Item = Result<T>> + use<T, K, Read, Reading, Visible>
where
    T: Send,
    K: PartialEq + Send,
    Read: Fn() -> Reading + Send,
    Reading: Future<Output = Result<Option<T>, Error>> + Send,
    Visible: Fn(&T) -> K + Send,
{
    let missed = context.data_opt::<Arc<MissedChanges>>().cloned().unwrap_or_default();
    let mut changes = app(context).hub().watch(collection, id);
    async_stream::stream! {
        let mut sent = None;
        loop {
            let read = read().await;
            let new = changes.take();
            match read {
                Ok(Some(thing)) => {
                    let now = Some(visible(&thing));
                    if now != sent || new.is_reset {
                        if sent.is_some() {
                            missed.set(new);
                        }
                        sent = now;
                        yield Ok(thing);
                    }
                }
                Ok(None) => return,
                Err(error) => {
                    yield Err(error.into());
                    return;
                }
            }
            if !changes.changed().await {
                return;
            }
        }
    }
}
