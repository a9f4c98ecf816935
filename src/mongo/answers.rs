//! Channels for the answers to the items of a batch.
//!
//! [`send_all`] stores all answers before it wakes a caller. A request that waits for several of them finds them all when it
//! is woken, so that its next reads share a command. With one channel per answer that wakes its caller at once, the request
//! would run on another thread while the rest of the answers are still being sent.

use std::{
    mem,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use crate::locks::lock;

/// Creates a channel for one answer.
pub(super) fn channel<A>() -> (Sender<A>, Receiver<A>) {
    let slot = Arc::new(Slot(Mutex::new(State::Empty(None))));
    (Sender(Arc::clone(&slot)), Receiver(slot))
}

/// Sends each answer, and then wakes the callers.
pub(super) fn send_all<A>(answers: impl IntoIterator<Item = (Sender<A>, A)>) {
    let mut wakers: Vec<Waker> = Vec::new();
    for (sender, answer) in answers {
        let waker = sender.0.replace(State::Answered(answer));
        // The items of a request follow each other, and often have one waker.
        wakers
            .extend(waker.filter(|waker| !wakers.last().is_some_and(|last| last.will_wake(waker))));
    }
    wakers.into_iter().for_each(Waker::wake);
}

/// Sends one answer. Its receiver learns if it is dropped without having sent one.
#[derive(Debug)]
pub(super) struct Sender<A>(Arc<Slot<A>>);

impl<A> Sender<A> {
    /// Sends the answer, which is dropped if the caller no longer waits.
    pub(super) fn send(self, answer: A) {
        send_all([(self, answer)]);
    }

    /// Whether the caller no longer waits.
    pub(super) fn is_closed(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl<A> Drop for Sender<A> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.0);
        if let State::Empty(waker) = &mut *state {
            let waker = waker.take();
            *state = State::Ended;
            drop(state);
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

/// Waits for an answer. It is `None` if the sender was dropped without having sent one.
#[derive(Debug)]
pub(super) struct Receiver<A>(Arc<Slot<A>>);

impl<A> Future for Receiver<A> {
    type Output = Option<A>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<A>> {
        let mut state = lock(&self.0.0);
        if let State::Empty(waker) = &mut *state {
            waker.get_or_insert_with(|| context.waker().clone()).clone_from(context.waker());
            return Poll::Pending;
        }
        Poll::Ready(match mem::replace(&mut *state, State::Ended) {
            State::Answered(answer) => Some(answer),
            State::Empty(_) | State::Ended => None,
        })
    }
}

/// What sender and receiver share.
#[derive(Debug)]
struct Slot<A>(Mutex<State<A>>);

#[derive(Debug)]
enum State<A> {
    /// Nothing was sent; the waker of the receiver, if it waits.
    Empty(Option<Waker>),
    Answered(A),
    /// The answer was received, or the sender dropped without one.
    Ended,
}

impl<A> Slot<A> {
    /// Replaces the state, and returns the waker of the receiver.
    fn replace(&self, state: State<A>) -> Option<Waker> {
        match mem::replace(&mut *lock(&self.0), state) {
            State::Empty(waker) => waker,
            State::Answered(_) | State::Ended => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        task::Wake,
    };

    use futures_util::{FutureExt, future::join_all};

    use super::*;

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_caller_that_waits_for_several_answers_is_woken_once() {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..20).map(|_| channel()).unzip();
        let count = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let mut all = join_all(receivers);
        assert!(all.poll_unpin(&mut context).is_pending());
        send_all(senders.into_iter().zip(0..));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        let received = (0..20).map(Some).collect();
        assert_eq!(all.poll_unpin(&mut context), Poll::Ready(received));
    }

    #[tokio::test]
    async fn a_dropped_end_is_noticed_by_the_other_one() {
        let (sender, receiver) = channel::<u8>();
        let waiting = tokio::spawn(receiver);
        tokio::task::yield_now().await;
        drop(sender);
        assert_eq!(waiting.await.expect("no panic"), None);

        let (sender, receiver) = channel::<u8>();
        assert!(!sender.is_closed());
        drop(receiver);
        assert!(sender.is_closed());
        sender.send(1);

        let (sender, receiver) = channel();
        sender.send(1);
        assert_eq!(receiver.await, Some(1), "the answer outlives its sender");
    }
}
