//! Every MongoDB call of content, except for those of [`Tree`].

mod feeds;
mod flows;
mod writes;

use feeds::Needed;
use mongodb::bson::{Document, doc};

use super::documents::{NodeDocument, RevisionDocument};
use crate::{
    flow::tree::Tree,
    graphql::prelude::*,
    mongo::collection::{List, Timed},
};

pub(super) use feeds::{Listing, list};
pub(super) use flows::*;
pub(super) use writes::*;

/// The tree of content.
pub(super) type Nodes = Tree<NodeDocument>;

/// Expression: readers see the edition in this field, `live` or `next`, by now.
fn is_due(edition: &str) -> Document {
    let is_there = doc! { "$eq": [{ "$type": format!("${edition}") }, "object"] };
    doc! { "$and": [is_there, { "$lte": [format!("${edition}.at"), "$$NOW"] }] }
}

/// The content with the server's time, for readers.
pub(super) async fn find_timed(app: &App, id: &str) -> Result<Option<Timed<NodeDocument>>> {
    app.collection::<NodeDocument>().get_timed(id).await
}

/// The children of a parent, published or not, as an editor sees them.
pub(super) async fn list_below(
    app: &App,
    page: &Page,
    parent: Option<&str>,
    texts: bool,
) -> Result<Vec<Timed<NodeDocument>>> {
    let list = List { hint: Some("slug"), ..page.list(doc! { "metadata.parentId": parent }) };
    app.collection::<NodeDocument>().list_timed(list, Needed { drafts: true, texts }.shape()).await
}

pub(super) async fn list_revisions(
    app: &App,
    page: &Page,
    id: &str,
) -> Result<Vec<RevisionDocument>> {
    let list = List { hint: Some("node"), ..page.list(doc! { "nodeId": id }) };
    app.collection::<RevisionDocument>().list(list).await
}

pub(super) async fn find_revision(
    app: &App,
    id: &str,
    number: i64,
) -> Result<Option<RevisionDocument>> {
    app.collection::<RevisionDocument>().get_settled(&RevisionDocument::key(id, number)).await
}
