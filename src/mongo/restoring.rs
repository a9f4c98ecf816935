//! Writes of a whole database from an export.
//!
//! A marker in the database records that the database is being restored, from which export, and which collections are
//! complete. So an interrupted restore is recognised, and only the same export can continue it.

use std::time::Duration;

use mongodb::{
    Database,
    bson::{Document, RawDocumentBuf, doc},
    error::{Error as Fault, ErrorKind},
};

use super::{
    driver::{DUPLICATE_KEY, send, send_within},
    migrations::SchemaVersionDocument,
    snapshot::Part,
    stored::Stored as _,
};
use crate::error::Error;

/// Collection with the marker of a restore. It is dropped at the end.
pub const MARKER: &str = "docgate_restore";
/// `_id` of the marker.
const ID: &str = "restore";
/// Time limit of building indexes, which can take hours.
const BUILD_TIMEOUT: Duration = Duration::from_secs(24 * 3_600);
/// The server's error code for a collection that exists.
const EXISTS: i32 = 48;

/// The databases that are restored. The marker is in the first one.
#[derive(Debug, Clone)]
pub struct Restoring {
    parts: Vec<Part>,
}

/// What a restore finds.
#[derive(Debug)]
pub enum Begun {
    /// The databases may be written. The files with these names are restored already.
    Ready(Restoring, Vec<String>),
    /// This database has documents in this collection.
    NotEmpty(String, String),
    /// The database is half restored from another export.
    OfAnother,
}

impl Restoring {
    /// Begins to restore into empty databases, or continues a restore of the export with this digest.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn begin(parts: Vec<Part>, export: &str) -> Result<Begun, Error> {
        let this = Self { parts };
        if let Some(marker) = this.marker().await? {
            let done = marker.get_array("done").map_err(Error::internal)?;
            let done = done.iter().filter_map(|file| file.as_str().map(str::to_owned)).collect();
            let is_same = marker.get_str("export").is_ok_and(|of| of == export);
            return Ok(if is_same { Begun::Ready(this, done) } else { Begun::OfAnother });
        }
        for Part { database, .. } in &this.parts {
            if let Some(name) = filled(database).await? {
                return Ok(Begun::NotEmpty(database.name().to_owned(), name));
            }
        }
        // The export has the versions that were in force.
        for Part { database, .. } in &this.parts {
            let versions = database.collection::<Document>(SchemaVersionDocument::COLLECTION);
            send("", "drop", async move { versions.drop().await }).await?;
        }
        let marker = doc! { "_id": ID, "export": export, "done": [] };
        let markers = this.markers()?;
        send(MARKER, "insert", async move { markers.insert_one(marker).await }).await?;
        Ok(Begun::Ready(this, Vec::new()))
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
                Err(fault) if !anew && has_code(&fault, EXISTS) => Ok(()),
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

    /// Notes that the file with this name is restored.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: it can be repeated.
    pub async fn note_done(&self, file: &str) -> Result<(), Error> {
        let markers = self.markers()?;
        let change = doc! { "$addToSet": { "done": file } };
        let noted = async move { markers.update_one(doc! { "_id": ID }, change).await };
        send(MARKER, "update", noted).await.map(|_| ())
    }

    /// Removes the marker.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`: it can be repeated.
    pub async fn end(&self) -> Result<(), Error> {
        let markers = self.markers()?;
        send(MARKER, "drop", async move { markers.drop().await }).await
    }
}

/// A collection of the database that has documents. Those that only say which versions are in force don't count: building the
/// indexes of a new database inserts them.
async fn filled(database: &Database) -> Result<Option<String>, Error> {
    let names = database.clone();
    let names = async move { names.list_collection_names().await };
    let mut names = send("", "listCollections", names).await?;
    names.sort();
    let is_content =
        |name: &String| !name.starts_with("system.") && name != SchemaVersionDocument::COLLECTION;
    for name in names.into_iter().filter(is_content) {
        let collection = database.collection::<RawDocumentBuf>(&name);
        let first = send("", "find", async move { collection.find_one(doc! {}).await }).await?;
        if first.is_some() {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

fn has_code(fault: &Fault, code: i32) -> bool {
    matches!(fault.kind.as_ref(), ErrorKind::Command(of) if of.code == code)
}

/// Whether all that an insert failed at are taken `_id`s.
fn is_of_ids(fault: &Fault) -> bool {
    let ErrorKind::InsertMany(failed) = fault.kind.as_ref() else { return false };
    let Some(errors) = &failed.write_errors else { return false };
    let is_of_id = |code, message: &str| code == DUPLICATE_KEY && message.contains(" index: _id_ ");
    failed.write_concern_error.is_none()
        && errors.iter().all(|one| is_of_id(one.code, &one.message))
}
