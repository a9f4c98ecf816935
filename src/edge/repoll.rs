//! Polls a future again at once if it was woken during its poll.
//!
//! hyper's connection and the body that it reads are parts of one task and wake each other. Through the scheduler,
//! each such wake-up would wake another worker thread, for every request with a body.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc,
        atomic::{
            AtomicU8,
            Ordering::{AcqRel, Acquire, Release},
        },
    },
    task::{Context, Poll, Wake, Waker},
};

/// Maximum number of polls in a row, so that other tasks get their turn.
const MAX_POLLS: usize = 8;

/// Not being polled: a wake-up goes to the task.
const IDLE: u8 = 0;
/// Being polled, and not woken since the poll began.
const POLLED: u8 = 1;
/// Being polled, and to be polled again.
const WOKEN: u8 = 2;

struct RepollWaker {
    task: Waker,
    state: AtomicU8,
}

impl Wake for RepollWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.state.compare_exchange(POLLED, WOKEN, AcqRel, Acquire) == Err(IDLE) {
            self.task.wake_by_ref();
        }
    }
}

/// Runs `future` to completion.
pub(super) async fn repoll<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let mut current: Option<(Arc<RepollWaker>, Waker)> = None;
    poll_fn(|context| {
        let is_current = |(own, _): &(Arc<RepollWaker>, Waker)| own.task.will_wake(context.waker());
        if !current.as_ref().is_some_and(is_current) {
            current = None;
        }
        let (own, waker) = current.get_or_insert_with(|| {
            let (task, state) = (context.waker().clone(), AtomicU8::new(IDLE));
            let own = Arc::new(RepollWaker { task, state });
            (Arc::clone(&own), own.into())
        });
        for _ in 0..MAX_POLLS {
            own.state.store(POLLED, Release);
            let polled = future.as_mut().poll(&mut Context::from_waker(waker));
            let before = own.state.swap(IDLE, AcqRel);
            if polled.is_ready() || before == POLLED {
                return polled;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Relaxed);
        }
    }

    /// A future that wakes itself in each of `times` polls and is ready at the next one.
    fn waking(times: usize) -> impl Future<Output = ()> {
        let mut polls = 0;
        poll_fn(move |context| {
            if polls == times {
                return Poll::Ready(());
            }
            polls += 1;
            context.waker().wake_by_ref();
            Poll::Pending
        })
    }

    #[test]
    fn a_future_that_is_woken_during_its_poll_is_polled_again() {
        let count = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let mut few = pin!(repoll(waking(MAX_POLLS - 1)));
        assert!(few.as_mut().poll(&mut context).is_ready());
        assert_eq!(count.0.load(Relaxed), 0);
        // The task yields to others and then continues.
        let mut many = pin!(repoll(waking(MAX_POLLS)));
        assert!(many.as_mut().poll(&mut context).is_pending());
        assert_eq!(count.0.load(Relaxed), 1);
        assert!(many.as_mut().poll(&mut context).is_ready());
    }

    #[test]
    fn a_later_wake_up_wakes_the_task() {
        let count = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&count));
        let left = Arc::new(std::sync::Mutex::new(None::<Waker>));
        let seen = Arc::clone(&left);
        let mut future = pin!(repoll(poll_fn(move |context| -> Poll<()> {
            *seen.lock().expect("no panic while locked") = Some(context.waker().clone());
            Poll::Pending
        })));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(count.0.load(Relaxed), 0);
        left.lock().expect("no panic while locked").take().expect("a waker").wake();
        assert_eq!(count.0.load(Relaxed), 1);
    }
}
