//! Every stored document has the version of its shape.

use std::collections::BTreeSet;

use futures_util::TryStreamExt;
use mongodb::{
    Database,
    bson::{Bson, Document, doc},
};

/// Its documents have no version: they have the format of every driver.
const CHUNKS: &str = "assets.chunks";
/// The format of its documents leaves no place for a version but their metadata.
const FILES: &str = "assets.files";

/// Looks at every document of every collection, and returns the names of the collections that have any.
pub(super) async fn assert_versions(database: &Database) -> BTreeSet<String> {
    let mut filled = BTreeSet::new();
    for name in database.list_collection_names().await.expect("names") {
        if name.starts_with("system.") || name == CHUNKS {
            continue;
        }
        let collection = database.collection::<Document>(&name);
        let versions = doc! { "v": 1, "metadata.v": 1 };
        let found = collection.find(doc! {}).projection(versions).await.expect("a cursor");
        let found: Vec<Document> = found.try_collect().await.expect("documents");
        for one in &found {
            let version = match name.as_str() {
                FILES => one.get_document("metadata").ok().and_then(|metadata| metadata.get("v")),
                _ => one.get("v"),
            };
            let has_one = matches!(version, Some(Bson::Int32(1..) | Bson::Int64(1..)));
            assert!(has_one, "a document of {name} has no version: {one}");
        }
        if !found.is_empty() {
            filled.insert(name);
        }
    }
    filled
}
