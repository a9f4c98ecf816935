//! The kinds of discussed documents, and the discussion as this room stores it inside them.

use std::{
    hash::{Hash, Hasher},
    ops::Deref,
    sync::Arc,
};

use mongodb::bson::RawDocumentBuf;
use serde::{Deserializer, Serializer, de::Error as _};

use super::{CommentDocument, CommentExcerpt, Layout, Rating};
use crate::{
    domains::discussable,
    graphql::{input::is_key, node_id, prelude::*},
    mongo::{migrations, prelude::*},
};

/// A kind of documents that can be discussed, as its room declares it. The collection has the index
/// [`TOUCHED`](super::TOUCHED).
#[derive(Debug)]
pub struct Discussable {
    /// The kind of its global ids.
    pub kind: NodeKind,
    /// The collection of its documents.
    pub collection: &'static str,
    /// The role that may open a discussion of it.
    pub opened_by: Role,
    /// Whether `seen_by` depends on the time, or on another field than `deletedAt`. Lists then read the whole document.
    pub is_read_whole: bool,
    /// The condition that the caller can see a document.
    pub seen_by: fn(&Requester) -> Condition,
}

/// A kind of documents that can be discussed. It is stored as the name in capitals.
#[derive(Debug, Clone, Copy)]
pub struct ParentKind(pub(in super::super) &'static Discussable);

impl ParentKind {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        discussable().map(Self)
    }

    /// The kind with these global ids.
    fn named(name: &str) -> Option<Self> {
        Self::all().find(|kind| kind.name() == name)
    }

    /// Its name in messages and in the ids of comments.
    pub fn name(self) -> &'static str {
        self.kind.name()
    }

    /// Guard: the caller can see the document.
    pub fn seen_by(self, requester: &Requester) -> Document {
        (self.0.seen_by)(requester).guard()
    }

    /// Whether the caller can see a document that was read at that server time.
    ///
    /// # Errors
    /// `Internal` if a field that decides it can't be decoded.
    pub(in super::super) fn is_seen_by(
        self,
        requester: &Requester,
        found: &ParentDocument,
        now: DateTime,
    ) -> Result<bool> {
        match &found.stored {
            Some(stored) => (self.0.seen_by)(requester).holds_for(stored, now),
            None => Ok(false),
        }
    }
}

impl Deref for ParentKind {
    type Target = Discussable;

    fn deref(&self) -> &Discussable {
        self.0
    }
}

impl PartialEq for ParentKind {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for ParentKind {}

impl Hash for ParentKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl Serialize for ParentKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name().to_ascii_uppercase())
    }
}

impl<'de> Deserialize<'de> for ParentKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let unknown = || D::Error::custom(format!("no room has discussions of {name}"));
        Self::named(&name.to_ascii_lowercase()).ok_or_else(unknown)
    }
}

document! {
    /// The discussed document.
    #[derive(PartialEq, Eq, Hash)]
    pub struct Parent {
        pub kind: ParentKind,
        /// Its `_id`.
        pub key: String,
    }
}

impl Parent {
    /// The document of a global id; `None` if it can't be discussed.
    pub fn of(id: &str) -> Option<Self> {
        let (name, key) = node_id::decode(id)?;
        let kind = ParentKind::named(&name)?;
        is_key(&key).then_some(Self { kind, key })
    }

    /// Its global id.
    pub fn id(&self) -> ID {
        self.kind.kind.id(&self.key)
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
        let kind = ParentKind::named(kind)?;
        (is_key(key) && is_key(id)).then(|| (Self { kind, key: key.to_owned() }, id.to_owned()))
    }
}

document! {
    /// A discussed document as this room reads it. Each kind has a collection of its own.
    pub(in super::super) struct ParentDocument {
        /// Its `_id`.
        pub(in super::super) key as "_id": String,
        /// Its discussion, if one was opened.
        pub(in super::super) discussion?: Box<OpenDiscussion>,
        /// All of it as it was read. A few of its fields decide who can see it.
        #[serde(skip)]
        stored: Option<Arc<RawDocumentBuf>>,
    }
}

impl Stored for ParentDocument {
    const COLLECTION: &'static str = "";

    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self> {
        let own: Self = migrations::read(&stored)?;
        Ok(Self { stored: Some(stored), ..own })
    }
}

impl ParentDocument {
    /// Fields that lists need: all of the discussion but the marks.
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
}

document! {
    /// A complete discussion. [`super::DiscussionSummary`] is the part that other rooms see.
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
        pub rating?: Rating,
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
        #[serde(default)]
        pub marks as "taken": Vec<Mark>,
        /// The comments of the layout `EMBEDDED`.
        #[serde(default)]
        pub entries: Vec<CommentDocument>,
        /// The migration, while there is one.
        pub migration?: Migration,
        /// Set while work may be left: when the oldest of it began, or earlier.
        pub touched_at?: DateTime,
    }

    /// A mark: an entry with this tag isn't applied again.
    #[derive(PartialEq, Eq)]
    pub(crate) struct Mark {
        /// The tag: the comment's id, for an edit or a removal with its version.
        pub tag: String,
        /// When the attempt began that wrote the mark.
        pub at: DateTime,
        /// Set if the tag was aborted: it can't be committed any more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub void: bool,
        /// Whose share of the marks it takes: a digest of the comment's author. Absent in marks of earlier versions.
        pub share?: String,
    }
}

impl Mark {
    /// The mark of an attempt that began then.
    pub(crate) fn of(tag: &str, at: DateTime) -> Self {
        Self { tag: tag.to_owned(), at, void: false, share: None }
    }

    /// The id of its comment.
    pub(crate) fn comment_id(&self) -> &str {
        self.tag.split_once(':').map_or(&self.tag, |(id, _)| id)
    }
}

document! {
    /// A change of layout in progress.
    pub(crate) struct Migration {
        /// The previous layout; its store has the previous epoch.
        pub from: Layout,
        /// Server time of the commit.
        pub at: DateTime,
        /// Tags that were committed by then. Of the unsettled comments, those with such a tag are copied and the others
        /// are posted anew.
        #[serde(default)]
        pub committed as "taken": Vec<String>,
        /// Server time at which everything was copied.
        pub copied_at?: DateTime,
    }
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
