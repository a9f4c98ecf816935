//! Writes of a whole database from an export.
//!
//! A marker in the database records that the database is being restored, from which export, and which collections are
//! complete. So an interrupted restore is recognised, and only the same export can continue it.
//!
//! The marker is also a lease: it names the restore that is at work, until a deadline on the server's clock that this
//! restore extends. So two restores never write at once. The restore of a process that was killed is continued after the
//! deadline.

mod clash;

use std::{process, time::Duration};

use mongodb::{
    Database,
    bson::{DateTime, Document, RawDocumentBuf, doc, oid::ObjectId},
    error::{Error as Fault, ErrorKind},
    options::{ReturnDocument, UpdateModifications},
};

use super::{
    driver::{DUPLICATE_KEY, is_duplicate_key, send, send_within},
    expression::{literal, millis},
    faults::{COLLECTION_EXISTS, has_code},
    migrations::SchemaVersionDocument,
    placement::collection_names,
    snapshot::{Part, indexes_of},
    stored::Stored as _,
};
use crate::error::Error;
pub use clash::{Clash, Wanted};

/// Collection with the marker of a restore. It is dropped at the end.
pub const MARKER: &str = "docgate_restore";
/// `_id` of the marker.
const ID: &str = "restore";
/// Time limit of building indexes, which can take hours.
const BUILD_TIMEOUT: Duration = Duration::from_secs(24 * 3_600);
/// Time for which the marker names a restore as at work.
const LEASE: Duration = Duration::from_secs(10);
/// Pause between two calls of [`Restoring::renew`].
pub const RENEWAL: Duration = Duration::from_secs(2);
/// A deadline that has passed.
const PASSED: DateTime = DateTime::from_millis(0);
/// Pause between two looks at the marker of another restore.
const POLL: Duration = Duration::from_millis(200);

/// The databases that are restored. The marker is in the first one.
#[derive(Debug, Clone)]
pub struct Restoring {
    parts: Vec<Part>,
    /// Random name of this restore.
    holder: String,
}

/// What a restore finds.
#[derive(Debug)]
pub enum Begun {
    /// The databases may be written. The files with these names are restored already.
    Ready(Restoring, Vec<String>),
    /// This database has documents in this collection.
    NotEmpty(String, String),
    /// An index of the export can't be built because of this one. Nothing is written.
    OtherIndex(Clash),
    /// The database is half restored from another export.
    OfAnother,
    /// Another restore of the export is at work, in the process with this id.
    Running(i64),
}

impl Restoring {
    /// Begins to restore into empty databases, or continues a restore of the export with this digest. `wanted` are the indexes
    /// of the collections that are kept if they exist. Waits for at most ten seconds until it is known whether a restore that has
    /// begun is still at work.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn begin(
        parts: Vec<Part>,
        export: &str,
        wanted: &[Wanted<'_>],
    ) -> Result<Begun, Error> {
        let this = Self { parts, holder: ObjectId::new().to_hex() };
        // A database with documents gets no marker, with which it would count as half restored. Those of a restore that has
        // begun meanwhile don't count.
        if this.marker().await?.is_none()
            && let Some((database, collection)) = this.filled().await?
            && this.marker().await?.is_none()
        {
            return Ok(Begun::NotEmpty(database, collection));
        }
        let is_of_another = this.marker().await?.is_some_and(|marker| !is_of(&marker, export));
        if !is_of_another && let Some(clash) = this.clash(wanted).await? {
            return Ok(Begun::OtherIndex(clash));
        }
        let marker = match this.claim(export).await? {
            Claim::Held(marker) => marker,
            Claim::OfAnother => return Ok(Begun::OfAnother),
            Claim::Running(process) => return Ok(Begun::Running(process)),
        };
        if marker.contains_key("unchecked") {
            // Another restore may have ended between the check and the claim.
            if let Some((database, collection)) = this.filled().await? {
                this.drop_marker().await?;
                return Ok(Begun::NotEmpty(database, collection));
            }
            // The export has the versions that were in force.
            for Part { database, .. } in &this.parts {
                let versions = database.collection::<Document>(SchemaVersionDocument::COLLECTION);
                send("", "drop", async move { versions.drop().await }).await?;
            }
            this.update(doc! { "$unset": { "unchecked": "" } }).await?;
        }
        let done = marker.get_array("done").map_err(Error::internal)?;
        let done = done.iter().filter_map(|file| file.as_str().map(str::to_owned)).collect();
        Ok(Begun::Ready(this, done))
    }

