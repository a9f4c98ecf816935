//! Reads of messages before the windows. All subscribers of a gateway share a bound on them.
//!
//! A socket that waits for its client polls none of its subscriptions. So each read has a task of its own, and a turn that
//! ends with the read, whether the subscriber takes the messages or not. The bytes of those that aren't taken are
//! bounded too.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::FutureExt as _;
use tokio::sync::oneshot;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

use crate::{
    error::{Error, Result},
    graphql::shares::{Client, Permit, Shares, Turns},
    locks::lock,
};

/// Number of reads that this gateway has under way at once. Each client has a share of it. Further reads wait in their order.
const READS: usize = 8;
/// Maximum number of bytes of messages that were read and that the subscribers haven't taken yet. Each client has a share.
const UNTAKEN: usize = 32 << 20;
/// Time for which a read keeps its turn if there is no room for its messages. Subscribers whose sockets don't wait take them
/// sooner.
const PATIENCE: Duration = Duration::from_millis(250);

/// The reads of all subscribers that are behind the windows.
pub(super) struct Behind {
    turns: Turns,
    untaken: Arc<Shares>,
}

/// What was read, until the subscriber takes it, with the permit for its bytes.
type Slot<T> = Arc<Mutex<Option<(T, Option<Permit>)>>>;

impl Behind {
    /// No reads yet. Each client has this share of the limits.
    pub(super) fn of(percent: usize) -> Self {
        Self { turns: Turns::of(READS, percent), untaken: Shares::of(UNTAKEN, percent) }
    }

    /// Reads in a turn of the client. `read` also returns the size of what it has read, in bytes. Messages that
    /// the subscriber doesn't take in time are dropped if there is no room for them. Then they are read again.
    ///
    /// # Errors
    /// `Internal`, if the task panics.
    pub(super) async fn read<T, F>(
        self: &Arc<Self>,
        client: Client,
        read: impl Fn() -> F,
    ) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = (T, usize)> + Send + 'static,
    {
        loop {
            let (give, given) = oneshot::channel();
            let reading = Arc::clone(self).give(client, read(), give).in_current_span();
            // When it is dropped, the turn ends.
            let _reading = AbortOnDropHandle::new(tokio::spawn(reading.boxed()));
            let slot = given.await.map_err(Error::internal)?;
            if let Some((found, _permit)) = take(&slot) {
                return Ok(found);
            }
        }
    }

    /// Reads in a turn, and gives what was read to the subscriber.
    async fn give<T: Send + 'static>(
        self: Arc<Self>,
        client: Client,
        read: impl Future<Output = (T, usize)> + Send + 'static,
        give: oneshot::Sender<Slot<T>>,
    ) {
        let Ok(_turn) = self.turns.wait(client).await else { return };
        let (found, bytes) = read.await;
        let permit = match bytes {
            0 => Ok(None),
            bytes => self.untaken.acquire_units(Some(client), bytes).map(Some),
        };
        let has_room = permit.is_ok();
        let slot = Arc::new(Mutex::new(Some((found, permit.ok().flatten()))));
        if give.send(Arc::clone(&slot)).is_ok() && !has_room {
            tokio::time::sleep(PATIENCE).await;
            drop(take(&slot));
        }
    }
}

fn take<T>(slot: &Slot<T>) -> Option<(T, Option<Permit>)> {
    lock(slot).take()
}

#[cfg(test)]
mod tests {
    use std::{
        future::ready,
        net::Ipv4Addr,
        sync::atomic::{AtomicUsize, Ordering::Relaxed},
    };

    use super::*;
    use crate::graphql::shares::Clients;

    /// Reads with one turn, and room for this number of bytes.
    fn behind(bytes: usize) -> Arc<Behind> {
        Arc::new(Behind { turns: Turns::of(1, 100), untaken: Shares::of(bytes, 100) })
    }

    /// Number of reads for two clients. The first one is polled once, and its read begins. The second one reads meanwhile.
    async fn reads_beside_a_stuck_one(bytes: usize) -> usize {
        let (behind, clients) = (behind(bytes), Clients::default());
        let client = |last| clients.at(Ipv4Addr::new(127, 0, 0, last).into());
        let reads = AtomicUsize::new(0);
        let read = || ready((reads.fetch_add(1, Relaxed), 10));
        let mut stuck = Box::pin(behind.read(client(1), &read));
        assert!(stuck.as_mut().now_or_never().is_none(), "its task has to run");
        for _ in 0..3 {
            assert!(behind.read(client(2), &read).await.is_ok());
        }
        assert!(stuck.await.is_ok());
        reads.load(Relaxed)
    }

    #[tokio::test]
    async fn a_subscriber_that_takes_nothing_keeps_no_turn() {
        assert_eq!(reads_beside_a_stuck_one(100).await, 4, "its messages are kept");
    }

    #[tokio::test]
    async fn what_has_no_room_is_read_again() {
        assert!(reads_beside_a_stuck_one(5).await > 4, "its messages were dropped");
    }

    #[tokio::test]
    async fn a_subscriber_that_leaves_ends_its_turn() {
        let (behind, client) = (behind(100), Clients::default().at(Ipv4Addr::LOCALHOST.into()));
        let mut leaving = Box::pin(behind.read(client, std::future::pending::<((), usize)>));
        assert!(leaving.as_mut().now_or_never().is_none());
        tokio::task::yield_now().await;
        drop(leaving);
        assert!(behind.read(client, || ready(((), 10))).await.is_ok());
    }
}
