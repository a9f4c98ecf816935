//! The stock of the products of a list, by one command for all of them.

use async_graphql::ID;
use futures_util::future::try_join_all;

use super::{
    super::{documents::StockDocument, types::Availability},
    stock, stock_of,
};
use crate::{app::App, error::Error, graphql::input};

/// Maximum number of SKUs of one call.
const SKUS: usize = 100;

/// The counters of these SKUs in the order of the call, each as [`stock`] returns it. The reads share a command.
///
/// # Errors
/// `BadInput` that names `skus`, or an error of the read.
pub async fn stocks_of(app: &App, skus: &[ID]) -> Result<Vec<Option<StockDocument>>, Error> {
    input::at_most("skus", skus, SKUS)?;
    try_join_all(skus.iter().map(|sku| stock(app, sku))).await
}

/// The availability of a product that was read before; `None` if it was deleted since. The reads of a list share a
/// command, also with those of its stock.
pub async fn availability(
    app: &App,
    sku: &str,
    generation: &str,
) -> Result<Option<Availability>, Error> {
    let found = stock_of(app, sku, generation).await?;
    Ok(found.map(|stock| Availability::of(&stock, app.config().low_stock)))
}
