//! What MongoDB sees of assets.

use mongodb::bson::{Bson, DateTime, oid::ObjectId};
use serde::{Deserialize, Serialize};

use crate::{
    domains::comments::{self, DiscussionSummary},
    graphql::scalars::{LocaleTag, Slug},
    mongo::{
        Stored, Version, audiences,
        flow::OpRecord,
        gridfs,
        indexes::{Index, Key, Kind},
    },
};

/// Path of what stands above the roots.
pub(super) const TOP: &str = "/";

/// One asset: what is known of a file, and which blob holds its bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssetDocument {
    /// Made from the op id that created it, else random.
    #[serde(rename = "_id")]
    pub id: String,
    /// What every kind of content has.
    pub metadata: Metadata,
    /// What else is known of it, by key; no two have the same.
    #[serde(default)]
    pub attributes: Vec<Attribute>,
    /// What readers get. None: its first upload is under way, and for readers it isn't there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileFacts>,
    /// The upload that is under way; nobody else may begin one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<Upload>,
    /// Blobs that it named and that are still to be removed.
    #[serde(default)]
    pub outbox: Vec<Removal>,
    /// From when on readers see it. Its place in lists.
    pub published_at: DateTime,
    /// The lists that it stands in, each once per audience; see [`listed`].
    pub listed: Vec<String>,
    /// Version of the parent when `metadata.path` was taken from it; 0 for a root.
    pub parent_cv: i64,
    /// Set when it was given up or deleted: for everyone it is gone, and something is left to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleting: Option<DateTime>,
    /// Set when it was deleted: a stone, which stays for as long as ops are remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<DateTime>,
    /// What people say about it; the room of comments writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discussion: Option<Box<DiscussionSummary>>,
    /// Digest of the input that created it, to tell a repeat from another use of its op id.
    pub input: String,
    /// Digest of that input and of the bytes that came with it, once they were there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// Replacements that were applied.
    #[serde(default)]
    pub ops: Vec<OpRecord>,
    /// Version of the shape.
    pub v: Version<1>,
}

/// What every kind of content has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// Changes with every edit and every replacement of the file.
    pub nonce: String,
    /// What kind of content.
    #[serde(rename = "type")]
    pub kind: AssetKind,
    /// The content that it lies in; none for a root.
    pub parent_id: Option<String>,
    /// Its step in paths; no other asset in the same parent has it.
    pub slug: Slug,
    /// The slugs from the root to itself, each behind a `/`. A copy, but for its end.
    pub path: String,
    /// The title.
    pub title: String,
    /// The language that it is in, where it speaks one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<LocaleTag>,
    /// Server time of its creation.
    pub created: DateTime,
    /// Who made it.
    pub author: Author,
    /// A set, sorted.
    pub tags: Vec<String>,
    /// Names of the roles that may read it, a set, sorted; empty: everyone.
    pub access: Vec<String>,
}

/// The kinds of assets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AssetKind {
    /// A picture whose size is known.
    Photo,
    /// Anything else.
    File,
}

/// Who made something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    /// Subject of the token.
    pub id: String,
    /// Name as it is shown.
    pub name: String,
}

/// One attribute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attribute {
    /// What it is about.
    pub key: String,
    /// A text, a number, a moment or a boolean; each compares with its own kind alone.
    pub value: Bson,
}

/// A file that is whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileFacts {
    /// The GridFS file with the bytes; it never changes.
    pub blob: ObjectId,
    /// Bytes.
    pub length: i64,
    /// SHA-256 of the bytes, in hexadecimal digits.
    pub digest: String,
    /// Media type, by the bytes.
    #[serde(rename = "type")]
    pub media_type: String,
    /// What the file was called where it came from.
    pub name: String,
    /// Pixels; absent where it is no picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<i64>,
    /// Pixels; absent where it is no picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub height: Option<i64>,
    /// Server time at which it was whole.
    pub at: DateTime,
}

/// An upload that is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// Whose it is: who hasn't it may not finish.
    pub token: String,
    /// The GridFS file that is being written.
    pub blob: ObjectId,
    /// Server time at which it was begun or renewed last.
    pub at: DateTime,
    /// The op that it belongs to: a repeat of that op may take over.
    pub op: String,
}

/// Outbox entry: a blob that is still to be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// The GridFS file.
    pub blob: ObjectId,
    /// Whether readers got it: then it stays for as long as a download may take.
    pub shown: bool,
    /// Server time of the decision.
    pub at: DateTime,
}

/// The lists that an asset stands in, each once per audience: of each of its tags and of its parent, and a photo
/// also in those of photos by tag, by parent and within each path above it.
pub(super) fn listed(metadata: &Metadata) -> Vec<String> {
    let parent = metadata.parent_id.as_deref().unwrap_or_default();
    let tags = |list| metadata.tags.iter().map(move |tag| (list, tag.as_str()));
    let mut all: Vec<_> = tags("tag").chain([("parent", parent)]).collect();
    if metadata.kind == AssetKind::Photo {
        all.extend(tags("photoTag"));
        all.push(("photoParent", parent));
        all.extend(above(&metadata.path).map(|path| ("photoIn", path)));
    }
    audiences::listed(&metadata.access, all.into_iter())
}

/// What stands above a path: nothing for all that there is, then each path from the root on.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end])
}

impl AssetDocument {
    /// What readers get, where it is there.
    pub(super) fn whole(&self) -> Option<&FileFacts> {
        self.file.as_ref().filter(|_| self.deleting.is_none())
    }
}

