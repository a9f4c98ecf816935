//! Cuts a flow at every command it sends, in every way, lets the sweeps run, and repeats it.

use std::{collections::HashMap, pin::pin, rc::Rc, time::Duration};

use docgate::config::Config;
use futures_util::{
    FutureExt, StreamExt,
    future::{FusedFuture, join_all},
    stream,
};

use super::{
    Gateway, matrix,
    proxy::{Cut, Seen},
};

/// The ways in which one command can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The server refuses it before it is applied (also its retry).
    Refused,
    /// The server applies it, and can't say whether a majority has it.
    Unsure,
    /// The server applies it, and the answer is lost (also the retry's).
    ReplyLost,
    /// The gateway dies before it sends it.
    Killed,
    /// The gateway dies when it was applied.
    KilledAfter,
}

impl Way {
    pub const ALL: [Self; 5] =
        [Self::Refused, Self::Unsure, Self::ReplyLost, Self::Killed, Self::KilledAfter];
}

/// One cut of one run.
#[derive(Debug)]
pub struct Case<S> {
    /// Which command, from 0.
    pub at: usize,
    pub way: Way,
    /// What `prepare` made for it.
    pub subject: S,
}

/// Cases of one test that run at once: most of each is waiting until the driver looks for the server again.
const SIDE_BY_SIDE: usize = 12;

/// Databases between which the cases are divided that would wait for each other in one.
const DATABASES: usize = 12;

/// How often a flow that took too long to come to its cut begins again, with another subject.
const TRIES: usize = 24;

/// Runs `flow` once undisturbed to see what it sends; then for every command and every way once on
/// a subject of its own, cut there. Then the sweeps run, the invariants must hold, and `flow` runs
/// again undisturbed on every subject, which `judge` looks at; then sweeps and invariants again.
///
/// `flow` must answer whatever happens: under a cut its answer is an error or nothing.
pub async fn everywhere<S>(
    settings: impl Fn(&mut Config),
    prepare: impl AsyncFn(&Gateway, usize) -> S,
    flow: impl AsyncFn(&Gateway, &S),
    judge: impl AsyncFn(&Gateway, &Case<S>),
) {
    let aftermath = async |gateway: &Gateway| {
        gateway.sweep().await;
        gateway.assert_sound().await;
    };
    everywhere_then(settings, prepare, flow, judge, aftermath).await;
}

/// As [`everywhere`], with other sweeps and invariants than those of the whole house.
pub async fn everywhere_then<S>(
    settings: impl Fn(&mut Config),
    prepare: impl AsyncFn(&Gateway, usize) -> S,
    flow: impl AsyncFn(&Gateway, &S),
    judge: impl AsyncFn(&Gateway, &Case<S>),
    aftermath: impl AsyncFn(&Gateway),
) {
    all(false, settings, prepare, flow, judge, aftermath).await;
}

/// As [`everywhere_then`] for subjects that share a document: the cases of one database run one after the other.
/// `aftermath` runs on each of the databases.
pub async fn everywhere_apart<S>(
    settings: impl Fn(&mut Config),
    prepare: impl AsyncFn(&Gateway, usize) -> S,
    flow: impl AsyncFn(&Gateway, &S),
    judge: impl AsyncFn(&Gateway, &Case<S>),
    aftermath: impl AsyncFn(&Gateway),
) {
    all(true, settings, prepare, flow, judge, aftermath).await;
}

async fn all<S>(
    apart: bool,
    settings: impl Fn(&mut Config),
    prepare: impl AsyncFn(&Gateway, usize) -> S,
    flow: impl AsyncFn(&Gateway, &S),
    judge: impl AsyncFn(&Gateway, &Case<S>),
    aftermath: impl AsyncFn(&Gateway),
) {
    let base = Gateway::with(&settings).await;
    // With short bounds a busy machine adds commands that look what became of others.
    let patient = base.patient_sibling().await;
    let subject = prepare(&patient, 1).await;
    let commands = sent(&patient, async |gateway| flow(gateway, &subject).await).await;
    assert!(!commands.is_empty(), "the flow sends nothing");

    let places: Vec<_> = places(&commands).enumerate().collect();

    // Cuts on one database, and what becomes of them.
    let cut_on = async |base: &Gateway, places: &[(usize, (Way, usize))], at_once: usize| {
        let patient = base.patient_sibling().await;
        let cut = async |&(number, (way, at)): &(usize, (Way, usize))| {
            for again in 0..TRIES {
                let subject = prepare(&patient, number + 2 + again * places.len()).await;
                let flow = async |gateway: &Gateway| flow(gateway, &subject).await;
                if run_cut(base, way, at, &commands, flow).await {
                    return Case { at, way, subject };
                }
            }
            panic!("the flow never came to its command {at}: {commands:#?}");
        };
        let cases: Vec<_> = stream::iter(places).map(&cut).buffered(at_once).collect().await;
        settled(&patient).await;
        aftermath(base).await;
        let again = async |case: &Case<S>| {
            flow(&patient, &case.subject).await;
            judge(&patient, case).await;
        };
        stream::iter(&cases).map(&again).buffer_unordered(at_once).collect::<()>().await;
        settled(&patient).await;
        aftermath(base).await;
    };
    // Under a lease one would wait for the other, and for the lease of one that was killed.
    if apart || commands.iter().any(|seen| seen.collection == "leases") {
        let each = places.len().div_ceil(DATABASES);
        let alone = async |places: &[(usize, (Way, usize))]| {
            let base = Gateway::with(&settings).await;
            let first = prepare(&base.patient_sibling().await, 1).await;
            flow(&base, &first).await;
            cut_on(&base, places, 1).await;
        };
        join_all(places.chunks(each).map(&alone)).await;
    } else {
        cut_on(&base, &places, SIDE_BY_SIDE).await;
    }
    matrix::record(&commands, places.iter().map(|(_, (way, _))| *way));
}

