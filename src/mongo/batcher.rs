//! Batches items of many requests, such as keys, into few commands.
//!
//! Items that arrive while a command is in flight are sent in one command after it. If no command is in flight,
//! an item is sent at once; the items that a request queues in one poll are [batched].
//!
//! A second command is sent in parallel in one of three cases: [enough items](Source::THRESHOLD) are queued, an
//! item has waited too long, or batches are too small to be worth waiting for. At most [`MAX_LANES`] commands
//! are in flight.
//!
//! An item never joins a command that was already sent, and answers aren't cached. An answer is therefore never
//! older than its item.

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    future::poll_fn,
    hash::Hash,
    mem,
    panic::AssertUnwindSafe,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures_util::FutureExt;
use prometheus_client::metrics::gauge::Gauge;
use tokio::{
    sync::oneshot,
    time::{interval, timeout},
};
use tracing::{Instrument as _, Span};

use super::driver::REPLY_TIMEOUT;
use crate::{error::Error, traces::ItemSpan};

/// Maximum number of commands of one kind in flight.
const MAX_LANES: usize = 2;
/// Batches of up to this size are too small to be worth waiting for.
const SMALL_BATCH: usize = 3;
/// Interval of the check for items that have waited too long. If no command was sent between two checks, the
/// queue is overdue, because the command in flight may never end. An item waits for at most two intervals.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Answers items of one kind.
pub(super) trait Source: Send + Sync + Sized + 'static {
    /// Value of the item.
    type Value: Send + 'static;
    /// The answer to one item.
    type Answer: Send + 'static;
    /// Number of queued items that justifies a second command. A command with fewer items costs the driver and
    /// the server as much, and its items are answered as soon by the next command after the one in flight.
    const THRESHOLD: usize = 128;
    /// Maximum number of items per command.
    const MAX_BATCH: usize = 512;
    /// Maximum number of queued items; more are refused as `Unavailable`.
    const MAX_QUEUE: usize = 65_536;

    /// Answers all items, with as few commands as possible. The caller of an item without an answer receives
    /// `Internal`.
    fn answer(&self, batch: Vec<Item<Self>>) -> impl Future<Output = ()> + Send;

    /// The span of a command for `count` items; `traced` are the spans of these items.
    fn span(&self, traced: &[ItemSpan], count: usize) -> Span;
}

/// A queued item.
pub(super) struct Item<S: Source> {
    /// Value of the item.
    pub(super) value: S::Value,
    /// Receives the answer.
    pub(super) answer: oneshot::Sender<S::Answer>,
    span: ItemSpan,
}

/// The batcher of one kind of item.
pub(super) struct Batcher<S: Source> {
    source: S,
    queue: Mutex<Queue<Item<S>>>,
    /// Metric: the number of queued items.
    waiting: Gauge,
}

struct Queue<I> {
    items: VecDeque<I>,
    /// Open lanes. Each has one command in flight, or is about to send one.
    lanes: usize,
    /// Commands in flight.
    commands_in_flight: usize,
    /// Items in the commands in flight.
    items_in_flight: usize,
    /// Items in the command that ended last.
    last_batch: usize,
    /// Whether an item has waited too long.
    is_overdue: bool,
    /// Whether a command was sent, or the queue became non-empty, since the last check.
    has_progressed: bool,
}

impl<I> Default for Queue<I> {
    fn default() -> Self {
        Self {
            items: VecDeque::new(),
            lanes: 0,
            commands_in_flight: 0,
            items_in_flight: 0,
            last_batch: 0,
            is_overdue: false,
            has_progressed: false,
        }
    }
}

impl<I> Queue<I> {
    /// Number of queued items from which the next command is sent. It is never higher than `threshold`.
    fn required(&self, threshold: usize) -> usize {
        match self.items_in_flight.max(self.last_batch) {
            _ if self.is_overdue || self.items_in_flight == 0 => 1,
            largest if largest <= SMALL_BATCH => self.items_in_flight,
            _ => threshold,
        }
    }

    /// Whether enough items are queued for the next command.
    fn is_ready(&self, threshold: usize) -> bool {
        self.items.len() >= self.required(threshold)
    }

