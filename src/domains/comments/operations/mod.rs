//! The rules of comments.

mod authors;
mod bulk;
mod changes;
mod copy;
mod drive;
mod finish;
mod migrate;
mod open;
mod post;
mod reads;

pub use authors::comments_by;
pub(super) use bulk::{Known, Line, post_all};
pub use changes::{edit, remove};
pub(super) use drive::drive;
pub use migrate::migrate;
pub(super) use migrate::settle;
pub use open::{forget, open};
pub use post::{post, review};
pub use reads::{Listed, comment, comments, discussion, followed, replies, subthread};

use async_graphql::ID;

use super::{
    documents::{CommentDocument, OpenDiscussion, Parent},
    store::{self, By, Place},
};
use crate::{
    app::App,
    error::Error,
    graphql::{input, refusals::NotFound, requester::Requester},
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

/// What a global id says is discussed. A text that is no such id is as good as the id of nothing.
pub(super) fn parent_of(id: &ID) -> Result<Parent, NotFound> {
    let parent = Parent::of(id).filter(|parent| input::is_key(&parent.key));
    parent.ok_or_else(|| NotFound::given("discussion", id))
}

/// The slug of a comment. A text that can't be one is as good as the slug of no comment.
fn checked_slug(slug: &str) -> Result<String, NotFound> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_');
    if slug.is_empty() || slug.len() > SLUG || !slug.bytes().all(fits) {
        return Err(NotFound::given("comment", slug));
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
