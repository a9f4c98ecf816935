//! Batches items of many requests, such as keys, into few commands.
//!
//! Items that arrive while a command is in flight are sent together in the next one. There is no delay if no
//! command is in flight, except that the items of one request which are queued in one poll are sent
//! [together]. A second command is sent in parallel if [enough](Source::ENOUGH) items are queued,
//! if one has waited too long, or if batches are too small to be worth waiting for; there are at most
//! [`LANES`] commands. An item never joins a command that was already sent, so that an answer is never older
//! than its item. Nothing is cached beyond that.

use std::{
    cell::RefCell,
    collections::VecDeque,
    future::poll_fn,
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

use super::driver::PATIENCE;
use crate::{error::Error, traces::Question};

/// Maximum number of commands of one kind in flight.
const LANES: usize = 2;
/// Batches of up to this size are too small to be worth waiting for.
const FEW: usize = 3;
/// Interval of the check for items that have waited too long. If nothing was sent between two checks, the
/// command in flight may never end, and the queue is due. An item may therefore wait for twice as long.
const LONG: Duration = Duration::from_millis(250);
/// Maximum number of items per command.
const BATCH: usize = 512;
/// Maximum number of queued items; more are refused as `Unavailable`.
const QUEUE: usize = 65_536;

/// Answers items of one kind.
pub(super) trait Source: Send + Sync + Sized + 'static {
    /// Value of the item.
    type Value: Send + 'static;
    /// The answer to one item.
    type Answer: Send + 'static;
    /// Number of queued items that is always worth a separate command. A command with fewer items would cost
    /// the driver and the server as much, and these items are answered as soon by the command after the one
    /// in flight.
    const ENOUGH: usize = 128;

    /// Answers all items, with as few commands as possible. A caller whose item gets no answer receives
    /// `Internal`.
    fn answer(&self, batch: Vec<Waiting<Self>>) -> impl Future<Output = ()> + Send;

    /// The span of a command for this many items; `traced` are those that have spans.
    fn span(&self, traced: &[Question], questions: usize) -> Span;
}

/// A queued item.
pub(super) struct Waiting<S: Source> {
    /// Value of the item.
    pub(super) value: S::Value,
    /// Receives the answer.
    pub(super) answer: oneshot::Sender<S::Answer>,
    question: Question,
}

/// The batcher of one kind of item.
pub(super) struct Batches<S: Source> {
    source: S,
    queue: Mutex<Queue<Waiting<S>>>,
    /// Metric: the number of queued items.
    waiting: Gauge,
}

struct Queue<W> {
    waiting: VecDeque<W>,
    /// Open lanes. Each has one command in flight, or is about to send one.
    lanes: usize,
    /// Commands in flight.
    sent: usize,
    /// Items in the commands in flight.
    carried: usize,
    /// Items in the command that ended last.
    before: usize,
    /// Whether an item has waited too long.
    is_due: bool,
    /// Whether a command was sent, or the queue became non-empty, since the last check.
    is_moving: bool,
}

impl<W> Queue<W> {
    /// Number of queued items that is worth another command; `many` items always are.
    fn enough(&self, many: usize) -> usize {
        match self.carried.max(self.before) {
            _ if self.is_due || self.carried == 0 => 1,
            most if most <= FEW => self.carried,
            _ => many,
        }
    }

    fn is_worth_one(&self, many: usize) -> bool {
        self.waiting.len() >= self.enough(many)
    }

    /// Whether there may be another lane, and none is about to send the queue.
    fn may_open_lane(&self) -> bool {
        self.lanes == self.sent && self.lanes < LANES
    }
}

impl<S: Source> Batches<S> {
    /// Creates the batcher of `source`. `waiting` is the metric of queued items.
    pub(super) fn new(source: S, waiting: Gauge) -> Arc<Self> {
        let nobody = VecDeque::new();
        let queue = Queue {
            waiting: nobody,
            lanes: 0,
            sent: 0,
            carried: 0,
            before: 0,
            is_due: false,
            is_moving: false,
        };
        Arc::new(Self { source, queue: Mutex::new(queue), waiting })
    }

