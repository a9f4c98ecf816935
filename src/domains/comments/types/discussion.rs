//! GraphQL types of a discussion, as a field of the document that is discussed.

use async_graphql::SimpleObject;

use super::{
    super::{
        documents::{
            CommentExcerpt, Discussable, DiscussionSummary, LATEST, Layout, OpenDiscussion, Parent,
            ParentKind,
        },
        operations,
    },
    CommentOrder,
    comment::Comments,
};
use crate::graphql::{
    author::Author,
    prelude::*,
    scalars::{DateTime, int},
};

/// Discussion of a product, of content or of an asset.
#[derive(Debug)]
pub struct Discussion {
    parent: Parent,
    summary: Box<DiscussionSummary>,
}

impl Discussion {
    /// The discussion of the document of this kind with this `_id`.
    pub fn of(kind: &'static Discussable, key: &str, summary: Box<DiscussionSummary>) -> Self {
        Self { parent: Parent { kind: ParentKind(kind), key: key.to_owned() }, summary }
    }

    /// The part of a complete discussion that is shown.
    pub(in super::super) fn shown(parent: Parent, open: OpenDiscussion) -> Self {
        let OpenDiscussion { id, layout, epoch, count, latest, rating, opened_at, .. } = open;
        let summary = DiscussionSummary { id, layout, epoch, count, latest, rating, opened_at };
        Self { parent, summary: Box::new(summary) }
    }

    /// Ids of the newest comments, compared by subscriptions to detect a change.
    pub fn newest(&self) -> Vec<String> {
        self.summary.latest.iter().map(|latest| latest.id.clone()).collect()
    }

    /// Comments that were posted since `before`, oldest first. An older comment that is among the newest now
    /// because another one was removed isn't counted.
    pub fn added_since(&self, before: &Self) -> Vec<LatestComment> {
        let known = &before.summary.latest;
        // Fewer than ten known comments were all there were.
        let last = known.get(LATEST - 1).map(|last| (last.at, &last.id));
        let is_new = |added: &&CommentExcerpt| {
            !known.iter().any(|other| other.id == added.id)
                && last.is_none_or(|last| (added.at, &added.id) > last)
        };
        let added = self.summary.latest.iter().rev().filter(is_new);
        added.map(|added| self.latest(added)).collect()
    }

    fn latest(&self, excerpt: &CommentExcerpt) -> LatestComment {
        let CommentExcerpt { id, slug, author, author_name, text, is_cut, stars, at } = excerpt;
        LatestComment {
            id: self.parent.comment_id(id),
            slug: slug.clone(),
            author: Author::new(author, author_name.as_deref()),
            text: text.clone(),
            is_cut: *is_cut,
            stars: *stars,
            posted_at: DateTime(*at),
        }
    }
}

object! {
    /// Discussion of a product, of content or of an asset. It is read along with what is discussed.
    impl Discussion as discussion {
        /// How the comments are stored. It determines the size of the discussion and the lists that are
        /// available.
        layout: Layout = discussion.summary.layout,
        /// Time at which the discussion was opened.
        opened_at: DateTime = DateTime(discussion.summary.opened_at),
        /// Number of comments, without those that were removed.
        comment_count: i32 = int(discussion.summary.count),
        /// The ten newest comments, newest first.
        latest_comments: Vec<LatestComment> =
            discussion.summary.latest.iter().map(|excerpt| discussion.latest(excerpt)).collect(),
        /// All comments. Removed comments are included, without their text. With the layout `PAGED`, the order
        /// `THREADED` and `topLevel` fail with an error.
        comments(
            context,
            #[graphql(desc = "Order of the list.", default_with = "CommentOrder::Chronological")]
            order: CommentOrder,
            #[graphql(
                desc = "Whether only comments that reply to none are listed.",
                default = false
            )]
            top_level: bool,
        )?: Option<Comments> = {
            let (on, paging) = (&discussion.parent, paging(context)?);
            operations::comments(cx(context), on, order, top_level, paging).await?
        },
        /// Average rating of all reviews; null if there are none.
        rating: Option<AverageRating> = AverageRating::of(&discussion.summary),
    }
}

/// One of the newest comments of a discussion.
#[derive(Debug, SimpleObject)]
pub struct LatestComment {
    /// Global id of the comment.
    id: ID,
    /// Slug, the key of the comment within its discussion.
    slug: String,
    /// Author of the comment, with the name at the time of the post.
    author: Author,
    /// First 280 characters of the text.
    text: String,
    /// Whether the text was cut after 280 characters.
    is_cut: bool,
    /// Stars, 1 to 5, of a review; null for other comments.
    stars: Option<i32>,
    /// Time at which the comment was posted.
    posted_at: DateTime,
}

/// Average rating of all reviews.
#[derive(Debug, SimpleObject)]
pub struct AverageRating {
    /// Number of reviews that count: one per author, without removed ones.
    count: i32,
    /// Average number of stars, 1.0 to 5.0.
    average: f64,
}

impl AverageRating {
    /// The rating of a discussion; `None` without reviews.
    pub fn of(summary: &DiscussionSummary) -> Option<Self> {
        let rating = summary.rating.filter(|rating| rating.count > 0)?;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let average = rating.sum as f64 / rating.count as f64;
        Some(Self { count: int(rating.count), average })
    }
}
