//! Stored documents of comments.
//!
//! Any document can have a discussion in its field `discussion`. Other rooms embed it as
//! `Option<Box<DiscussionSummary>>`, which costs nothing if there is none, and never write it.

mod comment;
mod parent;

pub use comment::{AuthoredComment, CommentDocument, PageDocument};
pub(super) use comment::{Due, DueKind, Removed, Remover};
pub use parent::Discussable;
pub(super) use parent::{Mark, Migration, OpenDiscussion, Parent, ParentDocument, ParentKind};

use async_graphql::Enum;

use crate::mongo::prelude::*;

/// The index that every collection of discussed documents needs.
pub const TOUCHED: Index = Index::of_field(
    "discussion_touched",
    "discussion.touchedAt",
    "the sweep of discussions in which something is left to be done",
);

document! {
    /// How the comments of a discussion are stored. It decides how many comments the discussion can have, and
    /// whether threads can be listed.
    #[derive(Hash, Enum)]
    #[graphql(name = "DiscussionLayout", remote = "crate::config::DiscussionLayout")]
    pub enum Layout {
        /// One document per comment: for discussions of any size. All lists are available.
        PerDocument,
        /// Up to 100 comments per document: large discussions are read in few steps. Lists of threads and replies
        /// aren't available.
        Paged,
        /// Comments are stored inside the discussed document and read with it: up to 100 comments. All lists are
        /// available.
        Embedded,
    }
}

document! {
    /// The part of a discussion that other rooms show.
    pub struct DiscussionSummary {
        /// Id of the discussion; its comments carry it.
        pub id: String,
        /// How its comments are stored.
        pub layout: Layout,
        /// Raised by each change of the layout.
        pub epoch: i64,
        /// Number of comments without the removed ones.
        pub count: i64,
        /// The newest ten of these, newest first.
        pub latest: Vec<CommentExcerpt>,
        /// Number and sum of the reviews' stars; absent if there is no review.
        pub rating?: Rating,
        /// Server time of the opening.
        pub opened_at: DateTime,
    }

    /// Excerpt of a comment, as the discussed document carries it.
    #[derive(PartialEq, Eq)]
    pub struct CommentExcerpt {
        /// Id of the comment.
        pub id: String,
        /// Its place in the discussion.
        pub slug: String,
        /// Subject of the author.
        pub author: String,
        /// Name of the author at the time of the post.
        pub author_name?: String,
        /// The first characters of the text.
        pub text: String,
        /// Whether the text is longer.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub is_cut: bool,
        /// Stars of a review.
        pub stars?: i32,
        /// Server time of the comment.
        pub at: DateTime,
    }
}

/// Number of newest comments that a discussed document carries.
pub(super) const LATEST: usize = 10;

impl CommentExcerpt {
    /// The excerpt of a comment.
    pub(super) fn of(comment: &CommentDocument) -> Self {
        /// Characters of a text that are copied.
        const LENGTH: usize = 280;
        let CommentDocument { id, slug, author, author_name, text, stars, at, .. } =
            comment.clone();
        let end = text.char_indices().nth(LENGTH).map(|(end, _)| end);
        let is_cut = end.is_some();
        let text = end.map_or(text.clone(), |end| text[..end].to_owned());
        Self { id, slug, author, author_name, text, is_cut, stars, at }
    }
}

document! {
    /// The stars of all reviews that aren't removed.
    #[derive(Copy, Default, PartialEq, Eq)]
    pub struct Rating {
        /// Number of reviews.
        pub count: i64,
        /// Sum of their stars.
        pub sum: i64,
        /// Average in thousandths of a star, rounded down: the order of lists. Absent without reviews, and in discussions
        /// whose last review is of an earlier release.
        pub score?: i64,
    }
}

impl Rating {
    /// The rating of that many reviews with that sum of stars.
    pub(super) fn of(count: i64, sum: i64) -> Self {
        Self { count, sum, score: sum.saturating_mul(THOUSANDTHS).checked_div(count) }
    }

    /// Whether this stored rating is the one that was computed. An earlier release stores no score.
    pub(super) fn is(&self, computed: &Self) -> bool {
        let Self { count, sum, score } = *self;
        let is_score = score.is_none() || score == computed.score;
        (count, sum) == (computed.count, computed.sum) && is_score
    }
}

/// Parts of a star in a score.
pub(super) const THOUSANDTHS: i64 = 1_000;
