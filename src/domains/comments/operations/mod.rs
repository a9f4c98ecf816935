//! The rules of comments.

mod bulk;
mod changes;
mod copy;
mod drive;
mod finish;
mod migrate;
mod open;
mod post;
mod reads;

pub(super) use bulk::{Known, Line, post_all};
pub use changes::{edit, remove};
pub(super) use drive::drive;
pub use migrate::migrate;
pub(super) use migrate::settle;
pub use open::{forget, open};
pub use post::{post, review};
pub use reads::{Listed, comment, comments, comments_by, discussion, followed, replies, subthread};

use async_graphql::ID;

use super::{
    documents::{CommentDocument, OpenDiscussion, Parent},
    store::{self, By, Place},
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        refusals::{InvalidInput, NotFound},
        requester::Requester,
    },
    mongo::Run,
};

/// Longest comment, in characters.
pub(super) const TEXT: usize = 4_000;
/// Levels of a thread at the most: a sort key has some 25 bytes for each.
pub const LEVELS: usize = 250;
/// What a discussion keeps of what it was told lately, at the most; those who look before they tell it may
/// be a few more together.
const TAKEN: usize = 1_000;
/// Longest slug: a name of 32 characters for each level.
const SLUG: usize = LEVELS * 33;

/// What a global id says is discussed.
pub(super) fn parent_of(field: &str, id: &ID) -> Result<Parent, InvalidInput> {
    let none = || InvalidInput::new(field, "isn't the id of anything that can be discussed");
    let parent = Parent::of(id).ok_or_else(none)?;
    input::key(field, &parent.key).map_err(|_| none())?;
    Ok(parent)
}

fn checked_slug(field: &str, slug: &str) -> Result<String, InvalidInput> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_');
    if slug.is_empty() || slug.len() > SLUG || !slug.bytes().all(fits) {
        return Err(InvalidInput::new(field, "isn't the slug of any comment"));
    }
    Ok(slug.to_owned())
}

/// Nothing like that is there, or not for this caller.
fn no_parent(parent: &Parent) -> NotFound {
    NotFound::new(parent.kind.name(), parent.id().0)
}

/// No such comment, or not for this caller.
fn no_comment(slug: &str) -> NotFound {
    NotFound::new("comment", slug)
}

/// There is room to tell the discussion something.
fn uncrowded(discussion: &OpenDiscussion) -> Result<(), Error> {
    if discussion.taken.len() >= TAKEN {
        return Err(Error::RateLimited("too many comments on this are still being settled"));
    }
    Ok(())
}

/// Begins a run with the discussion of something that the caller may see.
async fn begin(
    app: &App,
    parent: &Parent,
    requester: &Requester,
) -> Result<(Run, Result<OpenDiscussion, NotFound>), Error> {
    let (run, found) = store::open(app, parent, requester).await?;
    let discussion = match found {
        Some(Some(discussion)) => Ok(discussion),
        Some(None) => Err(NotFound::new("discussion", parent.id().0)),
        None => Err(no_parent(parent)),
    };
    Ok((run, discussion))
}

/// A comment that anybody sees, wherever it is just now: while a discussion moves, one that isn't in the
/// new store is still in the old one.
async fn find(
    app: &App,
    parent: &Parent,
    discussion: &OpenDiscussion,
    by: By<'_>,
) -> Result<Option<CommentDocument>, Error> {
    let now = Place::now(parent, discussion);
    let mut found = now.storage().find(app, &now, by).await?;
    if found.is_none()
        && discussion.uncopied().is_some()
        && let Some(before) = Place::before(parent, discussion)
    {
        found = before.storage().find(app, &before, by).await?;
    }
    Ok(found.filter(|comment| !comment.is_unposted()))
}
