//! Opens discussions, moves them to another layout while comments arrive, and deletes the comments of discussed
//! documents that are removed. The head of the room describes the steps of a move.

use std::future::ready;

use futures_util::{StreamExt, TryStreamExt, stream::TryChunksError};
use mongodb::bson::{DateTime, Document};

use super::{
    super::{
        documents::{CommentDocument, Layout, Parent},
        store::{self, BATCH, CAP, CommentKey, CommentStore, DiscussionHandle},
        types::{
            Discussion, DiscussionFull, MigrateDiscussionInput, MigrateDiscussionResult,
            OpenDiscussionInput, OpenDiscussionResult,
        },
    },
    begin, begin_or_open,
    finish::{Refused, finish},
    parent_of,
    post::repost,
};
use crate::graphql::prelude::*;

/// Opens the discussion of a document. A repeat of the same call returns the discussion.
pub async fn open_discussion(
    cx: Cx<'_>,
    input: OpenDiscussionInput,
) -> Answer<OpenDiscussionResult> {
    let input = input.checked()?;
    let parent = parent_of(&input.subject_id)?;
    may_write(&parent, cx)?;
    let (_, discussed) = begin_or_open(cx, &parent, input.layout).await?;
    if discussed.layout != input.layout {
        return Err(AlreadyExists::new("discussion", parent.id().0).into());
    }
    Ok(Discussion::shown(parent, discussed.discussion))
}

/// Callers who may write a document may open its discussion and migrate it.
fn may_write(parent: &Parent, cx: Cx<'_>) -> Result<()> {
    let role = parent.kind.opened_by;
    if cx.requester.has(role) { Ok(()) } else { Err(Error::Forbidden(role.name())) }
}

/// Moves a discussion. A repeat of the same call continues an unfinished migration.
pub async fn migrate_discussion(
    cx: Cx<'_>,
    input: MigrateDiscussionInput,
) -> Answer<MigrateDiscussionResult> {
    let MigrateDiscussionInput { subject_id, to } = input.checked()?.into_inner();
    let parent = parent_of(&subject_id)?;
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
    Ok(Discussion::shown(parent, carry(&attempt, discussed).await?.discussion))
}

/// Why the migration of a discussion is refused.
fn refusal(now: &DiscussionHandle<'_>, to: Layout) -> Option<Stop<MigrateDiscussionResult>> {
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
    discussed: DiscussionHandle<'_>,
    before: DateTime,
) -> Result<bool> {
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
    let mut comments = old.all();
    while let Some(comment) = comments.try_next().await? {
        if !comment.is_committed(&migration.committed) {
            repost(&attempt, discussed.clone(), &comment).await?;
        }
    }
    old.remove().await?;
    let store = discussed.store();
    if store.lists_authors() {
        store.remove_authored().await?;
    }
    let attempt = app.begin().await?;
    Ok(discussed.close(&attempt).await?.is_some())
}

/// While the discussion moves to another layout and not everything is copied: seals the old store and copies
/// the comments that were posted to it. Concurrent copiers write the same: sealed comments don't change, and
/// the set of comments to copy was fixed when the migration began.
///
/// # Errors
/// A repeat starts again from the beginning; copies that exist are kept.
pub(super) async fn carry<'a>(
    attempt: &Attempt,
    discussed: DiscussionHandle<'a>,
) -> Result<DiscussionHandle<'a>> {
    let Some((migration, old)) = discussed.uncopied_store() else { return Ok(discussed) };
    let (app, new) = (discussed.app, discussed.store());
    old.seal().await?;
    let mut attempt = *attempt;
    let committed = old
        .all()
        .try_filter(|comment| ready(comment.is_committed(&migration.committed)))
        .map_ok(|comment| CommentDocument {
            key: new.key(&comment.id),
            on: new.on(),
            sealed: false,
            ..comment
        });
    let mut batches = committed.try_chunks(BATCH).enumerate();
    while let Some((number, comments)) = batches.next().await {
        let comments = comments.map_err(|TryChunksError(_, error)| error)?;
        // One attempt is long enough for most discussions. In a large one, check that the migration is the
        // same.
        if attempt.is_over() {
            attempt = app.begin().await?;
            match discussed.now().await? {
                Some(still) if still.epoch == discussed.epoch => {}
                _ => return Err(Error::unavailable("the discussion changed at the same time")),
            }
        }
        new.put_authored(&comments).await?;
        new.copy(number, comments, &attempt).await?;
    }
    if attempt.is_over() {
        attempt = app.begin().await?;
    }
    if let Some(marked) = discussed.mark_copied(&attempt).await? {
        return Ok(marked);
    }
    match discussed.now().await? {
        Some(still) if still.uncopied().is_none() => Ok(still),
        _ => Err(attempt.overdue()),
    }
}

/// Finishes a comment that the sweep found in a store of that layout. Returns whether anything was changed.
pub(in super::super) async fn drive(
    app: &App,
    layout: Layout,
    found: CommentDocument,
) -> Result<bool> {
    let Some(store) = CommentStore::of(app, &found, layout) else {
        return Err(Error::internal("a comment whose store has no epoch"));
    };
    let attempt = app.begin().await?;
    let Some(discussed) = store.discussed().await? else {
        // The discussion is gone: nothing can commit the comment any more.
        return store.withdraw(&found.id, &attempt).await;
    };
    if (store.epoch, store.layout) == (discussed.epoch, discussed.layout) {
        let found = store.find(CommentKey::Id(&found.id)).await?;
        let Some(comment) = found.filter(|comment| comment.due.is_some()) else {
            return Ok(false);
        };
        Refused::failure(finish(&attempt, &discussed, comment, Document::new()).await)?;
        return Ok(true);
    }
    if let Some(migration) = &discussed.migration {
        carry(&attempt, discussed.clone()).await?;
        // Comments that were committed before the migration are copied with their outbox.
        if found.is_committed(&migration.committed) {
            return Ok(false);
        }
    }
    repost(&attempt, discussed, &found).await?;
    store.withdraw(&found.id, &attempt).await
}

/// Removes all comments of a discussion. A room calls it before it removes a discussed document, when no
/// attempt is left that could still write into it. It can be repeated.
pub async fn forget(app: &App, discussion: &str) -> Result<()> {
    store::remove_all(app, discussion).await
}
