//! Rounds in which the subscriptions of a client are woken.
//!
//! One change can wake all subscriptions of a client. Executed at once, they would keep the processors from the requests of
//! all other clients. So a client's subscriptions are woken a few at a time, in their order, and what else is ready runs
//! between two rounds. A subscription holds nothing while it runs or waits. So none of them can keep another one waiting, and
//! the subscriptions of a single client can use all processors.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    mem,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::AcqRel},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::{Stream, StreamExt, task::AtomicWaker};
use tokio::{runtime::Handle, task::yield_now};

use super::shares::Client;
use crate::locks::lock;

/// Number of wake-ups in a round.
const ROUND: usize = 32;
/// Number of responses that a subscription may return in a row. Then it waits for a wake-up, so that one whose next response is
/// always ready gets no more rounds than others.
const IN_A_ROW: usize = 2;

/// The rounds of all clients.
#[derive(Default)]
pub(super) struct Rounds(Mutex<HashMap<Client, Own>>);

/// The rounds of a client, and the number of its open subscriptions.
struct Own {
    round: Arc<Round>,
    open: usize,
}

/// The current round of a client.
struct Round {
    runtime: Handle,
    state: Mutex<State>,
}

struct State {
    /// The wake-ups that are left in this round.
    left: usize,
    /// The subscribers to wake up in the next rounds.
    waiting: VecDeque<Arc<Subscriber>>,
    /// Whether a task begins the next round.
    has_task: bool,
}

/// What wakes up a subscription.
struct Subscriber {
    round: Arc<Round>,
    /// Whether it waits for a round.
    is_waiting: AtomicBool,
    /// The task that polls the subscription.
    task: AtomicWaker,
}

/// The responses of a subscription, which is woken in the rounds of its client.
pub(super) struct InRounds<S> {
    responses: S,
    subscriber: Arc<Subscriber>,
    /// Wakes up the subscriber.
    waker: Waker,
    /// Number of responses since it last waited.
    in_a_row: usize,
    _place: Place,
}

/// The place of an open subscription among those of its client.
struct Place {
    rounds: Arc<Rounds>,
    client: Client,
}

impl Rounds {
    /// The responses, for which the subscription is woken in the rounds of the client. It has to be called in a runtime.
    pub(super) fn paced<S>(self: &Arc<Self>, client: Client, responses: S) -> InRounds<S> {
        let round = {
            let mut all = lock(&self.0);
            let new = || Own { round: Arc::new(Round::new()), open: 0 };
            let own = all.entry(client).or_insert_with(new);
            own.open += 1;
            Arc::clone(&own.round)
        };
        let (is_waiting, task) = (AtomicBool::new(false), AtomicWaker::new());
        let subscriber = Arc::new(Subscriber { round, is_waiting, task });
        let waker = Waker::from(Arc::clone(&subscriber));
        let place = Place { rounds: Arc::clone(self), client };
        InRounds { responses, subscriber, waker, in_a_row: 0, _place: place }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Entry::Occupied(mut own) = lock(&self.rounds.0).entry(self.client) {
            own.get_mut().open -= 1;
            if own.get().open == 0 {
                own.remove();
            }
        }
    }
}

impl Round {
    fn new() -> Self {
        let state = State { left: ROUND, waiting: VecDeque::new(), has_task: false };
        Self { runtime: Handle::current(), state: Mutex::new(state) }
    }

    /// Wakes up the waiting subscribers, round by round.
    async fn continue_rounds(self: Arc<Self>) {
        loop {
            // Whatever is ready runs before the next round.
            yield_now().await;
            let (woken, is_over) = self.begin_next();
            for subscriber in woken {
                subscriber.run();
            }
            if is_over {
                return;
            }
        }
    }

    /// Begins the next round: the subscribers that are woken in it, and whether it has wake-ups left. Then nobody waits.
    fn begin_next(&self) -> (Vec<Arc<Subscriber>>, bool) {
        let mut state = lock(&self.state);
        let count = state.waiting.len().min(ROUND);
        let woken = state.waiting.drain(..count).collect();
        state.left = ROUND - count;
        state.has_task = state.left == 0;
        (woken, state.left > 0)
    }
}

impl Subscriber {
    /// Lets the task poll the subscription.
    fn run(&self) {
        self.is_waiting.swap(false, AcqRel);
        self.task.wake();
    }
}

impl Wake for Subscriber {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.is_waiting.swap(true, AcqRel) {
            return;
        }
        let mut state = lock(&self.round.state);
        if state.left > 0 {
            state.left -= 1;
            drop(state);
            self.run();
            return;
        }
        state.waiting.push_back(Arc::clone(self));
        let has_task = mem::replace(&mut state.has_task, true);
        drop(state);
        if !has_task {
            self.round.runtime.spawn(Arc::clone(&self.round).continue_rounds());
        }
    }
}

