//! GraphQL types of assets: their results and refusals.

mod asset;
mod inputs;

use async_graphql::{ID, SimpleObject};

pub use asset::Asset;
pub use inputs::*;

use super::documents::AssetDocument;
use crate::graphql::{
    codes::refusal,
    declared::result,
    node_id::NodeKind,
    refusals::{AlreadyExists, CHANGED, Conflict, InUse, InvalidInput, NotFound},
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

refusal! {
    /// The asset changed since it was read. Merge the edit with the current asset and send it with the new version.
    struct AssetConflict as "CONFLICT" {
        /// The asset as it is now, with its version.
        pub current: Asset,
    }
}

impl AssetConflict {
    /// The version of the change isn't the current one.
    pub fn with(current: AssetDocument) -> Self {
        let message = CHANGED;
        Self::because(message, current.into())
    }
}

/// Needed for the types only: an upload takes no version, so this conflict can't occur.
impl From<AssetConflict> for UploadAssetResult {
    fn from(conflict: AssetConflict) -> Self {
        Self::Conflict(Conflict::because(conflict.message, None))
    }
}

refusal! {
    /// The file exceeds the maximum size.
    struct FileTooLarge as "FILE_TOO_LARGE" {
        /// Maximum size of a file in bytes.
        pub most: Long,
    }
}

impl FileTooLarge {
    /// A file can have at most this many bytes.
    pub fn above(most: u64) -> Self {
        let message = format!("the file is larger than {most} bytes");
        let most = Long(i64::try_from(most).unwrap_or(i64::MAX));
        Self::because(message, most)
    }
}

refusal! {
    /// Files of this media type aren't accepted.
    struct MediaTypeNotAllowed as "MEDIA_TYPE_NOT_ALLOWED" {
        /// Media type of the file, detected from its bytes.
        pub sent_media_type: String,
        /// Accepted media types, such as `image/*`.
        pub allowed: Vec<String>,
    }
}

impl MediaTypeNotAllowed {
    /// The file is a `media_type`; only the `allowed` ones are accepted.
    pub fn new(media_type: &str, allowed: &[String]) -> Self {
        let message =
            format!("by its bytes the file is {media_type}; taken is {}", allowed.join(", "));
        Self::because(message, media_type.to_owned(), allowed.to_vec())
    }
}
