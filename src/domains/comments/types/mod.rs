//! GraphQL types of comments.

pub(super) mod comment;
mod discussion;
mod inputs;
mod results;

pub use comment::{Comment, CommentBy, CommentOrder};
pub use discussion::{AverageRating, Discussion, LatestComment};
pub use inputs::{
    EditCommentInput, MigrateDiscussionInput, OpenDiscussionInput, PostCommentInput,
    RemoveCommentInput, ReviewProductInput,
};
pub use results::{
    CommentConflict, CommentRemoved, DiscussionFull, EditCommentResult, EditWindowOver,
    MigrateDiscussionResult, NotServedByLayout, OpenDiscussionResult, PostCommentResult,
    RemoveCommentResult, ReviewProductResult,
};
