//! Reads of a whole database as it was at one cluster time.
//!
//! Reads with the read concern `snapshot` see one moment of all collections, also outside of transactions (since
//! MongoDB 5.0). The server keeps the past for `minSnapshotHistoryWindowInSeconds`, which is 300 by default.
//! <https://www.mongodb.com/docs/manual/reference/read-concern-snapshot/>
//!
//! Capped collections can't be read so (tried with MongoDB 6.0.5: `SnapshotUnavailable`). They are read with the read
//! concern `majority`, after that moment. Time-series collections can be read so.

mod listing;

use std::time::Duration;

use futures_util::TryStreamExt;
use mongodb::{
    ClientSession, Database,
    bson::{DateTime, Document, RawDocumentBuf, Timestamp, doc},
    error::ErrorKind,
    options::{ReadConcern, SessionOptions},
    raw_batch_cursor::RawBatch,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::{driver::send, faults::has_code, restoring::MARKER};
use crate::error::Error;
pub(super) use listing::indexes_of;
use listing::{Identities, describe, identities, list_all};

/// How a collection stores its documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CollectionKind {
    /// Without restrictions.
    Ordinary,
    /// In the order of their insertion, up to a size.
    Capped,
    /// As measurements of a time series, whose `_id` isn't unique.
    TimeSeries,
}

/// A database of the gateway.
#[derive(Debug, Clone)]
pub struct Part {
    /// What it is to the gateway, such as `core`.
    pub name: &'static str,
    /// The database.
    pub database: Database,
}

/// A collection of the snapshot.
#[derive(Debug, Clone)]
pub struct Described {
    /// Its database.
    pub part: Part,
    /// Its name.
    pub name: String,
    /// How it stores its documents.
    pub kind: CollectionKind,
    /// The options with which it was created.
    pub options: Document,
    /// Its indexes but that of `_id`, as `createIndexes` takes them.
    pub indexes: Vec<Document>,
    /// Size of its documents in bytes, about.
    pub bytes: u64,
    /// Number of documents of a batch.
    batch: u32,
}

/// Why a snapshot can't be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The server no longer has the documents of that moment.
    #[error("MongoDB no longer has the documents of the snapshot's moment")]
    TooOld,
    /// A collection was created, dropped or renamed while the snapshot was read.
    #[error("the collection {0} was created, dropped or renamed meanwhile")]
    Changed(String),
    /// A capped collection was overwritten faster than it was read.
    #[error("the capped collection {0} was overwritten faster than it was read")]
    Overwritten(String),
    /// The database has no collection that can be read at one moment.
    #[error("the database has no collection")]
    Empty,
    /// The database is one that a restore hasn't completed.
    #[error("the database is half restored")]
    HalfRestored,
    /// Any other failure.
    #[error(transparent)]
    Other(#[from] Error),
}

/// All collections of some databases, at one cluster time.
#[derive(Debug)]
pub struct Snapshot {
    parts: Vec<Part>,
    at: Timestamp,
    collections: Vec<Described>,
    /// The identities of the collections, by database and name.
    identities: Identities,
}

/// Number of times that a moment is looked for at which no collection is being created or dropped.
const TRIES: usize = 5;
/// Pause between two of these times.
const PAUSE: Duration = Duration::from_millis(200);
/// Batches that are read ahead.
const AHEAD: usize = 1;

impl Snapshot {
    /// Takes the present moment of databases of one server.
    ///
    /// # Errors
    /// `Empty`, `HalfRestored`, `Changed` if collections come and go all the time; `Other`.
    pub async fn take(parts: Vec<Part>) -> Result<Self, SnapshotError> {
        for attempt in 0..TRIES {
            if attempt > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            let listed = list_all(&parts).await?;
            let identities = identities(&listed);
            if identities.keys().any(|(_, name)| name == MARKER) {
                return Err(SnapshotError::HalfRestored);
            }
            let mut collections = Vec::new();
            for (part, one) in &listed {
                collections.extend(describe(part, one).await?);
            }
            let first = collections.iter().find(|one| one.kind != CollectionKind::Capped);
            let Some(first) = first else { return Err(SnapshotError::Empty) };
            let at = moment(&first.part.database, &first.name).await?;
            // A collection that was created before that moment is in both lists.
            if let Some(at) = at
                && listing::identities(&list_all(&parts).await?) == identities
            {
                // The sooner a capped collection is read, the fewer documents are newer than the moment.
                collections.sort_by_key(|one| {
                    (one.kind != CollectionKind::Capped, one.part.name, one.name.clone())
                });
                return Ok(Self { parts, at, collections, identities });
            }
        }
        Err(SnapshotError::Changed("that was listed last".to_owned()))
    }