impl Stored for AssetDocument {
    const COLLECTION: &'static str = "assetEntries";
    const INDEXES: &'static [Index] = &[
        Index {
            name: "slug",
            keys: &[("metadata.parentId", Key::Up), ("metadata.slug", Key::Up)],
            kind: Kind::Unique,
            serves: "assets of a parent, by slug; no two have the same",
        },
        Index {
            name: "path",
            keys: &[("metadata.path", Key::Up)],
            kind: Kind::Plain,
            serves: "an asset by path",
        },
        Index {
            name: "list",
            keys: &[("listed", Key::Up), ("publishedAt", Key::Down), ("_id", Key::Up)],
            kind: Kind::Plain,
            serves: "assets by tag or parent, and photos within a path, newest first, for each audience",
        },
        Index {
            name: "attribute",
            keys: &[("attributes.key", Key::Up), ("attributes.value", Key::Up), ("_id", Key::Up)],
            kind: Kind::Plain,
            serves: "assets with all of some attributes",
        },
        Index {
            name: "blob",
            keys: &[("file.blob", Key::Up)],
            kind: Kind::Where("file.blob"),
            serves: "whether an asset names a blob",
        },
        Index {
            name: "upload_blob",
            keys: &[("upload.blob", Key::Up)],
            kind: Kind::Where("upload.blob"),
            serves: "whether an upload names a blob",
        },
        Index {
            name: "outbox_blob",
            keys: &[("outbox.blob", Key::Up)],
            kind: Kind::Where("outbox.blob"),
            serves: "whether a blob is still to be removed",
        },
        Index {
            name: "upload_at",
            keys: &[("upload.at", Key::Up)],
            kind: Kind::Where("upload.at"),
            serves: "the sweep of uploads that stalled",
        },
        Index {
            name: "outbox_at",
            keys: &[("outbox.at", Key::Up)],
            kind: Kind::Where("outbox.at"),
            serves: "the sweep of blobs that are still to be removed",
        },
        Index {
            name: "deleted",
            keys: &[("deletedAt", Key::Up)],
            kind: Kind::Where("deletedAt"),
            serves: "the sweep of stones",
        },
        Index {
            name: "deleting",
            keys: &[("deleting", Key::Up)],
            kind: Kind::Where("deleting"),
            serves: "the sweep of deletions that were cut",
        },
        comments::TOUCHED,
    ];
}

/// A GridFS file, as any tool reads it. It is written when all chunks are there.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlobDocument {
    /// The blob.
    #[serde(rename = "_id")]
    pub id: ObjectId,
    /// Bytes.
    pub length: i64,
    /// Bytes of each chunk but the last.
    pub chunk_size: i32,
    /// Server time.
    pub upload_date: DateTime,
    /// What the file was called.
    pub filename: String,
    /// What docgate adds.
    #[serde(default)]
    pub metadata: BlobMetadata,
}

/// What docgate adds to a GridFS file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlobMetadata {
    /// Media type, by the bytes.
    #[serde(default)]
    pub content_type: String,
    /// SHA-256 of the bytes, in hexadecimal digits.
    #[serde(default)]
    pub sha256: String,
    /// Server time from which on nobody can be reading it any more; set when its asset lets it go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remove_after: Option<DateTime>,
}

impl Stored for BlobDocument {
    const COLLECTION: &'static str = "assets.files";
    const INDEXES: &'static [Index] = &[
        gridfs::FILES,
        Index {
            name: "removeAfter",
            keys: &[("metadata.removeAfter", Key::Up)],
            kind: Kind::Where("metadata.removeAfter"),
            serves: "the sweep of blobs that were let go",
        },
    ];
}

/// One chunk of a GridFS file; its bytes are read by [`gridfs`] alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ChunkDocument {
    /// The chunk.
    #[serde(rename = "_id")]
    pub id: ObjectId,
    /// The file that it is of.
    pub files_id: ObjectId,
    /// Its place in the file, from 0.
    pub n: i32,
}

impl Stored for ChunkDocument {
    const COLLECTION: &'static str = "assets.chunks";
    const INDEXES: &'static [Index] = gridfs::CHUNKS;
}

/// What this room knows of the content that an asset lies in; content owns the collection and declares
/// its indexes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ParentDocument {
    /// The content.
    #[serde(rename = "_id")]
    pub id: String,
    /// What every kind of content has.
    pub metadata: ParentMetadata,
    /// Version of its path.
    pub cv: i64,
    /// Server time of its creation, until it is sure that its own parent stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copying: Option<Bson>,
    /// Set while it is looked for what lies in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleting: Option<Bson>,
    /// Set when it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<Bson>,
}

/// Of a parent's metadata what its assets depend on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ParentMetadata {
    /// What kind of content.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its path.
    pub path: String,
    /// Names of the roles that may read it; empty: everyone.
    #[serde(default)]
    pub access: Vec<String>,
}

impl ParentDocument {
    /// Whether assets may lie in it: it is a folder or a gallery.
    pub(super) fn holds_assets(&self) -> bool {
        ["folder", "gallery"].contains(&&*self.metadata.kind) && self.deleted_at.is_none()
    }

    /// Whether its creation is over, and no deletion is under way.
    pub(super) fn is_settled(&self) -> bool {
        self.copying.is_none() && self.stays()
    }

    /// Whether it is there and isn't being deleted.
    pub(super) fn stays(&self) -> bool {
        self.deleting.is_none() && self.deleted_at.is_none()
    }
}

impl Stored for ParentDocument {
    const COLLECTION: &'static str = "nodes";
    const INDEXES: &'static [Index] = &[];
}
