//! Inputs of the mutations of comments.

use crate::graphql::declared::input;
use async_graphql::ID;

use super::super::documents::Layout;

input! {
    /// Input of `openDiscussion`.
    pub struct OpenDiscussionInput {
        /// Global id of the product, content or asset to discuss.
        pub on: ID,
        /// How the comments are stored.
        pub layout: Layout,
    }
}

input! {
    /// Input of `migrateDiscussion`.
    pub struct MigrateDiscussionInput {
        /// Global id of the product, content or asset that is discussed.
        pub on: ID,
        /// New layout: how the comments are stored.
        pub to: Layout,
    }
}

input! {
    /// Input of `postComment`.
    pub struct PostCommentInput {
        /// Global id of the product, content or asset that is discussed.
        pub on: ID,
        /// Slug of the comment to reply to. Default: the comment replies to none.
        pub parent_slug: Option<String>,
        /// Text of the comment, 1 to 4,000 characters.
        pub text: String,
        /// Idempotency key, 1 to 128 characters. The comment is posted once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID>,
    }
}

input! {
    /// Input of `editComment`.
    pub struct EditCommentInput {
        /// Global id of the product, content or asset that is discussed.
        pub on: ID,
        /// Slug of the comment.
        pub slug: String,
        /// `version` of the comment as the client read it. If the comment changed since, the edit is refused with
        /// `CommentConflict`.
        pub version: ID,
        /// New text, 1 to 4,000 characters.
        pub text: String,
        /// New number of stars, 1 to 5; for reviews only. Default: the stored number.
        pub stars: Option<i32>,
    }
}

input! {
    /// Input of `removeComment`.
    pub struct RemoveCommentInput {
        /// Global id of the product, content or asset that is discussed.
        pub on: ID,
        /// Slug of the comment.
        pub slug: String,
    }
}

input! {
    /// Input of `reviewProduct`.
    pub struct ReviewProductInput {
        /// SKU of the product.
        pub sku: ID,
        /// Number of stars, 1 to 5.
        pub stars: i32,
        /// Text of the review, 1 to 4,000 characters.
        pub text: String,
    }
}
