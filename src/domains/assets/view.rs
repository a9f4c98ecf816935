//! Assets as lists of images read them. Only the fields of a picture are decoded, because a list reads many assets.

use std::sync::Arc;

use mongodb::bson::{DateTime, RawDocumentBuf};

use super::documents::AssetDocument;
use crate::{
    error::Result,
    mongo::{
        Stored, Version,
        lazy_document::{Viewed, view},
    },
};

/// A stored asset as a lazy document.
pub(super) type StoredPicture = Viewed<PictureView<'static>>;

impl Stored for StoredPicture {
    const COLLECTION: &'static str = AssetDocument::COLLECTION;
    const UPGRADES: &'static [crate::mongo::migrations::Upgrade] = AssetDocument::UPGRADES;
    /// MongoDB has a short path for such fields: none is within another one.
    const ONLY: &'static [&'static str] =
        &["_id", "metadata", "file", "publishedAt", "deleting", "v"];

    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self> {
        Self::over(stored)
    }
}

view! {
    /// The fields of an [`AssetDocument`] that an image needs.
    #[derive(Debug, yoke::Yokeable)]
    pub(super) struct PictureView<'a> {
        "metadata" => pub(super) metadata: MetadataView<'a>,
        "file" => pub(super) file: Option<FileView<'a>>,
        "publishedAt" => pub(super) published_at: DateTime,
        "deleting" => pub(super) deleting: Option<DateTime>,
        #[expect(dead_code, reason = "it is decoded so that newer versions are refused")]
        "v" => version: Version<1>,
    }

    /// The place of an asset, and the roles that may read it.
    #[derive(Debug)]
    pub(super) struct MetadataView<'a> {
        "path" => pub(super) path: &'a str,
        "access" => pub(super) access: Vec<&'a str>,
    }

    /// The file of an asset.
    #[derive(Debug)]
    pub(super) struct FileView<'a> {
        "length" => pub(super) length: i64,
        "type" => pub(super) media_type: &'a str,
        "width" => pub(super) width: Option<i64>,
        "height" => pub(super) height: Option<i64>,
    }
}
