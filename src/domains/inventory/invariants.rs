//! What `docgate check` verifies of the inventory.

use super::store;
use crate::{app::App, domains::Report, error::Error};

/// Per SKU: available + reserved + sold = received, and nothing is below zero.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn check(app: &App, report: &mut Report) -> Result<(), Error> {
    report.rule("inventory: available + reserved + sold = received, nothing below zero");
    for stock in store::list_unbalanced(app).await? {
        report.broken(format!("{stock}"));
    }
    Ok(())
}
