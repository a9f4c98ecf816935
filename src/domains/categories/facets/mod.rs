//! Facets: how many products a category and everything below it have, by type, price, contributor and property, in one
//! document beside the category.
//!
//! # How they follow
//!
//! The document is recounted, and never incremented. So two callers, a repeat or a cut can't count anything twice.
//!
//! ```text
//!   a product changes      the sweep follows           the sweep counts
//!   ─────────────────▶ facets.at ─────────────▶ dirtyAt, asked + 1 ─────────────▶ counts, counted = asked
//!    (one update)       of the product   of each of its paths      (one index range)
//! ```
//!
//! 1. The update that changes a product also sets its mark ([`crate::domains::counted`]).
//! 2. The sweep marks the facets of every path that the product may be counted under as dirty, those that it left too.
//!    Then it removes the product's mark, guarded by the number of its changes. A later change keeps the mark.
//! 3. The sweep counts the products of each dirty path. It writes the counts, guarded by a lower `counted`, and the mark
//!    stays if `asked` has risen since it was read. The read follows the mark, which follows the product's change; so the
//!    counts include each change that led to the `asked` that was read.
//!
//! Facets are keyed by the path, because products have the paths of their categories. A category that moves takes its new
//! paths into its products, and the same update marks them: their facets follow below both paths.
//!
//! # Lag
//!
//! Facets follow within two passes of the sweep, and a pass follows up to [`store::FOLLOWED`] × [`ROUNDS`] products and
//! counts up to [`store::COUNTED`] paths, those that have been dirty longest first. It begins no further count after
//! [`PASS`], because other rooms wait for it.

mod documents;
mod invariants;
mod store;
mod types;

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

pub use documents::FacetsDocument;
pub(super) use invariants::{check, repair};
pub use types::CategoryFacets;

use documents::CountedProduct;

use crate::{app::App, error::Result, flow::Sweep};

/// How often a pass lists products.
const ROUNDS: usize = 10;
/// Time after which a pass begins no further count.
const PASS: Duration = Duration::from_secs(2);

/// The facets of the category at a path. They are empty until its products were counted.
///
/// # Errors
/// The read failed.
pub(super) async fn facets(app: &App, path: &str) -> Result<FacetsDocument> {
    Ok(store::find(app, path).await?.unwrap_or_else(|| FacetsDocument::empty(path)))
}

/// The number of products of the category at a path, with those below it or without. `None` until they were counted.
///
/// # Errors
/// The read failed.
pub async fn total(app: &App, path: &str, is_with_below: bool) -> Result<Option<i64>> {
    let counts = store::find(app, path).await?.and_then(|found| found.counts);
    Ok(counts.map(|counts| if is_with_below { counts.total } else { counts.direct }))
}

/// Follows the changes of products, and counts what became dirty.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    sweep.count("facets of products", follow(app).await);
    let path = |facets: &FacetsDocument| facets.path.clone();
    let dirty = store::list_dirty(app).await;
    // Other rooms wait for this one, so the rest is left to the next pass.
    let since = Instant::now();
    let count = |facets: FacetsDocument| async move {
        if since.elapsed() > PASS { Ok(false) } else { recount(app, &facets).await }
    };
    sweep.each(dirty, path, count).await;
}

/// Marks the facets of changed products as dirty, and removes the marks of the products. Returns the number of products.
async fn follow(app: &App) -> Result<u64> {
    let mut followed = 0;
    for _ in 0..ROUNDS {
        let changed = store::list_changed(app).await?;
        if changed.is_empty() {
            break;
        }
        let attempt = app.begin().await?;
        let paths: BTreeSet<&str> = changed.iter().flat_map(CountedProduct::paths).collect();
        // Another gateway may insert the same document at the same time. Then the next pass goes on.
        if !store::mark(app, &paths).await? {
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

/// Counts the products of a path, and returns whether the counts were written. They aren't if another caller wrote newer
/// ones.
async fn recount(app: &App, facets: &FacetsDocument) -> Result<bool> {
    let counts = store::count(app, &facets.path).await?;
    if counts.total == 0 {
        return store::remove(app, facets).await;
    }
    store::put(app, facets, &counts).held().await
}
