//! Every MongoDB call of the products that were bought together.

use std::collections::BTreeSet;

use super::{
    super::documents::{OrderDocument, OrderLine, OrderState},
    documents::{CountedOrder, Other, TogetherDocument},
};
use crate::{
    domains::{
        catalog,
        counted::{self, Marked},
    },
    graphql::prelude::*,
    mongo::prelude::*,
};

/// Number of orders of a product that are counted, the newest ones.
pub(super) const WINDOW: i64 = 500;
/// Maximum number of other products that are kept.
pub(super) const OTHERS: i64 = 20;
/// Lowest number of orders of two products that are shown beside each other. So no single order is shown.
const FEWEST: i64 = 2;

/// What was bought together with a product.
pub(super) async fn find(app: &App, sku: &str) -> Result<Option<TogetherDocument>> {
    app.collection().get(sku).await
}

/// The SKUs of the products in all orders.
pub(super) async fn list_ordered(app: &App) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let product = |line: &OrderLine| catalog::product_sku(&line.sku).to_owned();
    let each = |order: OrderDocument| found.extend(order.lines.iter().map(product));
    app.collection().for_each(each).await?;
    Ok(found)
}

impl Marked for CountedOrder {
    const LISTED: usize = 200;
    const MARK: (&'static str, &'static str) = ("recount.at", "recount");

    fn key(&self) -> &str {
        &self.id
    }

    fn as_read(&self) -> Document {
        doc! { "revision": self.revision }
    }

    fn without_mark() -> Document {
        doc! { "$unset": "recount" }
    }
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

/// Counts the other products in the newest orders of a product and its variants: the beginning of a range of an index. `None`
/// if none of the orders counts.
pub(super) async fn count(app: &App, product: &str) -> Result<Option<Vec<Other>>> {
    let of_lines = doc! { "$map": {
        "input": bought("$lines"), "in": catalog::product_sku_of("$$this"),
    } };
    let found = app
        .collection::<OrderDocument>()
        .aggregate(vec![
            doc! { "$match": { "skus": product } },
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
    let mut others: Vec<Other> = found.iter().map(decode_document).collect::<Result<_>>()?;
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
