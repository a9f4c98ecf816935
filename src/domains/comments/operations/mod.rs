//! The rules of comments.

mod changes;
mod discussions;
mod finish;
mod post;
mod reads;

pub use changes::{edit_comment, remove_comment};
pub(super) use discussions::{drive, settle};
pub use discussions::{forget, migrate_discussion, open_discussion};
pub(super) use post::review_id;
pub use post::{post_comment, review_product};
pub use reads::{
    comment, comments, comments_by, discussion, followed, replied_to, replies, subthread,
};

use super::{
    documents::{CommentDocument, Layout, Parent},
    store::{self, DiscussionHandle, Opened},
};
use crate::graphql::{prelude::*, shares::share};

/// Maximum length of a comment, in characters.
pub(super) const TEXT: usize = 4_000;
/// Maximum depth of a thread: a sort key has about 25 bytes for each level.
pub const LEVELS: usize = 250;
/// Maximum number of marks of a discussion. Each author has a share of it. It is checked before a mark is written, so concurrent
/// attempts may exceed it by a few.
const MARKS: usize = 1_000;
/// Maximum length of a slug: a name of 32 characters for each level.
const SLUG: usize = LEVELS * 33;

/// The discussed document of a global id. A malformed id is treated like the id of nothing.
pub(super) fn parent_of(id: &ID) -> Result<Parent, NotFound> {
    Parent::of(id).ok_or_else(|| NotFound::given("discussion", id))
}

/// The discussed document, and the comment's own id, of a comment's global id.
pub(super) fn comment_of(id: &ID) -> Result<(Parent, String), NotFound> {
    Parent::of_comment(id).ok_or_else(|| NotFound::given("comment", id))
}

/// The slug of a comment, unless no comment can have it.
fn checked_slug(slug: &str) -> Option<&str> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_');
    (!slug.is_empty() && slug.len() <= SLUG && slug.bytes().all(fits)).then_some(slug)
}

/// The error for a document that doesn't exist or that this caller can't see.
fn no_parent(parent: &Parent) -> NotFound {
    NotFound::new(parent.kind.name(), parent.id().0)
}

/// The error for a comment that doesn't exist or that this caller can't see.
fn no_comment(id: &ID) -> NotFound {
    NotFound::new("comment", id.as_str())
}

/// Checks that a comment isn't too deep in a thread to have replies. `field` of the input names it.
pub(super) fn demand_depth(above: &CommentDocument, field: &str) -> Result<(), InvalidInput> {
    if above.slug.split('/').count() >= LEVELS {
        let reason = format!("can't have replies: threads are at most {LEVELS} levels deep");
        return Err(InvalidInput::new(field, reason));
    }
    Ok(())
}

/// Checks that the discussion has room for another mark, and the share of its author too, if one is given.
pub(super) fn demand_room(discussed: &DiscussionHandle<'_>, author: Option<&str>) -> Result<()> {
    if discussed.marks.len() >= MARKS {
        return Err(Error::rate_limited(
            "too many changes of this discussion's comments; try again in a minute",
        ));
    }
    let Some(author) = author.map(|author| discussed.share_of(author)) else { return Ok(()) };
    let own = discussed.marks.iter().filter(|mark| mark.share.as_ref() == Some(&author)).count();
    if own >= share(MARKS, discussed.app.config().client_share_percent) {
        return Err(Error::rate_limited(
            "too many changes of your comments in this discussion; try again in a minute",
        ));
    }
    Ok(())
}

/// Begins an attempt by reading a document that the caller can see: its discussion, if one was opened.
pub(super) async fn read<'a, U: From<NotFound>>(
    cx: Cx<'a>,
    parent: &Parent,
) -> Result<(Attempt, Option<DiscussionHandle<'a>>), Stop<U>> {
    let Opened { attempt, is_seen, discussed } = store::open(cx, parent).await?;
    if is_seen { Ok((attempt, discussed)) } else { Err(no_parent(parent).into()) }
}

/// Like [`read`], of a discussion that was opened.
async fn begin<'a, U: From<NotFound>>(
    cx: Cx<'a>,
    parent: &Parent,
) -> Result<(Attempt, DiscussionHandle<'a>), Stop<U>> {
    let (attempt, discussed) = read(cx, parent).await?;
    let none = || NotFound::new("discussion", parent.id().0);
    Ok((attempt, discussed.ok_or_else(none)?))
}

/// Begins an attempt by reading the discussion of a document that the caller can see. A discussion that
/// doesn't exist yet is opened by the first caller, in this layout.
pub(super) async fn begin_or_open<'a, U: From<NotFound>>(
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
