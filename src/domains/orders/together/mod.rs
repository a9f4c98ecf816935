//! What was bought together with a product or its variants, in one document beside it with the product's SKU as its key.
//!
//! The document is recounted from the orders, and never incremented. So two callers, a repeat or a cut can't count an order
//! twice.
//!
//! ```text
//!   an order changes      the sweep follows           the sweep counts
//!   ───────────────▶ recount.at ─────────────▶ dirtyAt, asked + 1 ─────────────▶ others, counted = asked
//!    (one update)    of the order   of each of its products   (ranges of an index)
//! ```
//!
//! 1. The insert of an order and each commit that changes what it counts for set its mark in the same write: another state,
//!    a line that is removed or added again, the removal of the order.
//! 2. The sweep marks the documents of all its products as dirty, and adds its SKUs to them. Then it removes the order's mark, guarded by the order's
//!    revision, which every commit raises. A later change keeps the mark.
//! 3. The sweep counts each product that has been dirty for `bought_together_seconds`. It reads the newest [`store::WINDOW`]
//!    orders of its SKUs and keeps the [`store::OTHERS`] most frequent other products in two orders or more. The write is guarded by a lower `counted`, and
//!    the document stays dirty if `asked` has risen since it was read.
//!
//! An order counts while it is `PLACED`, for the lines that have pieces. So a cancelled order doesn't count, and the
//! cancellation takes it back. A return lowers the lines, so a line that came back wholly doesn't count either.
//!
//! A pass counts up to 100 products. It begins no further count after [`PASS`], because other rooms wait for it.

mod documents;
mod invariants;
mod store;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use futures_util::future::try_join_all;
use mongodb::bson::DateTime;

use crate::{
    app::App,
    domains::catalog::{self, StoredProduct},
    error::Result,
    flow::Sweep,
    graphql::input,
};
use documents::CountedOrder;
pub(super) use documents::{Recount, TogetherDocument};
pub(super) use invariants::{check, repair};
pub(super) use store::{recount as marked, removed};

/// How often a pass lists orders.
const ROUNDS: usize = 10;
/// Time after which a pass begins no further count.
const PASS: Duration = Duration::from_secs(2);

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

/// Follows the changes of orders, and counts what has been dirty for long enough.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    sweep.count("orders that count for products", follow(app).await);
    let pause = Duration::from_secs(app.config().bought_together_seconds);
    // What became dirty at the very time is counted too.
    let before = sweep.earlier(pause).timestamp_millis().saturating_add(1);
    let dirty = store::list_dirty(app, DateTime::from_millis(before)).await;
    let since = Instant::now();
    let finish = |together: TogetherDocument| async move {
        if since.elapsed() > PASS { Ok(false) } else { count(app, &together).await }
    };
    sweep.each(dirty, |together| together.sku.clone(), finish).await;
}

/// Marks the documents of the products in changed orders as dirty, and removes the marks of the orders. Returns the number of
/// orders.
async fn follow(app: &App) -> Result<u64> {
    let mut followed = 0;
    for _ in 0..ROUNDS {
        let changed = store::list_changed(app).await?;
        if changed.is_empty() {
            break;
        }
        let attempt = app.begin().await?;
        // Another gateway may insert the same document at the same time. Then the next pass goes on.
        if !store::mark(app, &products(&changed)).await? {
            break;
        }
        store::settle(app, &changed, &attempt).await?;
        followed += u64::try_from(changed.len()).unwrap_or(u64::MAX);
        if changed.len() < store::FOLLOWED {
            break;
        }
    }
    Ok(followed)
}

/// The products in these orders, each with its SKUs there.
fn products(changed: &[CountedOrder]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut found = BTreeMap::<&str, BTreeSet<&str>>::new();
    for sku in changed.iter().flat_map(|order| &order.recount.skus) {
        found.entry(catalog::product_sku(sku)).or_default().insert(sku);
    }
    found
}

/// Counts the orders of a product, and returns whether the counts were written. They aren't if another caller wrote newer ones.
async fn count(app: &App, together: &TogetherDocument) -> Result<bool> {
    match store::count(app, &together.sku, &together.skus).await? {
        Some(others) => store::put(app, together, &others).held().await,
        None => store::remove(app, together).await,
    }
}