/// Every command in every way.
fn places(commands: &[Seen]) -> impl Iterator<Item = (Way, usize)> {
    let is_read = |at: usize| ["find", "aggregate"].contains(&commands[at].command.as_str());
    let places = Way::ALL.iter().flat_map(|way| (0..commands.len()).map(move |at| (*way, at)));
    places.filter(move |(way, at)| *way != Way::Unsure || !is_read(*at))
}

/// Crowds that are cut at once.
const CROWDS_AT_ONCE: usize = 6;

/// Runs a crowd of calls at once, whose writes share commands, and cuts them: at the second command of each kind that an
/// undisturbed run of the crowd sends, in every way. The first one of a kind is that of a single call. `send` is given the number
/// of the run, and answers whatever happens. How many calls share a command is another number in each run. Then the sweeps run,
/// and the invariants must hold. Returns the number of runs, which are numbered from 0.
pub async fn crowds(base: &Gateway, send: impl AsyncFn(&Gateway, usize)) -> usize {
    let patient = base.patient_sibling().await;
    let commands = sent(&patient, async |gateway| send(gateway, 0).await).await;
    let mut kinds = HashMap::<_, Vec<usize>>::new();
    for (at, seen) in commands.iter().enumerate() {
        kinds.entry((&seen.command, &seen.collection)).or_default().push(at);
    }
    let second = |at: usize| {
        let of_kind = &kinds[&(&commands[at].command, &commands[at].collection)];
        of_kind.get(1).unwrap_or(&of_kind[0]) == &at
    };
    let places: Vec<_> = places(&commands).filter(|(_, at)| second(*at)).zip(1..).collect();
    let cut = async |&((way, at), number): &((Way, usize), usize)| {
        let send = async |gateway: &Gateway| send(gateway, number).await;
        run_cut(base, way, at, &commands, send).await
    };
    let cuts: Vec<bool> = stream::iter(&places).map(&cut).buffered(CROWDS_AT_ONCE).collect().await;
    // Some runs of a crowd send fewer commands.
    let missed = cuts.iter().filter(|was_cut| !**was_cut).count();
    assert!(missed * 5 < cuts.len(), "{missed} of {} runs were over before their cut", cuts.len());
    settled(&patient).await;
    base.sweep().await;
    base.assert_sound().await;
    places.len() + 1
}

/// The commands of one undisturbed run on a new gateway over the same database, with those that follow the
/// answer.
pub async fn sent(base: &Gateway, flow: impl AsyncFn(&Gateway)) -> Vec<Seen> {
    let gateway = base.sibling_behind_proxy().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.record();
    flow(&gateway).await;
    // Nothing is cut, so all of it ends.
    super::settled(&gateway).await;
    proxy.seen()
}

/// Runs `first` on a new gateway over the same database. The connection breaks under its first command that `at` names,
/// which is sent again. Then `later` runs, and after that the first copy of the command arrives.
pub async fn with_late_copy(
    base: &Gateway,
    at: impl Fn(&Seen) -> bool + Send + 'static,
    first: impl AsyncFnOnce(&Gateway),
    later: impl AsyncFnOnce(),
) {
    let gateway = base.sibling_behind_proxy().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    proxy.count_only(at);
    proxy.cut(0, Cut::BreakAndHold);
    first(&gateway).await;
    proxy.reached().await;
    proxy.heal();
    settled(&gateway).await;
    later().await;
    proxy.release().await;
}

