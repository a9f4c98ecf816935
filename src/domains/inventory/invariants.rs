//! Invariants of the inventory, for `docgate check`.

use super::{operations, store};
use crate::{app::App, error::Error, invariants::Report};

/// Checks per SKU: available + reserved + sold = received, and nothing is below zero; and the sweep finds each SKU with
/// reservations in time.
pub async fn check(app: &App, report: &mut Report) -> Result<(), Error> {
    let unbalanced = store::list_unbalanced(app).await?.into_iter().map(|stock| stock.to_string());
    report.add("inventory: available + reserved + sold = received, nothing below zero", unbalanced);
    let late = store::stocks(app).list_late().await?.into_iter().map(|stock| stock.to_string());
    report.add("inventory: the sweep finds each reservation in time (`sweepAt`)", late);
    Ok(())
}

/// Corrects `sweepAt`, and returns what was corrected.
pub async fn repair(app: &App) -> Result<Vec<String>, Error> {
    let corrected = operations::correct_all(app).await?;
    let line = (corrected > 0).then(|| format!("the time of the sweep of {corrected} SKUs"));
    Ok(line.into_iter().collect())
}
