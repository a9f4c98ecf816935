//! Stored documents of assets.

mod blobs;

use mongodb::bson::oid::ObjectId;

pub use blobs::{BlobDocument, ChunkDocument};
pub(super) use blobs::{BlobHead, BlobMetadata};

use crate::{
    domains::{
        audiences,
        comments::{self, DiscussionSummary},
        former_paths::FormerPath,
        identities::Author,
        metadata::MetadataPairs,
    },
    flow::OpRecord,
    graphql::prelude::*,
    mongo::prelude::*,
};

/// Maximum number of attributes of one asset, including those that are read from its file.
pub(super) const ATTRIBUTES: usize = 150;
/// Prefix of the keys of attributes that are read from the file.
pub(super) const OF_FILE: &str = "exif:";
/// Prefix of the keys of attributes by which files are found: their media type, size and name. They aren't shown.
pub(super) const FILE: &str = "file:";
/// Beginning of the media types of videos.
pub(super) const VIDEO: &str = "video/";

document! {
    /// One asset: metadata of a file, and the blob that holds its bytes.
    pub struct AssetDocument {
        /// Derived from the idempotency key that created it, or random.
        pub id as "_id": String,
        /// Metadata, with the same fields as in content.
        pub metadata: Metadata,
        /// Further attributes; each key occurs once.
        #[serde(default)]
        pub attributes: Vec<Attribute>,
        /// The file that readers get. Absent: the first upload is in progress, and readers can't see the asset.
        pub file?: FileFacts,
        /// The upload that is in progress; it excludes others.
        pub upload?: Upload,
        /// The outbox: blobs that it named and that are still to be removed.
        #[serde(default)]
        pub outbox: Vec<Removal>,
        /// Its former paths, newest first.
        pub former?: Vec<FormerPath>,
        /// The former path by which the caller asked for it. It isn't stored.
        #[serde(skip)]
        pub redirected_from: Option<String>,
        /// When it becomes visible to readers; its position in lists.
        pub published_at: DateTime,
        /// Its lists, each once per audience; see [`listed`].
        pub listed: Vec<String>,
        /// Version of the parent when `metadata.path` was derived from it; 0 for a root.
        pub parent_cv: i64,
        /// Set when it was deleted or its first upload was aborted: it doesn't exist for anyone, but cleanup is
        /// left.
        pub deleting?: DateTime,
        /// Set when it was deleted: a tombstone, which stays for as long as ops are remembered.
        pub deleted_at?: DateTime,
        /// Its discussion, written by the room of comments.
        pub discussion?: Box<DiscussionSummary>,
        /// Its metadata in the schema.
        pub meta?: Box<MetadataPairs>,
        /// Digest of the input that created it; it distinguishes a repeat from another use of the idempotency key.
        pub input: String,
        /// Digest of that input and of the file, set when the first upload is committed.
        pub origin?: String,
        /// Records of the replacements that were applied.
        #[serde(default)]
        pub ops: Vec<OpRecord>,
        pub v: Version<1>,
    } in "assetEntries" by unsharded("its unique key, parent and slug, changes: a deletion frees the slug") {
        unique("slug", "metadata.parentId metadata.slug",
            "assets of a parent, by slug; no two have the same"),
        plain("path", "metadata.path", "an asset by path"),
        plain("former", "former.path", "an asset by a path that it had"),
        plain("list", "listed -publishedAt _id",
            "assets by tag or parent, and photos within a path, newest first, for each audience"),
        plain("attribute", "attributes.key attributes.value _id",
            "assets with all of some attributes"),
        of_field("blob", "file.blob", "whether an asset names a blob"),
        of_field("rendition_blob", "file.renditions.blob", "whether a rendition names a blob"),
        of_field("upload_blob", "upload.blob", "whether an upload names a blob"),
        of_field("outbox_blob", "outbox.blob", "whether a blob is still to be removed"),
        of_field("upload_at", "upload.at", "the sweep of uploads that stalled"),
        of_field("outbox_at", "outbox.at", "the sweep of blobs that are still to be removed"),
        of_field("deleted", "deletedAt", "the sweep that removes tombstones"),
        of_field("deleting", "deleting", "the sweep of deletions that were cut"),
        + comments::TOUCHED,
    }

    /// Metadata of an asset, with the same fields as in content.
    #[derive(PartialEq)]
    pub struct Metadata {
        /// Changes with every edit and every replacement of the file.
        pub version as "nonce": String,
        pub kind as "type": AssetKind,
        /// `_id` of the content that contains it; absent for a root.
        pub parent_id: Option<String>,
        /// Its step in paths, unique among the assets of its parent.
        pub slug: Slug,
        /// The slugs from the root to itself, each after a `/`. All but the last step is a copy.
        pub path: String,
        pub title: String,
        /// What the file shows, for readers who don't see it.
        pub description?: String,
        pub language?: LocaleTag,
        /// Server time of its creation.
        pub created: DateTime,
        pub author: Author,
        /// A sorted set.
        pub tags: Vec<String>,
        /// Names of the roles that may read it, a sorted set; empty: everyone.
        pub access: Vec<String>,
    }
}

