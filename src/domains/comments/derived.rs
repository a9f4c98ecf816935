//! The values of a discussion that are derived from its comments.

use super::{
    documents::{CommentDocument, CommentExcerpt, OpenDiscussion, Rating},
    store::{self, Discussed, LATEST},
};
use crate::error::Error;

/// Values of a discussion that are derived from its comments.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Derived {
    /// Number of comments without the removed ones.
    pub(super) count: i64,
    /// Number of comments including the removed ones.
    pub(super) total: i64,
    /// The newest comments, newest first.
    pub(super) latest: Vec<CommentExcerpt>,
    /// Number and sum of the stars of all reviews.
    pub(super) rating: Rating,
}

impl Derived {
    /// The values that are stored in the discussion.
    pub(super) fn stored(discussion: &OpenDiscussion) -> Self {
        Self {
            count: discussion.count,
            total: discussion.total,
            latest: discussion.latest.clone(),
            rating: discussion.rating.unwrap_or_default(),
        }
    }

    /// The values computed from these comments.
    pub(super) fn of(comments: &[&CommentDocument]) -> Self {
        let mut there: Vec<_> =
            comments.iter().filter(|comment| comment.removed.is_none()).collect();
        there.sort_by(|left, right| (right.at, &right.id).cmp(&(left.at, &left.id)));
        let newest = there.iter().take(LATEST);
        let stars: Vec<_> = there.iter().filter_map(|comment| comment.stars).collect();
        Self {
            count: length(there.len()),
            total: length(comments.len()),
            latest: newest.map(|comment| store::excerpt(comment)).collect(),
            rating: Rating {
                count: length(stars.len()),
                sum: stars.iter().copied().map(i64::from).sum(),
            },
        }
    }
}

fn length(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

/// All comments of the current store, by time.
pub(super) async fn comments_of(discussed: &Discussed<'_>) -> Result<Vec<CommentDocument>, Error> {
    let place = discussed.place();
    let mut all: Vec<CommentDocument> = Vec::new();
    loop {
        let batch = place.batch(all.last()).await?;
        if batch.is_empty() {
            return Ok(all);
        }
        all.extend(batch);
    }
}
