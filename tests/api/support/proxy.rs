//! A TCP proxy between a gateway and mongod that loses, cuts and holds back chosen commands.
//!
//! The server's own fail points can refuse a command, but they can't lose the reply to one that
//! was applied, nor hold one back while its sender is killed or overtaken, and there is one of them
//! for all tests. This proxy can, and each gateway has its own: it reads
//! the [wire protocol](https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/) message
//! by message, counts the commands of all connections in the order in which they arrive, and does
//! to the n-th what a test asked for. Everything else passes unchanged.
//!
//! ```ignore
//! let proxy = Proxy::start("127.0.0.1:27017").await; // the gateway gets proxy.address()
//! proxy.record();                                    // one undisturbed run ...
//! checkout().await;
//! for at in 0..proxy.seen().len() {                  // ... tells where the next ones can be cut
//!     proxy.cut_with_retries(at, Cut::ReplyLost);
//!     checkout().await;
//! }
//! ```
//!
//! **What counts.** Commands on databases other than `admin`, `config` and `local`, except the
//! driver's housekeeping, and only those that [`Proxy::count_only`] admits.
//!
//! **Retries.** The driver sends a retryable command once more after a network error, on a new
//! connection. That is the same command again, not a new one: it keeps its index and has the next
//! `attempt`. A write is known by its session and `txnNumber`. A read has no such number: its retry
//! asks for the same, in the same session, next after it was cut here. (The retry of a held read
//! that was discarded is new.) Writes without a number are repeated by the gateway itself, in any
//! session: the next one that says the same after one that was cut here.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

use self::wire::{Command, closed, read_message, request_id, responds_to};

mod wire;

/// How long [`Proxy::reached`] waits. A command that never comes fails its test, not the whole run.
const PATIENCE: Duration = Duration::from_secs(120);

/// What happens to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server never gets it; its time is over, the reply says.
    Refused,
    /// The server carries it out; it can't say whether a majority has it, the reply says.
    Unsure,
    /// The server never gets it; the connection is closed.
    BeforeForwarding,
    /// The server carries it out; its reply is thrown away and the connection is closed.
    ReplyLost,
    /// It waits here, not yet sent, until [`Proxy::release`] or [`Proxy::discard`].
    Hold,
    /// The server carries it out; its reply waits here until [`Proxy::release`] or
    /// [`Proxy::discard`].
    HoldReply,
    /// It waits here as with [`Cut::Hold`], but its connection breaks at once for the sender, who may send it again
    /// and be overtaken by the first copy.
    BreakAndHold,
}

/// A command that was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its place since the record was started, from 0; a retry has the index of its first attempt.
    pub(crate) index: usize,
    /// 0 for the first attempt, 1 for the retry.
    pub(crate) attempt: usize,
    pub(crate) database: String,
    /// Empty for commands on a whole database.
    pub(crate) collection: String,
    /// Such as `find` or `findAndModify`.
    pub(crate) command: String,
    /// Whether it carries the number of a retryable write.
    pub(crate) is_numbered: bool,
}

