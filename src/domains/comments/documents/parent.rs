//! The kinds of discussed documents, and the discussion as this room stores it inside them.

use async_graphql::ID;
use mongodb::bson::{Bson, DateTime, Document, doc};
use serde::{Deserialize, Serialize};

use super::{CommentDocument, CommentExcerpt, Layout, Rating};
use crate::{
    domains::audiences::may_see,
    graphql::{
        input::is_key,
        node_id::{self, NodeKind},
        requester::{Requester, Role},
    },
    mongo::{
        Stored,
        expression::{both, is_missing},
        indexes::Index,
    },
};

/// The kinds of documents that can be discussed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ParentKind {
    /// A product.
    Product,
    /// A page, an entry of a blog, or a group of them.
    Content,
    /// A picture or another file.
    Asset,
}

/// Each kind: that of its global ids, its collection, and the role that may open a discussion of it.
const KINDS: [(NodeKind, &str, Role); 3] = [
    (NodeKind::PRODUCT, "products", Role::Merchant),
    (NodeKind::CONTENT, "nodes", Role::Editor),
    (NodeKind::ASSET, "assetEntries", Role::Editor),
];

/// Evaluates an expression with the document type `Own` of a kind.
macro_rules! of_kind {
    ($kind:expr, $own:ident => $does:expr) => {{
        use $crate::domains::comments::documents::{ParentDocument, ParentKind};
        match $kind {
            ParentKind::Product => {
                type $own = ParentDocument<{ ParentKind::Product as usize }>;
                $does
            }
            ParentKind::Content => {
                type $own = ParentDocument<{ ParentKind::Content as usize }>;
                $does
            }
            ParentKind::Asset => {
                type $own = ParentDocument<{ ParentKind::Asset as usize }>;
                $does
            }
        }
    }};
}
pub(in super::super) use of_kind;

impl ParentKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Product, Self::Content, Self::Asset];

    /// The kind of its global ids.
    const fn node(self) -> NodeKind {
        KINDS[self as usize].0
    }

    /// Its name in messages and in the ids of comments.
    pub fn name(self) -> &'static str {
        self.node().name()
    }

    /// The collection of its documents.
    pub fn collection(self) -> &'static str {
        KINDS[self as usize].1
    }

    /// The role that may open a discussion of it.
    pub fn role(self) -> Role {
        KINDS[self as usize].2
    }

    /// Guard: the caller can see the document.
    pub fn seen_by(self, requester: &Requester) -> Document {
        let is_due = |field: &str| {
            let due = doc! { "$lte": [format!("${field}"), "$$NOW"] };
            doc! { "$and": [{ "$not": [is_missing(field)] }, due] }
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
        let published = doc! { "$expr": published };
        let roles: Vec<_> = requester.roles.iter().map(|role| Bson::from(role.name())).collect();
        let open = doc! { "$or": [
            { "metadata.access.0": { "$exists": false } },
            { "metadata.access": { "$in": roles } },
        ] };
        both(there, both(published, open))
    }
}

/// The discussed document.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parent {
    /// Its kind.
    pub kind: ParentKind,
    /// Its `_id`.
    pub key: String,
}

impl Parent {
    /// The document of a global id; `None` if it can't be discussed.
    pub fn of(id: &str) -> Option<Self> {
        let (name, key) = node_id::decode(id)?;
        let kind = ParentKind::ALL.into_iter().find(|kind| kind.name() == name)?;
        is_key(&key).then_some(Self { kind, key })
    }

    /// Its global id.
    pub fn id(&self) -> ID {
        self.kind.node().id(&self.key)
    }

    /// The global id of a comment on it. It names the document too, so that one command finds the comment once
    /// the document has shown that the caller may see it.
    pub fn comment_id(&self, id: &str) -> ID {
        NodeKind::COMMENT.id(&[self.kind.name(), &self.key, id].join(":"))
    }

    /// The discussed document, and the id of the comment with a global id; `None` if no comment has it.
    pub fn of_comment(id: &str) -> Option<(Self, String)> {
        let names = NodeKind::COMMENT.key(id)?;
        let (kind, names) = names.split_once(':')?;
        let (key, id) = names.rsplit_once(':')?;
        let kind = ParentKind::ALL.into_iter().find(|known| known.name() == kind)?;
        (is_key(key) && is_key(id)).then(|| (Self { kind, key: key.to_owned() }, id.to_owned()))
    }
}

/// A discussed document with the fields that this room reads or writes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in super::super) struct ParentDocument<const KIND: usize> {
    /// Its `_id`.
    #[serde(rename = "_id")]
    pub(in super::super) key: String,
    /// Its discussion, if one was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in super::super) discussion: Option<Box<OpenDiscussion>>,
    /// Set when it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleted_at: Option<DateTime>,
    /// Of an asset: set when its upload was aborted or it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleting: Option<Bson>,
    /// Of content and assets: the roles that can see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<Access>,
    /// Of content: the current edition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    live: Option<Edition>,
    /// Of content: the next edition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<Edition>,
    /// Of an asset: its file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<Document>,
    /// Of an asset: when it becomes visible to readers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    published_at: Option<DateTime>,
}

