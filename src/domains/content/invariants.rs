//! Invariants of content, for `docgate check`.

use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use mongodb::bson::DateTime;

use super::{
    documents::{NodeDocument, RevisionDocument, listed},
    operations::REVISIONS,
    store::WAITING,
};
use crate::{domains::trees::line_to, flow::earlier, graphql::prelude::*, invariants::Report};

/// Checks that paths and feeds follow from slugs, parents, tags and access, and that editions and former
/// versions are consistent with their content.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let (mut tree, mut tombstones) = (BTreeMap::new(), HashSet::new());
    let collect = |node: NodeDocument| {
        if node.deleted_at.is_some() {
            tombstones.insert(node.id);
        } else {
            tree.insert(node.id.clone(), Facts::of(&node));
        }
    };
    app.collection().for_each(collect).await?;

    report.rule("content: paths are what slugs and parents imply");
    for (id, facts) in &tree {
        match implied(&tree, id) {
            Ok(line) if line == facts.within && line.last() == Some(&facts.path) => {}
            Ok(line) => {
                let Facts { path, within, .. } = facts;
                report.broken(format!("{id} at {path} in {within:?}, not {line:?}"));
            }
            Err(fault) => report.broken(fault),
        }
    }
    report.rule("content: feeds are what place, tags, type and access imply");
    for (id, _) in tree.iter().filter(|(_, facts)| !facts.is_listed) {
        report.broken(id.clone());
    }
    report.rule(
        "content: what is published has a place in feeds, and another version only follows one",
    );
    for (id, _) in tree.iter().filter(|(_, facts)| !facts.is_published_soundly) {
        report.broken(id.clone());
    }

    report.rule("content: no flow is unfinished for longer than its sweep takes");
    let now = app.begin().await?.now();
    let overdue = earlier(now, app.bounds().two_grace_periods() + PATIENCE);
    for (id, facts) in &tree {
        if let Some(since) = facts.waiting.filter(|since| *since < overdue) {
            report.broken(format!("{id} waits since {since}"));
        }
    }

    report.rule("content: former versions belong to existing content and are older than its draft");
    let each = |revision: RevisionDocument| {
        let (id, number) = (&revision.node_id, revision.version.number);
        let newest = tree.get(id).map(|facts| facts.revision);
        // The last versions may not be stored yet; a late one is removed by the next edit.
        let bound = REVISIONS + i64::from(WAITING);
        let sound = newest.is_some_and(|newest| number < newest && number + bound >= newest);
        if !(sound || tombstones.contains(id)) || revision.id != RevisionDocument::key(id, number) {
            report.broken(format!("{} of {newest:?}", revision.id));
        }
    };
    app.collection().for_each(each).await
}

/// Additional time that sweeps may take before something counts as overdue.
const PATIENCE: Duration = Duration::from_secs(60);

/// The facts of one document that are checked; its texts aren't kept in memory.
struct Facts {
    parent: Option<String>,
    slug: String,
    path: String,
    within: Vec<String>,
    revision: i64,
    is_listed: bool,
    is_published_soundly: bool,
    /// Since when its oldest unfinished work has been waiting.
    waiting: Option<DateTime>,
}

impl Facts {
    fn of(node: &NodeDocument) -> Self {
        let NodeDocument { metadata, within, .. } = node;
        let is_published_soundly = match (&node.live, &node.next) {
            (None, next) => node.published_at.is_none() && next.is_none(),
            (Some(live), next) => {
                let follows = next.as_ref().is_none_or(|next| next.at > live.at);
                node.published_at.is_some_and(|at| at <= live.at) && follows
            }
        };
        let marks = [
            node.tree.copying,
            node.tree.deleting.as_ref().map(|mark| mark.at),
            node.tree.outbox.iter().map(|entry| entry.at).min(),
            node.kept.iter().map(|version| version.at).min(),
            node.next.as_ref().map(|next| next.at),
        ];
        Self {
            parent: metadata.parent_id.clone(),
            slug: metadata.slug.as_str().to_owned(),
            path: metadata.path.clone(),
            within: within.clone(),
            revision: node.revision,
            is_listed: is_listed(node),
            is_published_soundly,
            waiting: marks.into_iter().flatten().min(),
        }
    }
}

/// Whether it has the feeds that it should have, in any order.
fn is_listed(node: &NodeDocument) -> bool {
    let mut implied = listed(&node.metadata, &node.within);
    let mut found = node.listed.clone();
    implied.sort_unstable();
    found.sort_unstable();
    implied == found
}

/// `within`, computed from slugs and parents.
fn implied(tree: &BTreeMap<String, Facts>, id: &str) -> Result<Vec<String>, String> {
    let mut within = vec![TOP.to_owned()];
    let mut path = String::new();
    for facts in line_to(tree, id, |facts| facts.parent.as_deref())? {
        path.push('/');
        path.push_str(&facts.slug);
        within.push(path.clone());
    }
    Ok(within)
}
