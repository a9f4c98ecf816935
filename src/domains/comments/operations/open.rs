//! Opening a discussion, and forgetting one whose document goes.

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
    graphql::{
        refusals::{AlreadyExists, NotFound, Stop},
        requester::Requester,
    },
    mongo::Run,
};

/// Opens the discussion of something. The same call sent again is answered with the discussion.
///
/// # Errors
/// A refusal, or trouble.
pub async fn open(
    app: &App,
    requester: &Requester,
    on: &ID,
    layout: Layout,
) -> Result<OpenDiscussion, Stop<OpenDiscussionResult>> {
    let parent = parent_of(on)?;
    may_write(&parent, requester)?;
    let run = app.begin().await?;
    let seen = parent.kind.seen_by(requester);
    let opened = store::open_discussion(app, &parent, layout, seen, &run).await;
    if let Some(discussion) = opened.decided()? {
        return Ok(discussion);
    }
    match store::find(app, &parent, requester).await? {
        Some(Some(discussion)) if discussion.layout == layout => Ok(discussion),
        Some(Some(_)) => Err(AlreadyExists::new("discussion", on.0.clone()).into()),
        Some(None) => Err(run.overdue().into()),
        None => Err(no_parent(&parent).into()),
    }
}

/// The discussion of something that the caller may see, and a run that begins with it. One that wasn't opened
/// yet is opened in the layout of the configuration, by whoever comes first.
pub(super) async fn begin_or_open(
    app: &App,
    parent: &Parent,
    requester: &Requester,
) -> Result<(Run, Result<OpenDiscussion, NotFound>), Error> {
    let (run, found) = store::open(app, parent, requester).await?;
    match found {
        Some(Some(discussion)) => return Ok((run, Ok(discussion))),
        Some(None) => {}
        None => return Ok((run, Err(no_parent(parent)))),
    }
    let layout = app.config().discussion_layout.into();
    let seen = parent.kind.seen_by(requester);
    let opened = store::open_discussion(app, parent, layout, seen, &run).await;
    if let Some(discussion) = opened.decided()? {
        return Ok((run, Ok(discussion)));
    }
    // Someone else was quicker, it can't be seen any more, or the run is over.
    match store::open(app, parent, requester).await? {
        (run, Some(Some(discussion))) => Ok((run, Ok(discussion))),
        (run, Some(None)) => Err(run.overdue()),
        (run, None) => Ok((run, Err(no_parent(parent)))),
    }
}

/// Who may write something may open its discussion and move it.
pub(super) fn may_write(parent: &Parent, requester: &Requester) -> Result<(), Error> {
    let role = parent.kind.role();
    if requester.has(role) { Ok(()) } else { Err(Error::Forbidden(role.name())) }
}

/// Removes all comments of a discussion. For rooms that remove a discussed document: before it goes, and
/// when no run is left that could still write into it.
///
/// # Errors
/// `Unavailable` or `Internal`: repeat it.
pub async fn forget(app: &App, discussion: &str) -> Result<(), Error> {
    for layout in LAYOUTS {
        store::storage(layout).remove_all(app, discussion).await?;
    }
    store::remove_authored(app, discussion).await
}
