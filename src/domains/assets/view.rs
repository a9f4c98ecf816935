//! Assets as lists of images read them. Only the fields of a picture are decoded, because a list reads many assets.

use std::sync::Arc;

use mongodb::bson::{DateTime, RawDocumentBuf};

use super::documents::AssetDocument;
use crate::{
    error::Result,
    mongo::{
        Stored, Version,
        lazy_document::{Viewed, fields},
    },
};

/// A stored asset as a lazy document.
pub(super) type StoredPicture = Viewed<PictureView<'static>>;

impl Stored for StoredPicture {
    const COLLECTION: &'static str = AssetDocument::COLLECTION;
    const UPGRADES: &'static [crate::mongo::migrations::Upgrade] = AssetDocument::UPGRADES;

    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self> {
        Self::over(stored)
    }
}

/// The fields of an [`AssetDocument`] that an image needs.
#[derive(Debug, yoke::Yokeable)]
pub(super) struct PictureView<'a> {
    pub(super) metadata: MetadataView<'a>,
    pub(super) file: Option<FileView<'a>>,
    pub(super) published_at: DateTime,
    pub(super) deleting: Option<DateTime>,
    #[expect(dead_code, reason = "it is decoded so that newer versions are refused")]
    version: Version<1>,
}

fields!(<'a> PictureView<'a> {
    "metadata" => metadata,
    "file" => file,
    "publishedAt" => published_at,
    "deleting" => deleting,
    "v" => version,
});

/// The place of an asset, and the roles that may read it.
#[derive(Debug)]
pub(super) struct MetadataView<'a> {
    pub(super) path: &'a str,
    pub(super) access: Vec<&'a str>,
}

fields!(<'a> MetadataView<'a> { "path" => path, "access" => access });

/// The file of an asset.
#[derive(Debug)]
pub(super) struct FileView<'a> {
    pub(super) media_type: &'a str,
    pub(super) width: Option<i64>,
    pub(super) height: Option<i64>,
}

fields!(<'a> FileView<'a> { "type" => media_type, "width" => width, "height" => height });
