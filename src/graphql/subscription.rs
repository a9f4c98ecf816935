//! Subscriptions to one document: its current state first, then each new state after a change.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
};

use async_graphql::{Context, ID, Response, Result, value};
use futures_util::Stream;

use super::cx::{Cx, cx};
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

/// The operation that reads a followed document by the id that the subscriber gave. `None` means that the document
/// was deleted or isn't visible to the caller.
pub type Read<D> =
    for<'a> fn(
        Cx<'a>,
        &'a ID,
    ) -> Pin<Box<dyn Future<Output = Result<Option<D>, Error>> + Send + 'a>>;

/// Follows the document with this `_id` of the collection, which is read now and after each change. A response is
/// sent if the `visible` part of the document differs from the previous one, or if changes may have been lost. If
/// `read` returns `None`, the stream ends.
///
/// The document isn't read again before the previous response was taken. A slow subscriber therefore gets the
/// newest state and the number of changes that it missed.
pub fn follow<D, T, K>(
    context: &Context<'_>,
    (collection, key): (&'static str, String),
    id: ID,
    visible: fn(&T) -> K,
    read: Read<D>,
) -> impl Stream<Item = Result<T>> + use<D, T, K>
where
    D: Send,
    T: From<D> + Send,
    K: PartialEq + Send,
{
    let missed = context.data_opt::<Arc<MissedChanges>>().cloned().unwrap_or_default();
    let Cx { app, requester } = cx(context);
    let (app, requester) = (app.clone(), requester.clone());
    let mut changes = app.hub().watch(collection, key);
    async_stream::stream! {
        let mut sent = None;
        loop {
            let read = read(Cx { app: &app, requester: &requester }, &id).await;
            let new = changes.take();
            match read {
                Ok(Some(found)) => {
                    let thing = T::from(found);
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
