//! Lists of orders. Each is one range of an index.

use super::{
    super::{
        documents::{OrderDocument, PlacedOrder, Stage},
        types::OrdersBy,
    },
    orders,
};
use crate::{
    domains::metadata::operations::having_for_editors,
    graphql::prelude::*,
    mongo::{keyset, prelude::*},
};

/// The order of every list: newest first.
pub(in super::super) const NEWEST: [(&str, i32); 2] = [("placedAt", -1), ("_id", -1)];

/// A page of the orders that a filter selects. The filter has one condition beside the range of times. Orders with a return to
/// be decided on are few among those of a range, so they can be left out of it.
pub(in super::super) async fn listed(
    app: &App,
    by: &OrdersBy,
    page: &Page,
) -> Result<Vec<OrderDocument>> {
    let (mut filter, hint) = selected(by)?;
    let mut range = Document::new();
    range.extend(by.placed_from.map(|from| ("$gte".to_owned(), from.0.into())));
    range.extend(by.placed_before.map(|before| ("$lt".to_owned(), before.0.into())));
    if !range.is_empty() {
        filter.insert("placedAt", range);
    }
    if by.return_requested == Some(false) {
        filter.insert("returnRequestedAt", doc! { "$exists": false });
    }
    // Tombstones have a stage of their own, but they are in the list of all orders.
    filter.insert("deleted", doc! { "$ne": true });
    orders(app).list(List { hint: Some(hint), ..page.list(filter) }).await
}

/// The filter, and the index that serves it.
fn selected(by: &OrdersBy) -> Result<(Document, &'static str), InvalidInput> {
    Ok(if let Some(pair) = &by.metadata {
        // Only merchants list orders, and they read all pairs.
        (having_for_editors("by.metadata", pair.clone())?, "metadata_placed")
    } else if let Some(stage) = by.stage {
        (doc! { "stage": stored(&Stage::from(stage)) }, "stage_placed")
    } else if let Some(customer) = &by.customer_id {
        (doc! { "owner": customer.as_str() }, "owner_placed")
    } else if let Some(sku) = &by.sku {
        (doc! { "skus": sku.as_str() }, "skus_placed")
    } else if by.return_requested == Some(true) {
        (doc! { "returnRequestedAt": { "$exists": true } }, "return_placed")
    } else {
        (Document::new(), "placed")
    })
}

/// Orders placed at `from` or later, oldest first, with their times: the next ones after the time and `_id` of another one.
pub(in super::super) async fn list_placed(
    app: &App,
    from: DateTime,
    after: Option<&PlacedOrder>,
    limit: i64,
) -> Result<Vec<PlacedOrder>> {
    let keys = NEWEST.map(|(key, direction)| (key, -direction));
    let filter = doc! { "placedAt": { "$gte": from } };
    let filter = match after {
        Some(after) => {
            keyset::beyond(filter, &keys, &[after.placed_at.into(), after.id.as_str().into()])
        }
        None => filter,
    };
    let (sort, hint) = (keyset::sort(&keys), Some("placed"));
    let list = List { filter, sort, limit, hint, ..List::default() };
    app.collection::<PlacedOrder>().list(list).await
}
