//! What was bought together, compared with a recount, for `docgate check`.

use std::collections::{BTreeSet, HashMap};

use super::{count, skus, store};
use crate::{app::App, error::Result, invariants::Report};

/// Checks that the counts are what a recount gives. Those that are still to be counted, and those of orders whose change
/// wasn't followed, aren't compared.
pub(in super::super) async fn check(app: &App, report: &mut Report) -> Result<()> {
    report.rule("orders: what was bought together is what a recount of the orders gives");
    let mut different = Vec::new();
    for together in store::list_all(app).await?.into_iter().filter(|one| one.dirty_at.is_none()) {
        let others = store::count(app, &together.sku).await?;
        if together.others != others {
            different.push((together, others));
        }
    }
    if different.is_empty() {
        return Ok(());
    }
    // Orders that changed meanwhile are still marked, or their SKUs were asked for again.
    let changed = store::list_changed(app).await?;
    if changed.len() >= store::FOLLOWED {
        // There are more of them. The next check compares.
        return Ok(());
    }
    let pending = skus(&changed);
    let now = store::list_all(app).await?.into_iter();
    let now: HashMap<String, i64> = now.map(|one| (one.sku, one.asked)).collect();
    for (together, others) in different {
        let is_same = now.get(&together.sku) == Some(&together.asked);
        if is_same && !pending.contains(together.sku.as_str()) {
            report.broken(format!("{together:?}, a recount gives {others:?}"));
        }
    }
    Ok(())
}

/// Counts all SKUs again whose counts are missing or differ. Returns what was corrected.
pub(in super::super) async fn repair(app: &App) -> Result<Vec<String>> {
    let all = store::list_all(app).await?;
    let mut skus = store::list_ordered(app).await?;
    skus.extend(all.iter().map(|together| together.sku.clone()));
    let mut corrected = Vec::new();
    for sku in skus {
        let others = store::count(app, &sku).await?;
        let before = all.iter().find(|together| together.sku == sku);
        if before.map_or(&[][..], |together| &together.others) == others {
            continue;
        }
        store::mark(app, &BTreeSet::from([sku.as_str()])).await?;
        if let Some(together) = store::find(app, &sku).await? {
            count(app, &together).await?;
            corrected.push(format!("what was bought together with {sku}"));
        }
    }
    Ok(corrected)
}
