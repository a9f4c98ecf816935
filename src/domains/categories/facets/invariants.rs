//! Compares the facets with a recount, for `docgate check`.

use std::collections::{BTreeSet, HashSet};

use super::{super::documents::CategoryDocument, documents::FacetsDocument, store};
use crate::{app::App, domains::counted, error::Result, invariants::Report};

/// Checks that the facets are what a recount gives, and that none are missing. Facets that are still to be counted, and those of
/// products whose change wasn't followed, aren't compared.
pub(in super::super) async fn check(app: &App, report: &mut Report) -> Result<()> {
    report.rule("categories: the facets are what a recount of the products gives");
    let mut different = Vec::new();
    let all = counted::list_all::<FacetsDocument>(app).await?;
    let known: HashSet<String> = all.iter().map(|facets| facets.path.clone()).collect();
    for facets in all.into_iter().filter(|one| one.dirty_at.is_none()) {
        let counts = store::count(app, &facets.path).await?;
        if facets.counts.clone().unwrap_or_default() != counts {
            different.push((facets, counts));
        }
    }
    for (facets, counts) in counted::wrong(app, different).await? {
        report.broken(format!("{facets:?}, a recount gives {counts:?}"));
    }
    let mut missing = Vec::new();
    app.collection()
        .for_each(|category: CategoryDocument| {
            if !known.contains(&category.path) {
                missing.push(category.path);
            }
        })
        .await?;
    for path in missing {
        // They may have been counted since the others were read.
        if store::has_followed(app, &path).await? && store::find(app, &path).await?.is_none() {
            report.broken(format!("{path} has products that were followed, and no facets"));
        }
    }
    Ok(())
}

/// Counts all categories again whose facets are missing or differ. Returns what was corrected.
pub(in super::super) async fn repair(app: &App) -> Result<Vec<String>> {
    let stored = counted::list_all::<FacetsDocument>(app).await?;
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
        if counted::count_anew::<FacetsDocument>(app, &path).await? {
            corrected.push(format!("the facets of {path}"));
        }
    }
    Ok(corrected)
}
