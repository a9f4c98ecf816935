//! Inputs of the mutations of comments.

use async_graphql::ID;

use super::super::{
    documents::Layout,
    operations::{TEXT, comment_of, parent_of},
};
use crate::graphql::{declared::input, refusals::NotFound};

/// The global id of something that can be discussed.
fn discussed(_: &str, id: &mut ID) -> Result<(), NotFound> {
    parent_of(id).map(drop)
}

/// The global id of a comment.
fn comment(_: &str, id: &mut ID) -> Result<(), NotFound> {
    comment_of(id).map(drop)
}

input! {
    /// Input of `openDiscussion`: the object to discuss and the layout of its discussion.
    pub struct OpenDiscussionInput {
        /// Global id of the product, content or asset to discuss.
        pub subject_id: ID where discussed,
        /// How the comments are stored. `migrateDiscussion` can change it later.
        pub layout: Layout,
    }

    /// Input of `migrateDiscussion`: the object that is discussed and the layout to move its
    /// discussion to.
    pub struct MigrateDiscussionInput {
        /// Global id of the product, content or asset that is discussed.
        pub subject_id: ID where discussed,
        /// New layout: how the comments are stored.
        pub to: Layout,
    }

    /// Input of `postComment`: the object that is discussed, the text, and the comment to reply to.
    pub struct PostCommentInput {
        /// Global id of the product, content or asset that is discussed.
        pub subject_id: ID where discussed,
        /// Global id of the comment to reply to. Default: the comment replies to none.
        pub reply_to_id: Option<ID> where optional(comment),
        /// Text of the comment, 1 to 4,000 characters.
        pub text: String where text(1..=TEXT),
        /// Idempotency key, 1 to 128 characters. The comment is posted once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `editComment`: the comment, its new text, and its version as the client read it.
    pub struct EditCommentInput {
        /// Global id of the comment.
        pub comment_id: ID where comment,
        /// `version` of the comment as the client read it. If the comment changed since, the edit is refused with
        /// `CommentConflict`.
        pub version: ID where verbatim(1..=128),
        /// New text, 1 to 4,000 characters.
        pub text: String where text(1..=TEXT),
        /// New number of stars, 1 to 5; for reviews only. Default: the stored number.
        pub stars: Option<i32> where optional(within(1..=5)),
    }

    /// Input of `removeComment`: the comment whose text is removed.
    pub struct RemoveCommentInput {
        /// Global id of the comment.
        pub comment_id: ID where comment,
    }

    /// Input of `reviewProduct`: the product, the number of stars and the text.
    pub struct ReviewProductInput {
        /// SKU of the product.
        pub sku: ID where sku(),
        /// Number of stars, 1 to 5.
        pub stars: i32 where within(1..=5),
        /// Text of the review, 1 to 4,000 characters.
        pub text: String where text(1..=TEXT),
    }
}
