//! Every MongoDB call of content.

mod feeds;
mod flows;
mod writes;

use mongodb::bson::{Document, doc};

use super::documents::{NodeDocument, RevisionDocument};
use crate::{
    app::App,
    domains::assets,
    error::Error,
    flow::{
        Attempt,
        tree::{Grown, Tree},
    },
    graphql::page::Page,
    mongo::collection::{List, Timed},
};

use feeds::Needed;
pub(super) use feeds::{Way, list};
pub(super) use flows::{
    drop_older_revisions, drop_revisions, insert, insert_revision, list_deleted, list_due,
    list_kept, list_remains, promote, remove_stone, set_place, settle_kept, settle_remains,
};
pub(super) use writes::{
    Change, WAITING, add_tags, bury, edit, mark_deleting, publish, remove_tags, set_access,
    unpublish,
};

/// The tree of content.
#[derive(Debug)]
pub(super) struct Nodes(pub(super) App);

impl Grown for Nodes {
    type Branch = NodeDocument;

    const LOCK: &'static str = "nodes.tree";
    const FAN_OUT: &'static str = "a path's fan-out";

    fn tree(&self) -> Tree<NodeDocument> {
        tree(&self.0)
    }

    async fn arrived(&self, nodes: &[NodeDocument]) -> Result<(), Error> {
        flows::drop_older_former(&self.0, nodes).await
    }

    async fn hand_on(&self, node: &NodeDocument) -> Result<(), Error> {
        let NodeDocument { id, metadata, cv, .. } = node;
        if metadata.kind.holds_assets() {
            assets::operations::repath(&self.0, id, &metadata.path, *cv).await?;
        }
        Ok(())
    }
}

pub(super) fn tree(app: &App) -> Tree<NodeDocument> {
    Tree::of(app.collection(), app.collection())
}

/// The fields that a lookup by path uses.
const PATHS: &[&str] = &["metadata.path", "former.path"];

/// Content that has this path or had it before.
pub(super) async fn find_by_path(app: &App, path: &str) -> Result<Vec<Timed<NodeDocument>>, Error> {
    app.collection::<NodeDocument>().find_timed(PATHS, path).await
}

/// The content with the server's time, for readers.
pub(super) async fn find_timed(app: &App, id: &str) -> Result<Option<Timed<NodeDocument>>, Error> {
    app.collection::<NodeDocument>().get_timed(id).await
}

pub(super) async fn find(app: &App, id: &str) -> Result<Option<NodeDocument>, Error> {
    app.collection::<NodeDocument>().get_settled(id).await
}

pub(super) async fn open(app: &App, id: &str) -> Result<(Attempt, Option<NodeDocument>), Error> {
    app.collection::<NodeDocument>().open(app.bounds(), id).await
}

/// Whether a child of that parent has the slug.
pub(super) async fn has_slug(app: &App, parent: Option<&str>, slug: &str) -> Result<bool, Error> {
    let filter = doc! { "metadata.parentId": parent, "metadata.slug": slug };
    Ok(app.collection::<NodeDocument>().count(filter, 1).await? > 0)
}

/// The children of a parent, published or not, as an editor sees them.
pub(super) async fn list_below(
    app: &App,
    page: &Page,
    parent: Option<&str>,
    texts: bool,
) -> Result<Vec<Timed<NodeDocument>>, Error> {
    let list = List { hint: Some("slug"), ..page.list(doc! { "metadata.parentId": parent }) };
    app.collection::<NodeDocument>().list_timed(list, Needed { drafts: true, texts }.shape()).await
}

/// Number of steps of the longest path below `path`; 0 if nothing is below it.
pub(super) async fn find_depth_below(app: &App, path: &str) -> Result<usize, Error> {
    let below = doc! { "$gte": format!("{path}/"), "$lt": format!("{path}0") };
    let found = app
        .collection::<NodeDocument>()
        .aggregate(vec![
            doc! { "$match": { "metadata.path": below } },
            doc! { "$group": { "_id": null, "deepest": { "$max": { "$size": "$within" } } } },
        ])
        .await?;
    let deepest = found.first().and_then(|found| found.get_i32("deepest").ok()).unwrap_or(0);
    Ok(usize::try_from(deepest).unwrap_or(0).saturating_sub(1))
}

pub(super) async fn list_revisions(
    app: &App,
    page: &Page,
    id: &str,
) -> Result<Vec<RevisionDocument>, Error> {
    let list = List { hint: Some("node"), ..page.list(doc! { "nodeId": id }) };
    app.collection::<RevisionDocument>().list(list).await
}

pub(super) async fn find_revision(
    app: &App,
    id: &str,
    number: i64,
) -> Result<Option<RevisionDocument>, Error> {
    app.collection::<RevisionDocument>().get_settled(&RevisionDocument::key(id, number)).await
}

/// Filter: the content exists and can be changed.
fn there(id: &str) -> Document {
    doc! {
        "_id": id, "copying": { "$exists": false },
        "deleting": { "$exists": false }, "deletedAt": { "$exists": false },
    }
}
