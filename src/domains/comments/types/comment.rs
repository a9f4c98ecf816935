//! GraphQL types of a comment.

use async_graphql::{Context, Enum, ID, Object, OneofObject, Result, connection::Connection};

use super::super::{
    documents::{CommentDocument, Remover},
    operations,
};
use crate::{
    domains::nodes::{self, Node},
    engine::caching::cache_control,
    graphql::{author::Author, cx::cx, object_of::ObjectOf, page::paging, scalars::DateTime},
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

/// Key of a comment; exactly one field is given.
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
pub(in super::super) type Comments = Connection<String, Comment>;

/// A comment or a review.
pub type Comment = ObjectOf<CommentDocument>;

/// A comment in a discussion. A review is a comment with stars.
#[Object]
impl Comment {
    /// Global id of the comment. A move of the discussion to another layout doesn't change it.
    pub async fn id(&self) -> ID {
        self.0.parent.comment_id(&self.0.id)
    }

    /// Global id of the product, content or asset that is discussed.
    async fn subject_id(&self) -> ID {
        self.0.parent.id()
    }

    /// Product, content or asset that is discussed, as `node` returns it. Null if the caller can't see it.
    #[graphql(directive = cache_control::apply(0))]
    async fn subject(&self, context: &Context<'_>) -> Result<Option<Node>> {
        Ok(nodes::find(cx(context), &self.0.parent.id()).await?)
    }

    /// Slug, the key of the comment within its discussion, usable in links. It has one short part for each
    /// level, separated by `/`.
    async fn slug(&self) -> &str {
        &self.0.slug
    }

    /// Global id of the comment that this one replies to; null if it replies to none.
    async fn parent_id(&self, context: &Context<'_>) -> Result<Option<ID>> {
        let id = match &self.0.reply_to_id {
            Some(id) => Some(id.clone()),
            // Older documents have only the slug.
            None => operations::replied_to(cx(context), &self.0).await?.map(|above| above.id),
        };
        Ok(id.map(|id| self.0.parent.comment_id(&id)))
    }

    /// Comment that this one replies to; null if it replies to none.
    async fn parent(&self, context: &Context<'_>) -> Result<Option<Self>> {
        Ok(operations::replied_to(cx(context), &self.0).await?.map(Self::from))
    }

    /// Direct replies to the comment, oldest first. With the layout `PAGED` the field fails with an error.
    async fn replies(&self, context: &Context<'_>) -> Result<Option<Comments>> {
        Ok(operations::replies(cx(context), &self.0, paging(context)?).await?)
    }

    /// The comment with all its descendants, depth-first as in the order `THREADED`. With the layout `PAGED` the
    /// field fails with an error.
    async fn subthread(&self, context: &Context<'_>) -> Result<Option<Comments>> {
        Ok(operations::subthread(cx(context), &self.0, paging(context)?).await?)
    }

    /// Number of comments above this one in the thread; 0 if it replies to none.
    async fn depth(&self) -> usize {
        self.0.slug.matches('/').count()
    }

    /// Author of the comment, with the name at the time of the post.
    async fn author(&self) -> Author {
        Author::new(&self.0.author, self.0.author_name.as_deref())
    }

    /// Text of the comment; null if it was removed.
    async fn text(&self) -> Option<&str> {
        self.0.removed.is_none().then_some(&self.0.text)
    }

    /// Stars, 1 to 5, of a review; null for other comments and for a removed review.
    async fn stars(&self) -> Option<i32> {
        self.0.stars
    }

    /// Time at which the comment was posted.
    async fn posted_at(&self) -> DateTime {
        DateTime(self.0.at)
    }

    /// Time of the last edit; null if it was never edited.
    async fn edited_at(&self) -> Option<DateTime> {
        self.0.edited_at.map(DateTime)
    }

    /// Who removed the comment; null if it wasn't removed.
    async fn removed_by(&self) -> Option<Remover> {
        self.0.removed.map(|removed| removed.by)
    }

    /// Version of the comment; it changes with every edit. `editComment` takes it and refuses the edit of a
    /// comment that changed since it was read.
    async fn version(&self) -> ID {
        ID(self.0.text_version.clone())
    }
}
