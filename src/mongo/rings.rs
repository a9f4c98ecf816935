//! Rings: capped collections, whose names are made at run time. A ring keeps its documents in the order in which they
//! were inserted, and overwrites the oldest ones.
//!
//! A ring is read from its start, with an empty filter: MongoDB reads it in natural order, also with `notablescan`, and a
//! tailable cursor then waits for further documents. The reads have read concern `local`. With `majority` a waiting
//! cursor isn't woken by an insert, because the majority has it only afterwards.
//! <https://www.mongodb.com/docs/manual/core/tailable-cursors/>
//!
//! A single read can begin after a document, whose record number it names (`$_resumeAfter`, since MongoDB 4.4; the manual
//! doesn't describe it). A tailable cursor can't: MongoDB 6.0 stops if one is asked for.

use std::time::Duration;

use mongodb::{
    ClientSession,
    bson::{Bson, Document, doc},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    collection::{Collection, List, Stored},
    driver::{DUPLICATE_KEY, Raw, decode, decode_document, encode},
    expression::{count, millis, starts_with},
    faults::{COLLECTION_EXISTS, has_code},
    lists::find_many,
    raw_writes,
};
use crate::error::Error;

/// `maxTimeMS` of inserts and of reads of a few documents.
const LIMIT: Duration = Duration::from_secs(10);
/// Time for which the server waits for further documents before it answers without any.
const AWAIT: Duration = Duration::from_secs(1);
/// Maximum number of documents of a batch.
pub const BATCH: usize = 100;
/// Number of times that a read is tried while members take turns as primary.
const TRIES: usize = 3;

/// One ring. Cheap to clone.
#[derive(Clone)]
pub struct Ring {
    raw: Raw,
}

/// How much a ring contains.
#[derive(Debug, Clone, Copy)]
pub struct Contents {
    /// Number of documents.
    pub documents: i64,
    /// Size of the documents in bytes.
    pub bytes: i64,
}

impl<T: Stored> Collection<T> {
    /// The ring with this name. Its commands are counted as those of this collection.
    pub fn ring(&self, name: &str) -> Ring {
        Ring { raw: self.inner().with_name(name) }
    }

    /// The collections whose names begin with `prefix`, each with whether it is capped.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn rings(&self, prefix: &str) -> Result<Vec<(String, bool)>, Error> {
        let raw = self.inner();
        let filter = doc! { "name": starts_with(prefix) };
        let database = raw.database().clone();
        let command =
            doc! { "listCollections": 1, "filter": filter, "cursor": { "batchSize": 100_000 } };
        let reply = raw.send("listCollections", async move { database.run_command(command).await });
        let found = batch(&mut reply.await?)?.1.into_iter().filter_map(|one| {
            let is_capped =
                one.get_document("options").is_ok_and(|of| of.get_bool("capped").unwrap_or(false));
            Some((one.get_str("name").ok()?.to_owned(), is_capped))
        });
        Ok(found.collect())
    }
}

impl Ring {
    /// Creates the ring with the maximum size of its documents in bytes, and their maximum number. It may exist already.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: it can be repeated.
    pub async fn create(&self, bytes: i64, documents: Option<i64>) -> Result<(), Error> {
        let (database, mut command) = (
            self.raw.database().clone(),
            doc! { "create": self.raw.name(), "capped": true, "size": bytes, "writeConcern": { "w": "majority" } },
        );
        command.extend(self.raw.place().storage());
        command.extend(documents.map(|max| ("max".to_owned(), Bson::from(max))));
        self.raw
            .send("create", async move {
                match database.run_command(command).await {
                    Err(error) if has_code(&error, &[COLLECTION_EXISTS]) => Ok(()),
                    reply => reply.map(|_| ()),
                }
            })
            .await
    }

    /// Drops the ring. It may not exist.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: it can be repeated.
    pub async fn drop(&self) -> Result<(), Error> {
        let raw = self.raw.clone();
        self.raw.send("drop", async move { raw.clone_collection().drop().await }).await
    }

