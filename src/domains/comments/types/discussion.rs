//! GraphQL types of a discussion, as a field of the document that is discussed.

use async_graphql::{ID, Object, SimpleObject};

use super::super::documents::{CommentExcerpt, DiscussionSummary, Layout, OpenDiscussion, Rating};
use crate::graphql::scalars::DateTime;

/// Number of newest comments that a discussion shows.
const MOST: usize = 10;

/// Discussion of a product, of content or of an asset.
#[derive(Debug)]
pub struct Discussion(pub Box<DiscussionSummary>);

impl From<OpenDiscussion> for Discussion {
    fn from(open: OpenDiscussion) -> Self {
        let OpenDiscussion { id, layout, epoch, count, latest, rating, opened_at, .. } = open;
        Self(Box::new(DiscussionSummary { id, layout, epoch, count, latest, rating, opened_at }))
    }
}

/// Discussion of a product, of content or of an asset. It is read along with what is discussed.
#[Object]
impl Discussion {
    /// How the comments are stored.
    async fn layout(&self) -> Layout {
        self.0.layout
    }

    /// Time at which the discussion was opened.
    async fn opened_at(&self) -> DateTime {
        DateTime(self.0.opened_at)
    }

    /// Number of comments, without those that were removed.
    async fn comment_count(&self) -> i32 {
        i32::try_from(self.0.count).unwrap_or(i32::MAX)
    }

    /// The ten newest comments, newest first.
    async fn latest_comments(&self) -> Vec<LatestComment> {
        self.0.latest.iter().map(LatestComment::from).collect()
    }

    /// Average rating of all reviews; null if there are none.
    async fn rating(&self) -> Option<AverageRating> {
        self.0.rating.filter(|rating| rating.count > 0).map(AverageRating::from)
    }
}

/// One of the newest comments of a discussion.
#[derive(Debug, SimpleObject)]
pub struct LatestComment {
    /// Slug, the key of the comment within its discussion.
    slug: String,
    /// Subject of the author's token.
    author: ID,
    /// First 280 characters of the text.
    text: String,
    /// Whether the text was cut after 280 characters.
    is_cut: bool,
    /// Stars, 1 to 5, of a review; null for other comments.
    stars: Option<i32>,
    /// Time at which the comment was posted.
    posted_at: DateTime,
}

impl From<&CommentExcerpt> for LatestComment {
    fn from(excerpt: &CommentExcerpt) -> Self {
        let CommentExcerpt { slug, author, text, is_cut, stars, at, .. } = excerpt.clone();
        Self { slug, author: ID(author), text, is_cut, stars, posted_at: DateTime(at) }
    }
}

/// Average rating of all reviews.
#[derive(Debug, SimpleObject)]
pub struct AverageRating {
    /// Number of reviews.
    count: i32,
    /// Average number of stars, 1.0 to 5.0.
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
    /// Ids of the newest comments, compared by subscriptions to detect a change.
    pub fn newest(&self) -> Vec<String> {
        self.0.latest.iter().map(|latest| latest.id.clone()).collect()
    }

    /// Comments that were posted since `before`, oldest first. An older comment that is among the newest now
    /// because another one was removed isn't counted.
    pub fn added_since(&self, before: &Self) -> Vec<LatestComment> {
        let known = &before.0.latest;
        // Fewer than ten known comments were all there were.
        let last = known.get(MOST - 1).map(|last| (last.at, &last.id));
        let is_new = |added: &&CommentExcerpt| {
            !known.iter().any(|other| other.id == added.id)
                && last.is_none_or(|last| (added.at, &added.id) > last)
        };
        self.0.latest.iter().rev().filter(is_new).map(LatestComment::from).collect()
    }
}
