//! The list of low stock.

use super::super::{
    documents::{LOW, StockDocument},
    store,
    types::Stock,
};
use crate::graphql::{page::Order as Sort, prelude::*};

/// SKUs with fewer free pieces than `below`, the fewest first.
///
/// # Errors
/// An argument is invalid, or the read failed.
pub async fn low_stock(cx: Cx<'_>, below: i32, paging: Paging) -> Result<Connection<Stock>> {
    let below = i64::from(below);
    if !(1..=LOW).contains(&below) {
        return Err(Error::bad_input("below", format!("must be between 1 and {LOW}")));
    }
    let (list, keys) = (format!("lowStock {below}"), vec![("available", 1), ("_id", 1)]);
    let page = Page::new(&cx, Sort { list, keys }, paging)?;
    let found = store::list_low(&cx, below, &page).await?;
    let values = |stock: &StockDocument| vec![stock.available.into(), (&stock.sku).into()];
    Ok(page.connection(found, values, Stock::from))
}
