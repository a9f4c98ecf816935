//! Commands in sessions that are lent from one to the next.
//!
//! To a command without one the driver gives a session of its own, and begins a task that waits for its end.
//! None of ours is causally consistent: every command goes to the primary, and reads whose answers must be
//! settled ask for what a majority holds. Sessions of commands that failed aren't used again.
//! <https://github.com/mongodb/specifications/blob/master/source/sessions/driver-sessions.md>

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::TryStreamExt;
use mongodb::{
    ClientSession, Database,
    action::Find,
    bson::{Document, RawDocumentBuf},
    error::Result,
    raw_batch_cursor::RawBatch,
};

/// Sessions for the commands of one database.
pub(super) struct Sessions {
    database: Database,
    /// Those that nobody uses, and since when; the latest at the end.
    idle: Mutex<Vec<(ClientSession, Instant)>>,
}

/// As many are kept as the driver opens connections where it isn't told otherwise.
const KEPT: usize = 64;
/// MongoDB forgets a session after half an hour.
const OLD: Duration = Duration::from_secs(15 * 60);

impl Sessions {
    pub(super) fn new(database: Database) -> Self {
        Self { database, idle: Mutex::default() }
    }

    /// Runs one command that is answered with one document.
    ///
    /// # Errors
    /// What the driver says.
    pub(super) async fn run(&self, command: Document) -> Result<Document> {
        let mut session = self.lend().await?;
        let answer = self.database.run_command(command).session(&mut session).await?;
        self.give_back(session);
        Ok(answer)
    }

    /// All that is found, as the server sent it.
    ///
    /// # Errors
    /// What the driver says.
    pub(super) async fn find(&self, find: Find<'_, RawDocumentBuf>) -> Result<Vec<RawBatch>> {
        let mut session = self.lend().await?;
        let mut cursor = find.session(&mut session).batch().await?;
        let batches = cursor.stream(&mut session).try_collect().await?;
        drop(cursor);
        self.give_back(session);
        Ok(batches)
    }

    async fn lend(&self) -> Result<ClientSession> {
        let latest = self.idle().pop();
        match latest {
            Some((session, since)) if since.elapsed() < OLD => Ok(session),
            _ => self.database.client().start_session().causal_consistency(false).await,
        }
    }

    fn give_back(&self, session: ClientSession) {
        let mut idle = self.idle();
        if idle.len() < KEPT {
            idle.push((session, Instant::now()));
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<(ClientSession, Instant)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