    /// Whether another lane is permitted, and no lane is about to send the queue.
    fn may_open_lane(&self) -> bool {
        self.lanes == self.commands_in_flight && self.lanes < MAX_LANES
    }
}

impl<S: Source> Batcher<S> {
    /// Creates the batcher of `source`. `waiting` is the metric of queued items.
    pub(super) fn new(source: S, waiting: Gauge) -> Arc<Self> {
        Arc::new(Self { source, queue: Mutex::default(), waiting })
    }

    /// The source of the answers.
    pub(super) fn source(&self) -> &S {
        &self.source
    }

    /// Returns the answer to one item.
    ///
    /// # Errors
    /// `Unavailable` if too many items are queued or no answer comes in time; `Internal` if the batch ends
    /// without an answer.
    pub(super) async fn submit(
        self: Arc<Self>,
        value: S::Value,
        span: &ItemSpan,
    ) -> Result<S::Answer, Error> {
        let answer = self.enqueue(value, span)?;
        received(answer).await
    }

    /// Like [`Self::submit`], with a separate command.
    ///
    /// # Errors
    /// `Unavailable` if no answer comes in time; `Internal` if the batch ends without an answer.
    pub(super) async fn submit_alone(
        self: Arc<Self>,
        value: S::Value,
        span: &ItemSpan,
    ) -> Result<S::Answer, Error> {
        let (answer, receiver) = oneshot::channel();
        self.answer(vec![Item { value, answer, span: span.clone() }]).await;
        received(receiver).await
    }

    /// Queues an item. If the queue is ready for another command, a lane is opened: at once, or at the end of
    /// the current poll of [`batched`].
    fn enqueue(
        self: &Arc<Self>,
        value: S::Value,
        span: &ItemSpan,
    ) -> Result<oneshot::Receiver<S::Answer>, Error> {
        let (answer, receiver) = oneshot::channel();
        let mut queue = self.queue();
        if queue.items.len() >= S::MAX_QUEUE {
            return Err(Error::unavailable("the queue of the batcher is full"));
        }
        queue.items.push_back(Item { value, answer, span: span.clone() });
        self.waiting.inc();
        // The first item in an empty queue hasn't waited yet.
        queue.has_progressed |= queue.items.len() == 1;
        let is_ready = queue.is_ready(S::THRESHOLD) && queue.may_open_lane();
        drop(queue);
        if is_ready {
            open_after_poll(Arc::<Self>::clone(self));
        }
        Ok(receiver)
    }

    /// Opens a lane if another one is permitted.
    fn open_lane(self: &Arc<Self>, queue: &mut Queue<Item<S>>) {
        if queue.may_open_lane() {
            queue.lanes += 1;
            tokio::spawn(Arc::clone(self).lane());
        }
    }

    /// Sends the queue if items have waited since the previous call and no command was sent. A timer for each
    /// item would cost more: a timer that expires before all others wakes the thread that waits for sockets,
    /// only to shorten its wait.
    pub(super) fn send_overdue(self: &Arc<Self>) {
        let mut queue = self.queue();
        let has_progressed = mem::replace(&mut queue.has_progressed, false);
        if !has_progressed && !queue.items.is_empty() {
            queue.is_overdue = true;
            self.open_lane(&mut queue);
        }
    }

    /// Sends one command after the other while the queue is ready.
    async fn lane(self: Arc<Self>) {
        while let Some(batch) = self.next() {
            let count = batch.len();
            // A panic must not end the lane. The callers of that batch receive `Internal`.
            let _panicked = AssertUnwindSafe(self.answer(batch)).catch_unwind().await;
            let mut queue = self.queue();
            queue.commands_in_flight -= 1;
            queue.items_in_flight -= count;
            queue.last_batch = count;
        }
    }

    /// Returns the next batch. Closes the lane if the queue isn't ready; the other lane then sends it.
    fn next(&self) -> Option<Vec<Item<S>>> {
        let mut queue = self.queue();
        if !queue.is_ready(S::THRESHOLD) {
            queue.lanes -= 1;
            return None;
        }
        let count = queue.items.len().min(S::MAX_BATCH);
        (queue.is_overdue, queue.has_progressed) = (false, true);
        queue.commands_in_flight += 1;
        queue.items_in_flight += count;
        self.waiting.dec_by(i64::try_from(count).unwrap_or(i64::MAX));
        Some(queue.items.drain(..count).collect())
    }

