//! Lists of assets: each is one range of one index.

use super::{
    super::documents::{AssetDocument, Attribute},
    assets,
};
pub(crate) use crate::domains::attributes::{Condition, Test, is_ordered};
use crate::{
    domains::{attributes::Attributes, audiences::read_by},
    graphql::prelude::*,
    mongo::prelude::*,
};

/// The attributes of an asset, with the index `attribute`.
const ATTRIBUTES: Attributes = Attributes { key: "attributes.key", value: "attributes.value" };

/// A list of assets.
#[derive(Debug, Clone)]
pub(crate) enum AssetList {
    /// Assets with a tag, newest first.
    Tag(String),
    /// Assets in a parent, or at the root, newest first.
    Parent(Option<String>),
    /// Assets for which all conditions hold, in one parent or anywhere. The first condition determines the
    /// range of the index.
    Attributes { all: Vec<Condition>, parent: Option<String> },
}

/// The photos of a feed of content.
#[derive(Debug, Clone, Copy)]
pub enum PhotosBy<'a> {
    /// Photos with a tag.
    Tag(&'a str),
    /// Photos in a folder or gallery.
    Parent(&'a str),
    /// Photos anywhere below a path.
    In(&'a str),
}

impl AssetList {
    /// Sort keys; the index covers them after the fields that the filter fixes.
    pub(crate) fn order(&self) -> Order {
        let first = match self {
            Self::Tag(_) | Self::Parent(_) => ("publishedAt", -1),
            Self::Attributes { .. } => ("attributes.value", 1),
        };
        Order { list: format!("assets {self:?}"), keys: vec![first, ("_id", 1)] }
    }

    /// The asset's values of the sort keys.
    pub(crate) fn position(&self, asset: &AssetDocument) -> Vec<Bson> {
        let value = match self {
            Self::Tag(_) | Self::Parent(_) => asset.published_at.into(),
            Self::Attributes { all, .. } => {
                let is_first = |own: &&Attribute| all.first().is_some_and(|one| one.key == own.key);
                let own = asset.attributes.iter().find(is_first);
                own.map_or(Bson::Null, |own| own.value.clone())
            }
        };
        vec![value, Bson::from(&asset.id)]
    }
}

/// Filter: the list's entries that the caller may read.
fn listed(requester: &Requester, list: &str, of: &str) -> Document {
    doc! { "listed": read_by(requester, list, of) }
}

/// Filter: published by now.
fn is_published() -> Document {
    doc! { "$expr": { "$lte": ["$publishedAt", "$$NOW"] } }
}

/// The list in the order of an index, without fields that only flows and the discussion use.
fn shown(list: List, hint: &'static str) -> List {
    let projection = Some(doc! { "ops": 0, "discussion.entries": 0, "discussion.taken": 0 });
    List { hint: Some(hint), projection, ..list }
}

/// The published photos of a feed that are open to the caller's roles, for editors too, after the page's
/// cursor. The order is that of `publishedAt`, newest first, and `_id`.
pub async fn list_photos(
    app: &App,
    requester: &Requester,
    by: PhotosBy<'_>,
    page: &Page,
) -> Result<Vec<AssetDocument>> {
    let filter = match by {
        PhotosBy::Tag(tag) => listed(requester, "photoTag", tag),
        PhotosBy::Parent(id) => listed(requester, "photoParent", id),
        PhotosBy::In(TOP) => listed(requester, "photoIn", ""),
        PhotosBy::In(path) => listed(requester, "photoIn", path),
    };
    assets(app).list(shown(page.list(both(filter, is_published())), "list")).await
}

/// Filter: the assets with these attributes that the caller may read once they are published.
fn with_attributes(requester: &Requester, all: &[Condition], parent: Option<&str>) -> Document {
    let all: Vec<_> = all.iter().map(Condition::filter).collect();
    let mut filter = doc! { "attributes": { "$all": all }, "file": { "$exists": true } };
    if let Some(parent) = parent {
        filter.insert("metadata.parentId", parent);
    }
    if !requester.has(Role::Editor) {
        let open = doc! { "metadata.access": { "$size": 0 } };
        let own = doc! { "metadata.access": { "$in": requester.role_names() } };
        filter.insert("$or", vec![open, own]);
    }
    filter
}

/// A page of the assets that the caller may read.
pub(crate) async fn list(
    app: &App,
    of: &AssetList,
    requester: &Requester,
    page: &Page,
) -> Result<Vec<AssetDocument>> {
    let is_editor = requester.has(Role::Editor);
    let seen = |filter| if is_editor { filter } else { both(filter, is_published()) };
    let newest = |list, of| shown(page.list(seen(listed(requester, list, of))), "list");
    let list = match of {
        AssetList::Tag(tag) => newest("tag", tag.as_str()),
        AssetList::Parent(parent) => newest("parent", parent.as_deref().unwrap_or_default()),
        AssetList::Attributes { all, parent } => {
            page.demand_forward()?;
            let filter = seen(with_attributes(requester, all, parent.as_deref()));
            let limit = count(page.wanted());
            // The index has this order. The server can't know that for values in an array, so the read isn't
            // sorted. The hint also saves the time for planning.
            let between = all.first().map(|first| first.between(&ATTRIBUTES, page)).transpose()?;
            // Further conditions are checked for each asset of the range.
            let time = Some(EXAMINING);
            shown(List { filter, limit, between, time, ..List::default() }, "attribute")
        }
    };
    assets(app).list(list).await
}
