//! What can be discussed, and the discussion as this room sees it inside the discussed document.

use std::marker::PhantomData;

use mongodb::bson::{DateTime, Document, doc};
use serde::{Deserialize, Serialize};

use super::{CommentDocument, CommentExcerpt, Layout, Rating};
use crate::{
    graphql::{
        node_id::{self, NodeKind},
        requester::{Requester, Role},
    },
    mongo::{Stored, indexes::Index},
};

/// The kinds of documents that can be discussed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ParentKind {
    /// A product.
    Product,
}

/// A kind of documents that can be discussed, as a type.
pub trait Kind: Send + Sync + 'static {
    /// Where they are.
    const COLLECTION: &'static str;
}

/// Products.
pub struct Products;

impl Kind for Products {
    const COLLECTION: &'static str = "products";
}

/// Does something with the collection of a parent's kind.
macro_rules! of_kind {
    ($kind:expr, $own:ident => $does:expr) => {
        match $kind {
            $crate::domains::comments::documents::ParentKind::Product => {
                type $own = $crate::domains::comments::documents::ParentDocument<
                    $crate::domains::comments::documents::Products,
                >;
                $does
            }
        }
    };
}
pub(in super::super) use of_kind;

impl ParentKind {
    /// All of them.
    pub const ALL: [Self; 1] = [Self::Product];

    /// What its global ids say.
    pub fn node(self) -> NodeKind {
        match self {
            Self::Product => NodeKind::Product,
        }
    }

    /// Where its documents are.
    pub fn collection(self) -> &'static str {
        of_kind!(self, Own => Own::COLLECTION)
    }

    /// Who may open a discussion of it.
    pub fn role(self) -> Role {
        match self {
            Self::Product => Role::Merchant,
        }
    }

    /// Guard: the caller may see it.
    pub fn seen_by(self, _requester: &Requester) -> Document {
        match self {
            Self::Product => doc! { "deletedAt": { "$exists": false } },
        }
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
    pub fn id(&self) -> async_graphql::ID {
        self.kind.node().id(&self.key)
    }
}

/// A discussed document, as far as this room reads and writes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound = "")]
pub struct ParentDocument<K: Kind> {
    /// Its key.
    #[serde(rename = "_id")]
    pub key: String,
    /// Its discussion, if one was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discussion: Option<Box<OpenDiscussion>>,
    /// Of a product: set when it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<DateTime>,
    #[serde(skip)]
    kind: PhantomData<fn() -> K>,
}

impl<K: Kind> ParentDocument<K> {
    /// What lists need of it: not what it was told lately.
    pub const FIELDS: &'static [&'static str] = &[
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

    /// Whether the caller may see it.
    pub fn is_seen_by(&self, _requester: &Requester) -> bool {
        self.deleted_at.is_none()
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
    /// Set while something may be left to be done.
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

    /// The layout before, where not everything is copied yet.
    pub fn uncopied(&self) -> Option<&Migration> {
        self.migration.as_ref().filter(|migration| migration.copied_at.is_none())
    }
}
