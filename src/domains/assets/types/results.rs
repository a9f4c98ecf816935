//! What became of mutations.

use async_graphql::{ID, SimpleObject, Union};

use super::{super::documents::AssetDocument, Asset};
use crate::graphql::{
    node_id::NodeKind,
    refusals::{AlreadyExists, Conflict, ErrorCode, InUse, InvalidInput, NotFound, Refusal},
    scalars::Long,
};

/// What became of an upload.
#[derive(Union)]
pub enum UploadAssetResult {
    Asset(Asset),
    NotFound(NotFound),
    AlreadyExists(AlreadyExists),
    InUse(InUse),
    Conflict(Conflict),
    FileTooLarge(FileTooLarge),
    MediaTypeNotAllowed(MediaTypeNotAllowed),
    InvalidInput(InvalidInput),
}

/// What became of a replacement.
#[derive(Union)]
pub enum ReplaceAssetResult {
    Asset(Asset),
    NotFound(NotFound),
    InUse(InUse),
    AssetConflict(AssetConflict),
    Conflict(Conflict),
    FileTooLarge(FileTooLarge),
    MediaTypeNotAllowed(MediaTypeNotAllowed),
    InvalidInput(InvalidInput),
}

/// What became of an edit.
#[derive(Union)]
pub enum EditAssetResult {
    Asset(Asset),
    NotFound(NotFound),
    AssetConflict(AssetConflict),
    InvalidInput(InvalidInput),
}

/// What became of new tags.
#[derive(Union)]
pub enum TagAssetResult {
    Asset(Asset),
    NotFound(NotFound),
    InvalidInput(InvalidInput),
}

/// What became of removed tags.
#[derive(Union)]
pub enum UntagAssetResult {
    Asset(Asset),
    NotFound(NotFound),
    InvalidInput(InvalidInput),
}

/// What became of a deletion.
#[derive(Union)]
pub enum DeleteAssetResult {
    DeletedAsset(DeletedAsset),
    NotFound(NotFound),
    AssetConflict(AssetConflict),
    InvalidInput(InvalidInput),
}

/// An asset that is gone.
#[derive(Debug, SimpleObject)]
pub struct DeletedAsset {
    /// Its global id.
    pub id: ID,
}

macro_rules! answers_with_asset {
    ($($result:ident),+) => {$(
        impl From<AssetDocument> for $result {
            fn from(asset: AssetDocument) -> Self {
                Self::Asset(asset.into())
            }
        }
    )+};
}

answers_with_asset!(
    UploadAssetResult,
    ReplaceAssetResult,
    EditAssetResult,
    TagAssetResult,
    UntagAssetResult
);

impl From<String> for DeleteAssetResult {
    fn from(id: String) -> Self {
        Self::DeletedAsset(DeletedAsset { id: NodeKind::Asset.id(&id) })
    }
}

/// The asset was changed since you read it: merge with the current one and send again.
#[derive(Debug, SimpleObject)]
pub struct AssetConflict {
    /// `CONFLICT`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The asset as it is now, with its nonce.
    pub current: Asset,
}

impl AssetConflict {
    /// The nonce isn't the current one.
    pub fn with(current: AssetDocument) -> Self {
        let message = "it was changed since you read it; merge and send again".to_owned();
        Self { code: ErrorCode::Conflict, message, current: current.into() }
    }
}

/// Who creates an asset has read none: there it can't come to this.
impl From<AssetConflict> for UploadAssetResult {
    fn from(conflict: AssetConflict) -> Self {
        Self::Conflict(Conflict::because(&conflict.message))
    }
}

/// The file is larger than files may be here.
#[derive(Debug, Clone, SimpleObject)]
pub struct FileTooLarge {
    /// `FILE_TOO_LARGE`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// Bytes that a file may have.
    pub most: Long,
}

impl FileTooLarge {
    /// Files may have so many bytes.
    pub fn above(most: u64) -> Self {
        let message = format!("the file is larger than {most} bytes");
        let most = Long(i64::try_from(most).unwrap_or(i64::MAX));
        Self { code: ErrorCode::FileTooLarge, message, most }
    }
}

/// Files of this media type aren't taken here.
#[derive(Debug, Clone, SimpleObject)]
pub struct MediaTypeNotAllowed {
    /// `MEDIA_TYPE_NOT_ALLOWED`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// What the file is, by its bytes.
    pub media_type: String,
    /// What is taken, such as `image/*`.
    pub allowed: Vec<String>,
}

impl MediaTypeNotAllowed {
    /// The file is a `media_type`; these are taken.
    pub fn new(media_type: &str, allowed: &[String]) -> Self {
        let message =
            format!("by its bytes the file is {media_type}; taken is {}", allowed.join(", "));
        Self {
            code: ErrorCode::MediaTypeNotAllowed,
            message,
            media_type: media_type.to_owned(),
            allowed: allowed.to_vec(),
        }
    }
}

impl Refusal for AssetConflict {}
impl Refusal for FileTooLarge {}
impl Refusal for MediaTypeNotAllowed {}
