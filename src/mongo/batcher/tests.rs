//! Which items share a command.

use std::{
    future::{pending, poll_fn},
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::Poll,
    thread,
};

use tokio::sync::Semaphore;

use super::*;
use crate::mongo::batched;

/// Answers each item with the size of its batch, as often as is permitted.
struct Sizes(Semaphore);

impl Source for Sizes {
    type Value = ();
    type Answer = usize;

    async fn answer(&self, batch: Vec<Item<Self>>) {
        self.0.acquire().await.expect("open").forget();
        let size = batch.len();
        for item in batch {
            item.answer.send(size);
        }
    }

    fn span(&self, _traced: &[ItemSpan], _count: usize) -> Span {
        Span::none()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn items_of_one_poll_share_a_command_although_another_one_ends_meanwhile() {
    let batcher = Batcher::new(Sizes(Semaphore::new(0)), Gauge::default());
    let earlier = Arc::clone(&batcher);
    let before = tokio::spawn(async move { earlier.submit((), &ItemSpan::default()).await });
    while lock(&batcher.queue).commands_in_flight == 0 {
        tokio::task::yield_now().await;
    }
    let both = async {
        let span = ItemSpan::default();
        let mut first = pin!(Arc::clone(&batcher).submit((), &span));
        let polled = poll_fn(|context| Poll::Ready(first.as_mut().poll(context))).await;
        assert!(polled.is_pending());
        batcher.source().0.add_permits(2);
        // The command before ends in another thread.
        thread::sleep(Duration::from_millis(50));
        let second = Arc::clone(&batcher).submit((), &span);
        tokio::join!(first, second)
    };
    let (first, second) = batched(both).await;
    assert_eq!((first.expect("a size"), second.expect("a size")), (2, 2));
    assert_eq!(before.await.expect("no panic").expect("a size"), 1);
}

#[tokio::test]
async fn items_that_are_submitted_together_share_a_command() {
    let batcher = Batcher::new(Sizes(Semaphore::new(1)), Gauge::default());
    let three = Arc::clone(&batcher).submit_many(vec![(); 3], &ItemSpan::default()).await;
    assert_eq!(three.expect("sizes"), [3; 3]);
    let none = Arc::clone(&batcher).submit_many(Vec::new(), &ItemSpan::default()).await;
    assert_eq!(none.expect("no sizes"), [0; 0], "nothing is sent");
}

/// Puts an item into the second queue; the task ends with the size of its batch.
fn late(batcher: &Arc<Batcher<Sizes>>) -> tokio::task::JoinHandle<Result<usize, Error>> {
    let answer = batcher.enqueue_late((), &ItemSpan::default()).expect("room");
    tokio::spawn(received(answer))
}

#[tokio::test(flavor = "multi_thread")]
async fn items_for_which_nobody_waits_go_with_the_next_one() {
    let mut sizes = Vec::new();
    // On a busy machine their time may be over before the next one comes.
    for _ in 0..20 {
        let batcher = Batcher::new(Sizes(Semaphore::new(11)), Gauge::default());
        let ten: Vec<_> = (0..10).map(|_| late(&batcher)).collect();
        let next = Arc::clone(&batcher).submit((), &ItemSpan::default()).await;
        sizes = vec![next.expect("a size")];
        for one in ten {
            sizes.push(one.await.expect("no panic").expect("a size"));
        }
        if sizes == [11; 11] {
            return;
        }
    }
    panic!("{sizes:?}");
}

/// On one thread: neither the timer nor a lane runs before the test waits.
#[tokio::test]
async fn of_items_for_which_nobody_waits_many_go_at_once() {
    let batcher = Batcher::new(Sizes(Semaphore::new(1)), Gauge::default());
    let late_and_lanes = || {
        let queue = lock(&batcher.queue);
        (queue.late.len(), queue.lanes)
    };
    let mut all: Vec<_> = (1..LATE_BATCH).map(|_| late(&batcher)).collect();
    assert_eq!(late_and_lanes(), (LATE_BATCH - 1, 0));
    all.push(late(&batcher));
    assert_eq!(late_and_lanes(), (0, 1));
    for one in all {
        assert_eq!(one.await.expect("no panic").expect("a size"), LATE_BATCH);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_for_which_nobody_waits_goes_by_itself_in_the_end() {
    let batcher = Batcher::new(Sizes(Semaphore::new(1)), Gauge::default());
    let since = Instant::now();
    assert_eq!(late(&batcher).await.expect("no panic").expect("a size"), 1);
    assert!(since.elapsed() >= LATE_WAIT, "{:?}", since.elapsed());
}

/// The commands for its first two batches never end.
#[derive(Default)]
struct Silent {
    /// Number of its batches.
    batches: AtomicUsize,
}

impl Source for Silent {
    type Value = ();
    type Answer = ();
    const TIME_LIMIT: Duration = Duration::from_millis(100);

    async fn answer(&self, batch: Vec<Item<Self>>) {
        if self.batches.fetch_add(1, Ordering::Relaxed) < 2 {
            pending::<()>().await;
        }
        for item in batch {
            item.answer.send(());
        }
    }

    fn span(&self, _traced: &[ItemSpan], _count: usize) -> Span {
        Span::none()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_never_end_hold_no_lane_for_ever() {
    let batcher = Batcher::new(Silent::default(), Gauge::default());
    let submit = || {
        let batcher = Arc::clone(&batcher);
        tokio::spawn(async move { batcher.submit((), &ItemSpan::default()).await })
    };
    let mut unanswered = Vec::new();
    for number in 1..=2 {
        unanswered.push(submit());
        while batcher.source().batches.load(Ordering::Relaxed) < number {
            tokio::task::yield_now().await;
        }
    }
    submit().await.expect("no panic").expect("an answer");
    for one in unanswered {
        one.await.expect("no panic").expect_err("no answer");
    }
}
