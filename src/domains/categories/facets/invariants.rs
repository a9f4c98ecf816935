//! The facets compared with a recount, for `docgate check`.

use std::collections::{BTreeSet, HashMap};

use super::{
    super::documents::CategoryDocument,
    documents::{CountedProduct, FacetsDocument},
    recount, store,
};
use crate::{app::App, error::Result, invariants::Report};

/// Checks that the facets are what a recount gives. Facets that are still to be counted, and those of products whose
/// change wasn't followed, aren't compared.
pub(in super::super) async fn check(app: &App, report: &mut Report) -> Result<()> {
    report.rule("categories: the facets are what a recount of the products gives");
    let mut others = Vec::new();
    for facets in store::list_all(app).await?.into_iter().filter(|one| one.dirty_at.is_none()) {
        let counts = store::count(app, &facets.path).await?;
        if facets.counts.clone().unwrap_or_default() != counts {
            others.push((facets, counts));
        }
    }
    if others.is_empty() {
        return Ok(());
    }
    // Products that changed meanwhile are still marked, or their paths were asked for again.
    let changed = store::list_changed(app).await?;
    if changed.len() >= store::FOLLOWED {
        // There are more of them. The next check compares.
        return Ok(());
    }
    let pending: BTreeSet<&str> = changed.iter().flat_map(CountedProduct::paths).collect();
    let now: HashMap<String, FacetsDocument> = store::list_all(app)
        .await?
        .into_iter()
        .map(|facets| (facets.path.clone(), facets))
        .collect();
    for (facets, counts) in others {
        let is_same = now.get(&facets.path).is_some_and(|now| now.asked == facets.asked);
        if is_same && !pending.contains(facets.path.as_str()) {
            report.broken(format!("{facets:?}, a recount gives {counts:?}"));
        }
    }
    Ok(())
}

/// Counts all categories again whose facets are missing or differ. Returns what was corrected.
pub(in super::super) async fn repair(app: &App) -> Result<Vec<String>> {
    let stored = store::list_all(app).await?;
    let mut paths: BTreeSet<String> = stored.iter().map(|facets| facets.path.clone()).collect();
    app.collection()
        .for_each(|category: CategoryDocument| {
            paths.insert(category.path);
        })
        .await?;
    let mut corrected = Vec::new();
    for path in paths {
        let counts = store::count(app, &path).await?;
        let before = stored.iter().find(|facets| facets.path == path);
        if before.and_then(|facets| facets.counts.clone()).unwrap_or_default() == counts {
            continue;
        }
        store::mark(app, &BTreeSet::from([path.as_str()])).await?;
        if let Some(facets) = store::find(app, &path).await? {
            recount(app, &facets).await?;
            corrected.push(format!("the facets of {path}"));
        }
    }
    Ok(corrected)
}
