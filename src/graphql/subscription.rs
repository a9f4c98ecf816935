//! Subscriptions to one thing: its state now, and again whenever it changed.

use std::sync::{Arc, Mutex, PoisonError};

use async_graphql::{Context, Response, Result, value};
use futures_util::Stream;

use super::app;
use crate::{error::Error, mongo::watch::Heard};

/// What the subscriber of one operation doesn't see of what happened before an answer. It lies in the
/// data of the request: who follows the thing writes it down, who sends the answer takes it along.
#[derive(Debug, Default)]
pub struct Unseen(Mutex<Heard>);

impl Unseen {
    fn note(&self, heard: Heard) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = heard;
    }

    /// Tells it in the answer's `extensions.docgate`: `missed`, how many changes of the thing's document
    /// were passed over (one answer stands for all that came together; some may not concern what
    /// clients see), or `reset`, that any number may have been.
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

/// Follows the document `id` of `collection`. Reads the thing now and after each change, and answers
/// with it where its `face`, what clients see of it, is another than before, or where more may have
/// happened than was heard. `None` (it is gone, or no longer yours to see) ends the stream.
///
/// Nothing is read before the answer before was taken: however slow a subscriber is, it gets the
/// newest state, and hears how many changes it missed.
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
