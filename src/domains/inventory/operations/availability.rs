//! Reads the stock of all products of a list by one command.

use async_graphql::ID;

use super::{
    super::{documents::StockDocument, store, types::Availability},
    stock,
};
use crate::{
    app::App,
    error::Error,
    graphql::input,
    join::{join_all, try_join_all},
};

/// Maximum number of SKUs of one call.
const SKUS: usize = 100;

/// The counters of these SKUs in the order of the call, each as [`stock`] returns it. The reads share a command.
///
/// # Errors
/// `BadInput` that names `skus`.
pub async fn stocks_of(
    app: &App,
    skus: &[ID],
) -> Result<Vec<Result<Option<StockDocument>, Error>>, Error> {
    input::at_most("skus", skus, SKUS)?;
    Ok(join_all(skus.iter().map(|sku| stock(app, sku))).await)
}

/// The availability of a product or variant that was read before, by the free pieces of these SKUs together, each with its
/// generation. `None` if the first one was deleted since. The reads of a list share a command, also with those of its stock.
pub async fn availability(
    app: &App,
    goods: &[(&str, &str)],
) -> Result<Option<Availability>, Error> {
    let reads = goods.iter().map(|(sku, generation)| free(app, sku, generation));
    let found: Vec<Option<i64>> = try_join_all(reads).await?;
    if !found.first().is_some_and(Option::is_some) {
        return Ok(None);
    }
    let available: i64 = found.into_iter().flatten().sum();
    Ok(Some(Availability::of(available, app.config().low_stock)))
}

/// The free pieces of this generation of a product or variant: none if nothing was ever received, `None` if it was deleted.
async fn free(app: &App, sku: &str, generation: &str) -> Result<Option<i64>, Error> {
    let found = store::find_level(app, sku).await?;
    Ok(found.map_or(Some(0), |level| level.get().free(generation)))
}
