//! Every MongoDB call of what was bought together.

use std::collections::{BTreeMap, BTreeSet};

use mongodb::bson::deserialize_from_document;

use super::{
    super::documents::{OrderDocument, OrderState},
    documents::{CountedOrder, Other, TogetherDocument},
};
use crate::{
    app::App,
    domains::{
        catalog,
        counted::{self, Marked},
    },
    error::{Error, Result},
    mongo::prelude::*,
};

/// Number of orders of a product that are counted, the newest ones.
pub(super) const WINDOW: i64 = 500;
/// Maximum number of other products that are kept.
pub(super) const OTHERS: i64 = 20;
/// Lowest number of orders of two products that are shown beside each other. So no single order is shown.
const FEWEST: i64 = 2;
/// Maximum number of SKUs of a product by which its orders are found: its own, and those of a hundred variants. MongoDB
/// merges that many ranges of an index in their order; of more than 200 it would sort the orders.
pub(super) const SKUS: usize = 101;

/// What was bought together with a product.
pub(super) async fn find(app: &App, sku: &str) -> Result<Option<TogetherDocument>> {
    app.collection().get(sku).await
}

/// The products in all orders, each with the SKUs in these.
pub(super) async fn list_ordered(app: &App) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    let each = |order: OrderDocument| {
        for line in order.lines {
            let product = catalog::product_sku(&line.sku).to_owned();
            found.entry(product).or_default().insert(line.sku);
        }
    };
    app.collection().for_each(each).await?;
    Ok(found)
}

impl Marked for CountedOrder {
    const LISTED: usize = 200;
    const MARK: (&'static str, &'static str) = ("recount.at", "recount");

    fn fields() -> Document {
        doc! { "revision": 1, "recount": 1 }
    }

    fn without_mark(&self) -> (Document, Document) {
        let guard = doc! { "_id": &self.id, "revision": self.revision };
        (guard, doc! { "$unset": "recount" })
    }
}

/// The fields to be set with the mark of a product: SKUs of it in orders are added.
pub(super) fn with_skus(new: &BTreeSet<&str>) -> Document {
    let most = i64::try_from(SKUS).unwrap_or(i64::MAX);
    let new = literal(new.iter().copied().collect::<Vec<_>>());
    let others = doc! { "$setDifference": [array("skus"), new.clone()] };
    doc! { "skus": { "$slice": [{ "$concatArrays": [new, others] }, most] } }
}

/// Writes what was bought together with a product; `None` if nobody bought it. Returns whether it was written or removed.
pub(super) async fn put(
    app: &App,
    read: &TogetherDocument,
    others: Option<&[Other]>,
) -> Result<bool> {
    let listed = |others: &[Other]| others.iter().map(stored).collect::<Vec<Bson>>();
    let set = others.map(|others| doc! { "others": literal(listed(others)) });
    counted::write(app, read, set).await
}

/// Counts the other products in the newest orders of a product with these SKUs: the beginnings of ranges of an index, merged
/// in the order of time. `None` if none of the orders counts.
pub(super) async fn count(app: &App, product: &str, skus: &[String]) -> Result<Option<Vec<Other>>> {
    let skus: BTreeSet<&str> = skus.iter().map(String::as_str).chain([product]).collect();
    let skus: Vec<&str> = skus.into_iter().collect();
    let of_lines = doc! { "$map": {
        "input": bought("$lines"), "in": catalog::product_sku_of("$$this"),
    } };
    let found = app
        .collection::<OrderDocument>()
        .aggregate(vec![
            doc! { "$match": { "lines.sku": { "$in": skus } } },
            doc! { "$sort": { "placedAt": -1, "_id": -1 } },
            doc! { "$limit": WINDOW },
            doc! { "$match": { "state": stored(&OrderState::Placed) } },
            doc! { "$project": { "_id": 0, "sku": { "$setUnion": [of_lines] } } },
            doc! { "$match": { "sku": product } },
            doc! { "$unwind": "$sku" },
            doc! { "$group": { "_id": "$sku", "orders": { "$sum": 1_i64 } } },
            doc! { "$match": { "$or": [{ "_id": product }, { "orders": { "$gte": FEWEST } }] } },
            doc! { "$sort": { "orders": -1, "_id": 1 } },
            // The product itself is in each of the orders.
            doc! { "$limit": OTHERS + 1 },
            doc! { "$project": { "_id": 0, "sku": "$_id", "orders": 1 } },
        ])
        .await?;
    if found.is_empty() {
        return Ok(None);
    }
    let other = |other| deserialize_from_document(other).map_err(Error::internal);
    let mut others: Vec<Other> = found.into_iter().map(other).collect::<Result<_>>()?;
    others.retain(|other| other.sku != product);
    // With many others in as many orders, the product itself isn't among these.
    others.truncate(usize::try_from(OTHERS).unwrap_or(usize::MAX));
    Ok(Some(others))
}

/// Expression: the SKUs of the lines that have pieces, in the order of the lines.
fn bought(lines: &str) -> Document {
    let has_pieces = doc! { "$gt": ["$$this.quantity", 0_i64] };
    doc! { "$map": { "input": filter(lines, has_pieces), "in": "$$this.sku" } }
}

/// Expression of the mark of an order, in an update that gives it the state and the lines of `order`. It is evaluated
/// before the change. The mark stays as it is if the order counts for the same products as before.
pub(in super::super) fn recount(order: &OrderDocument) -> Bson {
    let lines = || order.lines.iter();
    let kept: Vec<&str> =
        lines().filter(|line| line.quantity > 0).map(|line| line.sku.as_str()).collect();
    let all_skus: Vec<&str> = lines().map(|line| line.sku.as_str()).collect();
    let is_same = doc! { "$and": [
        { "$eq": ["$state", stored(&order.state)] },
        { "$eq": [bought("$lines"), literal(kept)] },
    ] };
    let mark = whole(doc! { "at": "$$NOW", "skus": literal(all_skus) });
    choose(is_same, "$recount", mark)
}

/// Expression of the mark of an order that becomes a tombstone.
pub(in super::super) fn removed() -> Bson {
    whole(doc! { "at": "$$NOW", "skus": "$lines.sku" })
}
