//! Every MongoDB call of what was bought together.

use std::collections::{BTreeMap, BTreeSet};

use mongodb::bson::deserialize_from_document;

use super::{
    super::documents::{OrderDocument, OrderState},
    documents::{CountedOrder, Other, TogetherDocument},
};
use crate::{
    app::App,
    domains::catalog,
    error::{Error, Result},
    flow::Attempt,
    mongo::prelude::*,
};

/// Maximum number of orders that one command lists.
pub(super) const FOLLOWED: usize = 200;
/// Maximum number of products that one pass counts.
const COUNTED: i64 = 100;
/// Number of orders of a product that are counted, the newest ones.
pub(super) const WINDOW: i64 = 500;
/// Maximum number of other products that are kept.
pub(super) const OTHERS: i64 = 20;
/// Lowest number of orders of two products that are shown beside each other. So no single order is shown.
const FEWEST: i64 = 2;
/// Maximum number of SKUs of a product by which its orders are found: its own, and those of a hundred variants. MongoDB
/// merges that many ranges of an index in their order; of more than 200 it would sort the orders.
pub(super) const SKUS: usize = 101;

fn all(app: &App) -> Collection<TogetherDocument> {
    app.collection()
}

/// What was bought together with a product.
pub(super) async fn find(app: &App, sku: &str) -> Result<Option<TogetherDocument>> {
    all(app).get(sku).await
}

/// What has been dirty since before a time, what has waited longest first.
pub(super) async fn list_dirty(app: &App, before: DateTime) -> Result<Vec<TogetherDocument>> {
    all(app).list_older(("dirtyAt", "dirty"), before, COUNTED).await
}

/// Everything that was counted.
pub(super) async fn list_all(app: &App) -> Result<Vec<TogetherDocument>> {
    let mut found = Vec::new();
    all(app).for_each(|together| found.push(together)).await?;
    Ok(found)
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

/// Orders whose changes weren't followed, those that have waited longest first.
pub(super) async fn list_changed(app: &App) -> Result<Vec<CountedOrder>> {
    let list = List {
        filter: doc! { "recount.at": { "$lt": DateTime::MAX } },
        limit: i64::try_from(FOLLOWED).unwrap_or(i64::MAX),
        projection: Some(doc! { "revision": 1, "recount": 1 }),
        hint: Some("recount"),
        ..List::default()
    };
    app.collection().list(list).await
}

/// Marks these products as dirty, each with SKUs of it in orders. Returns `false` if another caller inserted one of them at
/// the same time; then some may not be marked.
pub(super) async fn mark(app: &App, products: &BTreeMap<&str, BTreeSet<&str>>) -> Result<bool> {
    let most = i64::try_from(SKUS).unwrap_or(i64::MAX);
    let marked = |(product, skus): (&&str, &BTreeSet<&str>)| {
        let next = doc! { "$add": [{ "$ifNull": ["$asked", 0_i64] }, 1_i64] };
        let new = literal(skus.iter().copied().collect::<Vec<_>>());
        let others = doc! { "$setDifference": [array("skus"), new.clone()] };
        let set = doc! {
            "skus": { "$slice": [{ "$concatArrays": [new, others] }, most] },
            "asked": { "$max": [next, { "$toLong": "$$NOW" }] },
            "dirtyAt": { "$ifNull": ["$dirtyAt", "$$NOW"] },
            "v": 1,
        };
        (doc! { "_id": *product }, vec![doc! { "$set": set }])
    };
    Ok(all(app).upsert_each(products.iter().map(marked).collect()).await?.is_empty())
}

/// Removes the marks of orders that haven't changed since they were read.
pub(super) async fn settle(app: &App, read: &[CountedOrder], attempt: &Attempt) -> Result<()> {
    let settled = |order: &CountedOrder| {
        let guard = doc! { "_id": &order.id, "revision": order.revision };
        (guard, vec![doc! { "$unset": "recount" }])
    };
    let orders = app.collection::<CountedOrder>();
    orders.update_each(read.iter().map(settled).collect(), attempt).await.map(|_all_held| ())
}

/// Writes counts that include the `asked` that was read before them, unless newer ones were written.
pub(super) fn put(
    app: &App,
    read: &TogetherDocument,
    others: &[Other],
) -> Guarded<TogetherDocument> {
    let is_newest = doc! { "$eq": ["$asked", read.asked] };
    let guard = doc! { "_id": &read.sku, "counted": { "$not": { "$gte": read.asked } } };
    let others: Vec<Bson> = others.iter().map(stored).collect();
    all(app).set(
        guard,
        doc! {
            "others": literal(others),
            "counted": read.asked,
            "countedAt": "$$NOW",
            "dirtyAt": choose(is_newest, "$$REMOVE", "$dirtyAt"),
        },
    )
}

/// Removes the document of a product that nobody bought, unless something was asked since it was read.
pub(super) async fn remove(app: &App, read: &TogetherDocument) -> Result<bool> {
    let unchanged = doc! { "_id": &read.sku, "asked": read.asked };
    Ok(all(app).remove(unchanged).await.decided()?.is_some())
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