/// The proxy; dropping it closes its port and every connection.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port of this host and forwards to `mongod`, a `host:port`.
    pub(crate) async fn start(mongod: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
        let shared = Arc::new(Shared::default());
        let accepting = tokio::spawn(accept(listener, mongod.to_owned(), Arc::clone(&shared)));
        Self { address, shared, accepting }
    }

    /// Where the proxy listens. Connect with `directConnection=true`, or the driver would read the
    /// server's own address from its replica set's configuration and go around us.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on counts only commands that `admits` says yes to: those of one database, or all
    /// but the leases' that would otherwise come in between.
    pub(crate) fn count_only(&self, admits: impl Fn(&Seen) -> bool + Send + 'static) {
        self.shared.state().admits = Some(Box::new(admits));
    }

    /// Starts a new record, with no fault armed.
    pub(crate) fn record(&self) {
        self.arm(None);
    }

    /// What was counted since the last `record` or `cut…`, in order of arrival.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.state().log.iter().map(|logged| logged.seen.clone()).collect()
    }

    /// Starts a new record and does `how` to the first attempt of its command `at`. The driver's
    /// retry comes through, so the caller of a retryable command should notice nothing.
    pub(crate) fn cut(&self, at: usize, how: Cut) {
        self.arm(Some(Fault { indexes: at..=at, attempts: 1, command: None, how }));
    }

    /// As [`Proxy::cut`], for every attempt: the caller gets the network error.
    pub(crate) fn cut_with_retries(&self, at: usize, how: Cut) {
        self.arm(Some(Fault { indexes: at..=at, attempts: usize::MAX, command: None, how }));
    }

    /// As [`Proxy::cut_with_retries`], for the command `at` and all that follow, until `heal`: the
    /// server has gone away in the middle and stays away.
    pub(crate) fn cut_all_from(&self, at: usize, how: Cut) {
        let indexes = at..=usize::MAX;
        self.arm(Some(Fault { indexes, attempts: usize::MAX, command: None, how }));
    }

    /// As [`Proxy::cut_all_from`], for commands of this name only.
    pub(crate) fn cut_all_named(&self, command: &str, at: usize, how: Cut) {
        let (indexes, command) = (at..=usize::MAX, Some(command.to_owned()));
        self.arm(Some(Fault { indexes, attempts: usize::MAX, command, how }));
    }

    /// Disarms; the record goes on, and what is held stays held.
    pub(crate) fn heal(&self) {
        self.shared.state().fault = None;
    }

    /// The first command that `admits` says yes to waits until [`Meeting::end`], whatever else is armed. So something else
    /// can happen before it arrives, and it may be cut after that.
    pub(crate) fn meet(&self, admits: impl Fn(&Seen) -> bool + Send + 'static) -> Meeting {
        let (come, arrived) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        self.shared.state().meeting = Some(Expected { admits: Box::new(admits), come, ended });
        Meeting { arrived, end }
    }

    /// Resolves once the armed fault has happened: the command is cut or held, or its reply is.
    pub(crate) async fn reached(&self) {
        let mut fired = self.shared.fired.subscribe();
        let happened = tokio::time::timeout(PATIENCE, fired.wait_for(|times| *times > 0)).await;
        assert!(happened.is_ok(), "the fault wasn't reached; seen: {:#?}", self.seen());
    }

    /// Lets everything that is held go on, all at once. Held commands reach the server even if
    /// their sender has gone, as bytes under way would; resolves once the server has answered them.
    pub(crate) async fn release(&self) {
        let held = std::mem::take(&mut self.shared.state().held);
        let (answered, mut answers) = watch::channel(());
        let answered = Arc::new(answered);
        for hold in held {
            // Whoever waited may have gone meanwhile with its connection.
            let _ = hold.send(Arc::clone(&answered));
        }
        drop(answered);
        while answers.changed().await.is_ok() {}
    }

    /// Closes the connections of everything that is held: held commands never reach the server,
    /// held replies are lost.
    pub(crate) fn discard(&self) {
        self.shared.state().held.clear();
    }

    fn arm(&self, fault: Option<Fault>) {
        let mut state = self.shared.state();
        state.log.clear();
        state.fault = fault;
        self.shared.fired.send_replace(0);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// A command that is waited for, see [`Proxy::meet`].
pub(crate) struct Meeting {
    arrived: oneshot::Receiver<()>,
    end: oneshot::Sender<()>,
}

impl Meeting {
    /// Resolves once the command has come. If it never comes, neither does this.
    pub(crate) async fn arrived(&mut self) {
        if (&mut self.arrived).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Lets the command go on.
    pub(crate) fn end(self) {
        // Its sender may have gone meanwhile.
        let _ = self.end.send(());
    }
}

/// What all connections share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// How often the armed fault has happened.
    fired: watch::Sender<usize>,
}

#[derive(Default)]
struct State {
    admits: Option<Filter>,
    log: Vec<Logged>,
    fault: Option<Fault>,
    meeting: Option<Expected>,
    /// One for each held command and reply: sending lets it go on, dropping closes its connection.
    held: Vec<oneshot::Sender<Released>>,
}

type Filter = Box<dyn Fn(&Seen) -> bool + Send>;

/// Kept by a connection until the server has answered what was released, see [`Proxy::release`].
type Released = Arc<watch::Sender<()>>;

/// The other side of a [`Meeting`].
struct Expected {
    admits: Filter,
    come: oneshot::Sender<()>,
    ended: oneshot::Receiver<()>,
}

/// Which commands, which of their attempts, and what to do to them.
struct Fault {
    indexes: RangeInclusive<usize>,
    attempts: usize,
    /// Only commands of this name.
    command: Option<String>,
    how: Cut,
}

struct Logged {
    seen: Seen,
    sent: Command,
    /// Whether its connection was closed on it.
    was_cut: bool,
}

impl Logged {
    /// Whether the later one says the same.
    fn is_said_by(&self, later: &Command) -> bool {
        let is_write = matches!(later.name.as_str(), "update" | "findAndModify");
        if is_write && later.transaction.is_none() {
            let is_there = self.sent.collection == later.collection;
            return is_there && self.sent.name == later.name && self.sent.said == later.said;
        }
        self.sent.session.is_some() && self.sent == *later
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while the state is locked")
    }

    /// Waits for the end of the meeting, if the message is what is waited for.
    async fn meet(&self, message: &[u8]) {
        if self.state().meeting.is_none() {
            return;
        }
        let Some(sent) = wire::counted_command(message) else { return };
        let seen = Seen {
            index: 0,
            attempt: 0,
            database: sent.database,
            collection: sent.collection,
            command: sent.name,
            is_numbered: sent.transaction.is_some(),
        };
        let is_met = |expected: &mut Expected| (expected.admits)(&seen);
        let Some(met) = self.state().meeting.take_if(is_met) else { return };
        if met.come.send(()).is_ok() {
            let _ended = met.ended.await;
        }
    }

    /// Counts a message of the client's and decides about it.
    fn judge(&self, message: &[u8]) -> Option<Cut> {
        let sent = wire::counted_command(message)?;
        let mut state = self.state();
        let last = state.log.iter().rfind(|earlier| earlier.is_said_by(&sent));
        let (index, attempt) = match last {
            Some(last) if last.was_cut || sent.transaction.is_some() => {
                (last.seen.index, last.seen.attempt + 1)
            }
            _ => (state.log.iter().filter(|logged| logged.seen.attempt == 0).count(), 0),
        };
        let seen = Seen {
            index,
            attempt,
            database: sent.database.clone(),
            collection: sent.collection.clone(),
            command: sent.name.clone(),
            is_numbered: sent.transaction.is_some(),
        };
        if state.admits.as_ref().is_some_and(|admits| !admits(&seen)) {
            return None;
        }
        let fault = state.fault.as_ref();
        let how = fault
            .filter(|fault| fault.indexes.contains(&index) && attempt < fault.attempts)
            .filter(|fault| fault.command.as_ref().is_none_or(|name| *name == seen.command))
            .map(|fault| fault.how);
        let was_cut =
            matches!(how, Some(Cut::BeforeForwarding | Cut::ReplyLost | Cut::BreakAndHold));
        state.log.push(Logged { seen, sent, was_cut });
        how
    }

    fn fire(&self) {
        self.fired.send_modify(|times| *times += 1);
    }

    /// Waits until released; an error if discarded.
    async fn hold(&self) -> io::Result<Released> {
        let (release, released) = oneshot::channel();
        self.state().held.push(release);
        self.fire();
        released.await.map_err(|_| closed())
    }
}

/// Forwards connections until it is aborted, which ends them too.
async fn accept(listener: TcpListener, mongod: String, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                connections.spawn(serve(client, mongod.clone(), Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
            else => return,
        }
    }
}

/// Serves one connection until either side, or a fault, closes it: that is how it always ends.
async fn serve(client: TcpStream, mongod: String, shared: Arc<Shared>) -> io::Result<()> {
    let server = TcpStream::connect(mongod).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let plans = Plans::default();
    let to_client = tokio::sync::Mutex::new(to_client);
    tokio::try_join!(
        forward_commands(from_client, to_server, &to_client, &shared, &plans),
        forward_replies(from_server, &to_client, &shared, &plans),
    )?;
    Ok(())
}

/// The way back, which is also taken by replies that the server doesn't give.
type ToClient = tokio::sync::Mutex<OwnedWriteHalf>;

/// What is to be done to replies that are still to come, by the id of the request.
type Plans = Mutex<HashMap<i32, Plan>>;

enum Plan {
    Lose,
    Doubt,
    Hold,
    /// Say that it has come, and forward it.
    Tell(oneshot::Sender<()>),
}

async fn forward_commands(
    mut client: OwnedReadHalf,
    mut server: OwnedWriteHalf,
    to_client: &ToClient,
    shared: &Shared,
    plans: &Plans,
) -> io::Result<()> {
    loop {
        let message = read_message(&mut client).await?;
        let request = request_id(&message)?;
        let plan = |plan| plans.lock().expect("no panic while locked").insert(request, plan);
        shared.meet(&message).await;
        match shared.judge(&message) {
            None => server.write_all(&message).await?,
            Some(Cut::BeforeForwarding) => {
                shared.fire();
                return Err(closed());
            }
            Some(Cut::Refused) => {
                shared.fire();
                to_client.lock().await.write_all(&wire::out_of_time(request)).await?;
            }
            Some(Cut::Unsure) => {
                plan(Plan::Doubt);
                server.write_all(&message).await?;
            }
            Some(Cut::ReplyLost) => {
                plan(Plan::Lose);
                server.write_all(&message).await?;
            }
            Some(Cut::HoldReply) => {
                plan(Plan::Hold);
                server.write_all(&message).await?;
            }
            Some(how @ (Cut::Hold | Cut::BreakAndHold)) => {
                if how == Cut::BreakAndHold {
                    to_client.lock().await.shutdown().await?;
                }
                let released = shared.hold().await?;
                let (tell, told) = oneshot::channel();
                plan(Plan::Tell(tell));
                server.write_all(&message).await?;
                // The sender may have gone: reading on would find that out, close the server's
                // side, and the server may then give up the very command that is to arrive late.
                told.await.map_err(|_| closed())?;
                drop(released);
            }
        }
    }
}

async fn forward_replies(
    mut server: OwnedReadHalf,
    client: &ToClient,
    shared: &Shared,
    plans: &Plans,
) -> io::Result<()> {
    loop {
        let mut message = read_message(&mut server).await?;
        let answered = responds_to(&message)?;
        let plan = plans.lock().expect("no panic while locked").remove(&answered);
        match plan {
            None => {}
            Some(Plan::Tell(tell)) => drop(tell.send(())),
            Some(Plan::Hold) => drop(shared.hold().await?),
            Some(Plan::Lose) => {
                shared.fire();
                return Err(closed());
            }
            Some(Plan::Doubt) => {
                shared.fire();
                message = wire::unsure(&message).ok_or_else(closed)?;
            }
        }
        client.lock().await.write_all(&message).await?;
    }
}
