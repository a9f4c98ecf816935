//! Compares the facets with a recount, for `docgate check`.

use std::collections::{BTreeMap, BTreeSet};

use mongodb::bson::Document;

use super::{super::documents::CategoryDocument, documents::FacetsDocument, store};
use crate::{
    app::App,
    domains::counted::{self, Counts as _},
    error::Result,
    invariants::Report,
};

/// Checks that the facets are what a recount gives. Facets that are still to be counted, and those of products whose
/// change wasn't followed, aren't compared.
pub(in super::super) async fn check(app: &App, report: &mut Report) -> Result<()> {
    report.rule("categories: the facets are what a recount of the products gives");
    let mut different = Vec::new();
    let all = counted::list_all::<FacetsDocument>(app).await?.into_iter();
    for facets in all.filter(|one| one.dirty_at.is_none()) {
        let counts = store::count(app, &facets.path).await?;
        if facets.counts.clone().unwrap_or_default() != counts {
            different.push((facets, counts));
        }
    }
    for (facets, counts) in counted::wrong(app, different).await? {
        report.broken(format!("{facets:?}, a recount gives {counts:?}"));
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
        let touched = BTreeMap::from([(path.as_str(), Document::new())]);
        counted::mark::<FacetsDocument>(app, touched).await?;
        if let Some(facets) = store::find(app, &path).await? {
            facets.recount(app).await?;
            corrected.push(format!("the facets of {path}"));
        }
    }
    Ok(corrected)
}
