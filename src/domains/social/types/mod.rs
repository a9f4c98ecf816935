//! GraphQL types of people, posts and feeds.

mod inputs;
mod post;
mod user;

pub use inputs::{
    BlockUserInput, BlockUserResult, CircleUserInput, CircleUserResult, CommentOnPostInput,
    CommentOnPostResult, CreatePostInput, CreatePostResult, CreateUserInput, CreateUserResult,
    DeletePostInput, DeletePostResult, EditPostInput, EditPostResult, PostDetailInput,
    UnblockUserInput, UnblockUserResult, UncircleUserInput, UncircleUserResult, UpdateProfileInput,
    UpdateProfileResult, VotePollInput, VotePollResult,
};
pub use post::{
    AlreadyVoted, CheckInDetail, DeletedPost, LinkDetail, NewsChanged, PhotoDetail, PollChoice,
    PollDetail, Post, PostComment, PostDetail, PostType,
};
pub use user::{FollowedUser, User};
