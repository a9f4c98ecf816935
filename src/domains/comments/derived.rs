//! Repairs the values of discussions that are derived from comments: the number of comments, the newest ones and the
//! rating. If they differ, by a fault or by a change from outside, the comments are authoritative.
//!
//! Gateways may post, edit, remove and migrate at the same time. Each of these raises the discussion's
//! `total`, `version` or `epoch`. The one update that repairs is guarded by the values of all three from
//! before the comments were read. It raises `version` itself, so that a removal that read the newest comments
//! before it reads them again. A comment whose edit or removal hasn't been applied to the discussion still
//! counts with its previous value, which is no longer known: while there is such a comment, nothing is
//! repaired.

use std::time::Duration;

use futures_util::TryStreamExt;

use super::{
    documents::{CommentDocument, CommentExcerpt, LATEST, OpenDiscussion, Parent, Rating},
    store,
};
use crate::{app::App, error::Result, mongo::expression::count};

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
        there.sort_by(|left, right| right.moment().cmp(&left.moment()));
        let newest = there.iter().take(LATEST);
        let stars: Vec<_> = there.iter().filter_map(|comment| comment.stars).collect();
        Self {
            count: count(there.len()),
            total: count(comments.len()),
            latest: newest.map(|comment| CommentExcerpt::of(comment)).collect(),
            rating: Rating::of(count(stars.len()), stars.iter().copied().map(i64::from).sum()),
        }
    }
}

/// How often a busy discussion is tried, and the pause between two tries.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Returns what was repaired.
pub(super) async fn repair(app: &App) -> Result<Vec<String>> {
    let mut parents = Vec::new();
    store::for_each(app, |discussed| parents.push(discussed.parent)).await?;
    let mut repaired = Vec::new();
    for parent in parents {
        if repair_one(app, &parent).await? {
            repaired.push(format!("the discussion of {}", parent.key));
        }
    }
    Ok(repaired)
}

/// Returns whether the discussion was repaired.
async fn repair_one(app: &App, parent: &Parent) -> Result<bool> {
    for _ in 0..TRIES {
        let Some(discussed) = store::settled(app, parent).await? else { return Ok(false) };
        if discussed.uncopied().is_some() {
            // Its comments are in two stores. The sweep continues the migration.
            return Ok(false);
        }
        let comments: Vec<_> = discussed.store().all().try_collect().await?;
        match counted(&discussed, &comments).map(|counted| Derived::of(&counted)) {
            Some(derived) if derived == Derived::stored(&discussed) => return Ok(false),
            Some(derived) => {
                // The attempt begins only now: reading a large discussion may take longer than an attempt.
                let attempt = app.begin().await?;
                if discussed.rebuild(&derived, &attempt).await?.is_some() {
                    return Ok(true);
                }
            }
            None => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(false)
}

/// The comments that the discussion counts; `None` if an edit or a removal hasn't been applied to it yet.
fn counted<'a>(
    discussion: &OpenDiscussion,
    comments: &'a [CommentDocument],
) -> Option<Vec<&'a CommentDocument>> {
    let tags = discussion.committed_tags();
    let is_applied = |comment: &CommentDocument| match &comment.due {
        Some(due) => comment.is_unposted() || tags.contains(&due.tag.as_str()),
        None => true,
    };
    comments
        .iter()
        .all(is_applied)
        .then(|| comments.iter().filter(|comment| comment.is_committed(&tags)).collect())
}
