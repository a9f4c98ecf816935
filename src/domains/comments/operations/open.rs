//! Opens discussions, and deletes the comments of discussed documents that are removed.

use super::{
    super::{
        documents::{Layout, Parent},
        store::{self, DiscussionHandle},
        types::{Discussion, OpenDiscussionInput, OpenDiscussionResult},
    },
    parent_of, read,
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Step, decide},
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
    let (_, discussed) = begin_or_open(cx, &parent, input.layout).await?;
    if discussed.layout != input.layout {
        return Err(AlreadyExists::new("discussion", parent.id().0).into());
    }
    Ok(Discussion::shown(parent, discussed.discussion))
}

/// Begins an attempt by reading the discussion of a document that the caller can see. A discussion that
/// doesn't exist yet is opened by the first caller, in this layout.
pub(in super::super) async fn begin_or_open<'a, U: From<NotFound>>(
    cx: Cx<'a>,
    parent: &Parent,
    layout: Layout,
) -> Result<(Attempt, DiscussionHandle<'a>), Stop<U>> {
    let read = || read(cx, parent);
    decide(read, |attempt: Attempt, discussed: Option<DiscussionHandle<'a>>| async move {
        if let Some(discussed) = discussed {
            return Ok(Step::Done((attempt, discussed)));
        }
        let seen = parent.kind.seen_by(cx.requester);
        let opened = store::open_discussion(cx.app, parent, layout, seen, &attempt).await?;
        Ok(Step::or_again(opened.map(|discussed| (attempt, discussed))))
    })
    .await
}

/// Callers who may write a document may open its discussion and migrate it.
pub(super) fn may_write(parent: &Parent, cx: Cx<'_>) -> Result<(), Error> {
    let role = parent.kind.opened_by;
    if cx.requester.has(role) { Ok(()) } else { Err(Error::Forbidden(role.name())) }
}

/// Removes all comments of a discussion. A room calls it before it removes a discussed document, when no
/// attempt is left that could still write into it. It can be repeated.
pub async fn forget(app: &App, discussion: &str) -> Result<(), Error> {
    store::remove_all(app, discussion).await
}
