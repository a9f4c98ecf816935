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
pub use changes::{edit_comment, remove_comment};
pub(super) use drive::drive;
pub use migrate::migrate_discussion;
pub(super) use migrate::settle;
pub use open::{forget, open_discussion};
pub use post::{post_comment, review_product};
pub use reads::{Listed, comment, comments, discussion, followed, replies, subthread};

use async_graphql::ID;

use super::{
    documents::{CommentDocument, OpenDiscussion, Parent},
    store::{self, By, Discussed},
};
use crate::{
    error::Error,
    flow::Attempt,
    graphql::{
        cx::Cx,
        input,
        refusals::{NotFound, Stop},
    },
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
pub(super) fn checked_slug(slug: &str) -> Result<&str, NotFound> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_');
    if slug.is_empty() || slug.len() > SLUG || !slug.bytes().all(fits) {
        return Err(NotFound::given("comment", slug));
    }
    Ok(slug)
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
async fn begin<'a, U: From<NotFound>>(
    cx: Cx<'a>,
    parent: &Parent,
) -> Result<(Attempt, Discussed<'a>), Stop<U>> {
    match store::open(cx, parent).await? {
        (attempt, Some(Some(discussed))) => Ok((attempt, discussed)),
        (_, Some(None)) => Err(NotFound::new("discussion", parent.id().0).into()),
        (_, None) => Err(no_parent(parent).into()),
    }
}

/// Finds a posted comment in either store: during a migration, a comment that isn't in the new store is still
/// in the old one.
async fn find(discussed: &Discussed<'_>, by: By<'_>) -> Result<Option<CommentDocument>, Error> {
    let mut found = discussed.place().find(by).await?;
    if found.is_none()
        && let Some((_, before)) = discussed.uncopied_place()
    {
        found = before.find(by).await?;
    }
    Ok(found.filter(|comment| !comment.is_unposted()))
}
