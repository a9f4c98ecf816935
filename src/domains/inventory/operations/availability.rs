//! Reads the stock of all products of a list by one command.

use async_graphql::ID;

use super::{
    super::{
        documents::{StockDocument, StoredLevel},
        store,
        types::Availability,
    },
    stock,
};
use crate::{app::App, error::Error, graphql::input, join::join_all, mongo::Parts};

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

/// The stock of products and variants, which was read together.
#[derive(Debug)]
pub struct Levels(Parts<StoredLevel>);

impl Levels {
    /// Reads the stock of these SKUs. The reads share a command, also with those of counters.
    ///
    /// # Errors
    /// As [`Parts`] has them.
    pub async fn of(app: &App, skus: Vec<&str>) -> Result<Self, Error> {
        store::find_levels(app, skus).await.map(Self)
    }

    /// The availability of a product or variant that was read before, by the free pieces of these SKUs together, each with its
    /// generation. `None` if the first one was deleted since.
    ///
    /// # Errors
    /// The stock of one of them wasn't read.
    pub fn availability(
        &self,
        app: &App,
        goods: &[(&str, &str)],
    ) -> Result<Option<Availability>, Error> {
        let free = goods.iter().map(|(sku, generation)| self.free(sku, generation));
        let free: Vec<Option<i64>> = free.collect::<Result<_, _>>()?;
        if !free.first().is_some_and(Option::is_some) {
            return Ok(None);
        }
        let available: i64 = free.into_iter().flatten().sum();
        Ok(Some(Availability::of(available, app.config().low_stock)))
    }

    /// The free pieces of this generation of a product or variant: none if nothing was ever received, `None` if it was deleted.
    fn free(&self, sku: &str, generation: &str) -> Result<Option<i64>, Error> {
        let found = self.0.get(sku).ok_or_else(|| Error::internal("the stock wasn't read"))?;
        Ok(found?.map_or(Some(0), |level| level.get().free(generation)))
    }
}

/// See [`Levels::availability`].
pub async fn availability(
    app: &App,
    goods: &[(&str, &str)],
) -> Result<Option<Availability>, Error> {
    let skus = goods.iter().map(|(sku, _generation)| *sku).collect();
    Levels::of(app, skus).await?.availability(app, goods)
}
