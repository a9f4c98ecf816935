//! Results of the mutations of comments, and their refusals.

use super::{
    super::{
        documents::{CommentDocument, Layout},
        store::CAP,
    },
    Comment, Discussion,
};
use crate::graphql::{prelude::*, scalars::int};

refusal! {
    /// The discussion holds as many comments as its layout permits.
    struct DiscussionFull as "DISCUSSION_FULL" {
        /// Number of comments in the discussion, including removed ones.
        pub comment_count: i32,
    }

    /// The layout of the discussion doesn't support threads, so a reply can't be posted.
    struct NotServedByLayout as "NOT_SERVED_BY_LAYOUT" {
        /// How the discussion stores its comments. `migrateDiscussion` changes it.
        pub layout: Layout,
    }

    /// The comment was removed. It can't be edited or replied to.
    struct CommentRemoved as "COMMENT_REMOVED" {
        /// Slug of the comment.
        pub slug: String,
    }

    /// The time in which the comment could be edited is over.
    struct EditWindowOver as "EDIT_WINDOW_OVER" {
        /// Time in seconds after posting in which a comment can be edited.
        pub seconds: i32,
    }

    /// The comment changed since it was read. Merge the edit with the current comment and send it with the new
    /// version.
    struct CommentConflict as "CONFLICT" {
        /// The comment as it is now, with its version.
        pub current: Comment,
    }
}

impl DiscussionFull {
    /// The discussion holds this many comments.
    pub fn new(comments: i64) -> Self {
        let message = format!(
            "the discussion has {comments} comments; the layout EMBEDDED takes at most {CAP}"
        );
        Self::because(message, int(comments))
    }
}

impl CommentRemoved {
    /// The comment with this slug was removed.
    pub fn new(slug: String) -> Self {
        let message = format!("the comment {slug:?} was removed");
        Self::because(message, slug)
    }
}

result! {
    /// Result of `openDiscussion`: the discussion, or a refusal. `AlreadyExists`: the discussion is open with
    /// another layout.
    pub enum OpenDiscussionResult:
        Discussion | NotFound | AlreadyExists | InvalidInput;

    /// Result of `migrateDiscussion`: the discussion with its new layout, or a refusal. `DiscussionFull`: it has
    /// more comments than the layout `EMBEDDED` permits. `InUse`: a previous migration is still in progress; try
    /// again in a minute.
    pub enum MigrateDiscussionResult:
        Discussion | NotFound | DiscussionFull | InUse | InvalidInput;

    /// Result of `postComment`: the comment, or a refusal. `NotFound`: there is no such discussion or comment to
    /// reply to. `CommentRemoved`, `NotServedByLayout`: a reply isn't possible. `Conflict`: this `idempotencyKey` was used
    /// with another input, or that comment was aborted.
    pub enum PostCommentResult:
        CommentDocument => Comment | NotFound | CommentRemoved | DiscussionFull | NotServedByLayout
        | Conflict | InvalidInput;

    /// Result of `editComment`: the comment after the edit, or a refusal. `NotFound`: there is no such comment,
    /// or the caller isn't its author.
    pub enum EditCommentResult:
        CommentDocument => Comment | NotFound | CommentRemoved | EditWindowOver | CommentConflict |
        InvalidInput;

    /// Result of `removeComment`: the removed comment, or a refusal.
    pub enum RemoveCommentResult:
        CommentDocument => Comment | NotFound | InvalidInput;

    /// Result of `reviewProduct`: the review, or a refusal. `AlreadyExists`: the caller has reviewed the product
    /// with another text or other stars.
    pub enum ReviewProductResult:
        CommentDocument => Comment | NotFound | AlreadyExists | DiscussionFull | InvalidInput;
}