/// The type of an asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AssetKind {
    /// A picture whose size is known.
    Photo,
    /// Anything else.
    File,
}

document! {
    /// An attribute of an asset.
    #[derive(PartialEq)]
    pub struct Attribute {
        pub key: String,
        /// A text, a number, a moment or a boolean; values are compared only with values of the same type.
        pub value: Bson,
    }

    /// A complete file.
    #[derive(PartialEq, Eq)]
    pub struct FileFacts {
        /// The GridFS file with the bytes; it never changes.
        pub blob: ObjectId,
        /// Length in bytes.
        pub length: i64,
        /// SHA-256 of the bytes, in hexadecimal digits.
        pub digest: String,
        /// Media type, detected from the bytes.
        pub media_type as "type": String,
        /// Name of the file at its origin.
        pub name: String,
        /// Width in pixels; only of pictures.
        pub width?: i64,
        /// Height in pixels; only of pictures.
        pub height?: i64,
        /// Server time at which it was complete.
        pub at: DateTime,
        /// The picture in smaller sizes, as far as somebody asked for them. Only of pictures.
        pub renditions?: Vec<Rendition>,
    }

    /// A picture in a smaller size, with a blob of its own.
    #[derive(PartialEq, Eq)]
    pub struct Rendition {
        /// The width that it was made for, one of the configured ones. A file has one rendition for each.
        pub wanted as "for": i64,
        /// Width in pixels. It is less than `for` if the picture is turned and not as wide.
        pub width: i64,
        /// Height in pixels.
        pub height: i64,
        /// The GridFS file with the bytes; it never changes.
        pub blob: ObjectId,
        /// Length in bytes.
        pub length: i64,
        /// SHA-256 of the bytes, in hexadecimal digits.
        pub digest: String,
        /// Media type.
        pub media_type as "type": String,
        /// Server time at which it was made.
        pub at: DateTime,
    }

    /// An upload that is in progress.
    #[derive(PartialEq, Eq)]
    pub struct Upload {
        /// The token of the attempt that may commit it.
        pub token: String,
        /// The GridFS file that is being written.
        pub blob: ObjectId,
        /// Server time of its begin or last renewal.
        pub at: DateTime,
        /// Its op: a repeat of that op may take it over.
        pub op: String,
    }

    /// Outbox entry: a blob that is to be removed.
    #[derive(PartialEq, Eq)]
    pub struct Removal {
        pub blob: ObjectId,
        /// Whether readers could see it: then it stays for as long as a download may take.
        pub shown: bool,
        /// Server time of the commit.
        pub at: DateTime,
    }
}

