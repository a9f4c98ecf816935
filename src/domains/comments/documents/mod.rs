//! What MongoDB sees of comments.
//!
//! Any document can have a discussion: it then carries one field more, `discussion`. Other rooms embed it as
//! `Option<Box<DiscussionSummary>>`, which costs nothing where there is none, and never write it themselves.

mod comment;
mod parent;

pub use comment::{AuthoredComment, CommentDocument, PageDocument};
pub(super) use comment::{Due, DueKind, Removed, Remover};
pub(super) use parent::{
    Assets, Contents, Kind, OpenDiscussion, Parent, ParentDocument, ParentKind, Products, Taken,
    of_kind,
};

use async_graphql::Enum;
use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use crate::{
    config::DiscussionLayout,
    mongo::indexes::{self, Index, Key},
};

/// Index that a collection needs whose documents have discussions.
pub const TOUCHED: Index = Index {
    name: "discussion_touched",
    keys: &[("discussion.touchedAt", Key::Up)],
    kind: indexes::Kind::Where("discussion.touchedAt"),
    serves: "the sweep of discussions in which something is left to be done",
};

/// How the comments of a discussion are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Enum)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[graphql(name = "DiscussionLayout")]
pub enum Layout {
    /// One document per comment: discussions of any size, with threads.
    PerDocument,
    /// Up to 100 comments per document: many comments in few reads, without threads.
    Paged,
    /// Inside the document that is discussed: up to 100 comments, with threads, read along with it.
    Embedded,
}

impl From<DiscussionLayout> for Layout {
    fn from(configured: DiscussionLayout) -> Self {
        match configured {
            DiscussionLayout::PerDocument => Self::PerDocument,
            DiscussionLayout::Paged => Self::Paged,
            DiscussionLayout::Embedded => Self::Embedded,
        }
    }
}

/// All of them.
pub(super) const LAYOUTS: [Layout; 3] = [Layout::PerDocument, Layout::Paged, Layout::Embedded];

/// The discussion of a document, as far as the document shows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DiscussionSummary {
    /// Which discussion it is; its comments carry it.
    pub id: String,
    /// How its comments are stored.
    pub layout: Layout,
    /// Raised whenever its layout changes.
    pub epoch: i64,
    /// Comments, without those that were removed.
    pub count: i64,
    /// The newest ten of these, newest first.
    pub latest: Vec<CommentExcerpt>,
    /// What reviewers think; absent where nobody has reviewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<Rating>,
    /// Server time at which it was opened.
    pub opened_at: DateTime,
}

/// A comment as the discussed document carries it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommentExcerpt {
    /// The comment.
    pub id: String,
    /// Its place in the discussion.
    pub slug: String,
    /// Subject of who wrote it.
    pub author: String,
    /// How it begins.
    pub text: String,
    /// Whether it goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// Stars of a review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stars: Option<i32>,
    /// Server time of the comment.
    pub at: DateTime,
}

/// The stars of all reviews that weren't removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rating {
    /// How many reviews.
    pub count: i64,
    /// Sum of their stars.
    pub sum: i64,
}
