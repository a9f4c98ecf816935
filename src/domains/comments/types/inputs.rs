//! Inputs of the mutations of comments.

use async_graphql::{ID, InputObject};

use super::super::documents::Layout;

/// Input of `openDiscussion`.
#[derive(Debug, InputObject)]
pub struct OpenDiscussionInput {
    /// Global id of the product, content or asset to discuss.
    pub on: ID,
    /// How the comments are stored.
    pub layout: Layout,
}

/// Input of `migrateDiscussion`.
#[derive(Debug, InputObject)]
pub struct MigrateDiscussionInput {
    /// Global id of the product, content or asset that is discussed.
    pub on: ID,
    /// New layout: how the comments are stored.
    pub to: Layout,
}

/// Input of `postComment`.
#[derive(Debug, InputObject)]
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

/// Input of `editComment`.
#[derive(Debug, InputObject)]
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

/// Input of `removeComment`.
#[derive(Debug, InputObject)]
pub struct RemoveCommentInput {
    /// Global id of the product, content or asset that is discussed.
    pub on: ID,
    /// Slug of the comment.
    pub slug: String,
}

/// Input of `reviewProduct`.
#[derive(Debug, InputObject)]
pub struct ReviewProductInput {
    /// SKU of the product.
    pub sku: ID,
    /// Number of stars, 1 to 5.
    pub stars: i32,
    /// Text of the review, 1 to 4,000 characters.
    pub text: String,
}
