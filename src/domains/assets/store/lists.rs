//! The lists of assets, each one range of one index.

use mongodb::bson::{Bson, Document, doc};

use super::super::documents::{AssetDocument, EDITORS, EVERYONE, TOP, listing};
use crate::{
    app::App,
    error::Error,
    graphql::{
        page::{Order, Page},
        requester::{Requester, Role},
    },
    mongo::{collection::List, expression::both},
};

/// A way to list assets, checked.
#[derive(Debug, Clone)]
pub(in super::super) enum Way {
    /// Those with a tag, newest first.
    Tag(String),
    /// Those in a parent (none: the roots), newest first.
    Parent(Option<String>),
    /// Those for which all conditions hold, in one parent or anywhere.
    Attributes { all: Vec<Condition>, owner: Option<String> },
}

/// Which photos stand in a feed of content.
#[derive(Debug, Clone, Copy)]
pub enum PhotosBy<'a> {
    /// Those with a tag.
    Tag(&'a str),
    /// Those in a folder or gallery.
    Parent(&'a str),
    /// Those anywhere below a path.
    In(&'a str),
}

/// What must hold of one attribute.
#[derive(Debug, Clone)]
pub(in super::super) struct Condition {
    pub key: String,
    pub test: Test,
}

/// What must hold of its value.
#[derive(Debug, Clone)]
pub(in super::super) enum Test {
    Equals(Bson),
    /// From, to; both of one type, and both included.
    Between(Option<Bson>, Option<Bson>),
    Exists,
}

impl Way {
    /// Sort keys; the index has them behind what the filter fixes.
    pub(in super::super) fn order(&self) -> Order {
        let keys = match self {
            Self::Tag(_) | Self::Parent(_) => vec![("publishedAt", -1), ("_id", 1)],
            // No index has the matches of several conditions, or of a range, in any order: they are
            // sorted when they were found.
            Self::Attributes { .. } => vec![("_id", 1)],
        };
        Order { list: format!("assets {self:?}"), keys }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Tag(_) | Self::Parent(_) => "list",
            Self::Attributes { .. } => "attribute",
        }
    }

    fn filter(&self, requester: &Requester) -> Document {
        match self {
            Self::Tag(tag) => listed(requester, "tag", tag),
            Self::Parent(parent) => {
                listed(requester, "parent", parent.as_deref().unwrap_or_default())
            }
            Self::Attributes { all, owner } => {
                let all: Vec<_> = all.iter().map(Condition::filter).collect();
                let mut filter =
                    doc! { "attributes": { "$all": all }, "file": { "$exists": true } };
                if let Some(owner) = owner {
                    filter.insert("metadata.parentId", owner);
                }
                if !requester.has(Role::Editor) {
                    let roles: Vec<_> = requester.roles.iter().map(|role| role.name()).collect();
                    let either = doc! { "$or": [
                        { "metadata.access": { "$size": 0 } },
                        { "metadata.access": { "$in": roles } },
                    ] };
                    filter = both(filter, either);
                }
                filter
            }
        }
    }

    /// The asset's values of the sort keys.
    fn position(&self, asset: &AssetDocument) -> Vec<Bson> {
        let id = Bson::from(&asset.id);
        match self {
            Self::Tag(_) | Self::Parent(_) => vec![asset.published_at.into(), id],
            Self::Attributes { .. } => vec![id],
        }
    }
}

impl Condition {
    fn filter(&self) -> Document {
        let mut part = doc! { "key": &self.key };
        match &self.test {
            Test::Equals(value) => drop(part.insert("value", value.clone())),
            Test::Between(from, to) => {
                let bounds = [("$gte", from), ("$lte", to)];
                let bounds =
                    bounds.into_iter().filter_map(|(is, bound)| Some((is, bound.clone()?)));
                let range: Document = bounds.map(|(is, bound)| (is.to_owned(), bound)).collect();
                part.insert("value", range);
            }
            Test::Exists => {}
        }
        doc! { "$elemMatch": part }
    }
}

/// What stands in a list for any of the caller's roles.
fn listed(requester: &Requester, list: &str, of: &str) -> Document {
    let all = audiences(requester).into_iter().map(|who| listing(who, list, of));
    match all.collect::<Vec<_>>().as_slice() {
        [only] => doc! { "listed": only },
        several => doc! { "listed": { "$in": several } },
    }
}

/// In whose lists everything stands that a caller may read.
fn audiences(requester: &Requester) -> Vec<&'static str> {
    if requester.has(Role::Editor) {
        return vec![EVERYONE, EDITORS];
    }
    let mut audiences = vec![EVERYONE];
    audiences.extend(requester.roles.iter().map(|role| role.name()));
    audiences
}

/// The photos of a feed that everyone with the caller's roles sees by now, editors included: what comes
/// behind the page's cursor, in its order.
pub(in super::super) async fn list_photos(
    app: &App,
    by: PhotosBy<'_>,
    requester: &Requester,
    page: &Page,
) -> Result<Vec<AssetDocument>, Error> {
    let filter = match by {
        PhotosBy::Tag(tag) => listed(requester, "photoTag", tag),
        PhotosBy::Parent(id) => listed(requester, "photoParent", id),
        PhotosBy::In(TOP) => listed(requester, "photoIn", ""),
        PhotosBy::In(path) => listed(requester, "photoIn", path),
    };
    let is_due = doc! { "$expr": { "$lte": ["$publishedAt", "$$NOW"] } };
    let list = List { hint: Some("list"), ..page.list(both(filter, is_due)) };
    app.collection::<AssetDocument>().list(list).await
}

/// A page of assets, each with its values of the sort keys.
pub(in super::super) async fn list(
    app: &App,
    way: &Way,
    requester: &Requester,
    page: &Page,
) -> Result<Vec<(Vec<Bson>, AssetDocument)>, Error> {
    let mut filter = way.filter(requester);
    if !requester.has(Role::Editor) {
        let is_due = doc! { "$expr": { "$lte": ["$publishedAt", "$$NOW"] } };
        filter = both(filter, is_due);
    }
    let list = List { hint: Some(way.hint()), ..page.list(filter) };
    let found = app.collection::<AssetDocument>().list(list).await?;
    Ok(found.into_iter().map(|asset| (way.position(&asset), asset)).collect())
}
