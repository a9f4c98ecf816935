//! What became of the mutations of comments.

use async_graphql::{SimpleObject, Union};

use super::{
    super::documents::{CommentDocument, Layout, OpenDiscussion},
    Comment, Discussion,
};
use crate::graphql::refusals::{
    AlreadyExists, Conflict, ErrorCode, InUse, InvalidInput, NotFound, Refusal,
};

/// The discussion holds as many comments as its layout takes.
#[derive(Debug, Clone, SimpleObject)]
pub struct DiscussionFull {
    /// `DISCUSSION_FULL`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// How many it holds, with those that were removed.
    pub comments: i32,
}

impl DiscussionFull {
    /// It holds so many.
    pub fn new(comments: i64) -> Self {
        let message =
            format!("the layout EMBEDDED takes 100 comments at the most, and it has {comments}");
        let comments = i32::try_from(comments).unwrap_or(i32::MAX);
        Self { code: ErrorCode::DiscussionFull, message, comments }
    }
}

/// The discussion's layout can't serve it by an index.
#[derive(Debug, Clone, SimpleObject)]
pub struct NotServedByLayout {
    /// `NOT_SERVED_BY_LAYOUT`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The layout.
    pub layout: Layout,
}

impl NotServedByLayout {
    /// Threads, which that layout hasn't.
    pub fn new(layout: Layout) -> Self {
        let message = "the comments are stored in pages, which have no threads".to_owned();
        Self { code: ErrorCode::NotServedByLayout, message, layout }
    }
}

/// The comment was removed: it takes no replies and no edits.
#[derive(Debug, Clone, SimpleObject)]
pub struct CommentRemoved {
    /// `COMMENT_REMOVED`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The comment.
    pub slug: String,
}

impl CommentRemoved {
    /// The comment of that slug.
    pub fn new(slug: String) -> Self {
        let message = format!("the comment {slug:?} was removed");
        Self { code: ErrorCode::CommentRemoved, message, slug }
    }
}

/// The comment was posted too long ago to be edited.
#[derive(Debug, Clone, SimpleObject)]
pub struct EditWindowOver {
    /// `EDIT_WINDOW_OVER`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// How long after it was posted a comment can be edited.
    pub seconds: i32,
}

impl EditWindowOver {
    /// Comments can be edited for so long.
    pub fn new(seconds: u64) -> Self {
        let message = format!("a comment can be edited for {seconds} seconds");
        let seconds = i32::try_from(seconds).unwrap_or(i32::MAX);
        Self { code: ErrorCode::EditWindowOver, message, seconds }
    }
}

/// The comment was changed since you read it: merge with the current one and send again.
#[derive(Debug, SimpleObject)]
pub struct CommentConflict {
    /// `CONFLICT`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The comment as it is now, with its nonce.
    pub current: Comment,
}

impl CommentConflict {
    /// The nonce isn't the current one.
    pub fn with(current: CommentDocument) -> Self {
        Self {
            code: ErrorCode::Conflict,
            message: "it was changed since you read it; merge and send again".into(),
            current: current.into(),
        }
    }
}

impl Refusal for CommentConflict {}
impl Refusal for DiscussionFull {}
impl Refusal for NotServedByLayout {}
impl Refusal for CommentRemoved {}
impl Refusal for EditWindowOver {}

/// What became of a new discussion.
#[derive(Union)]
pub enum OpenDiscussionResult {
    Discussion(Discussion),
    NotFound(NotFound),
    AlreadyExists(AlreadyExists),
    InvalidInput(InvalidInput),
}

/// What became of another layout.
#[derive(Union)]
pub enum MigrateDiscussionResult {
    Discussion(Discussion),
    NotFound(NotFound),
    DiscussionFull(DiscussionFull),
    InUse(InUse),
    InvalidInput(InvalidInput),
}

/// What became of a new comment.
#[derive(Union)]
pub enum PostCommentResult {
    Comment(Comment),
    NotFound(NotFound),
    CommentRemoved(CommentRemoved),
    DiscussionFull(DiscussionFull),
    NotServedByLayout(NotServedByLayout),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// What became of an edit.
#[derive(Union)]
pub enum EditCommentResult {
    Comment(Comment),
    NotFound(NotFound),
    CommentRemoved(CommentRemoved),
    EditWindowOver(EditWindowOver),
    CommentConflict(CommentConflict),
    InvalidInput(InvalidInput),
}

/// What became of a removal.
#[derive(Union)]
pub enum RemoveCommentResult {
    Comment(Comment),
    NotFound(NotFound),
    InvalidInput(InvalidInput),
}

/// What became of a review.
#[derive(Union)]
pub enum ReviewProductResult {
    Comment(Comment),
    NotFound(NotFound),
    AlreadyExists(AlreadyExists),
    DiscussionFull(DiscussionFull),
    InvalidInput(InvalidInput),
}

impl From<OpenDiscussion> for OpenDiscussionResult {
    fn from(discussion: OpenDiscussion) -> Self {
        Self::Discussion(discussion.into())
    }
}

impl From<OpenDiscussion> for MigrateDiscussionResult {
    fn from(discussion: OpenDiscussion) -> Self {
        Self::Discussion(discussion.into())
    }
}

impl From<CommentDocument> for PostCommentResult {
    fn from(comment: CommentDocument) -> Self {
        Self::Comment(comment.into())
    }
}

impl From<CommentDocument> for EditCommentResult {
    fn from(comment: CommentDocument) -> Self {
        Self::Comment(comment.into())
    }
}

impl From<CommentDocument> for RemoveCommentResult {
    fn from(comment: CommentDocument) -> Self {
        Self::Comment(comment.into())
    }
}

impl From<CommentDocument> for ReviewProductResult {
    fn from(comment: CommentDocument) -> Self {
        Self::Comment(comment.into())
    }
}
