//! Comments as clients see them.

use async_graphql::{Enum, ID, Object};

use super::super::documents::{CommentDocument, Remover};
use crate::graphql::scalars::DateTime;

/// The order of a list of comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum CommentOrder {
    /// Oldest first.
    Chronological,
    /// Each comment is followed by what was replied to it, and so on; oldest first on each level.
    Threaded,
}

/// What someone says about something.
#[derive(Debug)]
pub struct Comment(Box<CommentDocument>);

impl From<CommentDocument> for Comment {
    fn from(comment: CommentDocument) -> Self {
        Self(Box::new(comment))
    }
}

/// What someone says about something.
#[Object]
impl Comment {
    /// Global id of what is discussed.
    async fn on(&self) -> ID {
        self.0.parent.id()
    }

    /// Its place in the discussion, for direct links: a short name for each level, with a `/` between them.
    async fn slug(&self) -> &str {
        &self.0.slug
    }

    /// Slug of the comment that it replies to; null where it replies to none.
    async fn parent_slug(&self) -> Option<&str> {
        Some(self.0.reply_to.as_str()).filter(|slug| !slug.is_empty())
    }

    /// How many comments stand above it.
    async fn depth(&self) -> usize {
        self.0.slug.matches('/').count()
    }

    /// Subject of who wrote it.
    async fn author(&self) -> ID {
        ID(self.0.author.clone())
    }

    /// What it says; null where it was removed.
    async fn text(&self) -> Option<&str> {
        self.0.removed.is_none().then_some(&self.0.text)
    }

    /// One to five, of a review that wasn't removed.
    async fn stars(&self) -> Option<i32> {
        self.0.stars
    }

    /// When it was posted.
    async fn posted_at(&self) -> DateTime {
        DateTime(self.0.at)
    }

    /// When it was edited last.
    async fn edited_at(&self) -> Option<DateTime> {
        self.0.edited_at.map(DateTime)
    }

    /// Who removed it; null where nobody has.
    async fn removed_by(&self) -> Option<Remover> {
        self.0.removed.map(|removed| removed.by)
    }

    /// Changes with the comment; `editComment` takes it to refuse an edit of something that changed
    /// meanwhile.
    async fn nonce(&self) -> ID {
        ID(self.0.nonce.clone())
    }
}
