//! Subscriptions to one document: its current state first, then each new state after a change.

use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::{Context, Response, Result, value};
use futures_util::Stream;

use super::app;
use crate::{error::Error, mongo::watch::Heard};

/// The changes that a subscriber missed before an answer. It is stored in the data of the request: [`follow`]
/// writes it, and the sender of the answer reads it.
#[derive(Debug, Default)]
pub struct Unseen(Mutex<Heard>);

impl Unseen {
    fn note(&self, heard: Heard) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = heard;
    }

    /// Adds it to the answer's `extensions.docgate`: `missed` is the number of changes of the document that
    /// were skipped, or `reset` says that any number may have been. One answer stands for all changes that
    /// arrived together; some of them may not concern what clients see.
    pub fn tell(&self, answer: &mut Response) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Heard { changes, is_reset } = std::mem::take(&mut *noted);
        let told = match (is_reset, changes) {
            (true, _) => value!({ "reset": true }),
            (false, 0 | 1) => return,
            (false, changes) => value!({ "missed": (changes - 1) }),
        };
        answer.extensions.insert("docgate".to_owned(), told);
    }
}

/// Follows the document `id` of `collection`. It is read now and after each change. An answer is sent if its
/// `face`, the part that clients see, differs from the previous one, or if changes may have been lost. `None`
/// ends the stream: the document was deleted or isn't visible to the caller any more.
///
/// The document isn't read again before the previous answer was taken. A slow subscriber therefore gets the
/// newest state and the number of changes that it missed.
pub fn follow<T, K, Read, Reading, Face>(
    context: &Context<'_>,
    collection: &'static str,
    id: String,
    read: Read,
    face: Face,
) -> impl Stream<Item = Result<T>> + use<T, K, Read, Reading, Face>
where
    T: Send,
    K: PartialEq + Send,
    Read: Fn() -> Reading + Send,
    Reading: Future<Output = Result<Option<T>, Error>> + Send,
    Face: Fn(&T) -> K + Send,
{
    let unseen = context.data_opt::<Arc<Unseen>>().cloned().unwrap_or_default();
    let mut changes = app(context).hub().watch(collection, id);
    async_stream::stream! {
        let mut shown = None;
        loop {
            let read = read().await;
            let heard = changes.heard();
            match read {
                Ok(Some(thing)) => {
                    let now = Some(face(&thing));
                    if now != shown || heard.is_reset {
                        if shown.is_some() {
                            unseen.note(heard);
                        }
                        shown = now;
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
