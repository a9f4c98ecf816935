//! GraphQL types of a comment.

use async_graphql::{Enum, OneofObject};

use super::super::{
    documents::{CommentDocument, Remover},
    operations,
};
use crate::{
    domains::nodes::{self, Node},
    engine::caching::cache_control,
    graphql::{author::Author, prelude::*, scalars::DateTime},
};

/// Order of the comments of a discussion. The layout `PAGED` doesn't provide `THREADED`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum CommentOrder {
    /// Oldest comment first.
    Chronological,
    /// Newest comment first.
    Newest,
    /// Depth-first: each comment is followed by its replies, their replies and so on. Oldest comment first on
    /// each level.
    Threaded,
}

/// Key of a comment. Exactly one field must be set.
#[derive(Debug, OneofObject)]
pub enum CommentBy {
    /// Global id of the comment, as in `Comment.id`.
    Id(ID),
    /// Slug of the comment, with the discussed object.
    Slug(CommentSlug),
}

/// Slug of a comment, with the discussion.
#[derive(Debug, async_graphql::InputObject)]
pub struct CommentSlug {
    /// Global id of the product, content or asset that is discussed.
    pub subject_id: ID,
    /// Slug of the comment, as in `Comment.slug`. It is unique within the discussion.
    pub slug: String,
}

/// A page of comments.
pub(in super::super) type Comments = Connection<Comment>;

object! {
    /// A comment in a discussion. A review is a comment with stars.
    pub type Comment = CommentDocument as comment {
        /// Global id of the comment. A move of the discussion to another layout doesn't change it.
        pub id: ID = comment.parent.comment_id(&comment.id),
        /// Global id of the product, content or asset that is discussed.
        subject_id: ID = comment.parent.id(),
        /// Product, content or asset that is discussed, as `node` returns it. Null if the caller can't see it.
        #[graphql(directive = cache_control::apply(0))]
        subject(context)?: Option<Node> = nodes::find(cx(context), &comment.parent.id()).await?,
        /// Slug, the key of the comment within its discussion, usable in links. It has one short part for each
        /// level, separated by `/`.
        slug: &str = &comment.slug,
        /// Global id of the comment that this one replies to; null if it replies to none.
        parent_id(context)?: Option<ID> = {
            let id = match &comment.reply_to_id {
                Some(id) => Some(id.clone()),
                // Older documents have only the slug.
                None => operations::replied_to(cx(context), comment).await?.map(|above| above.id),
            };
            id.map(|id| comment.parent.comment_id(&id))
        },
        /// Comment that this one replies to; null if it replies to none.
        parent(context)?: Option<Self> =
            operations::replied_to(cx(context), comment).await?.map(Self::from),
        /// Direct replies to the comment, oldest first. With the layout `PAGED` the field fails with an error.
        replies(context)?: Option<Comments> =
            operations::replies(cx(context), comment, paging(context)?).await?,
        /// The comment with all its descendants, depth-first as in the order `THREADED`. With the layout `PAGED` the
        /// field fails with an error.
        subthread(context)?: Option<Comments> =
            operations::subthread(cx(context), comment, paging(context)?).await?,
        /// Number of comments above this one in the thread; 0 if it replies to none.
        depth: usize = comment.slug.matches('/').count(),
        /// Author of the comment, with the name at the time of the post.
        author: Author = Author::new(&comment.author, comment.author_name.as_deref()),
        /// Text of the comment; null if it was removed.
        text: Option<&str> = comment.removed.is_none().then_some(&comment.text),
        /// Stars, 1 to 5, of a review; null for other comments and for a removed review.
        stars: Option<i32> = comment.stars,
        /// Time at which the comment was posted.
        posted_at: DateTime = DateTime(comment.at),
        /// Time of the last edit; null if it was never edited.
        edited_at: Option<DateTime> = comment.edited_at.map(DateTime),
        /// Who removed the comment; null if it wasn't removed.
        removed_by: Option<Remover> = comment.removed.map(|removed| removed.by),
        /// Version of the comment; it changes with every edit. `editComment` takes it and refuses the edit of a
        /// comment that changed since it was read.
        version: ID = ID(comment.text_version.clone()),
    }
}
