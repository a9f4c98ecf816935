//! A pool of driver sessions that are reused from one command to the next.
//!
//! For a command without a session, the driver creates one and spawns a task that returns it at the end. The
//! sessions here aren't causally consistent, because every command goes to the primary, but for reads that may be
//! old, and reads that need it use read concern `majority`. The sessions of failed commands aren't reused.
//! <https://github.com/mongodb/specifications/blob/master/source/sessions/driver-sessions.md>

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::TryStreamExt;
use mongodb::{
    Client, ClientSession, Database,
    action::{Aggregate, Find},
    bson::{Document, RawDocumentBuf},
    error::Result,
    raw_batch_cursor::RawBatch,
};

/// Sessions for the commands of one client.
pub(super) struct Sessions {
    client: Client,
    /// Idle sessions, each with the time of its last use; the most recent one is last.
    idle: Mutex<Vec<(ClientSession, Instant)>>,
    /// Idle sessions of numbered commands. None of them is given back to the driver, whose own numbers are lower.
    numbered: Mutex<VecDeque<Numbered>>,
}

/// A session with the number of its latest command. MongoDB applies a command with a number once, however often it arrives,
/// and none with a lower number than the session's latest.
pub(super) struct Numbered {
    session: ClientSession,
    number: i64,
}

impl Numbered {
    /// The number of the command.
    pub(super) fn number(&self) -> i64 {
        self.number
    }

    /// Runs one command on the primary, whose reply is one document.
    ///
    /// # Errors
    /// The driver's error.
    pub(super) async fn run(
        &mut self,
        database: &Database,
        command: RawDocumentBuf,
    ) -> Result<Document> {
        database.run_raw_command(command).session(&mut self.session).await
    }
}

/// The first number of a session. The driver, which counts from zero, may have used the session before.
const FIRST_NUMBER: i64 = 1 << 40;

/// Maximum number of idle sessions: the default size of the connection pool.
const MAX_IDLE: usize = 64;
/// Age at which an idle session isn't reused any more. MongoDB forgets a session after half an hour.
const MAX_AGE: Duration = Duration::from_secs(15 * 60);

impl Sessions {
    pub(super) fn new(client: Client) -> Self {
        Self { client, idle: Mutex::default(), numbered: Mutex::default() }
    }

    /// Runs one command on the primary, whose reply is one document.
    ///
    /// # Errors
    /// The driver's error.
    pub(super) async fn run(
        &self,
        database: &Database,
        command: RawDocumentBuf,
    ) -> Result<Document> {
        let mut session = self.acquire().await?;
        let reply = database.run_raw_command(command).session(&mut session).await?;
        self.release(session);
        Ok(reply)
    }

    /// Returns all batches of a `find`, as the server sent them.
    ///
    /// # Errors
    /// The driver's error.
    pub(super) async fn find(&self, find: Find<'_, RawDocumentBuf>) -> Result<Vec<RawBatch>> {
        let mut session = self.acquire().await?;
        let mut cursor = find.session(&mut session).batch().await?;
        let batches = cursor.stream(&mut session).try_collect().await?;
        drop(cursor);
        self.release(session);
        Ok(batches)
    }

    /// Returns all batches of an `aggregate`, as the server sent them.
    ///
    /// # Errors
    /// The driver's error.
    pub(super) async fn aggregate(&self, aggregate: Aggregate<'_>) -> Result<Vec<RawBatch>> {
        let mut session = self.acquire().await?;
        let mut cursor = aggregate.session(&mut session).batch().await?;
        let batches = cursor.stream(&mut session).try_collect().await?;
        drop(cursor);
        self.release(session);
        Ok(batches)
    }

    /// A session, which may have been used before.
    ///
    /// # Errors
    /// The driver's error.
    pub(super) async fn acquire(&self) -> Result<ClientSession> {
        let latest = self.idle().pop();
        match latest {
            Some((session, since)) if since.elapsed() < MAX_AGE => Ok(session),
            _ => self.client.start_session().causal_consistency(false).await,
        }
    }

    /// A session with the number of a new command.
    ///
    /// # Errors
    /// The driver's error.
    pub(super) async fn acquire_numbered(&self) -> Result<Numbered> {
        let latest = self.idle_numbered().pop_back();
        match latest {
            Some(Numbered { session, number }) => Ok(Numbered { session, number: number + 1 }),
            None => {
                let session = self.client.start_session().causal_consistency(false).await?;
                Ok(Numbered { session, number: FIRST_NUMBER })
            }
        }
    }

    /// Keeps the session for other commands. One whose command wasn't answered is used last, because MongoDB may still be
    /// busy with it.
    pub(super) fn release_numbered(&self, numbered: Numbered, is_answered: bool) {
        let mut idle = self.idle_numbered();
        if is_answered {
            idle.push_back(numbered);
        } else {
            idle.push_front(numbered);
        }
    }

    fn idle_numbered(&self) -> MutexGuard<'_, VecDeque<Numbered>> {
        self.numbered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn release(&self, session: ClientSession) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE {
            idle.push((session, Instant::now()));
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(ClientSession, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
