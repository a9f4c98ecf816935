//! Questions of many requests, answered by few commands.
//!
//! What is asked while a command is on its way goes out together in the next one, and there is no delay
//! where none is. Beside a command another goes out where [enough](Source::ENOUGH) wait, where one has
//! waited for long, or where so few ask that they would only wait for each other; up to [`LANES`] commands.
//! A question never joins a command that was already sent, so that an answer is never older than its
//! question; nothing is kept beyond that.

use std::{
    collections::VecDeque,
    mem,
    panic::AssertUnwindSafe,
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

/// Commands of one kind that may be on their way.
const LANES: usize = 2;
/// Where commands carry no more, there is little to gather.
const FEW: usize = 3;
/// Who has waited for so long is, while nothing was sent: the command before may never end. It is looked
/// for that this often, so it may be twice as long.
const LONG: Duration = Duration::from_millis(250);
/// Questions of one command.
const BATCH: usize = 512;
/// Questions that may wait; whoever comes then is told to come again.
const QUEUE: usize = 65_536;

/// What answers questions of one kind.
pub(super) trait Source: Send + Sync + Sized + 'static {
    /// What is asked for.
    type Value: Send + 'static;
    /// One answer.
    type Answer: Send + 'static;
    /// So many are always worth a command of their own: less would cost driver and server as much, and be
    /// answered as soon behind the command before.
    const ENOUGH: usize = 128;

    /// Answers all of them, with as few commands as there can be. Who is left without an answer hears of a defect.
    fn answer(&self, batch: Vec<Waiting<Self>>) -> impl Future<Output = ()> + Send;

    /// The span of a command for so many questions; `traced` are those that have spans.
    fn span(&self, traced: &[Question], questions: usize) -> Span;
}

/// One question that waits for its answer.
pub(super) struct Waiting<S: Source> {
    /// What is asked for.
    pub(super) value: S::Value,
    /// Where the answer goes.
    pub(super) answer: oneshot::Sender<S::Answer>,
    question: Question,
}

/// The questions of one kind.
pub(super) struct Batches<S: Source> {
    source: S,
    queue: Mutex<Queue<Waiting<S>>>,
    /// How many wait, for operators.
    waiting: Gauge,
}

struct Queue<W> {
    waiting: VecDeque<W>,
    /// Lanes that are open; each has one command on its way, or is about to send one.
    lanes: usize,
    /// Commands that are on their way.
    sent: usize,
    /// Questions in them.
    carried: usize,
    /// Questions in the one that ended last.
    before: usize,
    /// Whether somebody has waited for long.
    is_due: bool,
    /// Whether something was sent, or somebody began to wait, since it was last looked at.
    is_moving: bool,
}

impl<W> Queue<W> {
    /// How many have to wait for another command, where `many` are always worth one.
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
}

impl<S: Source> Batches<S> {
    /// Those that `source` answers; how many wait is told by `waiting`.
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

    /// The answer to one question.
    ///
    /// # Errors
    /// Too many wait, no answer came in time, or none at all.
    pub(super) async fn ask(
        self: Arc<Self>,
        value: S::Value,
        question: &Question,
    ) -> Result<S::Answer, Error> {
        let answer = self.enqueue(value, question)?;
        answered(answer).await
    }

    /// The same, with a command of its own.
    ///
    /// # Errors
    /// No answer came in time, or none at all.
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

    /// Queues one question, and opens a lane for it if there may be another.
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
        // Who comes first hasn't waited yet.
        queue.is_moving |= queue.waiting.len() == 1;
        if queue.is_worth_one(S::ENOUGH) {
            self.open_lane(&mut queue);
        }
        Ok(receiver)
    }

    /// Opens a lane if there may be another and none is about to send what waits.
    fn open_lane(self: &Arc<Self>, queue: &mut Queue<Waiting<S>>) {
        if queue.lanes == queue.sent && queue.lanes < LANES {
            queue.lanes += 1;
            tokio::spawn(Arc::clone(self).lane());
        }
    }

    /// Sends what has waited since this was called before. Nobody who asks has a timer for it: one that
    /// ends before all others wakes the thread that waits for sockets, to make it wait less long.
    pub(super) fn hasten(self: &Arc<Self>) {
        let mut queue = self.queue();
        let is_moving = mem::replace(&mut queue.is_moving, false);
        if !is_moving && !queue.waiting.is_empty() {
            queue.is_due = true;
            self.open_lane(&mut queue);
        }
    }

    /// Sends one command after the other until too few wait.
    async fn lane(self: Arc<Self>) {
        while let Some(batch) = self.next() {
            let count = batch.len();
            // A panic must not take the lane along; who waited in it hears that nothing came.
            let _panicked = AssertUnwindSafe(self.answer(batch)).catch_unwind().await;
            let mut queue = self.queue();
            queue.sent -= 1;
            queue.carried -= count;
            queue.before = count;
        }
    }

    /// What goes out next; closes the lane where that isn't worth a command: the other one takes it along.
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
        // For who has stopped waiting nothing is asked.
        batch.retain(|waiting| !waiting.answer.is_closed());
        if batch.is_empty() {
            return;
        }
        let span = self.span(&mut batch);
        self.source.answer(batch).instrument(span).await;
    }

    /// The span of the command for a batch. The spans of its questions are let go: a span ends when
    /// nobody holds it any more.
    fn span(&self, batch: &mut [Waiting<S>]) -> Span {
        if !batch.iter().any(|waiting| waiting.question.is_traced()) {
            return Span::none();
        }
        let questions = batch.iter_mut().map(|waiting| mem::take(&mut waiting.question));
        let traced: Vec<_> = questions.filter(Question::is_traced).collect();
        self.source.span(&traced, batch.len())
    }
}

async fn answered<A>(answer: oneshot::Receiver<A>) -> Result<A, Error> {
    let answered = timeout(PATIENCE, answer).await.map_err(Error::unavailable)?;
    answered.map_err(|_dropped| Error::internal("a batch ended without an answer"))
}

/// Lets `hasten` look for who has waited for long, for as long as anyone holds those who wait.
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
