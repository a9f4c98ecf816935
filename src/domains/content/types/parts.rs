//! GraphQL types that all content shares: roles of readers, draft and former versions.

use async_graphql::{Enum, ID, Object, Result};

use super::super::{
    documents::{NodeDocument, Revised, RevisionDocument},
    markdown,
};
use crate::graphql::{
    requester::Role,
    scalars::{DateTime, LocaleTag},
};

/// Role that content can be restricted to. Editors and admins can read all content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, Enum)]
pub enum ReaderRole {
    /// Staff that runs the shop.
    Merchant,
    /// Customer who buys advertising.
    Advertiser,
    /// Publisher who shows advertising.
    Publisher,
    /// Moderator of comments and posts.
    Moderator,
    /// Player.
    Player,
    /// Analyst who reads reports.
    Analyst,
    /// Another service of the operator.
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

    /// The names of roles as they are stored: a sorted set.
    pub(in super::super) fn names(roles: &[Self]) -> Vec<String> {
        let is_one = |(own, _): &(Self, Role)| roles.contains(own);
        let mut names: Vec<_> =
            Self::ALL.into_iter().filter(is_one).map(|(_, role)| role.name().to_owned()).collect();
        names.sort();
        names
    }

    /// The roles with these stored names; other names are skipped.
    pub(super) fn of(names: &[String]) -> Vec<Self> {
        names.iter().filter_map(|name| Self::from_name(name)).collect()
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, role)| role.name() == name).map(|(own, _)| own)
    }
}

/// Draft of content.
#[derive(Debug)]
pub struct ContentDraft(pub(super) Box<NodeDocument>);

/// Draft that editors work on. Readers see it once it is published.
#[Object]
impl ContentDraft {
    /// Version of the draft; it changes with every edit. `editContent` takes it and refuses the edit of a
    /// draft that changed since it was read.
    async fn version(&self) -> ID {
        ID(self.0.metadata.nonce.clone())
    }

    /// Number of versions before this one.
    async fn revision(&self) -> i32 {
        i32::try_from(self.0.revision).unwrap_or(i32::MAX)
    }

    /// Title of the draft.
    async fn title(&self) -> &str {
        &self.0.metadata.title
    }

    /// Language of title and text; null if unknown.
    async fn language(&self) -> Option<&LocaleTag> {
        self.0.metadata.language.as_ref()
    }

    /// Text in Markdown.
    async fn body(&self) -> &str {
        &self.0.metadata.detail.body
    }

    /// Text as HTML that is safe to display.
    async fn html(&self) -> Result<String> {
        Ok(markdown::html(&self.0.metadata.detail.body).await?)
    }

    /// Summary of a blog entry; null if there is none, and for other types.
    async fn summary(&self) -> Option<&str> {
        self.0.metadata.detail.summary.as_deref()
    }

    /// Subtitle of a blog or gallery; null if there is none, and for other types.
    async fn subtitle(&self) -> Option<&str> {
        self.0.metadata.detail.subtitle.as_deref()
    }

    /// Time from which readers see the published version; it may be in the future. Null if nothing is
    /// published.
    async fn live_at(&self) -> Option<DateTime> {
        self.0.live.as_ref().map(|edition| edition.at.into())
    }

    /// Time from which readers see another version instead; null if none is scheduled.
    async fn next_at(&self) -> Option<DateTime> {
        self.0.next.as_ref().map(|edition| edition.at.into())
    }

    /// Whether this version of the draft is published or scheduled.
    async fn is_published(&self) -> bool {
        let editions = self.0.next.iter().chain(&self.0.live);
        editions.into_iter().any(|edition| edition.nonce == self.0.metadata.nonce)
    }
}

/// Former version of content.
#[derive(Debug)]
pub struct ContentRevision(Revised);

impl From<RevisionDocument> for ContentRevision {
    fn from(document: RevisionDocument) -> Self {
        Self(document.version)
    }
}

/// Former version of content, which an edit replaced.
#[Object]
impl ContentRevision {
    /// Number of versions before this one. `restoreContent` takes it.
    async fn number(&self) -> i32 {
        i32::try_from(self.0.number).unwrap_or(i32::MAX)
    }

    /// Title of this version.
    async fn title(&self) -> &str {
        &self.0.title
    }

    /// Language of this version; null if unknown.
    async fn language(&self) -> Option<&LocaleTag> {
        self.0.language.as_ref()
    }

    /// Text of this version in Markdown.
    async fn body(&self) -> &str {
        &self.0.detail.body
    }

    /// Text of this version as HTML that is safe to display.
    async fn html(&self) -> Result<String> {
        Ok(markdown::html(&self.0.detail.body).await?)
    }

    /// Summary of a blog entry; null if there was none, and for other types.
    async fn summary(&self) -> Option<&str> {
        self.0.detail.summary.as_deref()
    }

    /// Subtitle of a blog or gallery; null if there was none, and for other types.
    async fn subtitle(&self) -> Option<&str> {
        self.0.detail.subtitle.as_deref()
    }

    /// Time at which this version was replaced.
    async fn replaced_at(&self) -> DateTime {
        self.0.at.into()
    }

    /// Subject of the token of the editor who replaced this version.
    async fn replaced_by(&self) -> ID {
        ID(self.0.by.clone())
    }
}
