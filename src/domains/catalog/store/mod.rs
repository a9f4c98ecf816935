//! Every MongoDB call of the catalog.

mod edit;
mod flow;
mod invariants;
mod lists;
mod stemming;

pub(super) use edit::{Imported, Price, categorize, import, insert, set_price, unmark_all, update};
pub(super) use flow::{
    Corrections, correct, credit, list_copying, list_deleted, list_due, mark_deleted, remove,
    settle, settle_all, uncredit,
};
pub(super) use invariants::{for_each, list_unwritten_works, list_works_without_product};
pub(super) use lists::{Place, Way, list};
pub(super) use stemming::{find_end_of_batch, set_stemming};

use mongodb::bson::{Bson, DateTime, Document, doc};
use serde::{Deserialize, Serialize};

use super::{
    documents::{Copying, Pricing, ProductDocument},
    view::StoredProduct,
};
use crate::{
    app::App,
    domains::categories::CategoryCopy,
    error::Error,
    mongo::{
        Stored,
        collection::List,
        expression::{append, array, choose, literal, whole},
        indexes::Index,
    },
};

/// Outbox entries that a product holds at the most: more come only while none can be given.
pub(super) const DUE: usize = 100;
/// Contributors that a product has at the most.
pub(super) const CONTRIBUTORS: usize = 100;

pub(super) async fn find(app: &App, sku: &str) -> Result<Option<ProductDocument>, Error> {
    app.collection::<ProductDocument>().get_settled(sku).await
}

/// The same, to be shown.
pub(super) async fn find_shown(app: &App, sku: &str) -> Result<Option<StoredProduct>, Error> {
    app.collection::<StoredProduct>().get_settled(sku).await
}

/// These products, as far as something is still to be done about them.
pub(super) async fn list_unfinished(
    app: &App,
    skus: &[String],
) -> Result<Vec<ProductDocument>, Error> {
    let due = doc! { "$or": [
        { "outbox.at": { "$exists": true } }, { "copying.at": { "$exists": true } },
    ] };
    let mut filter = doc! { "_id": { "$in": skus } };
    filter.extend(due);
    let limit = i64::try_from(skus.len()).unwrap_or(i64::MAX);
    app.collection::<ProductDocument>()
        .list(List { filter, limit, hint: Some("_id_"), ..List::default() })
        .await
}

/// What a cart needs to know of a product.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OfferedProduct {
    #[serde(rename = "_id")]
    pub(super) sku: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) title: String,
    pub(super) pricing: Pricing,
    #[serde(rename = "deletedAt", default, skip_serializing_if = "Option::is_none")]
    pub(super) deleted_at: Option<DateTime>,
}

impl Stored for OfferedProduct {
    const COLLECTION: &'static str = ProductDocument::COLLECTION;
    const INDEXES: &'static [Index] = &[];
}

pub(super) async fn find_offer(app: &App, sku: &str) -> Result<Option<OfferedProduct>, Error> {
    const FIELDS: &[&str] = &["_id", "type", "title", "pricing", "deletedAt"];
    let found = app.collection::<OfferedProduct>().get_part_settled(sku, FIELDS).await?;
    Ok(found.filter(|product| product.deleted_at.is_none()))
}

/// The product of that SKU, unless it was deleted.
fn there(sku: &str) -> Document {
    doc! { "_id": sku, "deletedAt": { "$exists": false } }
}

/// The version that a change makes: higher than the one before, and than that of any product which
/// had the SKU earlier.
fn next_version() -> Bson {
    Bson::Document(doc! { "$max": [{ "$add": ["$version", 1_i64] }, { "$toLong": "$$NOW" }] })
}

/// The outbox with the works of `people` (an expression) added, where there are any.
fn works_due(people: impl Into<Bson>) -> Bson {
    let entry = whole(doc! { "version": next_version(), "people": "$$people", "at": "$$NOW" });
    let longer = append(array("outbox"), vec![entry]);
    let none = doc! { "$eq": ["$$people", []] };
    Bson::Document(doc! { "$let": {
        "vars": { "people": people.into() },
        "in": choose(none, array("outbox"), longer),
    } })
}

/// Everyone who had a part in the product, each once.
fn everyone() -> Bson {
    let people = doc! { "$ifNull": ["$contributors.personId", []] };
    Bson::Document(doc! { "$setUnion": [people, []] })
}

/// There is room for another outbox entry.
fn outbox_has_room() -> Document {
    doc! { format!("outbox.{}", DUE - 1): { "$exists": false } }
}

/// The mark of a write that begins to copy. What an earlier mark had begun is still open.
fn copying(token: &str, begun: impl Into<Bson>) -> Bson {
    whole(doc! { "token": literal(token), "at": "$$NOW", "begun": begun.into() })
}

/// Categories that were begun and not looked at again.
fn begun() -> Bson {
    array("copying.begun")
}

/// Categories among `categories` that the product isn't in for sure.
fn begun_of(categories: &[CategoryCopy]) -> Bson {
    let ids: Vec<Bson> = categories.iter().map(|copy| Bson::from(&copy.id)).collect();
    let sure = doc! { "$setDifference": [{ "$ifNull": ["$categories._id", []] }, begun()] };
    Bson::Document(doc! { "$setDifference": [literal(ids), sure] })
}

/// The mark as the filter of who may take it away.
fn marked(sku: &str, mark: &Copying) -> Document {
    doc! { "_id": sku, "copying.token": &mark.token }
}

/// The last stage of an update that changes price or weight: the point on the plane.
fn plane_stage() -> Document {
    let weightless = doc! { "$eq": [{ "$type": "$shipping.weight" }, "missing"] };
    let coordinate = |field: &str| doc! { "$log": [{ "$add": [field, 1_i64] }, 2] };
    let point = vec![
        Bson::Document(coordinate("$pricing.retail")),
        Bson::Document(coordinate("$shipping.weight")),
    ];
    doc! { "$set": { "plane": choose(weightless, "$$REMOVE", point) } }
}
