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
    flow::Attempt,
    graphql::{input, refusals::NotFound, requester::Requester},
};

/// Maximum length of a comment, in characters.
pub(super) const TEXT: usize = 4_000;
/// Maximum depth of a thread: a sort key has about 25 bytes for each level.
pub const LEVELS: usize = 250;
/// Maximum number of marks of a discussion. It is checked before a mark is written, so concurrent attempts
/// may exceed it by a few.
const TAKEN: usize = 1_000;
/// Maximum length of a slug: a name of 32 characters for each level.
const SLUG: usize = LEVELS * 33;

/// The discussed document of a global id. A malformed id is treated like the id of nothing.
pub(super) fn parent_of(id: &ID) -> Result<Parent, NotFound> {
    let parent = Parent::of(id).filter(|parent| input::is_key(&parent.key));
    parent.ok_or_else(|| NotFound::given("discussion", id))
}

/// The slug of a comment. A malformed slug is treated like the slug of no comment.
fn checked_slug(slug: &str) -> Result<String, NotFound> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_');
    if slug.is_empty() || slug.len() > SLUG || !slug.bytes().all(fits) {
        return Err(NotFound::given("comment", slug));
    }
    Ok(slug.to_owned())
}

/// The error for a document that doesn't exist or that this caller can't see.
fn no_parent(parent: &Parent) -> NotFound {
    NotFound::new(parent.kind.name(), parent.id().0)
}

/// The error for a comment that doesn't exist or that this caller can't see.
fn no_comment(slug: &str) -> NotFound {
    NotFound::new("comment", slug)
}

/// Checks that the discussion has room for another mark.
fn uncrowded(discussion: &OpenDiscussion) -> Result<(), Error> {
    if discussion.taken.len() >= TAKEN {
        return Err(Error::RateLimited("too many comments on this are still being settled"));
    }
    Ok(())
}

/// Begins an attempt by reading the discussion of a document that the caller can see.
async fn begin(
    app: &App,
    parent: &Parent,
    requester: &Requester,
) -> Result<(Attempt, Result<OpenDiscussion, NotFound>), Error> {
    let (attempt, found) = store::open(app, parent, requester).await?;
    let discussion = match found {
        Some(Some(discussion)) => Ok(discussion),
        Some(None) => Err(NotFound::new("discussion", parent.id().0)),
        None => Err(no_parent(parent)),
    };
    Ok((attempt, discussion))
}

/// Finds a posted comment in either store: during a migration, a comment that isn't in the new store is still
/// in the old one.
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
