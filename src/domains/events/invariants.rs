//! Invariants of events, for `docgate check`.

use super::{calendar::Month, store};
use crate::{app::App, error::Error, invariants::Report};

/// Checks the collections of all months.
pub async fn check(app: &App, report: &mut Report) -> Result<(), Error> {
    let (mut unindexed, mut misplaced) = (Vec::new(), Vec::new());
    for month in store::months(app).await? {
        let missing = store::missing_indexes(app, month).await?;
        if !missing.is_empty() {
            unindexed.push(format!("{month} lacks {}", missing.join(", ")));
            // Without them the other rule can't be checked.
            continue;
        }
        let others = store::ends(app, month).await?;
        let others = others.into_iter().filter(|one| Month::of(one.at.timestamp_millis()) != month);
        misplaced.extend(others.map(|one| format!("{} of {} is in {month}", one.id, one.at)));
    }
    report.add("events: each month has its indexes", unindexed);
    report.add("events: each event is in the collection of its month", misplaced);
    Ok(())
}

/// Builds missing indexes of months.
pub async fn repair(app: &App) -> Result<Vec<String>, Error> {
    let mut repaired = Vec::new();
    for month in store::months(app).await? {
        let missing = store::missing_indexes(app, month).await?;
        if !missing.is_empty() {
            store::rebuild(app, month).await?;
            repaired.push(format!("the indexes of {month}: {}", missing.join(", ")));
        }
    }
    Ok(repaired)
}
