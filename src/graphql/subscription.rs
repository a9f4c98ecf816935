//! Subscriptions to one document: its current state first, then each new state after a change.

use std::{
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use async_graphql::{Context, ID, Response, Result, value};
use futures_util::Stream;

use super::{
    cx::{Cx, cx},
    input,
    node_id::NodeKind,
    refusals::NotFound,
};
use crate::{
    error::Error,
    locks::lock,
    mongo::{Stored, watch::NewChanges},
};

/// What the sender of a subscription's responses has to know. It is part of the request's data: the subscription
/// writes it, and the sender reads it.
#[derive(Debug, Default)]
pub struct Progress {
    /// The changes that the subscriber missed before the next response.
    missed: Mutex<NewChanges>,
    /// Whether the subscription has waited for an event since the last call of [`Self::has_waited`].
    has_waited: AtomicBool,
}

impl Progress {
    /// That of the request.
    pub fn of(context: &Context<'_>) -> Arc<Self> {
        context.data_opt::<Arc<Self>>().cloned().unwrap_or_default()
    }

    /// Notes that the subscription has been accepted and waits for an event. From then on the documents that it has read before
    /// aren't counted any more, so each subscription that reads has to call this.
    pub fn wait(&self) {
        self.has_waited.store(true, Ordering::Relaxed);
    }

    /// Whether the subscription has waited for an event since the last call.
    pub fn has_waited(&self) -> bool {
        self.has_waited.swap(false, Ordering::Relaxed)
    }

    fn set_missed(&self, changes: NewChanges) {
        *lock(&self.missed) = changes;
    }

    /// Adds the missed changes to the response's `extensions.docgate`: `missed` is the number of skipped changes of the
    /// document; `reset` means that any number of changes may have been missed. Changes that arrived at the
    /// same time have one response, and some of them may not affect the visible part of the document.
    pub fn add_missed_to(&self, response: &mut Response) {
        let mut changes = lock(&self.missed);
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

/// The error of a subscription to a document that doesn't exist, can't exist with this id, or isn't visible to the caller.
pub fn nothing(what: &'static str, id: &str) -> Error {
    Error::NotFound(NotFound::given(what, id).message)
}

/// Follows the document with this global id; see [`follow`]. An id that no document of this kind can have is answered as
/// one of a document that doesn't exist.
pub fn follow_node<D, T, K>(
    context: &Context<'_>,
    kind: NodeKind,
    id: ID,
    visible: fn(&T) -> K,
    read: Read<D>,
) -> impl Stream<Item = Result<T>> + use<D, T, K>
where
    D: Stored,
    T: From<D> + Send,
    K: PartialEq + Send,
{
    // No document has an empty `_id`.
    let key = input::id(kind, &id).unwrap_or_default();
    follow(context, kind.name(), (D::COLLECTION, key), id, visible, read)
}

/// Follows the document with this `_id` of a collection of the group `core`, which is read now and after each change. A response is
/// sent if the `visible` part of the document differs from the previous one, or if changes may have been lost. If
/// `read` returns `None`, the stream ends. If the first read does, the only response is the error [`nothing`], which names
/// `what` and the `id`.
///
/// The document isn't read again before the previous response was taken. A slow subscriber therefore gets the
/// newest state and the number of changes that it missed.
pub fn follow<D, T, K>(
    context: &Context<'_>,
    what: &'static str,
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
    let progress = Progress::of(context);
    let Cx { app, requester } = cx(context);
    let (app, requester) = (app.clone(), requester.clone());
    let mut changes = app.hub().watch_core(collection, key);
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
                            progress.set_missed(new);
                        }
                        sent = now;
                        yield Ok(thing);
                    }
                }
                Ok(None) => {
                    if sent.is_none() {
                        yield Err(nothing(what, &id).into());
                    }
                    return;
                }
                Err(error) => {
                    yield Err(error.into());
                    return;
                }
            }
            progress.wait();
            if !changes.changed().await {
                return;
            }
        }
    }
}
