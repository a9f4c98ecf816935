//! Removes deleted assets, and blobs that no asset names any more.

use mongodb::bson::oid::ObjectId;

use super::{
    super::{
        documents::AssetDocument,
        store,
        types::{AssetConflict, DeleteAssetInput, DeleteAssetResult},
    },
    find_visible,
};
use crate::{
    app::App,
    error::Error,
    graphql::{cx::Cx, declared::Input, refusals::Stop},
};

/// Deletes an asset; returns its `_id`. Running downloads are completed.
pub async fn delete_asset(
    cx: Cx<'_>,
    input: DeleteAssetInput,
) -> Result<String, Stop<DeleteAssetResult>> {
    let DeleteAssetInput { asset_id: id, version } = input.checked()?.into_inner();
    let nonce = version.as_ref().map(|version| version.as_str());
    if let Some(gone) = store::mark_deleting(&cx, &id, nonce).await.decided()? {
        settle(&cx, &gone).await;
        return Ok(id.0);
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
pub(in super::super) async fn dispose(app: &App, asset: &AssetDocument) -> Result<(), Error> {
    for removal in &asset.outbox {
        if removal.shown {
            store::retire(app, removal.blob).await?;
        } else {
            discard(app, removal.blob).await?;
        }
    }
    if asset.deleting.is_some() && asset.deleted_at.is_none() {
        // Nothing is added to its outbox any more.
        store::remove_settled(app, &asset.id).await.decided()?;
    } else if !asset.outbox.is_empty() {
        store::settle_removals(app, asset).await.decided()?;
    }
    Ok(())
}

/// Removes a blob that no reader can see. Its chunks are first: as long as the document exists, an interrupted
/// removal of a retired blob is found again.
pub(in super::super) async fn discard(app: &App, blob: ObjectId) -> Result<bool, Error> {
    store::chunks(app).remove(blob).await?;
    Ok(store::remove_blob(app, blob).await.decided()?.is_some())
}
