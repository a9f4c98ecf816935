//! Every MongoDB call of facets.

use super::documents::{CountedProduct, Counts, FacetsDocument};
use crate::{
    domains::counted::{self, Marked},
    graphql::prelude::*,
    mongo::prelude::*,
};

/// Maximum number of types and of contributors.
const VALUES: i64 = 20;
/// Maximum number of properties, each with its value.
const PROPERTIES: i64 = 100;
/// Maximum number of bands of prices, of all currencies.
const BANDS: i64 = 200;

/// The facets of a path.
pub(super) async fn find(app: &App, path: &str) -> Result<Option<FacetsDocument>> {
    app.collection().get(path).await
}

impl Marked for CountedProduct {
    const LISTED: usize = 500;
    const MARK: (&'static str, &'static str) = ("facets.at", "facets");

    fn key(&self) -> &str {
        &self.sku
    }

    fn as_read(&self) -> Document {
        doc! { "incarnation": &self.generation, "facets.changes": self.facets.changes }
    }

    fn without_mark() -> Document {
        doc! { "$set": { "facets.at": "$$REMOVE", "facets.left": [] } }
    }
}

/// Writes the counts of a path; without products, its facets are removed. Returns whether they were written or removed.
pub(super) async fn put(app: &App, read: &FacetsDocument, counts: &Counts) -> Result<bool> {
    let set = (counts.total > 0).then(|| doc! { "counts": literal(stored(counts)) });
    counted::write(app, read, set).await
}

/// Counts the products of a path: one range of an index that begins with `categories.within`.
pub(super) async fn count(app: &App, path: &str) -> Result<Counts> {
    let products = app.collection::<CountedProduct>();
    let is_direct = doc! { "$in": [literal(path), array("categories.path")] };
    let direct = doc! { "$sum": { "$cond": [is_direct, 1_i64, 0_i64] } };
    let edges = doc! { "$lte": ["$$this", "$pricing.retail"] };
    let band = doc! { "$max": filter(edges_of_bands(), edges) };
    let first = |field: &str| doc! { "$ifNull": [{ "$first": field }, 0_i64] };
    let shown = doc! { "$project": {
        "total": first("$all.total"), "direct": first("$all.direct"),
        "types": 1, "prices": 1, "contributors": 1, "properties": 1,
    } };
    let facets = doc! {
        "all": [{ "$group": { "_id": null, "total": { "$sum": 1_i64 }, "direct": direct } }],
        "types": frequent(vec![], doc! { "value": "$type" }, VALUES),
        "prices": [
            doc! { "$group": {
                "_id": { "currency": "$pricing.currency", "min": band }, "count": { "$sum": 1_i64 },
            } },
            doc! { "$sort": { "_id.currency": 1, "_id.min": 1 } },
            doc! { "$limit": BANDS },
            doc! { "$replaceWith": { "$mergeObjects": ["$_id", { "count": "$count" }] } },
        ],
        "contributors": contributors(),
        "properties": frequent(
            once(doc! { "key": "$properties.key", "value": "$properties.value" }, "$properties"),
            doc! { "key": "$_id.value.key", "value": "$_id.value.value" },
            PROPERTIES,
        ),
    };
    let within = doc! { "$match": { "categories.within": path } };
    let found = products.aggregate(vec![within, doc! { "$facet": facets }, shown]).await?;
    found.first().map_or_else(|| Ok(Counts::default()), decode_document)
}

/// Whether the facets of a path have followed one of its products. A product without the field was stored by a version without
/// facets, and one with a mark is still to be followed.
pub(super) async fn has_followed(app: &App, path: &str) -> Result<bool> {
    let followed = doc! { "$match": {
        "categories.within": path,
        "facets.changes": { "$exists": true },
        "facets.at": { "$exists": false },
    } };
    let first = vec![followed, doc! { "$limit": 1 }, doc! { "$project": { "_id": 1 } }];
    Ok(!app.collection::<CountedProduct>().aggregate(first).await?.is_empty())
}

/// Stages: the values of an array's elements, each once for a product, as `_id.value`.
fn once(value: Document, array: &str) -> Vec<Document> {
    vec![doc! { "$unwind": array }, doc! { "$group": { "_id": { "sku": "$_id", "value": value } } }]
}

/// Stages: the most frequent values with their number, after `before`.
fn frequent(before: Vec<Document>, value: Document, limit: i64) -> Vec<Document> {
    let mut stages = before;
    stages.extend([
        doc! { "$group": { "_id": value, "count": { "$sum": 1_i64 } } },
        doc! { "$sort": { "count": -1, "_id": 1 } },
        doc! { "$limit": limit },
        doc! { "$replaceWith": { "$mergeObjects": ["$_id", { "count": "$count" }] } },
    ]);
    stages
}

/// Stages: the most frequent contributors, each once for a product. Of several copies of a name it is the last in
/// alphabetical order, until all of them have followed.
fn contributors() -> Vec<Document> {
    let person = doc! { "sku": "$_id", "person": "$contributors.personId" };
    let name = |field: &str| doc! { "$max": field };
    let shown = doc! { "_id": 0, "personId": "$_id", "name": 1, "count": 1 };
    vec![
        doc! { "$unwind": "$contributors" },
        doc! { "$group": { "_id": person, "name": name("$contributors.name") } },
        doc! { "$group": {
            "_id": "$_id.person", "name": name("$name"), "count": { "$sum": 1_i64 },
        } },
        doc! { "$sort": { "count": -1, "_id": 1 } },
        doc! { "$limit": VALUES },
        doc! { "$project": shown },
    ]
}

/// The lowest price of each band in minor units: 0, then 1, 2 and 5 times each power of ten from 100 on.
pub(super) fn bands() -> impl Iterator<Item = i64> {
    let powers = std::iter::successors(Some(100_i64), |power| power.checked_mul(10));
    let edges = powers.take_while(|power| *power < HIGHEST);
    std::iter::once(0).chain(edges.flat_map(|power| [power, 2 * power, 5 * power]))
}

/// Price above which there is one band.
const HIGHEST: i64 = 1_000_000_000_000;

fn edges_of_bands() -> Bson {
    literal(bands().map(Bson::from).collect::<Vec<_>>())
}
