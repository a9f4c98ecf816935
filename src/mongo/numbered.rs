//! Numbered writes, which MongoDB calls retryable writes: their command carries a number.
//!
//! MongoDB keeps the result of a command under its session and number, and answers a second copy of the command with
//! this result. It keeps no result of a command that changed nothing, because the guard didn't hold or because the
//! values were there before. If the driver sent such a command, it could send a second copy without telling. It could
//! then report a refusal, or a success that changed nothing, while the first copy is still under way. The first copy
//! arrives later, with one of these outcomes:
//!
//! | the second copy | the first copy, which arrives after it |
//! |---|---|
//! | was applied | it is answered with the result of the second one |
//! | found the values that it writes | it is applied, and undoes what others have written meanwhile |
//! | was refused | it is applied if its guard holds by then, although the caller got a refusal |
//!
//! docgate therefore sends these commands itself. After a second copy it ends the number: it sends a write that selects no
//! document, in the same session with the next number. MongoDB refuses a lower number of a session from then on. A second
//! copy that was refused is *unknown* even so: the first one may have been applied between the two.
//! <https://github.com/mongodb/specifications/blob/master/source/retryable-writes/retryable-writes.md>

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use mongodb::{
    Client, ClientSession,
    bson::{Document, RawDocumentBuf, doc, raw::cstr},
    error::{Error as Fault, Result as DriverResult},
};

use super::{
    driver::{Raw, encode},
    expression::{both, millis},
    faults::{is_not_primary, is_transient, or_refused},
};
use crate::{error::Error, locks::lock};

/// The number before the first one of a session. The driver may have used the session before, with small numbers.
const BEFORE_FIRST: i64 = 1 << 32;
/// How long MongoDB may be at work on a command whose outcome isn't known: the longest `maxTimeMS` with the default settings, and
/// some.
const BUSY: Duration = Duration::from_secs(15);
/// `maxTimeMS` of the command that ends a number.
const END_LIMIT: Duration = Duration::from_secs(5);

/// A session of commands with numbers, and its last number.
struct Session {
    driver: ClientSession,
    last: i64,
    /// Until when MongoDB may be at work on a command whose outcome isn't known. Another command would wait for it.
    busy_until: Option<Instant>,
}

impl Session {
    fn is_free(&self) -> bool {
        self.busy_until.is_none_or(|until| until <= Instant::now())
    }

    /// Sends a command with the last number.
    async fn send(
        &mut self,
        collection: &Raw,
        mut command: RawDocumentBuf,
    ) -> DriverResult<Document> {
        command.append(cstr!("txnNumber"), self.last);
        let sent = collection.database().run_raw_command(command).session(&mut self.driver);
        or_refused(sent.await)
    }

    /// Ends the last number, by a command with the next one that goes to the same shards and selects no document.
    async fn end(&mut self, collection: &Raw, filters: Vec<Document>) -> Result<(), Error> {
        let nothing = |filter| {
            let change = vec![doc! { "$set": { "v": "$v" } }];
            doc! { "q": both(filter, doc! { "_id": { "$exists": false } }), "u": change }
        };
        let ending = encode(&doc! {
            "update": collection.name(),
            "updates": filters.into_iter().map(nothing).collect::<Vec<_>>(),
            "maxTimeMS": millis(END_LIMIT),
            "writeConcern": { "w": "majority" },
        })?;
        self.last += 1;
        self.send(collection, ending).await?;
        Ok(())
    }
}

/// The sessions of commands with numbers. There are as many as commands were sent at one moment. They don't go back to the
/// driver, whose next number for them would be too low.
pub(super) struct NumberedSessions {
    client: Client,
    idle: Arc<Idle>,
}

/// Idle sessions.
#[derive(Default)]
struct Idle(Mutex<IdleSessions>);

/// The next one is the last. Those that may be busy are before the others.
#[derive(Default)]
struct IdleSessions(VecDeque<Session>);

impl IdleSessions {
    /// The next session that is free.
    fn take(&mut self) -> Option<Session> {
        if self.0.back().is_some_and(Session::is_free) { self.0.pop_back() } else { None }
    }
}

/// Sessions of gateways that have ended in this process, whose client may be used by others.
static ENDED: Mutex<Vec<Session>> = Mutex::new(Vec::new());

/// Gives the sessions of gateways that have ended to their clients. It is called when the last client of the process is shut
/// down: a client that goes on would use the sessions again.
pub(super) fn give_back() {
    lock(&ENDED).clear();
}

impl NumberedSessions {
    pub(super) fn new(client: Client) -> Self {
        Self { client, idle: Arc::default() }
    }

    async fn acquire(&self) -> DriverResult<Lent> {
        let latest = lock(&self.idle.0).take();
        let session = if let Some(session) = latest {
            session
        } else {
            let driver = self.client.start_session().causal_consistency(false).await?;
            Session { driver, last: BEFORE_FIRST, busy_until: None }
        };
        Ok(Lent { session: Some(session), idle: Arc::clone(&self.idle), is_over: false })
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        lock(&ENDED).extend(lock(&self.0).0.drain(..));
    }
}

/// A session while a command uses it. It becomes idle at the end, also if nobody waits for the command any more.
struct Lent {
    session: Option<Session>,
    idle: Arc<Idle>,
    /// Whether MongoDB has finished the command. Otherwise the session is used after the others.
    is_over: bool,
}

impl Lent {
    fn session(&mut self) -> DriverResult<&mut Session> {
        self.session.as_mut().ok_or_else(|| Fault::custom("the session was given back"))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(mut session) = self.session.take() else { return };
        let mut idle = lock(&self.idle.0);
        if self.is_over {
            session.busy_until = None;
            idle.0.push_back(session);
        } else {
            session.busy_until = Some(Instant::now() + BUSY);
            idle.0.push_front(session);
        }
    }
}

/// Sends a command of the documents that the filters select, one each, with a number, and once more after a transient error.
/// Returns the reply, and that error if there was one. No copy of the command is applied after that.
pub(super) async fn send_with_retry(
    collection: &Raw,
    command: RawDocumentBuf,
    filters: Vec<Document>,
) -> DriverResult<(Document, Option<Fault>)> {
    let mut lent = collection.sessions().numbered().acquire().await?;
    let session = lent.session()?;
    session.last += 1;
    let reply = session.send(collection, command.clone()).await;
    let first = match reply {
        Err(first) if is_transient(&first) => first,
        reply => {
            lent.is_over = reply.is_ok();
            return Ok((reply?, None));
        }
    };
    let second = session.send(collection, command).await;
    let is_over = match &second {
        // The first copy wasn't applied, and nothing can come of it.
        Ok(_) if is_not_primary(&first) => true,
        Ok(_) => session.end(collection, filters).await.is_ok(),
        Err(_) => false,
    };
    lent.is_over = is_over;
    match second {
        Ok(reply) if is_over => Ok((reply, Some(first))),
        // The first error says that the outcome is unknown.
        _ => Err(first),
    }
}
