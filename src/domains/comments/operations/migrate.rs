//! Moves a discussion to another layout while comments arrive.
//!
//! One update of the discussed document commits: the epoch rises, and from then on comments are posted to the
//! new store. The old one is sealed and copied in order of time. Comments that were committed by then are
//! copied, even if their authors haven't been answered yet. Uncommitted ones are posted anew by any attempt
//! that finds them. The old store is removed when no attempt can still read it and no comment in it waits to
//! be posted.

use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{Layout, OpenDiscussion},
        store::{self, CAP, Discussed},
        types::{DiscussionFull, MigrateDiscussionInput, MigrateDiscussionResult},
    },
    begin,
    copy::carry,
    open::may_write,
    parent_of,
    post::repost,
};
use crate::{
    error::Error,
    graphql::{
        cx::Cx,
        declared::Input,
        refusals::{InUse, Stop},
    },
};

/// Moves a discussion. A repeat of the same call continues an unfinished migration.
pub async fn migrate_discussion(
    cx: Cx<'_>,
    input: MigrateDiscussionInput,
) -> Result<OpenDiscussion, Stop<MigrateDiscussionResult>> {
    let MigrateDiscussionInput { on, to } = input.checked()?.into_inner();
    let parent = parent_of(&on)?;
    may_write(&parent, cx)?;
    let (attempt, mut discussed) = begin(cx, &parent).await?;
    if discussed.layout != to {
        let seen = parent.kind.seen_by(cx.requester);
        if let Some(moved) = discussed.migrate(to, seen, &attempt).await? {
            discussed = moved;
        } else {
            discussed = begin(cx, &parent).await?.1;
            if discussed.layout != to {
                return Err(refusal(&discussed, to).unwrap_or_else(|| attempt.overdue().into()));
            }
        }
    }
    Ok(carry(&attempt, discussed).await?.discussion)
}

/// Why the migration of a discussion is refused.
fn refusal(now: &Discussed<'_>, to: Layout) -> Option<Stop<MigrateDiscussionResult>> {
    if now.migration.is_some() {
        let message = "the discussion is still moving; try again in a minute";
        return Some(InUse::because(message).into());
    }
    (to == Layout::Embedded && now.total > CAP).then(|| DiscussionFull::new(now.total).into())
}

/// Finishes a migration that the sweep found: copies the remaining comments, and removes the old store when
/// no attempt reads it any more and no comment in it waits to be posted. Returns whether anything was
/// changed.
pub(in super::super) async fn settle(
    discussed: Discussed<'_>,
    before: DateTime,
) -> Result<bool, Error> {
    let (Some(migration), Some(old)) = (&discussed.migration, discussed.before()) else {
        return Ok(false);
    };
    let app = discussed.app;
    let attempt = app.begin().await?;
    let Some(copied_at) = migration.copied_at else {
        carry(&attempt, discussed).await?;
        return Ok(true);
    };
    if copied_at >= before {
        return Ok(false);
    }
    let mut after: Option<(DateTime, String)> = None;
    loop {
        let batch = old.batch(after.as_ref()).await?;
        let Some(last) = batch.last() else { break };
        after = Some((last.at, last.id.clone()));
        for comment in batch {
            if !comment.is_taken(&migration.taken) {
                repost(&attempt, discussed.clone(), &comment).await?;
            }
        }
    }
    old.remove().await?;
    if discussed.place().lists_authors() {
        store::remove_authored(app, &discussed.id).await?;
    }
    let attempt = app.begin().await?;
    Ok(discussed.close(&attempt).await?.is_some())
}