    /// Returns the answer to one item.
    ///
    /// # Errors
    /// `Unavailable` if too many items are queued or no answer comes in time; `Internal` if the batch ends
    /// without an answer.
    pub(super) async fn ask(
        self: Arc<Self>,
        value: S::Value,
        question: &Question,
    ) -> Result<S::Answer, Error> {
        let answer = self.enqueue(value, question)?;
        answered(answer).await
    }

    /// Like [`Self::ask`], with a separate command.
    ///
    /// # Errors
    /// `Unavailable` if no answer comes in time; `Internal` if the batch ends without an answer.
    pub(super) async fn ask_alone(
        self: Arc<Self>,
        value: S::Value,
        question: &Question,
    ) -> Result<S::Answer, Error> {
        let (answer, receiver) = oneshot::channel();
        let waiting = Waiting { value, answer, question: question.clone() };
        self.answer(vec![waiting]).await;
        answered(receiver).await
    }

    /// Queues an item. If the queue is worth another command, a lane is opened: at once, or at the end of the
    /// poll that [`together`] surrounds.
    fn enqueue(
        self: &Arc<Self>,
        value: S::Value,
        question: &Question,
    ) -> Result<oneshot::Receiver<S::Answer>, Error> {
        let (answer, receiver) = oneshot::channel();
        let mut queue = self.queue();
        if queue.waiting.len() >= QUEUE {
            return Err(Error::unavailable("too many questions wait"));
        }
        queue.waiting.push_back(Waiting { value, answer, question: question.clone() });
        self.waiting.inc();
        // The first item in an empty queue hasn't waited yet.
        queue.is_moving |= queue.waiting.len() == 1;
        let is_worth_one = queue.is_worth_one(S::ENOUGH) && queue.may_open_lane();
        drop(queue);
        if is_worth_one {
            at_the_end(Arc::<Self>::clone(self));
        }
        Ok(receiver)
    }

    /// Opens a lane if there may be another one.
    fn open_lane(self: &Arc<Self>, queue: &mut Queue<Waiting<S>>) {
        if queue.may_open_lane() {
            queue.lanes += 1;
            tokio::spawn(Arc::clone(self).lane());
        }
    }

    /// Sends the queue if items have waited since the previous call and no command was sent. Items have no
    /// timers of their own: a timer that expires before all others wakes the thread that waits for sockets,
    /// only to shorten its wait.
    pub(super) fn hasten(self: &Arc<Self>) {
        let mut queue = self.queue();
        let is_moving = mem::replace(&mut queue.is_moving, false);
        if !is_moving && !queue.waiting.is_empty() {
            queue.is_due = true;
            self.open_lane(&mut queue);
        }
    }

    /// Sends one command after the other until too few items are queued.
    async fn lane(self: Arc<Self>) {
        while let Some(batch) = self.next() {
            let count = batch.len();
            // A panic must not end the lane. The callers of that batch receive `Internal`.
            let _panicked = AssertUnwindSafe(self.answer(batch)).catch_unwind().await;
            let mut queue = self.queue();
            queue.sent -= 1;
            queue.carried -= count;
            queue.before = count;
        }
    }

    /// Returns the next batch. Closes the lane if the queue isn't worth a command; the other lane then sends
    /// it.
    fn next(&self) -> Option<Vec<Waiting<S>>> {
        let mut queue = self.queue();
        if !queue.is_worth_one(S::ENOUGH) {
            queue.lanes -= 1;
            return None;
        }
        let count = queue.waiting.len().min(BATCH);
        (queue.is_due, queue.is_moving) = (false, true);
        queue.sent += 1;
        queue.carried += count;
        self.waiting.dec_by(i64::try_from(count).unwrap_or(i64::MAX));
        Some(queue.waiting.drain(..count).collect())
    }