    fn queue(&self) -> MutexGuard<'_, Queue<Item<S>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, mut batch: Vec<Item<S>>) {
        // Callers that no longer wait need no answer.
        batch.retain(|item| !item.answer.is_closed());
        if batch.is_empty() {
            return;
        }
        let span = self.span(&mut batch);
        self.source.answer(batch).instrument(span).await;
    }

    /// The span of the command for a batch. The spans of the items are released: a span ends when its last
    /// handle is dropped.
    fn span(&self, batch: &mut [Item<S>]) -> Span {
        if !batch.iter().any(|item| item.span.is_traced()) {
            return Span::none();
        }
        let spans = batch.iter_mut().map(|item| mem::take(&mut item.span));
        let traced: Vec<_> = spans.filter(ItemSpan::is_traced).collect();
        self.source.span(&traced, batch.len())
    }
}

/// Batchers of one kind of item, each created when it is first needed.
pub(super) struct Batchers<K, S: Source>(Mutex<HashMap<K, Arc<Batcher<S>>>>);

impl<K, S: Source> Default for Batchers<K, S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Eq + Hash, S: Source> Batchers<K, S> {
    /// The batcher of `key`.
    pub(super) fn get(&self, key: K, create: impl FnOnce() -> Arc<Batcher<S>>) -> Arc<Batcher<S>> {
        Arc::clone(self.all().entry(key).or_insert_with(create))
    }

    /// Calls [`Batcher::send_overdue`] of each.
    pub(super) fn send_overdue(&self) {
        self.all().values().for_each(Batcher::send_overdue);
    }

    fn all(&self) -> MutexGuard<'_, HashMap<K, Arc<Batcher<S>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A batcher of any kind of item, whose queue is ready for another command.
trait OpenLane {
    /// Opens a lane, unless another one has sent the queue meanwhile.
    fn open(self: Arc<Self>);
}

impl<S: Source> OpenLane for Batcher<S> {
    fn open(self: Arc<Self>) {
        let mut queue = self.queue();
        if queue.is_ready(S::THRESHOLD) {
            self.open_lane(&mut queue);
        }
    }
}

thread_local! {
    /// The batchers that open a lane at the end of the current poll of [`batched`]; `None` outside of it.
    static READY: RefCell<Option<Vec<Arc<dyn OpenLane>>>> = const { RefCell::new(None) };
}

/// Opens a lane at the end of the current poll of [`batched`], or at once outside of it.
fn open_after_poll(batcher: Arc<dyn OpenLane>) {
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

async fn received<A>(answer: oneshot::Receiver<A>) -> Result<A, Error> {
    let received = timeout(REPLY_TIMEOUT, answer).await.map_err(Error::unavailable)?;
    received.map_err(|_dropped| Error::internal("a batch ended without an answer"))
}

/// Calls `send_overdue` at intervals until `owner` is dropped.
pub(super) async fn check_overdue<T>(owner: Weak<T>, send_overdue: fn(&T)) {
    let mut checks = interval(CHECK_INTERVAL);
    loop {
        checks.tick().await;
        let Some(owner) = owner.upgrade() else { return };
        send_overdue(&owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLD: usize = 128;

    fn required(items_in_flight: usize, last_batch: usize, is_overdue: bool) -> usize {
        let queue = Queue::<()> { items_in_flight, last_batch, is_overdue, ..Queue::default() };
        queue.required(THRESHOLD)
    }

    #[test]
    fn small_batches_run_in_parallel_and_large_ones_are_collected() {
        assert_eq!(required(0, 0, false), 1, "no command is in flight");
        assert_eq!(required(0, 400, false), 1, "whatever the last batch was");
        assert_eq!(required(1, 1, false), 1);
        assert_eq!(required(SMALL_BATCH, 1, false), SMALL_BATCH);
        assert_eq!(required(SMALL_BATCH + 1, 1, false), THRESHOLD);
        assert_eq!(required(1, 60, false), THRESHOLD, "the small batch in flight is an exception");
        assert_eq!(required(60, 60, true), 1, "an item has waited too long");
    }
}
