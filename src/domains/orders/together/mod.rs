//! Counts which products were bought together. Each product has one document with these counts, under the product's
//! SKU. Orders of its variants are counted as orders of the product.
//!
//! [`counted`] describes how the counts follow the orders: the document is recounted after orders with the mark
//! [`Recount`] have changed.
//!
//! - The insert of an order sets its mark in the same write. So does each commit that changes the counts: a change of
//!   the state, a line that is removed or added again, and the removal of the order. Every commit raises the revision
//!   of the order, which is the guard of the removal of the mark.
//! - The change of an order touches all its products. Changes are followed once the oldest one has waited for
//!   `bought_together_seconds`. So a product that is in many orders is marked and counted once for all of them.
//! - A count reads the newest [`store::WINDOW`] orders of a product and its variants. It keeps the [`store::OTHERS`] most
//!   frequent other products that are in two orders or more.
//!
//! An order counts while it is `PLACED`, for the lines that have pieces. So a cancelled order doesn't count, and the
//! cancellation takes it back. A return lowers the lines, so a line that came back wholly doesn't count either.

mod documents;
mod invariants;
mod store;

use std::{collections::BTreeSet, time::Duration};

use mongodb::bson::DateTime;

use crate::{
    domains::{
        catalog::{self, StoredProduct},
        counted::{self, Counts},
    },
    flow::Sweep,
    graphql::prelude::*,
    join::try_join_all,
};
use documents::CountedOrder;
pub(super) use documents::{Recount, TogetherDocument};
pub(super) use invariants::{check, repair};
pub(super) use store::{recount as marked, removed};

/// The products that were bought in most orders together with this one, at most `first`. Those that were deleted are left
/// out.
///
/// # Errors
/// `BadInput` that names `first`, or an error of the read.
pub async fn bought_together(app: &App, sku: &str, first: i32) -> Result<Vec<StoredProduct>> {
    let first = input::within("first", first.into(), 1..=store::OTHERS)?;
    let first = usize::try_from(first).unwrap_or(1);
    let others = store::find(app, sku).await?.map(|found| found.others).unwrap_or_default();
    let mut shown = Vec::with_capacity(first);
    // The products of a chunk share a command. Mostly the first chunk is enough.
    for chunk in others.chunks(first) {
        let products = chunk.iter().map(|other| catalog::operations::product(app, &other.sku));
        shown.extend(try_join_all(products).await?.into_iter().flatten());
        if shown.len() >= first {
            break;
        }
    }
    shown.truncate(first);
    Ok(shown)
}

/// Follows the changes of orders, once the oldest one has waited for long enough.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let pause = Duration::from_secs(app.config().bought_together_seconds);
    // A change at the very time is followed too.
    let due = DateTime::from_millis(sweep.earlier(pause).timestamp_millis().saturating_add(1));
    let what = "orders that count for products";
    counted::follow::<TogetherDocument>(app, sweep, what, due).await;
}

/// Counts what is dirty.
pub(super) async fn recount(app: &App, sweep: &mut Sweep) {
    counted::recount::<TogetherDocument>(app, sweep, DateTime::MAX).await;
}

impl Counts for TogetherDocument {
    type Record = CountedOrder;

    fn key(&self) -> &str {
        &self.sku
    }

    fn changes(&self) -> i64 {
        self.changes
    }

    fn touched(records: &[CountedOrder]) -> BTreeSet<&str> {
        let skus = records.iter().flat_map(|order| &order.recount.skus);
        skus.map(|sku| catalog::product_sku(sku)).collect()
    }

    async fn recount(&self, app: &App) -> Result<bool> {
        let others = store::count(app, &self.sku).await?;
        store::put(app, self, others.as_deref()).await
    }
}