    /// Makes this restore the holder of the marker, unless another one is at work: one that extends its deadline.
    async fn claim(&self, export: &str) -> Result<Claim, Error> {
        let mut first_seen: Option<Document> = None;
        loop {
            if let Some(marker) = self.insert_marker(export).await? {
                return Ok(Claim::Held(marker));
            }
            if let Some(marker) = self.take_over(export).await? {
                return Ok(Claim::Held(marker));
            }
            // It ended, if there is no marker.
            if let Some(marker) = self.marker().await? {
                if !is_of(&marker, export) {
                    return Ok(Claim::OfAnother);
                }
                let seen = first_seen.get_or_insert_with(|| marker.clone());
                // A restore that was interrupted sets an earlier deadline.
                let is_extended = seen.get("holder") != marker.get("holder")
                    || seen.get_datetime("until").ok() < marker.get_datetime("until").ok();
                if is_extended {
                    return Ok(Claim::Running(marker.get_i64("process").unwrap_or_default()));
                }
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Inserts the marker, and returns it. `None`: there is one.
    async fn insert_marker(&self, export: &str) -> Result<Option<Document>, Error> {
        let marker = doc! {
            "_id": ID, "export": export, "done": [], "unchecked": true,
            "holder": &self.holder, "process": i64::from(process::id()), "until": PASSED,
        };
        let (markers, inserted) = (self.markers()?, marker.clone());
        let insert = async move {
            match markers.insert_one(inserted).await {
                Err(fault) if is_duplicate_key(&fault) => Ok(false),
                reply => reply.map(|_| true),
            }
        };
        if !send(MARKER, "insert", insert).await? {
            return Ok(None);
        }
        // The server's clock sets its deadline. Until then another restore may take it over.
        Ok(self.renew().await?.then_some(marker))
    }

    /// Takes over the marker of a restore of the same export whose deadline has passed, and returns it. Markers of earlier
    /// versions have no deadline.
    async fn take_over(&self, export: &str) -> Result<Option<Document>, Error> {
        let markers = self.markers()?;
        let free = doc! { "_id": ID, "export": export, "$expr": { "$lt": ["$until", "$$NOW"] } };
        let set = doc! {
            "holder": literal(&self.holder), "process": i64::from(process::id()), "until": deadline(),
        };
        let take = async move {
            let taken = markers.find_one_and_update(free, vec![doc! { "$set": set }]);
            taken.return_document(ReturnDocument::After).await
        };
        send(MARKER, "findAndModify", take).await
    }

    /// Extends the deadline of the marker by ten seconds from now on. `false`: another restore has taken it over.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: it can be repeated.
    pub async fn renew(&self) -> Result<bool, Error> {
        self.update(vec![doc! { "$set": { "until": deadline() } }]).await
    }

    /// Lets another restore continue at once.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: the deadline stays.
    pub async fn release(&self) -> Result<(), Error> {
        self.update(doc! { "$set": { "until": PASSED } }).await.map(|_| ())
    }

    /// Changes the marker if this restore still holds it, and returns whether it does.
    async fn update(&self, change: impl Into<UpdateModifications>) -> Result<bool, Error> {
        let (markers, change) = (self.markers()?, change.into());
        let mine = doc! { "_id": ID, "holder": &self.holder };
        let update = async move { markers.update_one(mine, change).await };
        Ok(send(MARKER, "update", update).await?.matched_count == 1)
    }

    /// The database of this name in the export.
    fn database(&self, part: &str) -> Result<&Database, Error> {
        let of_name = self.parts.iter().find(|of| of.name == part);
        let missing = || Error::internal(format!("there is no database {part}"));
        of_name.map(|part| &part.database).ok_or_else(missing)
    }

    fn markers(&self) -> Result<mongodb::Collection<Document>, Error> {
        let first = self.parts.first().ok_or_else(|| Error::internal("there is no database"))?;
        Ok(first.database.collection(MARKER))
    }

    async fn marker(&self) -> Result<Option<Document>, Error> {
        let markers = self.markers()?;
        send(MARKER, "find", async move { markers.find_one(doc! { "_id": ID }).await }).await
    }

    /// Creates a collection with these options. With `anew`, an existing one is dropped first; otherwise it is kept.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: it can be repeated.
    pub async fn create(
        &self,
        (part, name): (&str, &str),
        options: Document,
        anew: bool,
    ) -> Result<(), Error> {
        let database = self.database(part)?.clone();
        if anew {
            let collection = database.collection::<Document>(name);
            send("", "drop", async move { collection.drop().await }).await?;
        }
        let mut command = doc! { "create": name };
        command.extend(options);
        command.insert("writeConcern", doc! { "w": "majority" });
        send("", "create", async move {
            match database.run_command(command).await {
                Err(fault) if !anew && has_code(&fault, &[COLLECTION_EXISTS]) => Ok(()),
                reply => reply.map(|_| ()),
            }
        })
        .await
    }

    /// Inserts documents. Those whose `_id` is taken were inserted before, and are skipped.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: some of them may have been inserted. `Internal` also if another unique key is taken.
    pub async fn insert(
        &self,
        (part, name): (&str, &str),
        documents: Vec<RawDocumentBuf>,
    ) -> Result<(), Error> {
        let collection = self.database(part)?.collection::<RawDocumentBuf>(name);
        send("", "insert", async move {
            match collection.insert_many(&documents).ordered(false).await {
                Err(fault) if is_of_ids(&fault) => Ok(()),
                reply => reply.map(|_| ()),
            }
        })
        .await
    }

    /// Builds indexes from the specifications of the export. Existing ones are kept.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: it can be repeated.
    pub async fn build(
        &self,
        (part, name): (&str, &str),
        indexes: Vec<Document>,
    ) -> Result<(), Error> {
        if indexes.is_empty() {
            return Ok(());
        }
        let command = doc! {
            "createIndexes": name, "indexes": indexes, "writeConcern": { "w": "majority" },
        };
        let database = self.database(part)?.clone();
        let built = async move { database.run_command(command).await };
        send_within(BUILD_TIMEOUT, "", "createIndexes", built).await.map(|_| ())
    }

    /// Notes that the file with this name is restored. `false`: another restore has taken over.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: it can be repeated.
    pub async fn note_done(&self, file: &str) -> Result<bool, Error> {
        self.update(doc! { "$addToSet": { "done": file } }).await
    }

    /// Removes the marker. `false`: another restore has taken over, and the marker stays.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: it can be repeated.
    pub async fn end(&self) -> Result<bool, Error> {
        let is_held = self.renew().await?;
        if is_held {
            self.drop_marker().await?;
        }
        Ok(is_held)
    }

    async fn drop_marker(&self) -> Result<(), Error> {
        let markers = self.markers()?;
        send(MARKER, "drop", async move { markers.drop().await }).await
    }

    /// The first existing index that prevents a wanted one.
    async fn clash(&self, wanted: &[Wanted<'_>]) -> Result<Option<Clash>, Error> {
        for Part { name: part, database } in &self.parts {
            let there = collection_names(database).await?;
            for Wanted { place: (of, name), indexes } in wanted {
                if of != part || indexes.is_empty() || there.iter().all(|other| other != name) {
                    continue;
                }
                let existing = indexes_of(database, name).await?;
                if let Some((index, differences)) = clash::find(indexes, &existing) {
                    let (database, collection) = (database.name().to_owned(), (*name).to_owned());
                    return Ok(Some(Clash { database, collection, index, differences }));
                }
            }
        }
        Ok(None)
    }

    /// A database and a collection of it that has documents.
    async fn filled(&self) -> Result<Option<(String, String)>, Error> {
        for Part { database, .. } in &self.parts {
            if let Some(name) = filled(database).await? {
                return Ok(Some((database.name().to_owned(), name)));
            }
        }
        Ok(None)
    }
}

/// Whether a marker is one of the export with this digest.
fn is_of(marker: &Document, export: &str) -> bool {
    marker.get_str("export").is_ok_and(|of| of == export)
}

/// What becomes of a claim of the marker.
enum Claim {
    /// This restore holds the marker, with this content.
    Held(Document),
    /// See [`Begun::OfAnother`].
    OfAnother,
    /// See [`Begun::Running`].
    Running(i64),
}

/// Expression: the deadline of a lease that begins now.
fn deadline() -> Document {
    doc! { "$add": ["$$NOW", millis(LEASE)] }
}

/// A collection of the database that has documents. The marker doesn't count, and neither do those that only say which versions
/// are in force: building the indexes of a new database inserts them.
async fn filled(database: &Database) -> Result<Option<String>, Error> {
    let mut names = collection_names(database).await?;
    names.sort();
    let is_content = |name: &String| {
        !name.starts_with("system.")
            && ![MARKER, SchemaVersionDocument::COLLECTION].contains(&name.as_str())
    };
    for name in names.into_iter().filter(is_content) {
        let collection = database.collection::<RawDocumentBuf>(&name);
        let first = send("", "find", async move { collection.find_one(doc! {}).await }).await?;
        if first.is_some() {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Whether all that an insert failed at are taken `_id`s.
fn is_of_ids(fault: &Fault) -> bool {
    let ErrorKind::InsertMany(failed) = fault.kind.as_ref() else { return false };
    let Some(errors) = &failed.write_errors else { return false };
    let is_of_id = |code, message: &str| code == DUPLICATE_KEY && message.contains(" index: _id_ ");
    failed.write_concern_error.is_none()
        && errors.iter().all(|one| is_of_id(one.code, &one.message))
}
