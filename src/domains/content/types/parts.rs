//! What all content has, as clients see it: who may read it, who made it, its draft, its former versions.

use async_graphql::{Enum, ID, Object, Result};

use super::super::{
    documents::{Author, NodeDocument, Revised, RevisionDocument},
    markdown,
};
use crate::graphql::{
    requester::Role,
    scalars::{DateTime, LocaleTag},
};

/// Roles that content can be kept for. Editors and admins read everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Enum)]
pub enum ReaderRole {
    /// Who runs the shop.
    Merchant,
    /// Who buys advertising.
    Advertiser,
    /// Who shows advertising.
    Publisher,
    /// Who moderates comments and posts.
    Moderator,
    /// Who plays.
    Player,
    /// Who reads reports.
    Analyst,
    /// Other services of the operator.
    Service,
}

impl ReaderRole {
    const ALL: [(Self, Role); 7] = [
        (Self::Merchant, Role::Merchant),
        (Self::Advertiser, Role::Advertiser),
        (Self::Publisher, Role::Publisher),
        (Self::Moderator, Role::Moderator),
        (Self::Player, Role::Player),
        (Self::Analyst, Role::Analyst),
        (Self::Service, Role::Service),
    ];

    /// Its name as it is stored.
    pub(in super::super) fn name(self) -> &'static str {
        let found = Self::ALL.into_iter().find(|(own, _)| *own == self);
        found.map_or("", |(_, role)| role.name())
    }

    /// Those that are stored.
    pub(super) fn of(names: &[String]) -> Vec<Self> {
        names.iter().filter_map(|name| Self::from_name(name)).collect()
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, role)| role.name() == name).map(|(own, _)| own)
    }
}

/// Who made some content.
#[derive(Debug)]
pub struct ContentAuthor(Author);

impl ContentAuthor {
    /// Who has this subject and this name.
    pub(super) fn of(id: &str, name: &str) -> Self {
        Self(Author { id: id.to_owned(), name: name.to_owned() })
    }
}

/// Who made some content.
#[Object]
impl ContentAuthor {
    /// Subject of the author's token.
    async fn id(&self) -> ID {
        ID(self.0.id.clone())
    }

    /// Name as it is shown.
    async fn name(&self) -> &str {
        &self.0.name
    }
}

/// What editors work on. Readers see it once it is published.
#[derive(Debug)]
pub struct ContentDraft(pub(super) Box<NodeDocument>);

/// What editors work on. Readers see it once it is published.
#[Object]
impl ContentDraft {
    /// Changes with each edit; `editContent` takes it to refuse an edit of something that changed
    /// meanwhile.
    async fn nonce(&self) -> ID {
        ID(self.0.metadata.nonce.clone())
    }

    /// How many versions there were before this one.
    async fn revision(&self) -> i32 {
        i32::try_from(self.0.revision).unwrap_or(i32::MAX)
    }

    /// The title.
    async fn title(&self) -> &str {
        &self.0.metadata.title
    }

    /// Language of title and text.
    async fn language(&self) -> Option<&LocaleTag> {
        self.0.metadata.language.as_ref()
    }

    /// The text in Markdown.
    async fn body(&self) -> &str {
        &self.0.metadata.detail.body
    }

    /// The text as HTML that is safe to show.
    async fn html(&self) -> Result<String> {
        Ok(markdown::html(&self.0.metadata.detail.body).await?)
    }

    /// Of a blog entry, what it is about.
    async fn summary(&self) -> Option<&str> {
        self.0.metadata.detail.summary.as_deref()
    }

    /// Of a blog or gallery, a line below the title.
    async fn subtitle(&self) -> Option<&str> {
        self.0.metadata.detail.subtitle.as_deref()
    }

    /// From when on readers see what was published first or last; it may lie ahead. Null: nothing is
    /// published.
    async fn live_at(&self) -> Option<DateTime> {
        self.0.live.as_ref().map(|edition| edition.at.into())
    }

    /// From when on readers see another version instead.
    async fn next_at(&self) -> Option<DateTime> {
        self.0.next.as_ref().map(|edition| edition.at.into())
    }

    /// Whether this very version is published, or will be.
    async fn is_published(&self) -> bool {
        let editions = self.0.next.iter().chain(&self.0.live);
        editions.into_iter().any(|edition| edition.nonce == self.0.metadata.nonce)
    }
}

/// A version that an edit replaced.
#[derive(Debug)]
pub struct ContentRevision(Revised);

impl From<RevisionDocument> for ContentRevision {
    fn from(document: RevisionDocument) -> Self {
        Self(document.version)
    }
}

/// A version that an edit replaced.
#[Object]
impl ContentRevision {
    /// How many versions there were before it; `restoreContent` takes it.
    async fn number(&self) -> i32 {
        i32::try_from(self.0.number).unwrap_or(i32::MAX)
    }

    /// Its title.
    async fn title(&self) -> &str {
        &self.0.title
    }

    /// Its language.
    async fn language(&self) -> Option<&LocaleTag> {
        self.0.language.as_ref()
    }

    /// Its text in Markdown.
    async fn body(&self) -> &str {
        &self.0.detail.body
    }

    /// Its text as HTML that is safe to show.
    async fn html(&self) -> Result<String> {
        Ok(markdown::html(&self.0.detail.body).await?)
    }

    /// Of a blog entry, what it was about.
    async fn summary(&self) -> Option<&str> {
        self.0.detail.summary.as_deref()
    }

    /// Of a blog or gallery, the line below the title.
    async fn subtitle(&self) -> Option<&str> {
        self.0.detail.subtitle.as_deref()
    }

    /// When it was replaced.
    async fn replaced_at(&self) -> DateTime {
        self.0.at.into()
    }

    /// Subject of who replaced it.
    async fn replaced_by(&self) -> ID {
        ID(self.0.by.clone())
    }
}
