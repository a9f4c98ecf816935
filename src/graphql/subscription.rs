//! Subscriptions to one thing: its state now, and again whenever it changed.

use async_graphql::Result;
use futures_util::Stream;

use crate::{error::Error, mongo::watch::Changes};

/// Reads the thing now and after each change. `None` (it is gone, or no longer yours to see) ends
/// the stream.
pub fn follow<T: Send, F>(
    mut changes: Changes,
    read: impl Fn() -> F + Send,
) -> impl Stream<Item = Result<T>>
where
    F: Future<Output = Result<Option<T>, Error>> + Send,
{
    async_stream::stream! {
        loop {
            match read().await {
                Ok(Some(thing)) => yield Ok(thing),
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
