//! Invariants of the inventory, for `docgate check`.

use super::store;
use crate::{app::App, error::Error, invariants::Report};

/// Checks per SKU: available + reserved + sold = received, and nothing is below zero.
pub async fn check(app: &App, report: &mut Report) -> Result<(), Error> {
    let unbalanced = store::list_unbalanced(app).await?.into_iter().map(|stock| stock.to_string());
    report.add("inventory: available + reserved + sold = received, nothing below zero", unbalanced);
    Ok(())
}