/// The lists of an asset, each once per audience: of each tag and of the parent. A photo or video is also in the lists
/// of photos by tag, by parent and within each path above it.
pub(super) fn listed(metadata: &Metadata, is_video: bool) -> Vec<String> {
    let parent = metadata.parent_id.as_deref().unwrap_or_default();
    let tags = |list| metadata.tags.iter().map(move |tag| (list, tag.as_str()));
    let mut all: Vec<_> = tags("tag").chain([("parent", parent)]).collect();
    if metadata.kind == AssetKind::Photo || is_video {
        all.extend(tags("photoTag"));
        all.push(("photoParent", parent));
        // An empty path for everything, then each path from the root on.
        let above = metadata.path.match_indices('/').map(|(end, _)| &metadata.path[..end]);
        all.extend(above.map(|path| ("photoIn", path)));
    }
    audiences::listed(&metadata.access, all.into_iter())
}

/// The path of a slug in a parent with that path, which is empty for the root.
pub(super) fn path_in(parent: &str, slug: &Slug) -> String {
    format!("{parent}/{}", slug.as_str())
}

impl FileFacts {
    /// The attributes by which it is found.
    pub(super) fn attributes(&self) -> [Attribute; 3] {
        #[expect(clippy::cast_precision_loss, reason = "no file has 2^53 bytes")]
        let size = self.length as f64;
        let values: [(&str, Bson); 3] = [
            ("type", (&self.media_type).into()),
            ("size", size.into()),
            ("name", (&self.name).into()),
        ];
        values.map(|(name, value)| Attribute { key: format!("{FILE}{name}"), value })
    }

    /// Whether it is a video.
    pub(super) fn is_video(&self) -> bool {
        self.media_type.starts_with(VIDEO)
    }

    /// The renditions.
    pub(super) fn renditions(&self) -> &[Rendition] {
        self.renditions.as_deref().unwrap_or_default()
    }

    /// A rendition as a file, whose name has the ending of its type.
    pub(super) fn rendered(&self, rendition: &Rendition) -> Self {
        let mut name = self.name.clone();
        if rendition.media_type != self.media_type {
            let stem = name.rsplit_once('.').map_or(name.as_str(), |(stem, _)| stem);
            let ending = rendition.media_type.rsplit('/').next().unwrap_or_default();
            name = format!("{stem}.{ending}");
        }
        Self {
            blob: rendition.blob,
            length: rendition.length,
            digest: rendition.digest.clone(),
            media_type: rendition.media_type.clone(),
            name,
            width: Some(rendition.width),
            height: Some(rendition.height),
            at: rendition.at,
            renditions: None,
        }
    }
}

impl AssetDocument {
    /// Whether it is a picture whose size is known.
    pub fn is_photo(&self) -> bool {
        self.metadata.kind == AssetKind::Photo
    }

    /// Whether it is a video.
    pub fn is_video(&self) -> bool {
        self.file.as_ref().is_some_and(FileFacts::is_video)
    }

    /// The file, if the asset is complete and not deleted.
    pub(super) fn visible_file(&self) -> Option<&FileFacts> {
        self.file.as_ref().filter(|_| self.deleting.is_none())
    }
}

document! {
    /// The fields of content that this room reads from a parent. Content owns the collection and declares its
    /// indexes.
    pub(super) struct ParentDocument {
        pub id as "_id": String,
        pub metadata: ParentMetadata,
        /// Version of its path.
        pub cv: i64,
        /// Set during its creation, until it is certain that its own parent stays.
        pub copying: Option<Bson>,
        /// Set during its deletion, while its contents are searched for.
        pub deleting: Option<Bson>,
        /// Set when it was deleted.
        pub deleted_at: Option<Bson>,
    } in "nodes";

    /// The fields of a parent's metadata on which its assets depend.
    pub(super) struct ParentMetadata {
        /// The type of content.
        pub kind as "type": String,
        pub path: String,
        /// Names of the roles that may read it; empty: everyone.
        #[serde(default)]
        pub access: Vec<String>,
    }
}

impl ParentDocument {
    /// Whether it can contain assets: it is a folder or a gallery.
    pub(super) fn holds_assets(&self) -> bool {
        ["folder", "gallery"].contains(&&*self.metadata.kind) && self.deleted_at.is_none()
    }

    /// Whether it exists and isn't being deleted.
    pub(super) fn stays(&self) -> bool {
        self.deleting.is_none() && self.deleted_at.is_none()
    }
}
