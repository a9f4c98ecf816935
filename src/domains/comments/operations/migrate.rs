//! Moving a discussion to another layout while comments arrive.
//!
//! One update of the discussed document decides: the epoch rises, and from then on comments are posted to the
//! next store. The old one is sealed and copied in order of time. What had been taken by then is copied,
//! also where its author wasn't answered yet; what hadn't been is posted anew by whoever finds it. The old
//! store goes when nobody can still be reading it and nothing in it waits to be posted.

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
    graphql::{
        refusals::{InUse, Stop},
        requester::Requester,
    },
    mongo::Run,
};

/// Moves a discussion. The same call sent again goes forward with what the first left.
///
/// # Errors
/// A refusal, or trouble.
pub async fn migrate(
    app: &App,
    requester: &Requester,
    on: &ID,
    to: Layout,
) -> Result<OpenDiscussion, Stop<MigrateDiscussionResult>> {
    let parent = parent_of(on)?;
    may_write(&parent, requester)?;
    let (run, discussion) = begin(app, &parent, requester).await?;
    let mut discussion = discussion?;
    if discussion.layout != to {
        let seen = parent.kind.seen_by(requester);
        let moved = store::migrate(app, &parent, &discussion, to, seen, &run).await;
        match moved.decided()? {
            Some(moved) => discussion = moved,
            None => discussion = explained(app, requester, &parent, to, &run).await?,
        }
    }
    if discussion.uncopied().is_some() {
        discussion = carry(app, &run, &parent, &discussion).await?;
    }
    Ok(discussion)
}

/// Why a discussion didn't begin to move.
async fn explained(
    app: &App,
    requester: &Requester,
    parent: &Parent,
    to: Layout,
    run: &Run,
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
    Err(run.overdue().into())
}

/// Brings a migration to its end that the sweep found: copies what isn't copied, and removes the old store
/// once nobody reads it any more and nothing in it waits to be posted. Says whether anything was done.
///
/// # Errors
/// Trouble: the next pass goes on.
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
    let run = app.begin().await?;
    let Some(copied_at) = migration.copied_at else {
        carry(app, &run, parent, discussion).await?;
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
                repost(app, &run, parent, discussion.clone(), &comment).await?;
            }
        }
    }
    old.storage().remove(app, &old).await?;
    if Place::now(parent, discussion).storage().lists_authors() {
        store::remove_authored(app, &discussion.id).await?;
    }
    let run = app.begin().await?;
    Ok(store::close(app, parent, discussion, &run).await.decided()?.is_some())
}
