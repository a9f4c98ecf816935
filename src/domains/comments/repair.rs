//! Puts right what discussions say of their comments: how many there are, the newest, the rating. The comments
//! are the truth, whatever came between: a fault, or a change from outside.
//!
//! Gateways may post, edit, remove and move meanwhile. Each of these raises the discussion's `total`, `version`
//! or `epoch`, and the one update that repairs is guarded by all three as they were before the comments were
//! read. It raises `version` itself, so that a removal that has read the newest comments before reads them
//! again. A comment that was edited or removed, and whose discussion hasn't been told, still counts as it was
//! before, which isn't known any more: while there is one, nothing is repaired.

use std::time::Duration;

use super::{
    derived::{Derived, comments_of},
    documents::{CommentDocument, OpenDiscussion, Parent},
    store,
};
use crate::{app::App, error::Error};

/// Looks at a discussion in which something is always going on, and the pause between two.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Answers the keys of what is discussed by the discussions that were put right.
///
/// # Errors
/// `Unavailable` or `Internal`: repeat it.
pub async fn repair(app: &App) -> Result<Vec<String>, Error> {
    let mut parents = Vec::new();
    store::for_each(app, |parent, _| parents.push(parent)).await?;
    let mut repaired = Vec::new();
    for parent in parents {
        if repair_one(app, &parent).await? {
            repaired.push(parent.key);
        }
    }
    Ok(repaired)
}

/// Says whether anything had to be put right, and was.
async fn repair_one(app: &App, parent: &Parent) -> Result<bool, Error> {
    for _ in 0..TRIES {
        let Some(discussion) = store::settled(app, parent).await? else { return Ok(false) };
        if discussion.uncopied().is_some() {
            // Its comments are in two stores, which the sweep goes on with.
            return Ok(false);
        }
        let comments = comments_of(app, parent, &discussion).await?;
        match taken_of(&discussion, &comments).map(|taken| Derived::of(&taken)) {
            Some(derived) if derived == Derived::said(&discussion) => return Ok(false),
            Some(derived) => {
                // Only now: to read a large discussion may take longer than a run.
                let run = app.begin().await?;
                let written = store::rebuild(app, parent, &discussion, &derived, &run).await;
                if written.decided()?.is_some() {
                    return Ok(true);
                }
            }
            None => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(false)
}

/// The comments that the discussion has taken; `None` where one has changed that it wasn't told of.
fn taken_of<'a>(
    discussion: &OpenDiscussion,
    comments: &'a [CommentDocument],
) -> Option<Vec<&'a CommentDocument>> {
    let tags = discussion.taken_ids();
    let is_told = |comment: &CommentDocument| match &comment.due {
        Some(due) => comment.is_unposted() || tags.contains(&due.tag.as_str()),
        None => true,
    };
    comments
        .iter()
        .all(is_told)
        .then(|| comments.iter().filter(|comment| comment.is_taken(&tags)).collect())
}
