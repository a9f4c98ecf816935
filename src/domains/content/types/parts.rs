//! GraphQL types that all content shares: roles of readers, draft and former versions.

use async_graphql::Enum;

use super::super::{
    documents::{ContentTranslation, NodeDocument, RevisionDocument},
    markdown,
};
use crate::{
    domains::images::{self, Image},
    graphql::{
        prelude::*,
        scalars::{DateTime, int},
    },
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
    /// Moderator of comments.
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

/// Draft that editors work on.
#[derive(Debug)]
pub struct ContentDraft(pub(super) Box<NodeDocument>);

object! {
    /// Draft that editors work on. Readers see it once it is published.
    impl ContentDraft as draft {
        /// Version of the draft; it changes with every edit. `editContent` takes it and refuses the edit of a
        /// draft that changed since it was read.
        version: ID = ID(draft.0.metadata.version.clone()),
        /// Number of versions before this one.
        revision: i32 = int(draft.0.revision),
        /// Title of the draft.
        title: &str = &draft.0.metadata.title,
        /// Language of title and text; null if unknown.
        language: Option<&LocaleTag> = draft.0.metadata.language.as_ref(),
        /// Text in Markdown.
        body: &str = &draft.0.metadata.detail.body,
        /// Summary of a blog entry; null if there is none, and for other types.
        summary: Option<&str> = draft.0.metadata.detail.summary.as_deref(),
        /// Subtitle of a blog or gallery; null if there is none, and for other types.
        subtitle: Option<&str> = draft.0.metadata.detail.subtitle.as_deref(),
        /// Title and texts in other languages.
        translations: &[ContentTranslation] = draft.0.metadata.detail.translations(),
        /// Pictures of the draft in order.
        images(context)?: Vec<Image<'_>> =
            images::of(cx(context), draft.0.metadata.detail.images.as_deref()).await?,
        /// Time from which readers see the published version; it may be in the future. Null if nothing is
        /// published.
        live_at: Option<DateTime> = draft.0.live.as_ref().map(|live| live.at.into()),
        /// Time from which readers see another version instead; null if none is scheduled.
        next_at: Option<DateTime> = draft.0.next.as_ref().map(|next| next.at.into()),
        /// Whether this version of the draft is published or scheduled.
        is_published: bool = {
            let NodeDocument { metadata, live, next, .. } = &*draft.0;
            next.iter().chain(live).any(|edition| edition.version == metadata.version)
        },
        /// Text as HTML that is safe to display.
        html?: String = markdown::html(&draft.0.metadata.detail.body).await?,
    }
}

object! {
    /// Former version of content, which an edit replaced.
    pub type ContentRevision = RevisionDocument as revision {
        /// Number of versions before this one. `restoreContent` takes it.
        number: i32 = int(revision.version.number),
        /// Title of this version.
        title: &str = &revision.version.text.title,
        /// Language of this version; null if unknown.
        language: Option<&LocaleTag> = revision.version.text.language.as_ref(),
        /// Text of this version in Markdown.
        body: &str = &revision.version.text.detail.body,
        /// Summary of a blog entry; null if there was none, and for other types.
        summary: Option<&str> = revision.version.text.detail.summary.as_deref(),
        /// Subtitle of a blog or gallery; null if there was none, and for other types.
        subtitle: Option<&str> = revision.version.text.detail.subtitle.as_deref(),
        /// Title and texts of this version in other languages.
        translations: &[ContentTranslation] = revision.version.text.detail.translations(),
        /// Pictures of this version in order, without those that are gone.
        images(context)?: Vec<Image<'_>> =
            images::of(cx(context), revision.version.text.detail.images.as_deref()).await?,
        /// Time at which this version was replaced.
        replaced_at: DateTime = revision.version.at.into(),
        /// Subject of the token of the editor who replaced this version.
        replaced_by: ID = ID(revision.version.by.clone()),
        /// Text of this version as HTML that is safe to display.
        html?: String = markdown::html(&revision.version.text.detail.body).await?,
    }
}
