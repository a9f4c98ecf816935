//! The personal data in the collections of this room. An erasure also removes the person's comments.

use super::{
    documents::{AuthoredComment, CommentDocument},
    operations::remove_comment,
    types::RemoveCommentInput,
};
use crate::{
    domains::persons::{self, Erasing},
    graphql::prelude::*,
    mongo::personal::{Blank, Field, Find, Personal},
};

/// The name of an author beside the subject.
const NAME: &[(&str, Blank)] = &[("authorName", Blank::Nothing)];

/// The comments in a discussed document, which each room with such documents declares.
pub const EMBEDDED: &[Field] = &[
    Field::blanks("discussion.entries[].author", NAME),
    Field::blanks("discussion.latest[].author", NAME),
];

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::of("comments", Find::Index("author", "author"), &[Field::blanks("author", NAME)]),
    Personal::copies("commentPages", Find::Walk, &[Field::blanks("entries[].author", NAME)]),
    // The copies of paged and embedded comments: an export has these from here.
    Personal::of(
        "authoredComments",
        Find::Index("author", "author"),
        &[Field::replaces("author"), Field::blanks("comment.author", NAME)],
    ),
];

/// Removes the person's comments. Their places in the threads stay.
pub(super) async fn erase(app: &App, erasing: &mut Erasing) -> Result<()> {
    for id in persons::ids(app, "comments", "author", &erasing.subject).await? {
        if let Some(comment) = app.collection::<CommentDocument>().get(&id).await? {
            remove(app, erasing, &comment).await?;
        }
    }
    for id in persons::ids(app, "authoredComments", "author", &erasing.subject).await? {
        if let Some(copy) = app.collection::<AuthoredComment>().get(&id).await? {
            remove(app, erasing, &copy.comment).await?;
        }
    }
    Ok(())
}

async fn remove(app: &App, erasing: &mut Erasing, comment: &CommentDocument) -> Result<()> {
    if comment.removed.is_some() && comment.due.is_none() {
        return Ok(());
    }
    let requester = erasing.requester.clone();
    let cx = Cx { app, requester: &requester };
    let comment_id = comment.parent.comment_id(&comment.id);
    match remove_comment(cx, RemoveCommentInput { comment_id }).await {
        Ok(_) => erasing.ends("comments"),
        Err(Stop::Failed(error)) => return Err(error),
        // Nobody sees it: it was never posted, or what it was on is gone. The sweep decides about the former.
        Err(Stop::Refused(_)) => {
            if comment.is_unposted() {
                erasing.waits.push("a comment is being posted".to_owned());
            }
        }
    }
    Ok(())
}
