//! Reads and writes of the language that text search assumes for stored products.

use mongodb::bson::doc;
use serde::{Deserialize, Serialize};

use super::super::documents::ProductDocument;
use crate::{
    app::App,
    error::Error,
    mongo::{Stored, collection::List, indexes::Index},
};

/// Number of products per command.
const BATCH: i64 = 1_000;

/// A product's key alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ProductKey {
    #[serde(rename = "_id")]
    sku: String,
}

impl Stored for ProductKey {
    const COLLECTION: &'static str = ProductDocument::COLLECTION;
    const INDEXES: &'static [Index] = &[];
}

/// The last SKU of the batch after `after`; `None` at the end.
pub(in super::super) async fn find_end_of_batch(
    app: &App,
    after: &str,
) -> Result<Option<String>, Error> {
    let list = List {
        filter: doc! { "_id": { "$gt": after } },
        sort: doc! { "_id": 1 },
        limit: BATCH,
        projection: Some(doc! { "_id": 1 }),
        hint: Some("_id_"),
        ..List::default()
    };
    let mut batch = app.collection::<ProductKey>().list(list).await?;
    Ok(batch.pop().map(|last| last.sku))
}

/// Sets the stemming of the products after `after` up to `upto` that have no language and another stemming.
/// Returns their number.
pub(in super::super) async fn set_stemming(
    app: &App,
    after: &str,
    upto: &str,
    stemming: &str,
) -> Result<u64, Error> {
    let filter = doc! {
        "_id": { "$gt": after, "$lte": upto },
        "language": { "$exists": false },
        "stemming": { "$ne": stemming },
    };
    let update = doc! { "$set": { "stemming": stemming } };
    app.collection::<ProductDocument>().update_many(filter, update, vec![]).await
}
