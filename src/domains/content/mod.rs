//! Pages, blog entries, and the folders, blogs and galleries that group them: one collection, `nodes`.
//!
//! # What readers see
//!
//! An editor works on the draft: title, language and text in `metadata`, guarded by a version that changes only
//! with these. Readers see editions, which are copies of a draft. They see `live` after its start time. `next` replaces
//! it at its own start time. Each read gets the server's clock along with the document, so it doesn't
//! depend on a sweep. The sweep only moves a due `next` to `live`, which full-text search uses. Tags, place and
//! access aren't part of a version: changes of them take effect at once.
//!
//! `listed` names the feeds of the content, each once per audience (a role, or everyone), and `publishedAt`
//! its position there. So a reader's feed is one range of one index per role of the reader, and documents
//! that the reader may not read aren't examined. Content that a caller may not read is answered like content
//! that doesn't exist.
//!
//! Pictures are assets (their room owns `assetEntries`). Feeds by tag, by parent and within a path read both
//! collections in parallel, each as one range in the same order. The path of an asset follows that of its folder
//! or gallery. A folder or gallery that contains assets can't be deleted.
//!
//! # Records
//!
//! A document is the record of everything but `path` and `within`, which are copied from its parent
//! ([`crate::flow::tree`]). It is the decider of its own changes. A path that changes is added to the former paths
//! (`former`) in the same update, and then removed from the former paths of documents that had it earlier. An edit
//! stores the replaced version as a *revision*. Requests for a former path are redirected as long as
//! no other content has the path. Moves and deletions hold the lease `nodes.tree`.
//!
//! ```text
//!   edit:    draft ─▶ kept[] (committed) ─▶ nodeRevisions (applied) ─▶ kept[] without it (settled)
//!   delete:  deleting ─▶ nothing in it ─▶ tombstone ─▶ revisions and comments removed ─▶ idempotency key forgotten: removed
//!                └─────── something in it ─▶ no longer deleting
//! ```
//!
//! # Invariants
//!
//! Paths, `within` and `listed` follow from slugs, parents, tags and access. Content is published exactly if it
//! has `publishedAt`, and the time of `next` is after that of `live`. Revisions belong to existing content,
//! each exists once, and none is more than [`operations::REVISIONS`] behind the newest. No unfinished flow is
//! older than the time within which the sweeps finish it.

pub mod atom;
mod documents;
pub mod invariants;
mod markdown;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{
    Room, audiences, broadcasts::broadcasts, comments::Discussable, metadata::MetadataOwner,
    nodes::node_type, room::documented,
};
use crate::{graphql::prelude::*, mongo::prelude::*};
pub use documents::{NodeDocument, RevisionDocument};
pub use types::Content;
use types::{Blog, BlogEntry, ContentBy, Folder, Gallery, Page};

impl NodeKind {
    /// A page, blog entry, folder, blog or gallery.
    pub const CONTENT: Self = Self::new("content");
}

/// The discussions of content.
pub const DISCUSSED: Discussable = Discussable {
    kind: NodeKind::CONTENT,
    collection: NodeDocument::COLLECTION,
    opened_by: Role::Editor,
    is_read_whole: true,
    seen_by: |requester| {
        let is_due = Condition::Any(vec![is_past("live.at"), is_past("next.at")]);
        Condition::All(vec![is_absent("deletedAt"), audiences::seen_by(requester, is_due)])
    },
};

pub const ROOM: Room = Room {
    needs: &["assets", "comments", "identities"],
    extends: &[("Asset", "parent")],
    descriptions: &types::DESCRIPTIONS,
    nodes: &[node_type!(
        CONTENT: Content as Blog | BlogEntry | Folder | Gallery | Page,
        |cx, id| operations::content(cx, &ContentBy::Id(id.clone()))
    )],
    discussed: &[DISCUSSED],
    metadata: &[MetadataOwner::of::<NodeDocument>(NodeKind::CONTENT, Role::Editor, || {
        is_absent("deletedAt")
    })],
    documents: &[documented::<NodeDocument>(), documented::<RevisionDocument>()],
    broadcasts: broadcasts! {
        "nodeRevisions" {
            find "_id" = "id: a former version by its `_id`, which is derived from content and number",
        }
    },
    personal: person::PERSONAL,
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("content")
};
