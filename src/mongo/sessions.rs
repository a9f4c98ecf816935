//! A pool of driver sessions that are reused from one command to the next.
//!
//! For a command without a session, the driver creates one and spawns a task that returns it at the end. The sessions
//! here aren't causally consistent. They needn't be: only reads that may be old go to a secondary, all other commands
//! go to the primary, and reads of majority-committed data use the read concern `majority`. The sessions of failed
//! commands aren't reused. <https://github.com/mongodb/specifications/blob/master/source/sessions/driver-sessions.md>

use std::{
    sync::Mutex,
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

use super::numbered::NumberedSessions;
use crate::locks::lock;

/// Sessions for the commands of one client.
pub(super) struct Sessions {
    client: Client,
    numbered: NumberedSessions,
    /// Idle sessions, each with the time of its last use; the most recent one is last.
    idle: Mutex<Vec<(ClientSession, Instant)>>,
}

/// Maximum number of idle sessions: the default size of the connection pool.
const MAX_IDLE: usize = 64;
/// Age at which an idle session isn't reused any more. MongoDB forgets a session after half an hour.
const MAX_AGE: Duration = Duration::from_secs(15 * 60);

impl Sessions {
    pub(super) fn new(client: Client) -> Self {
        Self { numbered: NumberedSessions::new(client.clone()), client, idle: Mutex::default() }
    }

    /// The sessions of commands with numbers.
    pub(super) fn numbered(&self) -> &NumberedSessions {
        &self.numbered
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
        let latest = lock(&self.idle).pop();
        match latest {
            Some((session, since)) if since.elapsed() < MAX_AGE => Ok(session),
            _ => self.client.start_session().causal_consistency(false).await,
        }
    }

    fn release(&self, session: ClientSession) {
        let mut idle = lock(&self.idle);
        if idle.len() < MAX_IDLE {
            idle.push((session, Instant::now()));
        }
    }
}
