//! Chooses when the items of a future are sent by the batchers. The items of one poll of a [`batched`] future share a
//! command. The items of an [`unhurried`] future wait for a command that other items need.

use std::{
    cell::{Cell, RefCell},
    future::poll_fn,
    pin::pin,
    sync::Arc,
};

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
            ready.push(batcher);
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
}

/// Whether the caller runs within [`unhurried`].
pub(super) fn is_unhurried() -> bool {
    IS_UNHURRIED.get()
}

/// Runs a future for whose writes nobody waits, such as the end of a flow after its answer. Writes that can share a
/// command are sent with one that is sent anyway; see `super::batcher`. Each may wait for a tenth of a second.
pub async fn unhurried<T>(future: impl Future<Output = T>) -> T {
    /// Restores the previous value when it is dropped, also if the poll panics.
    struct Restore(bool);

    impl Drop for Restore {
        fn drop(&mut self) {
            IS_UNHURRIED.set(self.0);
        }
    }

    let mut future = pin!(future);
    poll_fn(|context| {
        let _restore = Restore(IS_UNHURRIED.replace(true));
        future.as_mut().poll(context)
    })
    .await
}
