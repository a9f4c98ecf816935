//! GraphQL types of comments.

mod comment;
mod discussion;
mod inputs;
mod results;

pub use comment::{Comment, CommentOrder};
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