    /// Number and size of its documents.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn contents(&self) -> Result<Contents, Error> {
        let (database, command) =
            (self.raw.database().clone(), doc! { "collStats": self.raw.name() });
        let reply =
            self.raw.send("collStats", async move { database.run_command(command).await }).await?;
        let number = |name: &str| match reply.get(name) {
            Some(Bson::Int32(number)) => i64::from(*number),
            Some(Bson::Int64(number)) => *number,
            _ => 0,
        };
        Ok(Contents { documents: number("count"), bytes: number("size") })
    }

    /// Inserts documents in their order. Returns whether all were inserted: at a document whose `_id` is taken it stops.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`; some of them may have been inserted.
    pub async fn insert(&self, documents: &[impl Serialize]) -> Result<bool, Error> {
        let documents = documents.iter().map(encode).collect::<Result<_, _>>()?;
        let reply = raw_writes::insert_in_order(&self.raw, documents, LIMIT).await?;
        match reply.failed()?.pop() {
            None => Ok(true),
            Some(failed) if failed.code == DUPLICATE_KEY => Ok(false),
            Some(failed) => Err(failed.error),
        }
    }

    /// The documents with these `_id`s that a majority holds.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn list_settled<D: DeserializeOwned>(&self, ids: &[&str]) -> Result<Vec<D>, Error> {
        find_many(self.raw.clone(), List::of_ids(ids), LIMIT).await?.iter().map(decode).collect()
    }

    /// The documents with these `_id`s.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn list<D: DeserializeOwned>(&self, ids: &[&str]) -> Result<Vec<D>, Error> {
        let command =
            doc! { "filter": { "_id": { "$in": ids } }, "batchSize": count(ids.len() + 1) };
        self.find(command).await
    }

    /// The newest document.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn newest<D: DeserializeOwned>(&self) -> Result<Option<D>, Error> {
        Ok(self.find(doc! { "sort": { "$natural": -1 }, "limit": 1 }).await?.pop())
    }

    async fn find<D: DeserializeOwned>(&self, fields: Document) -> Result<Vec<D>, Error> {
        let mut command = doc! { "find": self.raw.name(), "maxTimeMS": millis(LIMIT) };
        command.extend(fields);
        let database = self.raw.database().clone();
        let mut reply =
            self.raw.send("find", async move { database.run_command(command).await }).await?;
        typed(batch(&mut reply)?.1)
    }

    /// The oldest documents, at most `most`.
    ///
    /// # Errors
    /// `Unread` or `Internal`.
    pub async fn oldest<D: DeserializeOwned>(&self, most: usize) -> Result<Vec<D>, Error> {
        self.find(doc! { "sort": { "$natural": 1 }, "limit": count(most) }).await
    }

    /// The documents after the one with this `_id`, at most `most`. `None` if the ring doesn't have it.
    ///
    /// # Errors
    /// `Unread` or `Internal`.
    pub async fn after<D: DeserializeOwned>(
        &self,
        id: &str,
        most: usize,
    ) -> Result<Option<Vec<D>>, Error> {
        for _ in 0..TRIES {
            let Some(record) = self.record(id).await? else { return Ok(None) };
            let found = self
                .find(doc! {
                    "hint": { "$natural": 1 },
                    "batchSize": count(most),
                    "singleBatch": true,
                    "$_requestResumeToken": true,
                    "$_resumeAfter": { "$recordId": record },
                })
                .await;
            // Each member has its own numbers. If this is still the number, the same member answered all three.
            if self.record(id).await? == Some(record) {
                return found.map(Some);
            }
        }
        Err(Error::unavailable("the primary changes too often").for_read())
    }

    /// The number of a document's record, which rises along the ring.
    async fn record(&self, id: &str) -> Result<Option<i64>, Error> {
        let by_id = doc! { "_id": id };
        let command = doc! { "filter": by_id, "projection": { "_id": 1 }, "showRecordId": true };
        Ok(self.find::<Numbered>(command).await?.pop().map(|found| found.record))
    }

    /// Reads the ring from its start, and then waits for further documents.
    ///
    /// # Errors
    /// `Unread` or `Internal`.
    pub async fn follow<D: DeserializeOwned>(&self) -> Result<(Scan, Vec<D>), Error> {
        let command = doc! {
            "find": self.raw.name(), "batchSize": count(BATCH), "tailable": true, "awaitData": true,
        };
        let (database, handle) = (self.raw.database().clone(), self.raw.clone());
        let opened = self.raw.send("find", async move {
            let mut session = handle.sessions().acquire().await?;
            let reply = database.run_command(command).session(&mut session).await?;
            Ok((session, reply))
        });
        let (session, mut reply) = opened.await?;
        let (cursor, found) = batch(&mut reply)?;
        let scan = Scan { raw: self.raw.clone(), session: Some(session), cursor };
        Ok((scan, typed(found)?))
    }
}

