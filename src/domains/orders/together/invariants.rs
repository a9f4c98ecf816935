//! Compares the products that were bought together with a recount, for `docgate check`.

use std::collections::HashMap;

use super::{TogetherDocument, store};
use crate::{app::App, domains::counted, error::Result, invariants::Report};

/// Checks that the counts are what a recount gives. Those that are still to be counted, and those of orders whose change
/// wasn't followed, aren't compared.
pub(in super::super) async fn check(app: &App, report: &mut Report) -> Result<()> {
    report.rule("orders: what was bought together is what a recount of the orders gives");
    let mut different = Vec::new();
    let all = counted::list_all::<TogetherDocument>(app).await?.into_iter();
    for together in all.filter(|one| one.dirty_at.is_none()) {
        let others = store::count(app, &together.sku).await?.unwrap_or_default();
        if together.others != others {
            different.push((together, others));
        }
    }
    for (together, others) in counted::wrong(app, different).await? {
        report.broken(format!("{together:?}, a recount gives {others:?}"));
    }
    Ok(())
}

/// Counts all products again whose counts are missing or differ. Returns what was corrected.
pub(in super::super) async fn repair(app: &App) -> Result<Vec<String>> {
    let all = counted::list_all::<TogetherDocument>(app).await?;
    let all: HashMap<&str, _> = all.iter().map(|one| (one.sku.as_str(), one)).collect();
    let mut products = store::list_ordered(app).await?;
    products.extend(all.keys().map(|product| (*product).to_owned()));
    let mut corrected = Vec::new();
    for product in products {
        let before = all.get(product.as_str());
        let others = store::count(app, &product).await?;
        let is_known = others.is_none() || before.is_some();
        let counted = before.map_or(&[][..], |together| &together.others);
        if is_known && counted == others.unwrap_or_default() {
            continue;
        }
        if counted::count_anew::<TogetherDocument>(app, &product).await? {
            corrected.push(format!("what was bought together with {product}"));
        }
    }
    Ok(corrected)
}
