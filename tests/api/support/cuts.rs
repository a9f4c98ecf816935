//! Cuts a flow at every command it sends, in every way, lets the sweeps run, and repeats it.

use std::time::Duration;

use docgate::config::Config;
use mongodb::bson::doc;

use super::{Gateway, proxy::Cut};

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
    let base = Gateway::with(&settings).await;
    let mut next = 0;
    let mut fresh = async || {
        next += 1;
        prepare(&base, next).await
    };

    let commands = {
        let gateway = proxied(&base).await;
        let subject = fresh().await;
        let proxy = gateway.proxy.as_ref().expect("a proxy");
        proxy.record();
        flow(&gateway, &subject).await;
        settled(&gateway).await;
        proxy.seen()
    };
    assert!(!commands.is_empty(), "the flow sends nothing");

    let mut cases = Vec::new();
    for way in Way::ALL {
        for (at, seen) in commands.iter().enumerate() {
            let reads = ["find", "aggregate"].contains(&seen.command.as_str());
            if way == Way::Unsure && reads {
                continue;
            }
            let subject = fresh().await;
            run_cut(&base, way, at, &commands, async |gateway| flow(gateway, &subject).await).await;
            cases.push(Case { at, way, subject });
        }
    }

    aftermath(&base).await;
    for case in &cases {
        flow(&base, &case.subject).await;
        judge(&base, case).await;
    }
    aftermath(&base).await;
}

async fn proxied(base: &Gateway) -> Gateway {
    let config = base.app.config().clone();
    let port = super::mongod_port();
    Gateway::over(port, true, base.database.name(), |own| *own = config).await
}

/// What goes on behind the answer is given its time; a dead gateway never ends, which is fine.
async fn settled(gateway: &Gateway) {
    gateway.app.tasks().close();
    let _still_running =
        tokio::time::timeout(Duration::from_secs(3), gateway.app.tasks().wait()).await;
    gateway.app.tasks().reopen();
}

async fn run_cut(
    base: &Gateway,
    way: Way,
    at: usize,
    commands: &[super::proxy::Seen],
    flow: impl AsyncFn(&Gateway),
) {
    let gateway = proxied(base).await;
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
            tokio::join!(tokio::time::timeout(Duration::from_secs(8), flow(&gateway)), async {
                proxy.reached().await;
                proxy.cut_all_from(0, Cut::BeforeForwarding);
                proxy.discard();
            })
            .0
            .ok();
            settled(&gateway).await;
        }
        Way::Refused | Way::Unsure => {
            // The fail point counts only commands of these names by this gateway: as the proxy does.
            let command = commands[at].command.as_str();
            let before = commands[..at].iter().filter(|seen| seen.command == command).count();
            let skip = i32::try_from(before).expect("few commands");
            let mut data = doc! { "failCommands": [command] };
            if way == Way::Refused {
                // Out of time: an error that the driver neither retries nor takes for an election.
                data.insert("errorCode", 50);
            } else {
                let unsure = doc! { "code": 64, "errmsg": "waiting for replication timed out" };
                data.insert("writeConcernError", unsure);
            }
            // `skip` and `times` can't be joined in one mode, so the point goes on once the
            // commands before have passed, and fails everything of the name from then on.
            let point = gateway.fail_point(doc! { "skip": skip }, data).await;
            flow(&gateway).await;
            point.off().await;
            settled(&gateway).await;
        }
    }
}
