//! What can be discussed, and the discussion as this room sees it inside the discussed document.

use std::marker::PhantomData;

use async_graphql::ID;
use mongodb::bson::{Bson, DateTime, Document, doc};
use serde::{Deserialize, Serialize};

use super::{CommentDocument, CommentExcerpt, Layout, Rating};
use crate::{
    graphql::{
        node_id::{self, NodeKind},
        requester::{Requester, Role},
    },
    mongo::{Stored, expression::both, indexes::Index},
};

/// The kinds of documents that can be discussed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ParentKind {
    /// A product.
    Product,
    /// A page, an entry of a blog, and what groups them.
    Content,
    /// A picture or another file.
    Asset,
}

/// A kind of documents that can be discussed, as a type.
pub(in super::super) trait Kind: Send + Sync + 'static {
    /// Which.
    const KIND: ParentKind;
    /// Where they are.
    const COLLECTION: &'static str;
}

macro_rules! kinds {
    ($($name:ident of $kind:ident in $collection:literal,)+) => {
        $(
            pub(in super::super) struct $name;

            impl Kind for $name {
                const KIND: ParentKind = ParentKind::$kind;
                const COLLECTION: &'static str = $collection;
            }
        )+
    };
}

kinds! {
    Products of Product in "products",
    Contents of Content in "nodes",
    Assets of Asset in "assetEntries",
}

/// Does something with the document type `Own` of a kind.
macro_rules! of_kind {
    ($kind:expr, $own:ident => $does:expr) => {{
        use $crate::domains::comments::documents::{
            Assets, Contents, ParentDocument, ParentKind, Products,
        };
        match $kind {
            ParentKind::Product => {
                type $own = ParentDocument<Products>;
                $does
            }
            ParentKind::Content => {
                type $own = ParentDocument<Contents>;
                $does
            }
            ParentKind::Asset => {
                type $own = ParentDocument<Assets>;
                $does
            }
        }
    }};
}
pub(in super::super) use of_kind;

impl ParentKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Product, Self::Content, Self::Asset];

    /// Its global ids are of this kind.
    fn node(self) -> NodeKind {
        match self {
            Self::Product => NodeKind::Product,
            Self::Content => NodeKind::Content,
            Self::Asset => NodeKind::Asset,
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        self.node().name()
    }

    /// Where its documents are.
    pub fn collection(self) -> &'static str {
        of_kind!(self, Own => Own::COLLECTION)
    }

    /// Who may open a discussion of it.
    pub fn role(self) -> Role {
        match self {
            Self::Product => Role::Merchant,
            Self::Content | Self::Asset => Role::Editor,
        }
    }

    /// Guard: the caller may see it.
    pub fn seen_by(self, requester: &Requester) -> Document {
        let is_due = |field: &str| {
            let due = doc! { "$lte": [format!("${field}"), "$$NOW"] };
            doc! { field: { "$exists": true }, "$expr": due }
        };
        let there = match self {
            Self::Product | Self::Content => doc! { "deletedAt": { "$exists": false } },
            Self::Asset => doc! { "file": { "$exists": true }, "deleting": { "$exists": false } },
        };
        if self == Self::Product || requester.has(Role::Editor) {
            return there;
        }
        let published = match self {
            Self::Content => doc! { "$or": [is_due("live.at"), is_due("next.at")] },
            _ => is_due("publishedAt"),
        };
        let roles: Vec<_> = requester.roles.iter().map(|role| Bson::from(role.name())).collect();
        let open = doc! { "$or": [
            { "metadata.access.0": { "$exists": false } },
            { "metadata.access": { "$in": roles } },
        ] };
        both(there, both(published, open))
    }
}

/// What is discussed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parent {
    /// Its kind.
    pub kind: ParentKind,
    /// Its `_id`.
    pub key: String,
}

impl Parent {
    /// The one of a global id; `None` where that isn't one of something that can be discussed.
    pub fn of(id: &str) -> Option<Self> {
        let (node, key) = node_id::decode(id)?;
        let kind = ParentKind::ALL.into_iter().find(|kind| kind.node() == node)?;
        Some(Self { kind, key })
    }

    /// Its global id.
    pub fn id(&self) -> ID {
        self.kind.node().id(&self.key)
    }
}

/// A discussed document, as far as this room reads and writes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "")]
pub(in super::super) struct ParentDocument<K: Kind> {
    /// Its key.
    #[serde(rename = "_id")]
    pub(in super::super) key: String,
    /// Its discussion, if one was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) discussion: Option<Box<OpenDiscussion>>,
    /// Set when it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleted_at: Option<DateTime>,
    /// Of an asset: set when it was given up or deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleting: Option<Bson>,
    /// Of content and assets: who may see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Access>,
    /// Of content: what readers see from a time on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    live: Option<Edition>,
    /// Of content: what readers see after that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<Edition>,
    /// Of an asset: its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<Document>,
    /// Of an asset: from when on readers see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    published_at: Option<DateTime>,
    #[serde(skip)]
    kind: PhantomData<fn() -> K>,
}

