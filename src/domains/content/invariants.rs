//! What `docgate check` verifies of content.

use std::collections::{HashMap, HashSet};

use super::{
    documents::{NodeDocument, RevisionDocument, TOP, listed},
    operations::REVISIONS,
};
use crate::{app::App, domains::Report, error::Error};

/// Paths and feeds are what slugs, parents, tags and access imply; editions and former versions belong
/// together with the content that they are of.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn check(app: &App, report: &mut Report) -> Result<(), Error> {
    let (mut tree, mut stones) = (HashMap::new(), HashSet::new());
    let collect = |node: NodeDocument| {
        if node.deleted_at.is_some() {
            stones.insert(node.id);
        } else {
            tree.insert(node.id.clone(), Facts::of(&node));
        }
        Ok(())
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

    report.rule("content: former versions are of content that is there, and of what came before");
    let each = |revision: RevisionDocument| {
        let (id, number) = (&revision.node_id, revision.version.number);
        let newest = tree.get(id).map(|facts| facts.revision);
        // One that came late may lie just below the bound until the next edit.
        let sound =
            newest.is_some_and(|newest| number < newest && number + REVISIONS + 1 >= newest);
        if !(sound || stones.contains(id)) || revision.id != RevisionDocument::key(id, number) {
            report.broken(format!("{} of {newest:?}", revision.id));
        }
        Ok(())
    };
    app.collection().for_each(each).await
}

/// What is looked at of one document; texts aren't held.
struct Facts {
    parent: Option<String>,
    slug: String,
    path: String,
    within: Vec<String>,
    revision: i64,
    is_listed: bool,
    is_published_soundly: bool,
}

impl Facts {
    fn of(node: &NodeDocument) -> Self {
        let NodeDocument { metadata, within, .. } = node;
        let first_seen = match (&node.live, node.published_at) {
            (None, at) => at.is_none() && node.next.is_none(),
            (Some(_), at) => at.is_some(),
        };
        Self {
            parent: metadata.parent_id.clone(),
            slug: metadata.slug.as_str().to_owned(),
            path: metadata.path.clone(),
            within: within.clone(),
            revision: node.revision,
            is_listed: node.listed == listed(metadata, within),
            is_published_soundly: first_seen,
        }
    }
}

/// `within` as slugs and parents have it.
fn implied(tree: &HashMap<String, Facts>, id: &str) -> Result<Vec<String>, String> {
    let mut slugs = Vec::new();
    let mut next = Some(id);
    while let Some(step) = next {
        if slugs.len() > tree.len() {
            return Err(format!("content {id:?} lies in itself"));
        }
        let facts = tree.get(step).ok_or_else(|| format!("{id:?} lies in {step:?}, gone"))?;
        slugs.push(facts.slug.as_str());
        next = facts.parent.as_deref();
    }
    let mut line = vec![TOP.to_owned()];
    let mut path = String::new();
    for slug in slugs.iter().rev() {
        path.push('/');
        path.push_str(slug);
        line.push(path.clone());
    }
    Ok(line)
}
