//! The collections of a database: which there are, how they are stored, and their indexes.

use std::collections::BTreeMap;

use mongodb::{
    Database,
    bson::{Bson, Document, doc},
};

use super::{CollectionKind, Described, Part, SnapshotError};
use crate::{error::Error, mongo::driver::send};

/// The identities of collections, by database and name.
pub(super) type Identities = BTreeMap<(&'static str, String), Bson>;

/// Aimed size of a batch in bytes.
const BATCH_BYTES: u64 = 1 << 18;
/// Maximum number of documents of a batch.
const BATCH_DOCUMENTS: u64 = 50_000;
/// The same where the size of a document is unknown.
const UNKNOWN_BATCH: u32 = 5_000;

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

/// The entries of all databases.
pub(super) async fn list_all(parts: &[Part]) -> Result<Vec<(Part, Document)>, SnapshotError> {
    let mut all = Vec::new();
    for part in parts {
        let listed = list(&part.database).await?;
        all.extend(listed.into_iter().map(|one| (part.clone(), one)));
    }
    Ok(all)
}

pub(super) fn identities(listed: &[(Part, Document)]) -> Identities {
    let identity = |(part, one): &(Part, Document)| {
        let id = one.get_document("info").ok().and_then(|info| info.get("uuid")).cloned();
        Some(((part.name, one.get_str("name").ok()?.to_owned()), id.unwrap_or(Bson::Null)))
    };
    listed.iter().filter_map(identity).collect()
}

/// Describes a collection; `None` for a view, and for the buckets of a time series.
pub(super) async fn describe(
    part: &Part,
    listed: &Document,
) -> Result<Option<Described>, SnapshotError> {
    let database = &part.database;
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
    let indexes = indexes_of(database, &name).await?;
    let batch = u32::try_from(batch).unwrap_or(UNKNOWN_BATCH);
    Ok(Some(Described { part: part.clone(), name, kind, options, indexes, bytes, batch }))
}

/// The indexes of a collection but that of `_id`, as `createIndexes` takes them.
pub(in crate::mongo) async fn indexes_of(
    database: &Database,
    collection: &str,
) -> Result<Vec<Document>, Error> {
    let list = doc! { "listIndexes": collection, "cursor": { "batchSize": 1_000 } };
    let mut indexes = command(database, list, "listIndexes").await?;
    let indexes = indexes.get_document_mut("cursor").and_then(|of| of.get_array_mut("firstBatch"));
    let indexes = indexes.map_err(Error::internal)?.drain(..).filter_map(|index| match index {
        Bson::Document(mut index) if !is_of_ids(&index) => {
            index.remove("ns");
            Some(index)
        }
        _ => None,
    });
    Ok(indexes.collect())
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
