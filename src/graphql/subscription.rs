//! Subscriptions to one thing: its state now, and again whenever it changed.

use async_graphql::Result;
use futures_util::Stream;

use crate::{error::Error, mongo::watch::Changes};

/// Reads the thing now and after each change, and answers with it where its `face`, what clients see
/// of it, is another than before. `None` (it is gone, or no longer yours to see) ends the stream.
pub fn follow<T: Send, F, K: PartialEq + Send>(
    mut changes: Changes,
    read: impl Fn() -> F + Send,
    face: impl Fn(&T) -> K + Send,
) -> impl Stream<Item = Result<T>>
where
    F: Future<Output = Result<Option<T>, Error>> + Send,
{
    async_stream::stream! {
        let mut shown = None;
        loop {
            match read().await {
                Ok(Some(thing)) => {
                    let now = Some(face(&thing));
                    if now != shown {
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
