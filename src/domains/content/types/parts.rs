//! GraphQL types that all content shares: roles of readers, draft and former versions.

use async_graphql::{ComplexObject, Enum, ID, Result, SimpleObject};

use super::super::{
    documents::{Detail, Edition, NodeDocument, RevisionDocument, Text},
    markdown,
};
use crate::graphql::{
    requester::Role,
    scalars::{DateTime, LocaleTag, int},
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
    /// Caller whose token has the role `player`.
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

/// Draft that editors work on. Readers see it once it is published.
#[derive(Debug, SimpleObject)]
#[graphql(complex)]
pub struct ContentDraft {
    /// Version of the draft; it changes with every edit. `editContent` takes it and refuses the edit of a
    /// draft that changed since it was read.
    version: ID,
    /// Number of versions before this one.
    revision: i32,
    /// Title of the draft.
    title: String,
    /// Language of title and text; null if unknown.
    language: Option<LocaleTag>,
    /// Text in Markdown.
    body: String,
    /// Summary of a blog entry; null if there is none, and for other types.
    summary: Option<String>,
    /// Subtitle of a blog or gallery; null if there is none, and for other types.
    subtitle: Option<String>,
    /// Time from which readers see the published version; it may be in the future. Null if nothing is
    /// published.
    live_at: Option<DateTime>,
    /// Time from which readers see another version instead; null if none is scheduled.
    next_at: Option<DateTime>,
    /// Whether this version of the draft is published or scheduled.
    is_published: bool,
}

#[ComplexObject]
impl ContentDraft {
    /// Text as HTML that is safe to display.
    async fn html(&self) -> Result<String> {
        Ok(markdown::html(&self.body).await?)
    }
}

impl From<&NodeDocument> for ContentDraft {
    fn from(NodeDocument { metadata, live, next, revision, .. }: &NodeDocument) -> Self {
        let Detail { body, summary, subtitle } = metadata.detail.clone();
        let at = |edition: &Option<Edition>| edition.as_ref().map(|edition| edition.at.into());
        Self {
            version: ID(metadata.version.clone()),
            revision: int(*revision),
            title: metadata.title.clone(),
            language: metadata.language.clone(),
            body,
            summary,
            subtitle,
            live_at: at(live),
            next_at: at(next),
            is_published: next
                .iter()
                .chain(live)
                .any(|edition| edition.version == metadata.version),
        }
    }
}

/// Former version of content, which an edit replaced.
#[derive(Debug, SimpleObject)]
#[graphql(complex)]
pub struct ContentRevision {
    /// Number of versions before this one. `restoreContent` takes it.
    number: i32,
    /// Title of this version.
    title: String,
    /// Language of this version; null if unknown.
    language: Option<LocaleTag>,
    /// Text of this version in Markdown.
    body: String,
    /// Summary of a blog entry; null if there was none, and for other types.
    summary: Option<String>,
    /// Subtitle of a blog or gallery; null if there was none, and for other types.
    subtitle: Option<String>,
    /// Time at which this version was replaced.
    replaced_at: DateTime,
    /// Subject of the token of the editor who replaced this version.
    replaced_by: ID,
}

#[ComplexObject]
impl ContentRevision {
    /// Text of this version as HTML that is safe to display.
    async fn html(&self) -> Result<String> {
        Ok(markdown::html(&self.body).await?)
    }
}

impl From<RevisionDocument> for ContentRevision {
    fn from(RevisionDocument { version, .. }: RevisionDocument) -> Self {
        let Text { title, language, detail } = version.text;
        let Detail { body, summary, subtitle } = detail;
        Self {
            number: int(version.number),
            title,
            language,
            body,
            summary,
            subtitle,
            replaced_at: version.at.into(),
            replaced_by: ID(version.by),
        }
    }
}
