//! Removes deleted assets, and blobs that no asset names any more.

use async_graphql::ID;
use mongodb::bson::oid::ObjectId;

use super::{
    super::{
        documents::AssetDocument,
        store,
        types::{AssetConflict, DeleteAssetResult},
    },
    not_found, own_id,
};
use crate::{app::App, domains::comments, error::Error, graphql::refusals::Stop};

/// Deletes an asset; returns its `_id`. Running downloads are completed.
pub async fn delete(
    app: &App,
    asset: &ID,
    nonce: Option<&ID>,
) -> Result<String, Stop<DeleteAssetResult>> {
    let id = own_id(asset)?;
    let nonce = nonce.map(|nonce| nonce.as_str());
    if let Some(gone) = store::mark_deleting(app, &id, nonce).await.decided()? {
        settle(app, &gone).await;
        return Ok(id);
    }
    match store::find(app, &id).await? {
        Some(asset) if asset.whole().is_some() => Err(AssetConflict::with(asset).into()),
        _ => Err(not_found(&id).into()),
    }
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
            let_go(app, removal.blob).await?;
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

/// Finishes a deletion by removing the comments, once no attempt can still write into the discussion.
pub(in super::super) async fn bury(app: &App, asset: &AssetDocument) -> Result<bool, Error> {
    if let Some(discussion) = &asset.discussion {
        comments::operations::forget(app, &discussion.id).await?;
    }
    Ok(store::settle_deletion(app, &asset.id).await.decided()?.is_some())
}

/// Retires a blob that readers could see: it stays until the last download that may have begun is over.
pub(in super::super) async fn let_go(app: &App, blob: ObjectId) -> Result<bool, Error> {
    let transfer = i64::try_from(app.config().asset_transfer_seconds).unwrap_or(i64::MAX);
    let slack = i64::try_from(app.bounds().grace_period().as_millis()).unwrap_or(i64::MAX);
    let millis = transfer.saturating_mul(1_000).saturating_add(slack);
    // A refused update means that it was retired before or is gone.
    Ok(store::retire(app, blob, millis).await.decided()?.is_some())
}

/// Removes a blob that was never visible.
pub(super) async fn discard(app: &App, blob: ObjectId) -> Result<(), Error> {
    store::chunks(app).remove(blob).await?;
    store::remove_blob(app, blob).await.decided()?;
    Ok(())
}
