//! Batches items of many requests, such as keys, into few commands.
//!
//! Items that arrive while a command is in flight are sent in one command after it. If no command is in flight,
//! an item is sent at once. The items that a request queues in one poll are [sent together](super::batched), even if a command
//! ends during that poll.
//!
//! A second command is sent in parallel in one of three cases: [enough items](Source::THRESHOLD) are queued, an
//! item has waited too long, or batches are too small to be worth waiting for. At most two commands
//! are in flight.
//!
//! Items for which nobody waits have a second queue. They are sent with the next command that has room for them. They
//! get a command of their own once there are [`LATE_BATCH`] of them, or one of them has waited for [`LATE_WAIT`].
//!
//! An item never joins a command that was already sent, and answers aren't cached. An answer is therefore never
//! older than its item.

use std::{
    collections::VecDeque,
    iter, mem,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use prometheus_client::metrics::gauge::Gauge;
use tokio::time::{sleep, timeout};
use tracing::{Instrument as _, Span};

use super::{
    answers::{Receiver, Sender, channel},
    driver::REPLY_TIMEOUT,
    queue::Queue,
    scheduling::{Fill, fills_in_poll, is_limited},
};
use crate::{error::Error, locks::lock, traces::ItemSpan};

/// Number of items of the second queue that justifies a command.
const LATE_BATCH: usize = 64;
/// How long an item of the second queue waits for a command that is sent anyway.
const LATE_WAIT: Duration = Duration::from_millis(100);

/// Answers items of one kind.
pub(super) trait Source: Send + Sync + Sized + 'static {
    /// Value of the item.
    type Value: Send + 'static;
    /// The answer to one item.
    type Answer: Send + 'static;
    /// Number of queued items that justifies a second command: by default as many as a command takes. A command with
    /// fewer items costs the driver and the server as much, and its items are answered as soon by the next command after
    /// the one in flight.
    const THRESHOLD: usize = Self::MAX_BATCH;
    /// Maximum number of items per command.
    const MAX_BATCH: usize = 512;
    /// Maximum number of queued items; more are refused as `Unavailable`.
    const MAX_QUEUE: usize = 65_536;
    /// Time after which a lane gives up a batch. Its callers have all given up by then.
    const TIME_LIMIT: Duration = REPLY_TIMEOUT.saturating_mul(2);

    /// Answers all items, with as few commands as possible. The caller of an item without an answer receives
    /// `Internal`.
    fn answer(&self, batch: Vec<Item<Self>>) -> impl Future<Output = ()> + Send;

    /// Whether items of the second queue may be sent with these.
    fn takes_late(&self, _batch: &VecDeque<Item<Self>>) -> bool {
        true
    }

    /// The span of a command for `count` items; `traced` are the spans of these items.
    fn span(&self, traced: &[ItemSpan], count: usize) -> Span;
}

/// A queued item.
pub(super) struct Item<S: Source> {
    /// Value of the item.
    pub(super) value: S::Value,
    /// Receives the answer.
    pub(super) answer: Sender<S::Answer>,
    span: ItemSpan,
}

impl<S: Source> Item<S> {
    /// An item, and the receiver of its answer.
    fn new(value: S::Value, span: &ItemSpan) -> (Self, Receiver<S::Answer>) {
        let (answer, receiver) = channel();
        (Self { value, answer, span: span.clone() }, receiver)
    }
}

