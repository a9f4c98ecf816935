//! Chooses when the items of a future are sent by the batchers, and how long the future waits for them. The items of one
//! poll of a [`batched`] future share a command. The items of an [`unhurried`] future wait for a command that other items
//! need. The items of a future [`within`] a time limit have no timers of their own.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    pin::pin,
    sync::Arc,
    thread::LocalKey,
    time::Duration,
};

use tokio::time::{error::Elapsed, timeout};

use super::driver::REPLY_TIMEOUT;

/// A batcher of any kind of item, whose queue is ready for another command.
pub(super) trait OpenLane {
    /// Opens a lane, unless another one has sent the queue meanwhile.
    fn open(self: Arc<Self>);
}

thread_local! {
    /// The batchers that open a lane at the end of the current poll of [`batched`]; `None` outside of it.
    static READY: RefCell<Option<Vec<Arc<dyn OpenLane>>>> = const { RefCell::new(None) };
}

/// Opens a lane at the end of the current poll of [`batched`], or at once outside of it.
pub(super) fn open_after_poll(batcher: Arc<dyn OpenLane>) {
    let outside = READY.with_borrow_mut(|ready| match ready {
        Some(ready) => {
            // A list queues many items of one batcher.
            if !ready.iter().any(|other| Arc::ptr_eq(other, &batcher)) {
                ready.push(batcher);
            }
            None
        }
        None => Some(batcher),
    });
    if let Some(batcher) = outside {
        batcher.open();
    }
}

/// Runs a future so that the items that it queues in one poll share a command. For example, the references of a
/// list are all queued before the first of them waits, and are therefore read by one command. Of nested calls, the
/// outermost one decides.
pub async fn batched<T>(future: impl Future<Output = T>) -> T {
    /// Opens the lanes when it is dropped, also if the poll panics.
    struct EndOfPoll;

    impl Drop for EndOfPoll {
        fn drop(&mut self) {
            READY.take().into_iter().flatten().for_each(OpenLane::open);
        }
    }

    let mut future = pin!(future);
    poll_fn(|context| {
        if READY.with_borrow(Option::is_some) {
            return future.as_mut().poll(context);
        }
        let _end = EndOfPoll;
        READY.set(Some(Vec::new()));
        future.as_mut().poll(context)
    })
    .await
}

thread_local! {
    /// Whether the current poll is one of [`unhurried`].
    static IS_UNHURRIED: Cell<bool> = const { Cell::new(false) };
    /// Whether the current poll is one of [`within`] whose limit ends before the timer of an item would.
    static IS_LIMITED: Cell<bool> = const { Cell::new(false) };
}

/// Whether the caller runs within [`unhurried`].
pub(super) fn is_unhurried() -> bool {
    IS_UNHURRIED.get()
}

/// Whether the caller runs within a time limit that is no longer than [`REPLY_TIMEOUT`].
pub(super) fn is_limited() -> bool {
    IS_LIMITED.get()
}

/// Runs a future for whose writes nobody waits, such as the end of a flow after its answer. Writes that can share a
/// command are sent with one that is sent anyway; see `super::batcher`. Each may wait for a tenth of a second.
pub async fn unhurried<T>(future: impl Future<Output = T>) -> T {
    marked(&IS_UNHURRIED, true, future).await
}

/// Runs a future for at most `limit`. Its items have no timers of their own if the limit ends before these would: a list
/// waits for many items, and a timer costs about as much as queueing the item.
///
/// # Errors
/// The limit was reached.
pub fn within<T>(
    limit: Duration,
    future: impl Future<Output = T>,
) -> impl Future<Output = Result<T, Elapsed>> {
    timeout(limit, marked(&IS_LIMITED, limit <= REPLY_TIMEOUT, future))
}

/// Runs a future whose polls have this value of the mark.
async fn marked<T>(
    mark: &'static LocalKey<Cell<bool>>,
    value: bool,
    future: impl Future<Output = T>,
) -> T {
    /// Restores the previous value when it is dropped, also if the poll panics.
    struct Restore(&'static LocalKey<Cell<bool>>, bool);

    impl Drop for Restore {
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }

    let mut future = pin!(future);
    poll_fn(|context| {
        let _restore = Restore(mark, mark.replace(value));
        future.as_mut().poll(context)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn items_need_no_timer_within_a_limit_that_ends_before_it() {
        assert_eq!(within(REPLY_TIMEOUT, async { is_limited() }).await, Ok(true));
        let longer = REPLY_TIMEOUT + Duration::from_millis(1);
        assert_eq!(within(longer, async { is_limited() }).await, Ok(false));
        let task = within(REPLY_TIMEOUT, async { tokio::spawn(async { is_limited() }).await });
        assert!(!task.await.expect("in time").expect("no panic"), "a task goes on after the limit");
        assert!(!is_limited());
        within(Duration::ZERO, std::future::pending::<()>()).await.expect_err("the limit");
        assert!(!is_limited());
    }
}
