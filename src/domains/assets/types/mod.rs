//! GraphQL types of assets.

mod asset;
mod inputs;
mod results;

pub use asset::Asset;
pub use inputs::{
    AssetBy, AssetsBy, AttributeCondition, AttributeInput, AttributeRange, AttributeValueInput,
    AttributesFilter, DateRange, NumberRange, TextRange,
};
pub(super) use inputs::{
    DeleteAssetInput, EditAssetInput, ReplaceAssetInput, TagAssetInput, UntagAssetInput,
    UploadAssetInput,
};
pub use results::{
    AssetConflict, DeleteAssetResult, DeletedAsset, EditAssetResult, FileTooLarge,
    MediaTypeNotAllowed, ReplaceAssetResult, TagAssetResult, UntagAssetResult, UploadAssetResult,
};
