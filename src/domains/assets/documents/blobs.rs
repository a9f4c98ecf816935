//! Stored documents of blobs: the files and chunks of GridFS.

use mongodb::bson::oid::ObjectId;

use crate::mongo::{gridfs, prelude::*};

document! {
    /// A GridFS file, readable by any tool. It is written after all chunks.
    pub struct BlobDocument {
        pub id as "_id": ObjectId,
        /// Length in bytes.
        pub length: i64,
        /// Length of each chunk but the last, in bytes.
        pub chunk_size: i32,
        /// Server time of the upload.
        pub upload_date: DateTime,
        /// Name of the file. Other tools may leave it out.
        #[serde(default)]
        pub filename: String,
        /// Fields that docgate adds.
        #[serde(default)]
        pub metadata: BlobMetadata,
    } in "assets.files" {
        of_field("removeAfter", "metadata.removeAfter", "the sweep of blobs that were let go"),
        + gridfs::FILES,
    }

    /// The fields that the search for unnamed blobs reads. It reads files of any shape, also those of other tools.
    pub(crate) struct BlobHead {
        pub(crate) id as "_id": ObjectId,
        #[serde(default)]
        pub(crate) metadata: Option<BlobEnd>,
    } in BlobDocument: ["metadata.removeAfter"];

    /// When a blob is removed.
    pub(crate) struct BlobEnd {
        /// See [`BlobMetadata::remove_after`].
        pub(crate) remove_after?: DateTime,
    }

    /// The fields that docgate adds to a GridFS file.
    #[derive(Default)]
    pub struct BlobMetadata {
        /// Media type, detected from the bytes.
        #[serde(default)]
        pub content_type: String,
        /// SHA-256 of the bytes, in hexadecimal digits.
        #[serde(default)]
        pub sha256: String,
        /// Server time after which no download can be reading it; set when the blob is retired.
        pub remove_after?: DateTime,
        /// Of a rendition: the blob of the picture from which it was made.
        pub original?: ObjectId,
        /// Of a rendition: the width that it was made for.
        pub width?: i64,
        /// Version of the document's shape. It is here because the format of GridFS leaves no other place. Documents of
        /// earlier releases don't have it.
        #[serde(default)]
        pub v: Version<1>,
    }

    /// One chunk of a GridFS file, in the format of every driver: it has no version. Only [`gridfs`] reads it.
    pub struct ChunkDocument {}
}

impl Stored for ChunkDocument {
    const COLLECTION: &'static str = "assets.chunks";
    const INDEXES: &'static [Index] = gridfs::CHUNKS;
    const SHARD_KEY: ShardKey = ShardKey::hash_of(
        "files_id",
        "reads are of one file; ids of files rise with time, and their hashes don't",
    );
}