/// What goes on behind the answer is given its time; a dead gateway never ends, which is fine.
pub async fn settled(gateway: &Gateway) {
    gateway.app.tasks().close();
    let _still_running =
        tokio::time::timeout(Duration::from_secs(3), gateway.app.tasks().wait()).await;
    gateway.app.tasks().reopen();
}

/// Runs `flow` once undisturbed to see what it sends; then once for every command on a subject of its own, where the
/// command is held back until the sweeps have finished the flow or undone it, and only then reaches the server. The
/// invariants must hold before and after it arrives. Then `judge` looks at each subject, with the command's place.
pub async fn overtaken_everywhere<S>(
    settings: impl Fn(&mut Config),
    prepare: impl AsyncFn(&Gateway, usize) -> S,
    flow: impl AsyncFn(&Gateway, &S),
    judge: impl AsyncFn(&Gateway, &S, &str),
) {
    let base = Gateway::with(&settings).await;
    let patient = base.patient_sibling().await;
    let subject = prepare(&patient, 1).await;
    let commands = sent(&patient, async |gateway| flow(gateway, &subject).await).await;
    let mut overtaken = Vec::new();
    for at in 0..commands.len() {
        let hold = async |again: usize| {
            let subject = Rc::new(prepare(&patient, at + 2 + again * commands.len()).await);
            let gateway = Rc::new(base.sibling_behind_proxy().await);
            let proxy = gateway.proxy.as_ref().expect("a proxy");
            proxy.cut(at, Cut::Hold);
            let mut run = {
                let (gateway, subject, flow) = (gateway.clone(), subject.clone(), &flow);
                Box::pin(async move { flow(&gateway, &subject).await }.fuse())
            };
            let goes = async {
                (&mut run).await;
                // It may be held in what goes on behind the answer.
                settled(&gateway).await;
            };
            let is_held = {
                let mut reached = pin!(proxy.reached());
                tokio::select! {
                    () = &mut reached => true,
                    () = goes => reached.now_or_never().is_some(),
                }
            };
            is_held.then_some((subject, gateway, run))
        };
        let mut found = None;
        for again in 0..TRIES {
            found = hold(again).await;
            if found.is_some() {
                break;
            }
        }
        overtaken
            .push(found.unwrap_or_else(|| panic!("never came to its command {at}: {commands:#?}")));
    }
    base.sweep().await;
    base.assert_sound().await;
    for (_, gateway, run) in &mut overtaken {
        gateway.proxy.as_ref().expect("a proxy").release().await;
        if !run.is_terminated() {
            run.await;
        }
        settled(gateway).await;
    }
    base.sweep().await;
    base.assert_sound().await;
    for ((subject, ..), seen) in overtaken.iter().zip(&commands) {
        judge(&patient, subject, &format!("held back: {seen:?}")).await;
    }
    settled(&patient).await;
    base.sweep().await;
    base.assert_sound().await;
}

/// Whether the flow was cut: on a busy machine it may have run out of time before.
async fn run_cut(
    base: &Gateway,
    way: Way,
    at: usize,
    commands: &[Seen],
    flow: impl AsyncFn(&Gateway),
) -> bool {
    let gateway = base.sibling_behind_proxy().await;
    let proxy = gateway.proxy.as_ref().expect("a proxy");
    match way {
        Way::ReplyLost => {
            proxy.cut_with_retries(at, Cut::ReplyLost);
            flow(&gateway).await;
            settled(&gateway).await;
        }
        Way::Killed => {
            proxy.cut_all_from(at, Cut::BeforeForwarding);
            flow(&gateway).await;
            settled(&gateway).await;
        }
        Way::KilledAfter => {
            proxy.cut(at, Cut::HoldReply);
            let dies = async {
                proxy.reached().await;
                proxy.cut_all_from(0, Cut::BeforeForwarding);
                proxy.discard();
            };
            let mut dies = pin!(dies);
            let mut flow = pin!(tokio::time::timeout(Duration::from_secs(8), flow(&gateway)));
            tokio::select! {
                () = &mut dies => { flow.await.ok(); }
                // It may be cut in what goes on behind the answer.
                _ended = &mut flow => tokio::select! {
                    () = &mut dies => {}
                    () = settled(&gateway) => {
                        if dies.now_or_never().is_none() {
                            return false;
                        }
                    }
                },
            }
            settled(&gateway).await;
        }
        Way::Refused | Way::Unsure => {
            // Everything of the name from then on: where a flow sends a command like it once more, that
            // fails as well.
            let how = if way == Way::Refused { Cut::Refused } else { Cut::Unsure };
            proxy.cut_all_named(&commands[at].command, at, how);
            flow(&gateway).await;
            proxy.heal();
            settled(&gateway).await;
        }
    }
    true
}
