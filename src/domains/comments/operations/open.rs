//! Opens discussions, and deletes the comments of discussed documents that are removed.

use super::{
    super::{
        documents::Parent,
        store::{self, Discussed},
        types::{Discussion, OpenDiscussionInput, OpenDiscussionResult},
    },
    no_parent, parent_of,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::{
        cx::Cx,
        declared::Input,
        refusals::{AlreadyExists, NotFound, Stop},
    },
};

/// Opens the discussion of a document. A repeat of the same call returns the discussion.
pub async fn open_discussion(
    cx: Cx<'_>,
    input: OpenDiscussionInput,
) -> Result<Discussion, Stop<OpenDiscussionResult>> {
    let input = input.checked()?;
    let parent = parent_of(&input.subject_id)?;
    may_write(&parent, cx)?;
    let attempt = cx.begin().await?;
    let seen = parent.kind.seen_by(cx.requester);
    let opened = store::open_discussion(cx.app, &parent, input.layout, seen, &attempt).await?;
    if let Some(discussed) = opened {
        return Ok(Discussion::shown(parent, discussed.discussion));
    }
    match store::find(cx, &parent).await? {
        Some(Some(discussed)) if discussed.layout == input.layout => {
            Ok(Discussion::shown(parent, discussed.discussion))
        }
        Some(Some(_)) => Err(AlreadyExists::new("discussion", parent.id().0).into()),
        Some(None) => Err(attempt.overdue().into()),
        None => Err(no_parent(&parent).into()),
    }
}

/// Begins an attempt by reading the discussion of a document that the caller can see. A discussion that
/// doesn't exist yet is opened by the first caller, in the configured layout.
pub(super) async fn begin_or_open<'a, U: From<NotFound>>(
    cx: Cx<'a>,
    parent: &Parent,
) -> Result<(Attempt, Discussed<'a>), Stop<U>> {
    let attempt = match store::open(cx, parent).await? {
        (attempt, Some(Some(discussed))) => return Ok((attempt, discussed)),
        (attempt, Some(None)) => attempt,
        (_, None) => return Err(no_parent(parent).into()),
    };
    let layout = cx.config().discussion_layout.into();
    let seen = parent.kind.seen_by(cx.requester);
    if let Some(discussed) = store::open_discussion(cx.app, parent, layout, seen, &attempt).await? {
        return Ok((attempt, discussed));
    }
    // Another attempt was faster, the document can't be seen any more, or this attempt is over.
    match store::open(cx, parent).await? {
        (attempt, Some(Some(discussed))) => Ok((attempt, discussed)),
        (attempt, Some(None)) => Err(attempt.overdue().into()),
        (_, None) => Err(no_parent(parent).into()),
    }
}

/// Callers who may write a document may open its discussion and migrate it.
pub(super) fn may_write(parent: &Parent, cx: Cx<'_>) -> Result<(), Error> {
    let role = parent.kind.role();
    if cx.requester.has(role) { Ok(()) } else { Err(Error::Forbidden(role.name())) }
}

/// Removes all comments of a discussion. A room calls it before it removes a discussed document, when no
/// attempt is left that could still write into it. It can be repeated.
pub async fn forget(app: &App, discussion: &str) -> Result<(), Error> {
    store::remove_all(app, discussion).await
}
