//! Discussions as the discussed things show them.

use async_graphql::{ID, Object, SimpleObject};

use super::super::documents::{CommentExcerpt, DiscussionSummary, Layout, OpenDiscussion, Rating};
use crate::graphql::scalars::DateTime;

/// Newest comments that a discussion shows.
const MOST: usize = 10;

/// What people say about something. It is read along with the thing itself.
#[derive(Debug)]
pub struct Discussion(pub Box<DiscussionSummary>);

impl From<OpenDiscussion> for Discussion {
    fn from(open: OpenDiscussion) -> Self {
        let OpenDiscussion { id, layout, epoch, count, latest, rating, opened_at, .. } = open;
        Self(Box::new(DiscussionSummary { id, layout, epoch, count, latest, rating, opened_at }))
    }
}

/// What people say about something. It is read along with the thing itself.
#[Object]
impl Discussion {
    /// How its comments are stored.
    async fn layout(&self) -> Layout {
        self.0.layout
    }

    /// When it was opened.
    async fn opened_at(&self) -> DateTime {
        DateTime(self.0.opened_at)
    }

    /// How many comments there are, without those that were removed.
    async fn comment_count(&self) -> i32 {
        i32::try_from(self.0.count).unwrap_or(i32::MAX)
    }

    /// The newest comments, newest first, at most ten.
    async fn latest_comments(&self) -> Vec<LatestComment> {
        self.0.latest.iter().map(LatestComment::from).collect()
    }

    /// What reviewers think; null where nobody has reviewed.
    async fn rating(&self) -> Option<AverageRating> {
        self.0.rating.filter(|rating| rating.count > 0).map(AverageRating::from)
    }
}

/// One of the newest comments.
#[derive(Debug, SimpleObject)]
pub struct LatestComment {
    /// Its place in the discussion.
    slug: String,
    /// Subject of who wrote it.
    author: ID,
    /// Its first 280 characters.
    text: String,
    /// Whether the text goes on.
    is_cut: bool,
    /// One to five stars, of a review.
    stars: Option<i32>,
    /// When it was posted.
    posted_at: DateTime,
}

impl From<&CommentExcerpt> for LatestComment {
    fn from(excerpt: &CommentExcerpt) -> Self {
        let CommentExcerpt { slug, author, text, is_cut, stars, at, .. } = excerpt.clone();
        Self { slug, author: ID(author), text, is_cut, stars, posted_at: DateTime(at) }
    }
}

/// What reviewers think.
#[derive(Debug, SimpleObject)]
pub struct AverageRating {
    /// How many reviewed.
    count: i32,
    /// Their stars on average, 1.0 to 5.0.
    average: f64,
}

impl From<Rating> for AverageRating {
    fn from(rating: Rating) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let average = rating.sum as f64 / rating.count as f64;
        Self { count: i32::try_from(rating.count).unwrap_or(i32::MAX), average }
    }
}

impl Discussion {
    /// The newest comments, for those who follow them.
    pub fn newest(&self) -> Vec<String> {
        self.0.latest.iter().map(|latest| latest.id.clone()).collect()
    }

    /// Comments that weren't there before, oldest first. An older one that came among the newest because
    /// another was removed is none.
    pub fn added_since(&self, before: &Self) -> Vec<LatestComment> {
        let known = &before.0.latest;
        // With fewer than ten, they were all.
        let last = known.get(MOST - 1).map(|last| (last.at, &last.id));
        let is_new = |added: &&CommentExcerpt| {
            !known.iter().any(|other| other.id == added.id)
                && last.is_none_or(|last| (added.at, &added.id) > last)
        };
        self.0.latest.iter().rev().filter(is_new).map(LatestComment::from).collect()
    }
}
