//! Facets: the numbers of products in a category and everything below it, by type, price, contributor and property.
//! They are in one document beside the category, so that a page reads them at once.
//!
//! [`counted`] describes how they follow the products: the document is recounted after products that have the mark
//! [`FacetMark`](counted::FacetMark) have changed.
//!
//! Facets are keyed by the path, because products have the paths of their categories. A change of a product touches the
//! facets of every path under which the product is or was counted. If a category moves, its products get its new paths,
//! and the same update marks them. So the facets of the old and of the new paths are recounted.
//!
//! # Lag
//!
//! Facets follow within two passes of the sweep and one of the counts, which runs beside the sweeps. A pass of the sweep follows up
//! to [`CountedProduct::LISTED`](counted::Marked::LISTED) × [`ROUNDS`](counted::ROUNDS) products, and a pass of the counts counts
//! up to [`COUNTED`](counted::COUNTED) paths.

mod documents;
mod invariants;
mod store;
mod types;

use std::collections::BTreeSet;

use mongodb::bson::DateTime;

pub use documents::FacetsDocument;
pub(super) use invariants::{check, repair};
pub use types::CategoryFacets;

use documents::CountedProduct;

use crate::{
    app::App,
    domains::counted::{self, Counts},
    error::Result,
    flow::Sweep,
};

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

/// Follows the changes of products.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    counted::follow::<FacetsDocument>(app, sweep, "facets of products", DateTime::MAX).await;
}

/// Counts what became dirty.
pub(super) async fn recount(app: &App, sweep: &mut Sweep) {
    counted::recount::<FacetsDocument>(app, sweep, DateTime::MAX).await;
}

impl Counts for FacetsDocument {
    type Record = CountedProduct;

    fn key(&self) -> &str {
        &self.path
    }

    fn changes(&self) -> i64 {
        self.changes
    }

    fn touched(records: &[CountedProduct]) -> BTreeSet<&str> {
        records.iter().flat_map(CountedProduct::paths).collect()
    }

    async fn recount(&self, app: &App) -> Result<bool> {
        let counts = store::count(app, &self.path).await?;
        store::put(app, self, &counts).await
    }
}
