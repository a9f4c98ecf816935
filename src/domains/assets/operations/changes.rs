//! Edits assets, changes their tags and deletes them. Applies their outboxes.

use super::{
    super::{
        documents::{ATTRIBUTES, AssetDocument},
        store,
        types::{
            AssetConflict, DeleteAssetInput, DeleteAssetResult, DeletedAsset, EditAssetInput,
            EditAssetResult, TagAssetInput, TagAssetResult, UntagAssetInput, UntagAssetResult,
        },
    },
    blobs::discard,
    find_visible, not_found,
};
use crate::graphql::{input::TAGS, prelude::*};

/// Edits an asset in the version that the caller read.
pub async fn edit_asset(cx: Cx<'_>, input: EditAssetInput) -> Answer<EditAssetResult> {
    let input = input.checked()?;
    if let Some(edited) = store::edit(&cx, &input).then_read().await? {
        return Ok(edited);
    }
    let asset = find_visible(&cx, &input.asset_id).await?;
    if asset.metadata.version != *input.version {
        return Err(AssetConflict::with(asset).into());
    }
    Err(too_many("attributes", ATTRIBUTES).into())
}

/// Adds tags; existing ones stay.
pub async fn tag_asset(cx: Cx<'_>, input: TagAssetInput) -> Answer<TagAssetResult> {
    let TagAssetInput { asset_id, tags } = input.checked()?.into_inner();
    let tagged = store::change_tags(&cx, &asset_id, &tags, &[]).then_read().await?;
    if let Some(tagged) = tagged {
        return Ok(tagged);
    }
    find_visible(&cx, &asset_id).await?;
    Err(too_many("tags", TAGS).into())
}

/// Removes tags; missing ones are ignored.
pub async fn untag_asset(cx: Cx<'_>, input: UntagAssetInput) -> Answer<UntagAssetResult> {
    let UntagAssetInput { asset_id, tags } = input.checked()?.into_inner();
    let untagged = store::change_tags(&cx, &asset_id, &[], &tags).then_read().await?;
    untagged.ok_or_else(|| not_found(&asset_id).into())
}

fn too_many(field: &str, most: usize) -> InvalidInput {
    InvalidInput::new(field, format!("would be too many: an asset has at most {most} {field}"))
}

/// Deletes an asset. Downloads that have begun continue to their end.
pub async fn delete_asset(cx: Cx<'_>, input: DeleteAssetInput) -> Answer<DeleteAssetResult> {
    let DeleteAssetInput { asset_id: id, version } = input.checked()?.into_inner();
    let version = version.as_ref().map(|version| version.as_str());
    if let Some(gone) = store::mark_deleting(&cx, &id, version).after().await? {
        settle(&cx, &gone).await;
        return Ok(DeletedAsset { id: NodeKind::ASSET.id(&id) });
    }
    Err(AssetConflict::with(find_visible(&cx, &id).await?).into())
}

/// Applies an asset's outbox, and settles it. Failures are logged and left to the sweep: the asset's document
/// is already committed.
pub(super) async fn settle(app: &App, asset: &AssetDocument) {
    if asset.outbox.is_empty() && asset.deleting.is_none() {
        return;
    }
    if let Err(error) = dispose(app, asset).await {
        tracing::warn!(
            event = "asset_outbox_failed",
            asset = asset.id,
            ?error,
            "the outbox of an asset could not be applied; the sweep repeats it"
        );
    }
}

/// Applies an asset's outbox, and settles it. Any gateway may repeat it.
///
/// # Errors
/// `Unavailable` or `Internal`: the remaining entries stay in the outbox.
pub(crate) async fn dispose(app: &App, asset: &AssetDocument) -> Result<()> {
    for removal in &asset.outbox {
        if removal.shown {
            store::retire(app, removal.blob).await?;
        } else {
            discard(app, removal.blob).await?;
        }
    }
    if asset.deleting.is_some() && asset.deleted_at.is_none() {
        // Nothing is added to its outbox any more.
        store::remove_aborted(app, &asset.id).await.decided()?;
    } else if !asset.outbox.is_empty() {
        store::settle_removals(app, asset).held().await?;
    }
    Ok(())
}