/// Names of the roles that may see something; of none: everyone.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Access {
    #[serde(default)]
    access: Vec<String>,
}

/// From when on readers see something.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Edition {
    at: DateTime,
}

impl<K: Kind> ParentDocument<K> {
    /// What lists need of it: not what it was told lately.
    pub(in super::super) const FIELDS: &'static [&'static str] = &[
        "_id",
        "deletedAt",
        "discussion.id",
        "discussion.layout",
        "discussion.epoch",
        "discussion.count",
        "discussion.latest",
        "discussion.rating",
        "discussion.openedAt",
        "discussion.total",
        "discussion.version",
        "discussion.since",
        "discussion.firstPage",
        "discussion.entries",
        "discussion.migration.from",
        "discussion.migration.at",
        "discussion.migration.copiedAt",
    ];
    /// Whether the server's time tells who may see it.
    pub(in super::super) const IS_TIMED: bool = !matches!(K::KIND, ParentKind::Product);

    /// Whether the caller may see it at that time of the server's; the same as
    /// [`ParentKind::seen_by`].
    pub(in super::super) fn is_seen_by(
        &self,
        requester: &Requester,
        now: Option<DateTime>,
    ) -> bool {
        let is_due = |at: Option<DateTime>| at.is_some_and(|at| now.is_some_and(|now| at <= now));
        let edition = |edition: &Option<Edition>| edition.as_ref().map(|edition| edition.at);
        let (is_there, is_published) = match K::KIND {
            ParentKind::Product => return self.deleted_at.is_none(),
            ParentKind::Content => (
                self.deleted_at.is_none(),
                is_due(edition(&self.live)) || is_due(edition(&self.next)),
            ),
            ParentKind::Asset => {
                (self.file.is_some() && self.deleting.is_none(), is_due(self.published_at))
            }
        };
        let access = self.metadata.as_ref().map_or(&[][..], |metadata| &metadata.access);
        let is_open = access.is_empty()
            || requester.roles.iter().any(|role| access.iter().any(|name| name == role.name()));
        is_there && (requester.has(Role::Editor) || is_published && is_open)
    }
}

impl<K: Kind> Stored for ParentDocument<K> {
    const COLLECTION: &'static str = K::COLLECTION;
    const INDEXES: &'static [Index] = &[];
}

/// A discussion, whole. See [`super::DiscussionSummary`] for what other rooms see of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenDiscussion {
    /// Which discussion it is.
    pub id: String,
    /// How its comments are stored.
    pub layout: Layout,
    /// Raised whenever its layout changes.
    pub epoch: i64,
    /// Comments, without those that were removed.
    pub count: i64,
    /// The newest ten of these, newest first.
    pub latest: Vec<CommentExcerpt>,
    /// What reviewers think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<Rating>,
    /// Server time at which it was opened.
    pub opened_at: DateTime,
    /// Comments with those that were removed.
    pub total: i64,
    /// Rises when a comment was edited or removed: what was read before isn't put into `latest` after.
    pub version: i64,
    /// Server time of the last change of layout: what is posted in it is younger.
    pub since: DateTime,
    /// Number of the first page that was posted to and not copied.
    pub first_page: i64,
    /// What it was told lately.
    #[serde(default)]
    pub taken: Vec<Taken>,
    /// The comments, where they are embedded.
    #[serde(default)]
    pub entries: Vec<CommentDocument>,
    /// The layout that its comments are being moved from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<Migration>,
    /// Set while something may be left to be done: when the oldest of it was begun, or earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched_at: Option<DateTime>,
}

/// Something that a discussion was told: it isn't told twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// What.
    pub tag: String,
    /// When the run began that told it.
    pub at: DateTime,
    /// Set where it was given up: it can't be told any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub void: bool,
}

impl Taken {
    /// What a run that began then has told.
    pub fn of(tag: &str, at: DateTime) -> Self {
        Self { tag: tag.to_owned(), at, void: false }
    }
}

/// A change of layout under way.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Migration {
    /// The layout before; its store is of the epoch before.
    pub from: Layout,
    /// Server time of the decision.
    pub at: DateTime,
    /// What had been told by then: of the comments that nobody saw yet, these are copied and the others are
    /// posted anew.
    #[serde(default)]
    pub taken: Vec<String>,
    /// Server time at which everything was copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_at: Option<DateTime>,
}

impl OpenDiscussion {
    /// What became of something that it was to be told.
    pub fn taken(&self, tag: &str) -> Option<&Taken> {
        self.taken.iter().find(|taken| taken.tag == tag)
    }

    /// Ids of the comments that it was told of lately.
    pub fn taken_ids(&self) -> Vec<&str> {
        // The tags of edits and removals are no ids: they have a version.
        self.taken.iter().filter(|taken| !taken.void).map(|taken| taken.tag.as_str()).collect()
    }

    /// The layout before, where not everything is copied yet.
    pub fn uncopied(&self) -> Option<&Migration> {
        self.migration.as_ref().filter(|migration| migration.copied_at.is_none())
    }
}
