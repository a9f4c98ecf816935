//! MongoDB access of the catalog. The guarded writes are values: the caller adds its attempt and sends them.

mod combined;
mod conditions;
mod edit;
mod flow;
mod invariants;
mod lists;
mod search;
mod variants;

pub(super) use self::{edit::*, flow::*, invariants::*, search::*, variants::*};
pub use lists::{list, related};
pub use search::{correct_terms, suggested_products};
pub use variants::{Offer, find_offer};

use super::documents::ProductDocument;
use crate::{app::App, domains::categories::CategoryCopy, error::Result, mongo::prelude::*};

/// Maximum number of outbox entries of a product. It is reached only while none can be applied.
pub(super) const DUE: usize = 100;
/// Maximum number of contributors of a product.
pub(super) const CONTRIBUTORS: usize = 100;

/// The collection of the products.
pub(super) fn products(app: &App) -> Collection<ProductDocument> {
    app.collection()
}

/// Those of these products that have a mark or outbox entries.
pub(super) async fn list_unfinished(app: &App, skus: &[String]) -> Result<Vec<ProductDocument>> {
    let mut list = List { hint: Some("_id_"), ..List::of_ids(skus) };
    let exists = |field: &str| doc! { field: { "$exists": true } };
    list.filter.insert("$or", vec![exists("outbox.at"), exists("copying.at")]);
    products(app).list(list).await
}

/// Why a product isn't changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotChanged {
    /// It was deleted.
    Gone,
    /// It is another product than an earlier one with its SKU.
    OtherGeneration,
    /// Its content has another version.
    OtherVersion,
    /// A price that stays has another currency.
    OtherCurrency,
    /// The retail price would be higher than the list price.
    Unordered,
    /// The person has the role already.
    Credited,
    /// The person doesn't have the role.
    NotCredited,
    /// The person has the maximum number of works.
    FullPerson,
    /// The product has the maximum number of contributors.
    FullProduct,
    /// The product has the maximum number of slugs.
    FullSlugs,
    /// The price differences of variants are in another currency.
    Differences,
    /// A variant would cost less than nothing.
    Underpriced,
    /// The product has the variant already.
    HasVariant,
    /// Another variant of the product has these options.
    SameOptions,
    /// The product has the maximum number of variants.
    FullVariants,
    /// The product doesn't have the image.
    NoSuchImage,
    /// Too many outbox entries aren't applied yet.
    Busy,
}

/// Guard: the product exists and isn't deleted.
fn existing(sku: &str) -> Document {
    doc! { "_id": sku, "deletedAt": { "$exists": false } }
}

/// Rule: the product isn't deleted.
fn exists() -> (Condition, NotChanged) {
    (is_absent("deletedAt"), NotChanged::Gone)
}

/// Rule: there is room for another outbox entry.
fn outbox_has_room() -> (Condition, NotChanged) {
    (has_room("outbox", count(DUE)), NotChanged::Busy)
}

/// Expression of the next version: higher than the previous one, and higher than that of every earlier
/// product with the SKU.
fn next_version() -> Bson {
    Bson::Document(doc! { "$max": [{ "$add": ["$version", 1_i64] }, { "$toLong": "$$NOW" }] })
}

/// Expression: the outbox with an entry for `people` (an expression), if there are any.
fn works_due(people: impl Into<Bson>) -> Bson {
    let entry = whole(doc! { "version": next_version(), "people": "$$people", "at": "$$NOW" });
    let longer = append(array("outbox"), vec![entry]);
    let none = doc! { "$eq": ["$$people", []] };
    Bson::Document(doc! { "$let": {
        "vars": { "people": people.into() },
        "in": choose(none, array("outbox"), longer),
    } })
}

/// Expression: all contributors, each once.
fn everyone() -> Bson {
    let people = doc! { "$ifNull": ["$contributors.personId", []] };
    Bson::Document(doc! { "$setUnion": [people, []] })
}

/// Expression of the mark of a write that begins to copy names and the categories `unconfirmed`.
fn copying(token: &str, unconfirmed: impl Into<Bson>) -> Bson {
    whole(doc! { "token": literal(token), "at": "$$NOW", "begun": unconfirmed.into() })
}

/// Expression: the categories that are still unconfirmed.
fn unconfirmed() -> Bson {
    array("copying.begun")
}

/// Expression: those of `categories` that the product isn't certainly in.
fn unconfirmed_of(categories: &[CategoryCopy]) -> Bson {
    let ids: Vec<Bson> = categories.iter().map(|copy| Bson::from(&copy.id)).collect();
    let sure = doc! { "$setDifference": [{ "$ifNull": ["$categories._id", []] }, unconfirmed()] };
    Bson::Document(doc! { "$setDifference": [literal(ids), sure] })
}

/// The last stage of an update that changes price or weight. It sets the point on the plane.
fn plane_stage() -> Document {
    let coordinate = |field| Bson::Document(doc! { "$log": [{ "$add": [field, 1_i64] }, 2] });
    let point = vec![coordinate("$pricing.retail"), coordinate("$shipping.weight")];
    doc! { "$set": { "plane": choose(is_missing("shipping.weight"), "$$REMOVE", point) } }
}