/// Names of the roles that can see the document; everyone can if it is empty.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Access {
    #[serde(default)]
    access: Vec<String>,
}

/// When an edition becomes visible to readers.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Edition {
    at: DateTime,
}

impl<const KIND: usize> ParentDocument<KIND> {
    /// Its kind.
    pub(in super::super) const KIND: ParentKind = ParentKind::ALL[KIND];
    /// Fields that lists need: all but the marks.
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
    /// Whether visibility depends on the server's time.
    pub(in super::super) const IS_TIMED: bool = !matches!(Self::KIND, ParentKind::Product);

    /// Whether the caller can see it at that server time; the same rule as [`ParentKind::seen_by`].
    pub(in super::super) fn is_seen_by(
        &self,
        requester: &Requester,
        now: Option<DateTime>,
    ) -> bool {
        let is_due = |at: Option<DateTime>| at.is_some_and(|at| now.is_some_and(|now| at <= now));
        let edition = |edition: &Option<Edition>| edition.as_ref().map(|edition| edition.at);
        let (is_there, is_published) = match Self::KIND {
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
        is_there && may_see(requester, access, is_published)
    }
}

impl<const KIND: usize> Stored for ParentDocument<KIND> {
    const COLLECTION: &'static str = KINDS[KIND].1;
    const INDEXES: &'static [Index] = &[];
}

/// A complete discussion. [`super::DiscussionSummary`] is the part that other rooms see.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenDiscussion {
    /// Id of the discussion.
    pub id: String,
    /// How its comments are stored.
    pub layout: Layout,
    /// Raised by each change of the layout.
    pub epoch: i64,
    /// Number of comments without the removed ones.
    pub count: i64,
    /// The newest ten of these, newest first.
    pub latest: Vec<CommentExcerpt>,
    /// Number and sum of the reviews' stars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<Rating>,
    /// Server time of the opening.
    pub opened_at: DateTime,
    /// Number of comments including the removed ones.
    pub total: i64,
    /// Raised by edits and removals, so that an outdated read isn't written into `latest`.
    pub version: i64,
    /// Server time of the last change of layout: comments in the new store are younger.
    pub since: DateTime,
    /// Number of the first page that holds new comments instead of copies.
    pub first_page: i64,
    /// Marks of entries that were applied recently.
    #[serde(rename = "taken", default)]
    pub marks: Vec<Mark>,
    /// The comments of the layout `EMBEDDED`.
    #[serde(default)]
    pub entries: Vec<CommentDocument>,
    /// The migration, while there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<Migration>,
    /// Set while work may be left: when the oldest of it began, or earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub touched_at: Option<DateTime>,
}

/// A mark: an entry with this tag isn't applied again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The tag: the comment's id, for an edit or a removal with its version.
    pub tag: String,
    /// When the attempt began that wrote the mark.
    pub at: DateTime,
    /// Set if the tag was aborted: it can't be committed any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub void: bool,
}

impl Mark {
    /// The mark of an attempt that began then.
    pub(crate) fn of(tag: &str, at: DateTime) -> Self {
        Self { tag: tag.to_owned(), at, void: false }
    }

    /// The id of its comment.
    pub(crate) fn comment_id(&self) -> &str {
        self.tag.split_once(':').map_or(&self.tag, |(id, _)| id)
    }
}

/// A change of layout in progress.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Migration {
    /// The previous layout; its store has the previous epoch.
    pub from: Layout,
    /// Server time of the commit.
    pub at: DateTime,
    /// Tags that were committed by then. Of the unsettled comments, those with such a tag are copied and the others
    /// are posted anew.
    #[serde(rename = "taken", default)]
    pub committed: Vec<String>,
    /// Server time at which everything was copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_at: Option<DateTime>,
}

impl OpenDiscussion {
    /// The mark of a tag.
    pub(crate) fn mark(&self, tag: &str) -> Option<&Mark> {
        self.marks.iter().find(|mark| mark.tag == tag)
    }

    /// The tags of the marks that aren't void; those of posts are the ids of comments.
    pub(crate) fn committed_tags(&self) -> Vec<&str> {
        self.marks.iter().filter(|mark| !mark.void).map(|mark| mark.tag.as_str()).collect()
    }

    /// The migration, while not everything is copied.
    pub(crate) fn uncopied(&self) -> Option<&Migration> {
        self.migration.as_ref().filter(|migration| migration.copied_at.is_none())
    }
}
