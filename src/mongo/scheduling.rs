//! Chooses when the items of a future are sent by the batchers, and how long the future waits for them. The items of one
//! poll of a [`batched`] future share a command. The items of an [`unhurried`] future wait for a command that other items
//! need. The items of a future [`within`] a time limit have no timers of their own.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    pin::pin,
    ptr,
    sync::Arc,
    thread::LocalKey,
    time::Duration,
};

use tokio::time::{error::Elapsed, timeout};

use super::driver::REPLY_TIMEOUT;

/// A batcher of any kind of item, to which a poll of [`batched`] adds items.
pub(super) trait Fill {
    /// The poll begins to add items. A command that ends before the poll isn't followed by one with a part of them.
    fn begin(&self);

    /// The poll has ended. Opens a lane if the queue is ready.
    fn end(self: Arc<Self>);
}

thread_local! {
    /// The batchers to which the current poll of [`batched`] has added items; `None` outside of it.
    static FILLED: RefCell<Option<Vec<Arc<dyn Fill>>>> = const { RefCell::new(None) };
}

/// Tells the batcher of the current poll of [`batched`], before its first item. Returns whether there is such a poll.
pub(super) fn fills_in_poll<B: Fill + 'static>(batcher: &Arc<B>) -> bool {
    FILLED.with_borrow_mut(|filled| {
        let Some(filled) = filled else { return false };
        // A list queues many items of one batcher.
        let is = |other: &Arc<dyn Fill>| ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(batcher));
        if !filled.iter().any(is) {
            batcher.begin();
            filled.push(Arc::<B>::clone(batcher));
        }
        true
    })
}

/// Runs a future so that the items that it queues in one poll share a command. For example, the references of a
/// list are all queued before the first of them waits, and are therefore read by one command. Of nested calls, the
/// outermost one decides.
pub async fn batched<T>(future: impl Future<Output = T>) -> T {
    /// Tells the batchers when it is dropped, also if the poll panics.
    struct EndOfPoll;

    impl Drop for EndOfPoll {
        fn drop(&mut self) {
            FILLED.take().into_iter().flatten().for_each(Fill::end);
        }
    }

    let mut future = pin!(future);
    poll_fn(|context| {
        if FILLED.with_borrow(Option::is_some) {
            return future.as_mut().poll(context);
        }
        let _end = EndOfPoll;
        FILLED.set(Some(Vec::new()));
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