impl<S: Stream + Unpin> Stream for InRounds<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = self.get_mut();
        this.subscriber.task.register(context.waker());
        if this.in_a_row == IN_A_ROW {
            this.in_a_row = 0;
            this.waker.wake_by_ref();
            return Poll::Pending;
        }
        let polled = this.responses.poll_next_unpin(&mut Context::from_waker(&this.waker));
        this.in_a_row = if polled.is_ready() { this.in_a_row + 1 } else { 0 };
        polled
    }
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, sync::atomic::Ordering::SeqCst};

    use futures_util::stream::{self, BoxStream};

    use super::*;
    use crate::graphql::shares::Clients;

    /// Whether a task was woken since its last poll.
    #[derive(Default)]
    struct Task(AtomicBool);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.store(true, SeqCst);
        }
    }

    /// What a subscription follows: whether there is a change, and who waits for one.
    #[derive(Default)]
    struct Followed(AtomicBool, AtomicWaker);

    impl Followed {
        fn change(&self) {
            self.0.store(true, SeqCst);
            self.1.wake();
        }
    }

    /// A subscription with a task of its own.
    struct Following {
        followed: Arc<Followed>,
        responses: InRounds<BoxStream<'static, ()>>,
        task: Arc<Task>,
    }

    impl Following {
        fn of(rounds: &Arc<Rounds>, client: Client) -> Self {
            let followed = Arc::<Followed>::default();
            let source = Arc::clone(&followed);
            let responses = stream::poll_fn(move |context| {
                source.1.register(context.waker());
                if source.0.swap(false, SeqCst) { Poll::Ready(Some(())) } else { Poll::Pending }
            });
            let responses = rounds.paced(client, responses.boxed());
            let mut following = Self { followed, responses, task: Arc::default() };
            assert!(following.poll().is_pending(), "nothing has changed yet");
            following
        }

        fn poll(&mut self) -> Poll<Option<()>> {
            self.task.0.store(false, SeqCst);
            let waker = Waker::from(Arc::clone(&self.task));
            self.responses.poll_next_unpin(&mut Context::from_waker(&waker))
        }

        fn is_woken(&self) -> bool {
            self.task.0.load(SeqCst)
        }
    }

    fn woken(all: &[Following]) -> usize {
        all.iter().filter(|following| following.is_woken()).count()
    }

    fn client(clients: &Clients, last: u8) -> Client {
        clients.at(Ipv4Addr::new(127, 0, 0, last).into())
    }

    #[tokio::test]
    async fn a_client_is_woken_in_rounds_and_others_at_once() {
        let (rounds, clients) = (Arc::<Rounds>::default(), Clients::default());
        let of = |last| Following::of(&rounds, client(&clients, last));
        let mut many: Vec<_> = (0..=3 * ROUND).map(|_| of(1)).collect();
        let other = of(2);
        for following in &many {
            following.followed.change();
        }
        assert_eq!(woken(&many), ROUND);
        other.followed.change();
        assert!(other.is_woken(), "another client has rounds of its own");
        // None of those that were woken is polled meanwhile: they keep nobody waiting.
        while woken(&many) < many.len() {
            yield_now().await;
        }
        for following in &mut many {
            assert!(following.poll().is_ready());
            assert!(following.poll().is_pending());
        }
        // The round of the last one has wake-ups left.
        many[0].followed.change();
        assert!(many[0].is_woken());
        drop((many, other));
        assert!(lock(&rounds.0).is_empty(), "nothing is kept of clients without subscriptions");
    }

    #[tokio::test]
    async fn a_second_change_is_seen_too() {
        let (rounds, clients) = (Arc::<Rounds>::default(), Clients::default());
        let mut one = Following::of(&rounds, client(&clients, 1));
        for _ in 0..3 * ROUND {
            one.followed.change();
            one.followed.change();
            while !one.is_woken() {
                yield_now().await;
            }
            assert!(one.poll().is_ready());
            assert!(one.poll().is_pending());
        }
    }

    #[tokio::test]
    async fn a_subscription_that_is_always_ready_waits_for_its_turn() {
        let (rounds, clients) = (Arc::<Rounds>::default(), Clients::default());
        let mut one = Following::of(&rounds, client(&clients, 1));
        for _ in 0..3 * ROUND {
            for _ in 0..IN_A_ROW {
                one.followed.change();
                assert!(one.poll().is_ready());
            }
            one.followed.change();
            assert!(one.poll().is_pending());
            while !one.is_woken() {
                yield_now().await;
            }
            assert!(one.poll().is_ready());
            assert!(one.poll().is_pending());
        }
    }
}
