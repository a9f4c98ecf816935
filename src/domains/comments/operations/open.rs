//! Opens discussions, and deletes the comments of discussed documents that are removed.

use async_graphql::ID;

use super::{
    super::{
        documents::{LAYOUTS, Layout, OpenDiscussion, Parent},
        store,
        types::OpenDiscussionResult,
    },
    no_parent, parent_of,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::{
        refusals::{AlreadyExists, NotFound, Stop},
        requester::Requester,
    },
};

/// Opens the discussion of a document. A repeat of the same call returns the discussion.
pub async fn open(
    app: &App,
    requester: &Requester,
    on: &ID,
    layout: Layout,
) -> Result<OpenDiscussion, Stop<OpenDiscussionResult>> {
    let parent = parent_of(on)?;
    may_write(&parent, requester)?;
    let attempt = app.begin().await?;
    let seen = parent.kind.seen_by(requester);
    let opened = store::open_discussion(app, &parent, layout, seen, &attempt).await;
    if let Some(discussion) = opened.decided()? {
        return Ok(discussion);
    }
    match store::find(app, &parent, requester).await? {
        Some(Some(discussion)) if discussion.layout == layout => Ok(discussion),
        Some(Some(_)) => Err(AlreadyExists::new("discussion", on.0.clone()).into()),
        Some(None) => Err(attempt.overdue().into()),
        None => Err(no_parent(&parent).into()),
    }
}

/// Begins an attempt by reading the discussion of a document that the caller can see. A discussion that
/// doesn't exist yet is opened by the first caller, in the configured layout.
pub(super) async fn begin_or_open(
    app: &App,
    parent: &Parent,
    requester: &Requester,
) -> Result<(Attempt, Result<OpenDiscussion, NotFound>), Error> {
    let (attempt, found) = store::open(app, parent, requester).await?;
    match found {
        Some(Some(discussion)) => return Ok((attempt, Ok(discussion))),
        Some(None) => {}
        None => return Ok((attempt, Err(no_parent(parent)))),
    }
    let layout = app.config().discussion_layout.into();
    let seen = parent.kind.seen_by(requester);
    let opened = store::open_discussion(app, parent, layout, seen, &attempt).await;
    if let Some(discussion) = opened.decided()? {
        return Ok((attempt, Ok(discussion)));
    }
    // Another attempt was faster, the document can't be seen any more, or this attempt is over.
    match store::open(app, parent, requester).await? {
        (attempt, Some(Some(discussion))) => Ok((attempt, Ok(discussion))),
        (attempt, Some(None)) => Err(attempt.overdue()),
        (attempt, None) => Ok((attempt, Err(no_parent(parent)))),
    }
}

/// Callers who may write a document may open its discussion and migrate it.
pub(super) fn may_write(parent: &Parent, requester: &Requester) -> Result<(), Error> {
    let role = parent.kind.role();
    if requester.has(role) { Ok(()) } else { Err(Error::Forbidden(role.name())) }
}

/// Removes all comments of a discussion. A room calls it before it removes a discussed document, when no
/// attempt is left that could still write into it.
///
/// # Errors
/// `Unavailable` or `Internal`: it can be repeated.
pub async fn forget(app: &App, discussion: &str) -> Result<(), Error> {
    for layout in LAYOUTS {
        store::storage(layout).remove_all(app, discussion).await?;
    }
    store::remove_authored(app, discussion).await
}
