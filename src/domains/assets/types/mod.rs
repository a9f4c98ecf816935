//! GraphQL types of assets: their results and refusals.

mod asset;
mod inputs;

use async_graphql::{ID, SimpleObject};

pub use asset::Asset;
pub use inputs::*;

use super::documents::AssetDocument;
use crate::graphql::{
    declared::result,
    node_id::NodeKind,
    refusals::{AlreadyExists, Conflict, ErrorCode, InUse, InvalidInput, NotFound, Refusal},
    scalars::Long,
};

result! {
    /// Result of `uploadAsset`: the asset, or a refusal. `NotFound`: there is no such folder or gallery.
    /// `AlreadyExists`: the parent has an asset with this slug. `InUse`: another upload to this path is under
    /// way. `Conflict`: this `idempotencyKey` was used with another input, or its asset was deleted.
    pub enum UploadAssetResult:
        AssetDocument => Asset | NotFound | AlreadyExists | InUse | Conflict | FileTooLarge | MediaTypeNotAllowed |
        InvalidInput;

    /// Result of `replaceAsset`: the asset with its new file, or a refusal. `InUse`: another upload of this asset
    /// is under way. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum ReplaceAssetResult:
        AssetDocument => Asset | NotFound | InUse | AssetConflict | Conflict | FileTooLarge | MediaTypeNotAllowed |
        InvalidInput;

    /// Result of `editAsset`: the asset after the edit, or a refusal.
    pub enum EditAssetResult:
        AssetDocument => Asset | NotFound | AssetConflict | InvalidInput;

    /// Result of `tagAsset`: the asset with its tags, or a refusal. `InvalidInput`: among others, it would have
    /// more than 30 tags.
    pub enum TagAssetResult:
        AssetDocument => Asset | NotFound | InvalidInput;

    /// Result of `untagAsset`: the asset with its remaining tags, or a refusal.
    pub enum UntagAssetResult:
        AssetDocument => Asset | NotFound | InvalidInput;

    /// Result of `deleteAsset`: the id of the deleted asset, or a refusal.
    pub enum DeleteAssetResult:
        String => DeletedAsset | NotFound | AssetConflict | InvalidInput;
}

/// Result of a successful `deleteAsset`.
#[derive(Debug, SimpleObject)]
pub struct DeletedAsset {
    /// Global id of the deleted asset.
    pub id: ID,
}

impl From<String> for DeletedAsset {
    fn from(id: String) -> Self {
        Self { id: NodeKind::Asset.id(&id) }
    }
}

/// The asset changed since it was read. Merge the edit with the current asset and send it with the new version.
#[derive(Debug, SimpleObject)]
pub struct AssetConflict {
    /// Always `CONFLICT`.
    pub code: ErrorCode,
    /// Explanation in English, for people. Programs should use `code`.
    pub message: String,
    /// The asset as it is now, with its version.
    pub current: Asset,
}

impl AssetConflict {
    /// The version of the change isn't the current one.
    pub fn with(current: AssetDocument) -> Self {
        let message = "it was changed since you read it; merge and send again".to_owned();
        Self { code: ErrorCode::Conflict, message, current: current.into() }
    }
}

/// Needed for the types only: an upload takes no version, so this conflict can't occur.
impl From<AssetConflict> for UploadAssetResult {
    fn from(conflict: AssetConflict) -> Self {
        Self::Conflict(Conflict::because(&conflict.message))
    }
}

/// The file exceeds the maximum size.
#[derive(Debug, Clone, SimpleObject)]
pub struct FileTooLarge {
    /// Always `FILE_TOO_LARGE`.
    pub code: ErrorCode,
    /// Explanation in English, for people. Programs should use `code`.
    pub message: String,
    /// Maximum size of a file in bytes.
    pub most: Long,
}

impl FileTooLarge {
    /// A file can have at most this many bytes.
    pub fn above(most: u64) -> Self {
        let message = format!("the file is larger than {most} bytes");
        let most = Long(i64::try_from(most).unwrap_or(i64::MAX));
        Self { code: ErrorCode::FileTooLarge, message, most }
    }
}

/// Files of this media type aren't accepted.
#[derive(Debug, Clone, SimpleObject)]
pub struct MediaTypeNotAllowed {
    /// Always `MEDIA_TYPE_NOT_ALLOWED`.
    pub code: ErrorCode,
    /// Explanation in English, for people. Programs should use `code`.
    pub message: String,
    /// Media type of the file, detected from its bytes.
    pub sent_media_type: String,
    /// Accepted media types, such as `image/*`.
    pub allowed: Vec<String>,
}

impl MediaTypeNotAllowed {
    /// The file is a `media_type`; only the `allowed` ones are accepted.
    pub fn new(media_type: &str, allowed: &[String]) -> Self {
        let message =
            format!("by its bytes the file is {media_type}; taken is {}", allowed.join(", "));
        Self {
            code: ErrorCode::MediaTypeNotAllowed,
            message,
            sent_media_type: media_type.to_owned(),
            allowed: allowed.to_vec(),
        }
    }
}

impl Refusal for AssetConflict {}
impl Refusal for FileTooLarge {}
impl Refusal for MediaTypeNotAllowed {}
