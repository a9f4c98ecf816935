//! Edits of assets, and changes of their tags.

use super::{
    super::{
        documents::{ATTRIBUTES, AssetDocument},
        store,
        types::{
            AssetConflict, EditAssetInput, EditAssetResult, TagAssetInput, TagAssetResult,
            UntagAssetInput, UntagAssetResult,
        },
    },
    find_visible, not_found,
};
use crate::graphql::{
    cx::Cx,
    declared::Input,
    input::TAGS,
    refusals::{InvalidInput, Stop},
};

/// Edits an asset in the version that the caller read.
pub async fn edit_asset(
    cx: Cx<'_>,
    input: EditAssetInput,
) -> Result<AssetDocument, Stop<EditAssetResult>> {
    let input = input.checked()?;
    if let Some(edited) = store::edit(&cx, &input).await.decided()? {
        return Ok(edited);
    }
    let asset = find_visible(&cx, &input.asset_id).await?;
    if asset.metadata.nonce != *input.version {
        return Err(AssetConflict::with(asset).into());
    }
    Err(too_many("attributes", ATTRIBUTES).into())
}

/// Adds tags; existing ones stay.
pub async fn tag_asset(
    cx: Cx<'_>,
    input: TagAssetInput,
) -> Result<AssetDocument, Stop<TagAssetResult>> {
    let input = input.checked()?;
    let tagged = store::change_tags(&cx, &input.asset_id, &input.tags, &[]).await.decided()?;
    if let Some(tagged) = tagged {
        return Ok(tagged);
    }
    find_visible(&cx, &input.asset_id).await?;
    Err(too_many("tags", TAGS).into())
}

/// Removes tags; missing ones are ignored.
pub async fn untag_asset(
    cx: Cx<'_>,
    input: UntagAssetInput,
) -> Result<AssetDocument, Stop<UntagAssetResult>> {
    let input = input.checked()?;
    let untagged = store::change_tags(&cx, &input.asset_id, &[], &input.tags).await.decided()?;
    untagged.ok_or_else(|| not_found(&input.asset_id).into())
}

fn too_many(field: &str, most: usize) -> InvalidInput {
    InvalidInput::new(field, format!("would be too many: an asset has at most {most}"))
}