    fn queue(&self) -> MutexGuard<'_, Queue<Waiting<S>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(&self, mut batch: Vec<Waiting<S>>) {
        // Nothing is sent for callers that no longer wait.
        batch.retain(|waiting| !waiting.answer.is_closed());
        if batch.is_empty() {
            return;
        }
        let span = self.span(&mut batch);
        self.source.answer(batch).instrument(span).await;
    }

    /// The span of the command for a batch. The spans of the items are released: a span ends when its last
    /// handle is dropped.
    fn span(&self, batch: &mut [Waiting<S>]) -> Span {
        if !batch.iter().any(|waiting| waiting.question.is_traced()) {
            return Span::none();
        }
        let questions = batch.iter_mut().map(|waiting| mem::take(&mut waiting.question));
        let traced: Vec<_> = questions.filter(Question::is_traced).collect();
        self.source.span(&traced, batch.len())
    }
}

/// A batcher with a queue that is worth another command.
trait Open {
    /// Opens a lane, unless another one has sent the queue meanwhile.
    fn open(self: Arc<Self>);
}

impl<S: Source> Open for Batches<S> {
    fn open(self: Arc<Self>) {
        let mut queue = self.queue();
        if queue.is_worth_one(S::ENOUGH) {
            self.open_lane(&mut queue);
        }
    }
}

thread_local! {
    /// The batchers that open a lane at the end of the poll under way, if [`together`] surrounds it.
    static QUEUED: RefCell<Option<Vec<Arc<dyn Open>>>> = const { RefCell::new(None) };
}

/// Opens a lane at the end of the poll under way, or at once if there is none.
fn at_the_end(batches: Arc<dyn Open>) {
    let left = QUEUED.with_borrow_mut(|queued| match queued {
        Some(queued) => {
            queued.push(batches);
            None
        }
        None => Some(batches),
    });
    if let Some(batches) = left {
        batches.open();
    }
}

/// Runs a future so that the items that it queues in one poll are sent together. The references of a list,
/// which are all queued before the first one has to wait, are then one command. It isn't nested.
pub async fn together<T>(future: impl Future<Output = T>) -> T {
    /// Opens the lanes when it is dropped, also if the poll panics.
    struct End;

    impl Drop for End {
        fn drop(&mut self) {
            QUEUED.take().into_iter().flatten().for_each(Open::open);
        }
    }

    let mut future = pin!(future);
    poll_fn(|context| {
        let _end = End;
        QUEUED.set(Some(Vec::new()));
        future.as_mut().poll(context)
    })
    .await
}

async fn answered<A>(answer: oneshot::Receiver<A>) -> Result<A, Error> {
    let answered = timeout(PATIENCE, answer).await.map_err(Error::unavailable)?;
    answered.map_err(|_dropped| Error::internal("a batch ended without an answer"))
}

/// Calls `hasten` periodically until `held` is dropped.
pub(super) async fn keep_pace<T>(held: Weak<T>, hasten: fn(&T)) {
    let mut pace = interval(LONG);
    loop {
        pace.tick().await;
        let Some(held) = held.upgrade() else { return };
        hasten(&held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: usize = 128;

    fn enough(carried: usize, before: usize, is_due: bool) -> usize {
        let waiting = VecDeque::new();
        let is_moving = false;
        let queue = Queue::<()> { waiting, lanes: 0, sent: 0, carried, before, is_due, is_moving };
        queue.enough(MANY)
    }

    #[test]
    fn few_go_side_by_side_and_many_go_together() {
        assert_eq!(enough(0, 0, false), 1, "nothing is on its way");
        assert_eq!(enough(0, 400, false), 1, "whatever was before");
        assert_eq!(enough(1, 1, false), 1);
        assert_eq!(enough(FEW, 1, false), FEW);
        assert_eq!(enough(FEW + 1, 1, false), MANY);
        assert_eq!(enough(1, 60, false), MANY, "the one on its way is the odd one");
        assert_eq!(enough(60, 60, true), 1, "one has waited for long");
    }
}