    /// Its moment.
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Its moment, to the second.
    pub fn time(&self) -> DateTime {
        DateTime::from_millis(i64::from(self.at.time).saturating_mul(1_000))
    }

    /// Its databases.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Its collections, capped ones first.
    pub fn collections(&self) -> &[Described] {
        &self.collections
    }

    /// Reads the documents of a collection in batches. The channel closes at the end, or after an error.
    pub fn read(&self, of: &Described) -> mpsc::Receiver<Result<RawBatch, SnapshotError>> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let (of, at) = (of.clone(), self.at);
        tokio::spawn(async move {
            if let Err(error) = Box::pin(stream(&of, at, &sender)).await {
                // Sending fails if the reader has given up. It doesn't need the error then.
                let _gone = sender.send(Err(understood(error, &of.name))).await;
            }
        });
        receiver
    }

    /// Checks that the collections are still those of the beginning: of one that was dropped, a read finds nothing.
    ///
    /// # Errors
    /// `Changed` or `Other`.
    pub async fn confirm(&self) -> Result<(), SnapshotError> {
        let now = identities(&list_all(&self.parts).await?);
        match self.identities.iter().find(|(key, identity)| now.get(*key) != Some(identity)) {
            None => Ok(()),
            Some(((_, name), _)) => Err(SnapshotError::Changed(name.clone())),
        }
    }
}

/// Sends the batches of a collection.
async fn stream(
    of: &Described,
    at: Timestamp,
    sender: &mpsc::Sender<Result<RawBatch, SnapshotError>>,
) -> mongodb::error::Result<()> {
    let database = &of.part.database;
    let mut session = session(database, of.kind, Some(at)).await?;
    let collection = database.collection::<RawDocumentBuf>(&of.name);
    // Without it the client's own read concern would be sent, also in a session of a snapshot.
    let concern = match of.kind {
        CollectionKind::Capped => ReadConcern::majority(),
        CollectionKind::Ordinary | CollectionKind::TimeSeries => ReadConcern::snapshot(),
    };
    let find = collection.find(doc! {}).batch_size(of.batch).read_concern(concern);
    let mut cursor = find.session(&mut session).batch().await?;
    let mut batches = cursor.stream(&mut session);
    while let Some(batch) = batches.try_next().await? {
        if sender.send(Ok(batch)).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// A session whose reads see the moment `at`, or the present one; for capped collections, an ordinary session.
async fn session(
    database: &Database,
    kind: CollectionKind,
    at: Option<Timestamp>,
) -> mongodb::error::Result<ClientSession> {
    let mut options = SessionOptions::default();
    options.causal_consistency = Some(false);
    if kind != CollectionKind::Capped {
        options.snapshot = Some(true);
        options.snapshot_time = at;
    }
    database.client().start_session().with_options(options).await
}

/// The present cluster time, by a read of this collection; `None` if it is gone, or too new.
async fn moment(database: &Database, name: &str) -> Result<Option<Timestamp>, SnapshotError> {
    let (database, name) = (database.clone(), name.to_owned());
    let read = send("", "find", async move {
        let mut session = session(&database, CollectionKind::Ordinary, None).await?;
        let collection = database.collection::<RawDocumentBuf>(&name);
        let first = collection.find_one(doc! {}).read_concern(ReadConcern::snapshot());
        match first.session(&mut session).await {
            // The collection is newer than what a majority has.
            Err(fault) if has_code(&fault, &[UNAVAILABLE]) => Ok(None),
            reply => reply.map(|_| session.snapshot_time()),
        }
    });
    Ok(read.await?)
}

/// The meaning of a driver's error for a read of this collection.
fn understood(error: mongodb::error::Error, collection: &str) -> SnapshotError {
    let name = || collection.to_owned();
    match error.kind.as_ref() {
        ErrorKind::Command(of) if of.code == TOO_OLD => SnapshotError::TooOld,
        ErrorKind::Command(of) if of.code == LOST => SnapshotError::Overwritten(name()),
        ErrorKind::Command(of) if of.code == UNAVAILABLE => SnapshotError::Changed(name()),
        _ => SnapshotError::Other(Error::from(error).for_read()),
    }
}

/// The server's error code for a lost position in a capped collection.
const LOST: i32 = 136;
/// The server's error code for a moment of which it no longer has the documents.
const TOO_OLD: i32 = 239;
/// The server's error code for a collection that has changed since the moment.
const UNAVAILABLE: i32 = 246;
