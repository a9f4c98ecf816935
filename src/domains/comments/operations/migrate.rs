//! Moves a discussion to another layout while comments arrive.
//!
//! One update of the discussed document commits: the epoch rises, and from then on comments are posted to the
//! new store. The old one is sealed and copied in order of time. Comments that were committed by then are
//! copied, even if their authors haven't been answered yet. Uncommitted ones are posted anew by any attempt
//! that finds them. The old store is removed when no attempt can still read it and no comment in it waits to
//! be posted.

use async_graphql::ID;
use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{Layout, OpenDiscussion, Parent},
        store::{self, CAP, Place},
        types::{DiscussionFull, MigrateDiscussionResult},
    },
    begin,
    copy::carry,
    open::may_write,
    parent_of,
    post::repost,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::{
        refusals::{InUse, Stop},
        requester::Requester,
    },
};

/// Moves a discussion. A repeat of the same call continues an unfinished migration.
pub async fn migrate(
    app: &App,
    requester: &Requester,
    on: &ID,
    to: Layout,
) -> Result<OpenDiscussion, Stop<MigrateDiscussionResult>> {
    let parent = parent_of(on)?;
    may_write(&parent, requester)?;
    let (attempt, discussion) = begin(app, &parent, requester).await?;
    let mut discussion = discussion?;
    if discussion.layout != to {
        let seen = parent.kind.seen_by(requester);
        let moved = store::migrate(app, &parent, &discussion, to, seen, &attempt).await;
        match moved.decided()? {
            Some(moved) => discussion = moved,
            None => discussion = explained(app, requester, &parent, to, &attempt).await?,
        }
    }
    if discussion.uncopied().is_some() {
        discussion = carry(app, &attempt, &parent, &discussion).await?;
    }
    Ok(discussion)
}

/// Why the migration of a discussion was refused.
async fn explained(
    app: &App,
    requester: &Requester,
    parent: &Parent,
    to: Layout,
    attempt: &Attempt,
) -> Result<OpenDiscussion, Stop<MigrateDiscussionResult>> {
    let now = begin(app, parent, requester).await?.1?;
    if now.layout == to {
        return Ok(now);
    }
    if now.migration.is_some() {
        let message = "the discussion is still moving; try again in a minute";
        return Err(InUse::because(message).into());
    }
    if to == Layout::Embedded && now.total > CAP {
        return Err(DiscussionFull::new(now.total).into());
    }
    Err(attempt.overdue().into())
}

/// Finishes a migration that the sweep found: copies the remaining comments, and removes the old store when
/// no attempt reads it any more and no comment in it waits to be posted. Returns whether anything was
/// changed.
pub(in super::super) async fn settle(
    app: &App,
    parent: &Parent,
    discussion: &OpenDiscussion,
    before: DateTime,
) -> Result<bool, Error> {
    let (Some(migration), Some(old)) = (&discussion.migration, Place::before(parent, discussion))
    else {
        return Ok(false);
    };
    let attempt = app.begin().await?;
    let Some(copied_at) = migration.copied_at else {
        carry(app, &attempt, parent, discussion).await?;
        return Ok(true);
    };
    if copied_at >= before {
        return Ok(false);
    }
    let mut after: Option<(DateTime, String)> = None;
    loop {
        let batch = old.storage().batch(app, &old, after.as_ref()).await?;
        let Some(last) = batch.last() else { break };
        after = Some((last.at, last.id.clone()));
        for comment in batch {
            if !comment.is_taken(&migration.taken) {
                repost(app, &attempt, parent, discussion.clone(), &comment).await?;
            }
        }
    }
    old.storage().remove(app, &old).await?;
    if Place::now(parent, discussion).storage().lists_authors() {
        store::remove_authored(app, &discussion.id).await?;
    }
    let attempt = app.begin().await?;
    Ok(store::close(app, parent, discussion, &attempt).await.decided()?.is_some())
}
