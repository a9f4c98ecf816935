//! Reads of orders: by number, and in the lists of customers and merchants.

use mongodb::bson::Bson;

use super::{
    super::{
        documents::OrderDocument,
        store::{self, NEWEST, orders as stored},
        types::{Order, OrderBy, OrdersBy},
    },
    number, order,
};
use crate::graphql::{
    page::{Order as Sort, page_of},
    prelude::*,
};

/// The caller's orders, newest first.
///
/// # Errors
/// The caller has no token, an argument is invalid, or the read failed.
pub async fn my_orders(cx: Cx<'_>, paging: Paging) -> Result<Connection<Order>> {
    let owner = cx.requester.subject()?;
    let (list, keys) = (format!("myOrders {owner}"), NEWEST.to_vec());
    page_of(&cx, Sort { list, keys }, paging, ("owner", owner.into()), place, Order::from).await
}

/// The place of an order in a list.
fn place(order: &OrderDocument) -> Vec<Bson> {
    vec![order.placed_at.into(), (&order.id).into()]
}

/// Returns the order if the caller may read it; see [`order`]. An order without an owner is found by its number only by
/// merchants, because the number isn't a capability.
///
/// # Errors
/// Not exactly one of the arguments is given, or the read failed.
pub async fn order_by(
    cx: Cx<'_>,
    id: Option<&ID>,
    by: Option<&OrderBy>,
) -> Result<Option<OrderDocument>> {
    match (id, by) {
        (Some(id), None) | (None, Some(OrderBy::Id(id))) => order(cx, id).await,
        (None, Some(OrderBy::Number(number))) => numbered(cx, number).await,
        _ => Err(Error::bad_input("by", "takes an order: give either `id` or `by`")),
    }
}

async fn numbered(cx: Cx<'_>, number: &str) -> Result<Option<OrderDocument>> {
    let Some(number) = number::read(number) else { return Ok(None) };
    // Nobody sees an order by its number without a token.
    if cx.requester.subject.is_none() {
        return Ok(None);
    }
    // A number that no order has takes as long as that of somebody else's order. No order has an empty `_id`.
    let id = number::holder(&cx, &number).await?.unwrap_or_default();
    let found = stored(&cx).get_settled(&id).await?;
    let may_see = |order: &OrderDocument| {
        let is_theirs = order.owner.as_deref().is_some_and(|owner| cx.requester.is(owner));
        !order.deleted && (is_theirs || cx.requester.has(Role::Merchant))
    };
    Ok(found.filter(may_see))
}

/// Orders for merchants, newest first.
///
/// # Errors
/// An argument is invalid, or the read failed.
pub async fn orders(cx: Cx<'_>, by: &OrdersBy, paging: Paging) -> Result<Connection<Order>> {
    let given = [
        by.stage.is_some(),
        by.customer_id.is_some(),
        by.sku.is_some(),
        by.number.is_some(),
        by.metadata.is_some(),
        by.return_requested == Some(true),
    ];
    if given.iter().filter(|given| **given).count() > 1 {
        let reason = "takes at most one of `stage`, `customerId`, `sku`, `number`, `metadata` and \
            `returnRequested: true`";
        return Err(Error::bad_input("by", reason));
    }
    if let (Some(from), Some(before)) = (by.placed_from, by.placed_before)
        && before.0 <= from.0
    {
        return Err(Error::bad_input("by.placedBefore", "must be after placedFrom"));
    }
    let (list, keys) = (format!("orders {by:?}"), NEWEST.to_vec());
    let page = Page::new(&cx, Sort { list, keys }, paging)?;
    let found = match by {
        OrdersBy { number: Some(_), placed_from, placed_before, return_requested, .. }
            if placed_from.is_some() || placed_before.is_some() || return_requested.is_some() =>
        {
            let reason = "takes no times and no `returnRequested` with `number`";
            return Err(Error::bad_input("by", reason));
        }
        OrdersBy { number: Some(number), .. } if page.from().is_none() => {
            numbered(cx, number).await?.into_iter().collect()
        }
        // The list has one order, and so no second page.
        OrdersBy { number: Some(_), .. } => Vec::new(),
        OrdersBy { sku: Some(sku), .. } if input::sku(sku).is_err() => Vec::new(),
        by => store::listed(&cx, by, &page).await?,
    };
    Ok(page.connection(found, place, Order::from))
}