/// The batcher of one kind of item.
pub(super) struct Batcher<S: Source> {
    source: S,
    queue: Mutex<Queue<Item<S>>>,
    /// Metric: the number of queued items.
    waiting: Gauge,
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
        let (item, answer) = Item::new(value, span);
        self.enqueue(iter::once(item))?;
        received(answer).await
    }

    /// Returns the answers to several items, in their order. They are queued together, and one future waits for all of them.
    /// `span` is that of all of them.
    ///
    /// # Errors
    /// As those of [`Self::submit`].
    pub(super) async fn submit_many(
        self: Arc<Self>,
        values: Vec<S::Value>,
        span: &ItemSpan,
    ) -> Result<Vec<S::Answer>, Error> {
        // A command has one link to the span.
        let spans = iter::once(span.clone()).chain(iter::repeat_with(ItemSpan::default));
        let items = values.into_iter().zip(spans).map(|(value, span)| Item::new(value, &span));
        let (items, receivers): (Vec<_>, Vec<_>) = items.unzip();
        self.enqueue(items.into_iter())?;
        let answers = async {
            let mut answers = Vec::with_capacity(receivers.len());
            for receiver in receivers {
                answers.push(receiver.await?);
            }
            Some(answers)
        };
        in_time(answers).await
    }

    /// Like [`Self::submit`], for an item for which nobody waits.
    ///
    /// # Errors
    /// As those of [`Self::submit`].
    pub(super) async fn submit_late(
        self: Arc<Self>,
        value: S::Value,
        span: &ItemSpan,
    ) -> Result<S::Answer, Error> {
        let answer = self.enqueue_late(value, span)?;
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
        let (item, receiver) = Item::new(value, span);
        self.answer(vec![item]).await;
        received(receiver).await
    }

    /// Queues items. If the queue is ready for another command, a lane is opened: at once, or at the end of
    /// the current poll of [`batched`](super::batched).
    fn enqueue(
        self: &Arc<Self>,
        items: impl ExactSizeIterator<Item = Item<S>>,
    ) -> Result<(), Error> {
        let is_polled = fills_in_poll(self);
        let mut queue = lock(&self.queue);
        queue.demand_room(items.len(), S::MAX_QUEUE)?;
        // The first item in an empty queue hasn't waited yet.
        queue.has_progressed |= queue.items.is_empty();
        self.waiting.inc_by(i64::try_from(items.len()).unwrap_or(i64::MAX));
        queue.items.extend(items);
        if !is_polled && queue.is_ready(S::THRESHOLD) {
            self.open_lane(&mut queue);
        }
        Ok(())
    }

    /// Adds an item to the second queue.
    fn enqueue_late(
        self: &Arc<Self>,
        value: S::Value,
        span: &ItemSpan,
    ) -> Result<Receiver<S::Answer>, Error> {
        let (item, receiver) = Item::new(value, span);
        let mut queue = lock(&self.queue);
        queue.demand_room(1, S::MAX_QUEUE)?;
        queue.late.push_back(item);
        self.waiting.inc();
        if queue.late.len() == 1 {
            queue.late_since = Some(Instant::now());
        }
        if queue.late.len() >= LATE_BATCH {
            self.send_late(&mut queue);
        } else if !mem::replace(&mut queue.has_timer, true) {
            let batcher = Arc::clone(self);
            let send = async move {
                let mut wait = Some(LATE_WAIT);
                while let Some(time) = wait {
                    sleep(time).await;
                    wait = batcher.send_late_if_due();
                }
            };
            tokio::spawn(send.boxed());
        }
        Ok(receiver)
    }

    /// Sends the second queue if one of its items has waited for long enough. Returns how long it waits if it isn't
    /// empty then.
    fn send_late_if_due(self: &Arc<Self>) -> Option<Duration> {
        let mut queue = lock(&self.queue);
        let since = queue.late_since.filter(|_| !queue.late.is_empty());
        let wait = since.map(|since| LATE_WAIT.saturating_sub(since.elapsed()));
        if wait.is_some_and(|wait| wait.is_zero()) {
            self.send_late(&mut queue);
        }
        queue.has_timer = !queue.late.is_empty();
        wait.filter(|_| queue.has_timer)
    }

    /// Moves the second queue to the end of the first one.
    fn send_late(self: &Arc<Self>, queue: &mut Queue<Item<S>>) {
        queue.has_progressed |= queue.items.is_empty();
        let late = mem::take(&mut queue.late);
        queue.items.extend(late);
        if queue.is_ready(S::THRESHOLD) {
            self.open_lane(queue);
        }
    }

    /// Opens a lane if another one is permitted.
    fn open_lane(self: &Arc<Self>, queue: &mut Queue<Item<S>>) {
        if queue.may_open_lane() {
            queue.lanes += 1;
            tokio::spawn(Arc::clone(self).lane().boxed());
        }
    }

    /// Sends the queue if items have waited since the previous call and no command was sent. A timer for each
    /// item would cost more: a timer that expires before all others wakes the thread that waits for sockets,
    /// only to shorten its wait.
    pub(super) fn send_overdue(self: &Arc<Self>) {
        let mut queue = lock(&self.queue);
        let has_progressed = mem::replace(&mut queue.has_progressed, false);
        if !has_progressed && !queue.items.is_empty() {
            queue.is_overdue = true;
            self.open_lane(&mut queue);
        }
    }

    /// Sends one command after the other while the queue is ready.
    async fn lane(self: Arc<Self>) {
        let mut is_first = true;
        while let Some((batch, count)) = self.next(is_first) {
            is_first = false;
            // A panic must not end the lane. The callers of that batch receive `Internal`. Nor must a command hold it for
            // ever, such as one whose connection a firewall has silently dropped: two of them would hold both lanes. To
            // drop a read gives its connection up. Writes have limits of their own; see `super::driver`.
            let answered = timeout(S::TIME_LIMIT, self.answer(batch));
            let _ended = AssertUnwindSafe(answered).catch_unwind().await;
            let mut queue = lock(&self.queue);
            queue.commands_in_flight -= 1;
            queue.items_in_flight -= count;
            queue.last_batch = count;
        }
    }

    /// Returns the next batch of a lane, and how many of its items are of the first queue. Closes the lane if the queue
    /// isn't ready; the other lane then sends it. Also closes it after its first batch if a poll is adding items: the end of
    /// the poll then opens another one.
    fn next(&self, is_first: bool) -> Option<(Vec<Item<S>>, usize)> {
        let mut queue = lock(&self.queue);
        let waits_for_poll = !is_first && queue.polls > 0;
        if waits_for_poll || !queue.is_ready(S::THRESHOLD) {
            queue.lanes -= 1;
            return None;
        }
        let count = queue.items.len().min(S::MAX_BATCH);
        (queue.is_overdue, queue.has_progressed) = (false, true);
        queue.commands_in_flight += 1;
        queue.items_in_flight += count;
        let takes_late = count < S::MAX_BATCH && self.source.takes_late(&queue.items);
        let late = if takes_late { queue.late.len().min(S::MAX_BATCH - count) } else { 0 };
        let mut batch: Vec<_> = queue.items.drain(..count).collect();
        batch.extend(queue.late.drain(..late));
        self.waiting.dec_by(i64::try_from(batch.len()).unwrap_or(i64::MAX));
        Some((batch, count))
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

impl<S: Source> Fill for Batcher<S> {
    fn begin(&self) {
        lock(&self.queue).polls += 1;
    }

    fn end(self: Arc<Self>) {
        let mut queue = lock(&self.queue);
        queue.polls -= 1;
        if queue.is_ready(S::THRESHOLD) {
            self.open_lane(&mut queue);
        }
    }
}

/// Waits for the answer to an item.
///
/// # Errors
/// As those of [`Batcher::submit`].
pub(super) async fn received<A>(answer: Receiver<A>) -> Result<A, Error> {
    in_time(answer).await
}

/// Waits for the answers to items, which are `None` if a command ended without one.
async fn in_time<A>(answers: impl Future<Output = Option<A>>) -> Result<A, Error> {
    let answers = if is_limited() {
        answers.await
    } else {
        timeout(REPLY_TIMEOUT, answers).await.map_err(Error::unavailable)?
    };
    answers.ok_or_else(|| Error::internal("a command ended without an answer"))
}

#[cfg(test)]
mod tests;