#[derive(Deserialize)]
struct Numbered {
    #[serde(rename = "$recordId")]
    record: i64,
}

/// A read of a ring that waits for further documents. When it is dropped, its cursor is closed.
pub struct Scan {
    raw: Raw,
    /// The session of the cursor. It is away while a command is under way.
    session: Option<ClientSession>,
    /// 0 if the server has closed it.
    cursor: i64,
}

impl Scan {
    /// The next documents, up to [`BATCH`], or `None` if the server has closed the cursor, because the ring is empty. If
    /// none arrive, an empty list is returned about every second.
    ///
    /// # Errors
    /// The read is over: documents were overwritten before they were read, the ring was dropped, the cursor was killed,
    /// or MongoDB doesn't answer.
    pub async fn next<D: DeserializeOwned>(&mut self) -> Result<Option<Vec<D>>, Error> {
        let Some(mut session) = self.session.take().filter(|_| self.cursor != 0) else {
            return Ok(None);
        };
        let command = doc! {
            "getMore": self.cursor, "collection": self.raw.name(),
            "batchSize": count(BATCH), "maxTimeMS": millis(AWAIT),
        };
        let database = self.raw.database().clone();
        let (session, mut reply) = self
            .raw
            .send_waiting("getMore", async move {
                let reply = database.run_command(command).session(&mut session).await?;
                Ok((session, reply))
            })
            .await?;
        let (cursor, found) = batch(&mut reply)?;
        (self.session, self.cursor) = (Some(session), cursor);
        typed(found).map(Some)
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.cursor != 0 {
            let command = doc! { "killCursors": self.raw.name(), "cursors": [self.cursor] };
            let database = self.raw.database().clone();
            let kill =
                self.raw.send("killCursors", async move { database.run_command(command).await });
            runtime.spawn(async move {
                // A cursor that isn't closed times out.
                let _left = kill.await;
            });
        }
    }
}

/// The cursor and the documents of a reply.
fn batch(reply: &mut Document) -> Result<(i64, Vec<Document>), Error> {
    let malformed = || Error::internal("a reply without a batch");
    let Some(Bson::Document(mut cursor)) = reply.remove("cursor") else { return Err(malformed()) };
    let id = cursor.get_i64("id").map_err(Error::internal)?;
    let found = cursor.remove("firstBatch").or_else(|| cursor.remove("nextBatch"));
    let Some(Bson::Array(found)) = found else { return Err(malformed()) };
    let documents = found.into_iter().map(|one| match one {
        Bson::Document(document) => Ok(document),
        _ => Err(malformed()),
    });
    Ok((id, documents.collect::<Result<_, _>>()?))
}

fn typed<D: DeserializeOwned>(found: Vec<Document>) -> Result<Vec<D>, Error> {
    found.iter().map(decode_document).collect()
}
