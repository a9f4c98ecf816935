//! Every MongoDB call of comments: the three layouts behind [`CommentStore`], and the discussed documents.
//!
//! - `reads`, `comments`: reads and writes of comments, whatever the layout of their store
//! - `pages`: what only the layout `PAGED` needs
//! - `discussions`, `decisions`: reads and writes of the discussed documents

mod comments;
mod decisions;
mod discussions;
mod pages;
mod reads;

pub(super) use comments::{comments, editable_after, insert_all, list_stores, remove_all};
pub(super) use discussions::*;
pub(super) use pages::{list_wrong_pages, pages};
pub(super) use reads::{Listing, Range, list_authored};

use std::ops::Deref;

use mongodb::bson::DateTime;

use super::documents::{CommentDocument, Due, Layout, Migration, OpenDiscussion, Parent};
use crate::{app::App, error::Result};

/// What a read or a guarded write of one document returns.
type Found<T> = Result<Option<T>>;
/// What a read of comments returns.
type CommentList = Result<Vec<CommentDocument>>;

/// A discussion as it was read, with its document. It dereferences to the discussion.
#[derive(Debug, Clone)]
pub(crate) struct DiscussionHandle<'a> {
    /// The handles of this gateway.
    pub(super) app: &'a App,
    /// The discussed document.
    pub(super) parent: Parent,
    /// The discussion.
    pub(super) discussion: OpenDiscussion,
}

impl Deref for DiscussionHandle<'_> {
    type Target = OpenDiscussion;

    fn deref(&self) -> &OpenDiscussion {
        &self.discussion
    }
}

impl<'a> DiscussionHandle<'a> {
    /// The store that comments are posted to now.
    pub(crate) fn store(&self) -> CommentStore<'a> {
        CommentStore {
            app: self.app,
            parent: self.parent.clone(),
            discussion: self.id.clone(),
            epoch: self.epoch,
            layout: self.layout,
        }
    }

    /// Digest of an author, by which the author's share of the marks is counted.
    pub(crate) fn share_of(&self, author: &str) -> String {
        self.app.ids().signature(&["marks", &self.id, author])
    }

    /// The previous store, during a migration.
    pub(crate) fn before(&self) -> Option<CommentStore<'a>> {
        let layout = self.migration.as_ref()?.from;
        Some(CommentStore { layout, epoch: self.epoch - 1, ..self.store() })
    }

    /// The previous store with its migration, while not everything is copied.
    pub(crate) fn uncopied_store(&self) -> Option<(&Migration, CommentStore<'a>)> {
        Some((self.uncopied()?, self.before()?))
    }
}

/// The store of a discussion's comments in one of its epochs. Once the next epoch has begun it is sealed, and
/// nothing in it changes any more.
#[derive(Debug, Clone)]
pub(crate) struct CommentStore<'a> {
    /// The handles of this gateway.
    pub(super) app: &'a App,
    /// The discussed document.
    pub(super) parent: Parent,
    /// Id of the discussion.
    pub(super) discussion: String,
    /// The epoch: each has its own store.
    pub(super) epoch: i64,
    pub(super) layout: Layout,
}

impl<'a> CommentStore<'a> {
    /// The store of a comment that was found in that layout.
    pub(crate) fn of(app: &'a App, comment: &CommentDocument, layout: Layout) -> Option<Self> {
        let (discussion, epoch) = comment.on.rsplit_once('.')?;
        let (discussion, epoch) = (discussion.to_owned(), epoch.parse().ok()?);
        Some(Self { app, parent: comment.parent.clone(), discussion, epoch, layout })
    }

    /// The value of `on` in the store's comments.
    pub(crate) fn on(&self) -> String {
        format!("{}.{}", self.discussion, self.epoch)
    }

    /// `_id` of a comment in this store.
    pub(crate) fn key(&self, id: &str) -> String {
        format!("{id}.{}", self.epoch)
    }

    /// The comment as it is posted to this store, under a short name and with that time. Its outbox contains the
    /// post, which began at `begun`.
    pub(crate) fn as_posted(
        &self,
        draft: &CommentDocument,
        name: &str,
        at: DateTime,
        begun: DateTime,
    ) -> CommentDocument {
        let above = &draft.reply_to;
        CommentDocument {
            key: self.key(&draft.id),
            on: self.on(),
            slug: if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") },
            sort_key: format!("{}{}", draft.above(), CommentDocument::level(at, name)),
            at,
            due: Some(Due::of(None, draft, begun)),
            sealed: false,
            ..draft.clone()
        }
    }

    /// Whether lists by author read it directly, without copies.
    pub(crate) fn lists_authors(&self) -> bool {
        self.layout == Layout::PerDocument
    }
}

/// Maximum number of comments of a page, and of a discussion with embedded comments.
pub(crate) const CAP: i64 = 100;
/// Comments that are copied at once.
pub(crate) const BATCH: usize = 100;

/// Key of a lookup of one comment.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CommentKey<'a> {
    /// By id.
    Id(&'a str),
    /// By slug.
    Slug(&'a str),
}

impl CommentKey<'_> {
    pub(crate) fn is(self, comment: &CommentDocument) -> bool {
        match self {
            Self::Id(id) => comment.id == id,
            Self::Slug(slug) => comment.slug == slug,
        }
    }
}

/// Result of an insert.
#[derive(Debug)]
pub(crate) enum Inserted {
    /// It was inserted. If that also committed it, the discussion that was passed has its mark.
    New(CommentDocument),
    /// A comment with its id was there before.
    Exists(CommentDocument),
    /// Another comment has its slug.
    SlugTaken,
    /// The store accepts nothing: the discussion has moved, can't be seen any more, or is full.
    Refused,
}
