//! Content as a node of its tree: where it may be, and the stages of updates that derive its paths and feeds.

use super::{super::store, ContentType, Detail, NodeDocument};
use crate::{
    domains::{assets, audiences, former_paths, trees::Node},
    flow::tree::{Branch, TreeFields, path_expression},
    graphql::prelude::*,
    mongo::prelude::*,
};

/// The stage of a pipeline update that recomputes `listed`; see [`listed`](super::listed).
pub(in super::super) fn listed_stage() -> Document {
    let feed = |name: &str, of: &str| doc! { "$concat": [name, " ", of] };
    let each = |all: &str, name: &str| map(array(all), feed(name, "$$this"));
    let parent = choose(
        doc! { "$eq": [{ "$type": "$metadata.parentId" }, "string"] },
        vec![feed("parent", "$metadata.parentId")],
        Vec::<Document>::new(),
    );
    let feeds = doc! { "$concatArrays": [
        each("within", "in"), each("metadata.tags", "tag"),
        [feed("type", "$metadata.type")], parent,
    ] };
    doc! { "$set": { "listed": audiences::listed_as(feeds) } }
}

impl Node for NodeDocument {
    const KIND: NodeKind = NodeKind::CONTENT;

    fn input(&self) -> &str {
        &self.input
    }

    fn fits(&self, parent: Option<&Self>) -> Result<(), InvalidInput> {
        let kind = self.metadata.kind;
        let holds = |parent: &Self| parent.metadata.kind.may_hold(kind);
        if parent.map_or(kind != ContentType::BlogEntry, holds) {
            return Ok(());
        }
        let reason = match kind {
            ContentType::BlogEntry => "blog entries lie in blogs",
            _ => "content lies in folders",
        };
        Err(InvalidInput::new("parentId", reason))
    }
}

impl Branch for NodeDocument {
    type Handles = App;

    const LOCK: &'static str = "nodes.tree";
    const FAN_OUT: &'static str = "copying a path to descendants";
    const PARENT: &'static str = "metadata.parentId";
    const SLUG: &'static str = "metadata.slug";
    const PATH: &'static str = "metadata.path";
    const HAS_CHILDREN: &'static str = "other content lies in it";
    const OUTBOX: &'static str = "outbox";

    fn id(&self) -> &str {
        &self.id
    }

    fn parent_id(&self) -> Option<&str> {
        self.metadata.parent_id.as_deref()
    }

    fn slug(&self) -> &str {
        self.metadata.slug.as_str()
    }

    fn path(&self) -> &str {
        &self.metadata.path
    }

    fn tree(&self) -> &TreeFields {
        &self.tree
    }

    fn is_deleted(&self) -> bool {
        self.deleted_at.is_some()
    }

    /// Stages of a move: the old path is added to `former`, and the feeds are recomputed.
    fn copied_stages(parent: Option<&Self>) -> Vec<Document> {
        let path = path_expression(parent);
        let is_left = doc! { "$ne": ["$metadata.path", &path] };
        let line = literal(stored(&Self::line(parent)));
        let place = doc! { "$set": {
            "former": choose(is_left, former_paths::with_left(&path), array("former")),
            "metadata.path": &path,
            "within": append(line, vec![path.clone().into()]),
        } };
        vec![place, listed_stage()]
    }

    fn changeable(id: &str) -> Document {
        doc! {
            "_id": id, "copying": { "$exists": false },
            "deleting": { "$exists": false }, "deletedAt": { "$exists": false },
        }
    }

    fn deletable(id: &str) -> Document {
        doc! { "_id": id, "copying": { "$exists": false }, "deletedAt": { "$exists": false } }
    }

    /// The content can't be found any more, its slug is free, and a late insert finds its key taken.
    fn tombstone() -> Option<Vec<Document>> {
        let nothing = || Bson::Array(Vec::new());
        let set = doc! { "$set": {
            "deletedAt": "$$NOW",
            "remains": "$$NOW",
            // A parent of its own: it appears among no children and no siblings.
            "metadata.parentId": { "$concat": ["deleted ", "$_id"] },
            "metadata.path": "",
            "metadata.title": "",
            "metadata.tags": nothing(),
            "metadata.detail": literal(stored(&Detail::default())),
            "within": nothing(),
            "listed": nothing(),
            "former": nothing(),
            "outbox": nothing(),
            "kept": nothing(),
        } };
        Some(vec![set, doc! { "$unset": ["live", "next", "publishedAt", "meta", "deleting"] }])
    }

    async fn in_use(app: &App, id: &str) -> Result<Option<&'static str>> {
        Ok(assets::operations::is_parent(app, id).await?.then_some("assets lie in it"))
    }

    async fn on_updated(app: &App, nodes: &[Self]) -> Result<()> {
        store::drop_older_former(app, nodes).await
    }

    async fn update_copies(&self, app: &App) -> Result<()> {
        if self.metadata.kind.holds_assets() {
            assets::operations::repath(app, &self.id, &self.metadata.path, self.tree.cv).await?;
        }
        Ok(())
    }
}
