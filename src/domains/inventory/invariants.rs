//! Invariants of the inventory, for `docgate check`.

use super::store;
use crate::{app::App, error::Error, invariants::Report};

/// Checks per SKU: available + reserved + sold = received, and nothing is below zero.
pub async fn check(app: &App, report: &mut Report) -> Result<(), Error> {
    report.rule("inventory: available + reserved + sold = received, nothing below zero");
    for stock in store::list_unbalanced(app).await? {
        report.broken(format!("{stock}"));
    }
    Ok(())
}
