//! Inputs of the mutations of comments.

use crate::graphql::declared::input;
use async_graphql::ID;

use super::super::{
    documents::Layout,
    operations::{TEXT, checked_slug, parent_of},
};
use crate::graphql::refusals::NotFound;

/// The global id of something that can be discussed.
fn discussed() -> impl Fn(&str, &mut ID) -> Result<(), NotFound> {
    |_, on| parent_of(on).map(|_| ())
}

/// The slug of a comment.
fn comment_slug() -> impl Fn(&str, &mut String) -> Result<(), NotFound> {
    |_, slug| checked_slug(slug).map(|_| ())
}

input! {
    /// Input of `openDiscussion`.
    pub struct OpenDiscussionInput {
        /// Global id of the product, content or asset to discuss.
        pub on: ID where discussed(),
        /// How the comments are stored.
        pub layout: Layout,
    }
}

input! {
    /// Input of `migrateDiscussion`.
    pub struct MigrateDiscussionInput {
        /// Global id of the product, content or asset that is discussed.
        pub on: ID where discussed(),
        /// New layout: how the comments are stored.
        pub to: Layout,
    }
}

input! {
    /// Input of `postComment`.
    pub struct PostCommentInput {
        /// Global id of the product, content or asset that is discussed.
        pub on: ID where discussed(),
        /// Slug of the comment to reply to. Default: the comment replies to none.
        pub parent_slug: Option<String> where optional(comment_slug()),
        /// Text of the comment, 1 to 4,000 characters.
        pub text: String where text(1..=TEXT),
        /// Idempotency key, 1 to 128 characters. The comment is posted once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(key()),
    }
}

input! {
    /// Input of `editComment`.
    pub struct EditCommentInput {
        /// Global id of the product, content or asset that is discussed.
        pub on: ID where discussed(),
        /// Slug of the comment.
        pub slug: String where comment_slug(),
        /// `version` of the comment as the client read it. If the comment changed since, the edit is refused with
        /// `CommentConflict`.
        pub version: ID where key(),
        /// New text, 1 to 4,000 characters.
        pub text: String where text(1..=TEXT),
        /// New number of stars, 1 to 5; for reviews only. Default: the stored number.
        pub stars: Option<i32> where optional(within(1..=5)),
    }
}

input! {
    /// Input of `removeComment`.
    pub struct RemoveCommentInput {
        /// Global id of the product, content or asset that is discussed.
        pub on: ID where discussed(),
        /// Slug of the comment.
        pub slug: String where comment_slug(),
    }
}

input! {
    /// Input of `reviewProduct`.
    pub struct ReviewProductInput {
        /// SKU of the product.
        pub sku: ID where sku(),
        /// Number of stars, 1 to 5.
        pub stars: i32 where within(1..=5),
        /// Text of the review, 1 to 4,000 characters.
        pub text: String where text(1..=TEXT),
    }
}
