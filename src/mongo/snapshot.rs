//! Reads of a whole database as it was at one cluster time.
//!
//! Reads with the read concern `snapshot` see one moment of all collections, also outside of transactions (since
//! MongoDB 5.0). The server keeps the past for `minSnapshotHistoryWindowInSeconds`, which is 300 by default.
//! <https://www.mongodb.com/docs/manual/reference/read-concern-snapshot/>
//!
//! Capped collections can't be read so (tried with MongoDB 6.0.5: `SnapshotUnavailable`). They are read with the read
//! concern `majority`, after that moment. Time-series collections can be read so.

use std::{collections::BTreeMap, time::Duration};

use futures_util::TryStreamExt;
use mongodb::{
    ClientSession, Database,
    action::Find,
    bson::{Bson, DateTime, Document, RawDocumentBuf, Timestamp, doc},
    error::ErrorKind,
    options::{ReadConcern, SessionOptions},
    raw_batch_cursor::RawBatch,
};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use super::{driver::send, restoring::MARKER};
use crate::error::Error;

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

/// A collection of the snapshot.
#[derive(Debug, Clone)]
pub struct Described {
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

/// All collections of a database, at one cluster time.
#[derive(Debug)]
pub struct Snapshot {
    database: Database,
    at: Timestamp,
    collections: Vec<Described>,
    /// The identities of the collections, by name.
    identities: Identities,
}

type Identities = BTreeMap<String, Bson>;

/// Number of times that a moment is looked for at which no collection is being created or dropped.
const TRIES: usize = 5;
/// Pause between two of these times.
const PAUSE: Duration = Duration::from_millis(200);
/// Aimed size of a batch in bytes.
const BATCH_BYTES: u64 = 4 << 20;
/// Maximum number of documents of a batch.
const BATCH_DOCUMENTS: u64 = 50_000;
/// The same where the size of a document is unknown.
const UNKNOWN_BATCH: u32 = 5_000;
/// Batches that are read ahead.
const AHEAD: usize = 1;

impl Snapshot {
    /// Takes the present moment.
    ///
    /// # Errors
    /// `Empty`, `HalfRestored`, `Changed` if collections come and go all the time; `Other`.
    pub async fn take(database: &Database) -> Result<Self, SnapshotError> {
        for attempt in 0..TRIES {
            if attempt > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            let listed = list(database).await?;
            let identities = identities(&listed);
            if identities.contains_key(MARKER) {
                return Err(SnapshotError::HalfRestored);
            }
            let mut collections = Vec::new();
            for one in &listed {
                collections.extend(describe(database, one).await?);
            }
            let first = collections.iter().find(|one| one.kind != CollectionKind::Capped);
            let Some(first) = first else { return Err(SnapshotError::Empty) };
            let at = moment(database, &first.name).await?;
            // A collection that was created before that moment is in both lists.
            if let Some(at) = at
                && self::identities(&list(database).await?) == identities
            {
                // The sooner a capped collection is read, the fewer documents are newer than the moment.
                collections
                    .sort_by_key(|one| (one.kind != CollectionKind::Capped, one.name.clone()));
                return Ok(Self { database: database.clone(), at, collections, identities });
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

    /// Its collections, capped ones first.
    pub fn collections(&self) -> &[Described] {
        &self.collections
    }

    /// Reads the documents of a collection in batches. The channel closes at the end, or after an error.
    pub fn read(&self, of: &Described) -> mpsc::Receiver<Result<RawBatch, SnapshotError>> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        let (database, of, at) = (self.database.clone(), of.clone(), self.at);
        tokio::spawn(async move {
            if let Err(error) = stream(&database, &of, at, &sender).await {
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
        let now = identities(&list(&self.database).await?);
        match self.identities.iter().find(|(name, identity)| now.get(*name) != Some(identity)) {
            None => Ok(()),
            Some((name, _)) => Err(SnapshotError::Changed(name.clone())),
        }
    }
}

/// Sends the batches of a collection.
async fn stream(
    database: &Database,
    of: &Described,
    at: Timestamp,
    sender: &mpsc::Sender<Result<RawBatch, SnapshotError>>,
) -> mongodb::error::Result<()> {
    let mut session = session(database, of.kind, Some(at)).await?;
    let collection = database.collection::<RawDocumentBuf>(&of.name);
    let mut find: Find<'_, RawDocumentBuf> = collection.find(doc! {}).batch_size(of.batch);
    if of.kind == CollectionKind::Capped {
        find = find.read_concern(ReadConcern::majority());
    }
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
        match collection.find_one(doc! {}).session(&mut session).await {
            // The collection is newer than what a majority has.
            Err(fault) if has_code(&fault, UNAVAILABLE) => Ok(None),
            reply => reply.map(|_| session.snapshot_time()),
        }
    });
    Ok(read.await?)
}

/// The entries of `listCollections` but those of the server's own collections of views and profiles.
async fn list(database: &Database) -> Result<Vec<Document>, SnapshotError> {
    let database = database.clone();
    let command = doc! { "listCollections": 1, "cursor": { "batchSize": 100_000 } };
    let reply = send("", "listCollections", async move { database.run_command(command).await });
    let mut reply = reply.await?;
    let batch =
        reply.get_document_mut("cursor").and_then(|cursor| cursor.get_array_mut("firstBatch"));
    let all = batch.map_err(Error::internal)?.drain(..);
    let documents = all.filter_map(|one| match one {
        Bson::Document(one) => Some(one),
        _ => None,
    });
    let is_kept = |one: &Document| {
        let name = one.get_str("name").unwrap_or_default();
        !name.starts_with("system.") || name.starts_with(BUCKETS)
    };
    Ok(documents.filter(is_kept).collect())
}

/// The collection with the buckets of a time series, whose name follows.
const BUCKETS: &str = "system.buckets.";

fn identities(listed: &[Document]) -> Identities {
    let identity = |one: &Document| {
        let id = one.get_document("info").ok().and_then(|info| info.get("uuid")).cloned();
        Some((one.get_str("name").ok()?.to_owned(), id.unwrap_or(Bson::Null)))
    };
    listed.iter().filter_map(identity).collect()
}

/// Describes a collection; `None` for a view, and for the buckets of a time series.
async fn describe(
    database: &Database,
    listed: &Document,
) -> Result<Option<Described>, SnapshotError> {
    let name = listed.get_str("name").map_err(Error::internal)?.to_owned();
    let options = listed.get_document("options").cloned().unwrap_or_default();
    let kind = match listed.get_str("type") {
        _ if name.starts_with(BUCKETS) => return Ok(None),
        Ok("collection") if options.get_bool("capped").unwrap_or(false) => CollectionKind::Capped,
        Ok("collection") => CollectionKind::Ordinary,
        Ok("timeseries") => CollectionKind::TimeSeries,
        _ => return Ok(None),
    };
    let stats = command(database, doc! { "collStats": &name }, "collStats").await?;
    let (bytes, documents) = (number(&stats, "size"), number(&stats, "count"));
    let batch = match bytes.checked_div(documents) {
        Some(size) => (BATCH_BYTES / size.max(1)).clamp(1, BATCH_DOCUMENTS),
        None => UNKNOWN_BATCH.into(),
    };
    let list = doc! { "listIndexes": &name, "cursor": { "batchSize": 1_000 } };
    let mut indexes = command(database, list, "listIndexes").await?;
    let indexes = indexes.get_document_mut("cursor").and_then(|of| of.get_array_mut("firstBatch"));
    let indexes = indexes.map_err(Error::internal)?.drain(..).filter_map(|index| match index {
        Bson::Document(mut index) if !is_of_ids(&index) => {
            index.remove("ns");
            Some(index)
        }
        _ => None,
    });
    let indexes = indexes.collect();
    let batch = u32::try_from(batch).unwrap_or(UNKNOWN_BATCH);
    Ok(Some(Described { name, kind, options, indexes, bytes, batch }))
}

/// Whether an index comes with its collection.
fn is_of_ids(index: &Document) -> bool {
    index.get_str("name").is_ok_and(|name| name == "_id_")
        || index.get_bool("clustered").unwrap_or(false)
}

async fn command(
    database: &Database,
    command: Document,
    name: &'static str,
) -> Result<Document, Error> {
    let database = database.clone();
    send("", name, async move { database.run_command(command).await }).await
}

fn number(document: &Document, field: &str) -> u64 {
    let number = match document.get(field) {
        Some(Bson::Int32(number)) => i64::from(*number),
        Some(Bson::Int64(number)) => *number,
        #[expect(clippy::cast_possible_truncation, reason = "an estimate")]
        Some(Bson::Double(number)) => *number as i64,
        _ => 0,
    };
    u64::try_from(number).unwrap_or(0)
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

fn has_code(fault: &mongodb::error::Error, code: i32) -> bool {
    matches!(fault.kind.as_ref(), ErrorKind::Command(of) if of.code == code)
}

/// The server's error code for a lost position in a capped collection.
const LOST: i32 = 136;
/// The server's error code for a moment of which it no longer has the documents.
const TOO_OLD: i32 = 239;
/// The server's error code for a collection that has changed since the moment.
const UNAVAILABLE: i32 = 246;
