//! Inputs of the mutations of comments.

use async_graphql::{ID, InputObject};

use super::super::documents::Layout;

/// A discussion of something that has none.
#[derive(Debug, InputObject)]
pub struct OpenDiscussionInput {
    /// Global id of what is to be discussed.
    pub on: ID,
    /// How the comments are to be stored.
    pub layout: Layout,
}

/// Another layout for a discussion.
#[derive(Debug, InputObject)]
pub struct MigrateDiscussionInput {
    /// Global id of what is discussed.
    pub on: ID,
    /// How the comments are to be stored.
    pub to: Layout,
}

/// A new comment.
#[derive(Debug, InputObject)]
pub struct PostCommentInput {
    /// Global id of what is discussed.
    pub on: ID,
    /// Slug of the comment that it replies to, if it replies to one.
    pub parent_slug: Option<String>,
    /// What it says, 1 to 4,000 characters.
    pub text: String,
    /// Your idempotency key: the same call sent again under it posts one comment.
    pub op_id: Option<ID>,
}

/// Another text for a comment.
#[derive(Debug, InputObject)]
pub struct EditCommentInput {
    /// Global id of what is discussed.
    pub on: ID,
    /// The comment.
    pub slug: String,
    /// The `nonce` of the comment as you read it: an edit of something that changed meanwhile is refused.
    pub nonce: ID,
    /// What it says, 1 to 4,000 characters.
    pub text: String,
    /// One to five, for a review; they stay when left out.
    pub stars: Option<i32>,
}

/// A comment that is to go.
#[derive(Debug, InputObject)]
pub struct RemoveCommentInput {
    /// Global id of what is discussed.
    pub on: ID,
    /// The comment.
    pub slug: String,
}

/// A review of a product.
#[derive(Debug, InputObject)]
pub struct ReviewProductInput {
    /// The product's SKU.
    pub sku: ID,
    /// One to five.
    pub stars: i32,
    /// What it says, 1 to 4,000 characters.
    pub text: String,
}
