//! GraphQL type of a comment.

use async_graphql::{Enum, ID, Object};

use super::super::documents::{CommentDocument, Remover};
use crate::graphql::scalars::DateTime;

/// Sort order of comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum CommentOrder {
    /// Oldest comment first.
    Chronological,
    /// Depth-first: each comment is followed by its replies, their replies and so on. Oldest comment first on
    /// each level.
    Threaded,
}

/// A comment or a review.
#[derive(Debug, Clone)]
pub struct Comment(Box<CommentDocument>);

impl From<CommentDocument> for Comment {
    fn from(comment: CommentDocument) -> Self {
        Self(Box::new(comment))
    }
}

/// A comment in a discussion. A review is a comment with stars.
#[Object]
impl Comment {
    /// Global id of the product, content or asset that is discussed.
    async fn on(&self) -> ID {
        self.0.parent.id()
    }

    /// Slug, the key of the comment within its discussion, usable in links. It has one short part for each
    /// level, separated by `/`.
    async fn slug(&self) -> &str {
        &self.0.slug
    }

    /// Slug of the comment that this one replies to; null if it replies to none.
    async fn parent_slug(&self) -> Option<&str> {
        Some(self.0.reply_to.as_str()).filter(|slug| !slug.is_empty())
    }

    /// Number of comments above this one in the thread; 0 if it replies to none.
    async fn depth(&self) -> usize {
        self.0.slug.matches('/').count()
    }

    /// Subject of the author's token.
    async fn author(&self) -> ID {
        ID(self.0.author.clone())
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
        ID(self.0.nonce.clone())
    }
}
