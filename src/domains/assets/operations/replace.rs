//! Replaces the file of an asset.

use async_graphql::ID;

use super::{
    super::{
        documents::AssetDocument,
        store::{self, Expected, Purpose},
        types::{AssetConflict, ReplaceAssetResult},
    },
    finish::{Begun, with_file},
    not_found, own_id,
    receive::{self, Opened},
    removal::settle,
};
use crate::{
    app::App,
    error::Error,
    flow::{Op, OtherInput},
    graphql::{
        input,
        refusals::{InUse, Stop},
        upload::Incoming,
    },
};

/// The input of a replacement.
#[derive(Debug)]
pub struct Replacement {
    /// Global id of the asset.
    pub asset: ID,
    /// Its nonce as the caller read it.
    pub version: Option<ID>,
    /// The caller's idempotency key.
    pub idempotency_key: Option<ID>,
}

/// Replaces the file of an asset, once per idempotency key.
pub async fn replace(
    app: &App,
    subject: &str,
    replacement: Replacement,
    incoming: Incoming,
) -> Result<AssetDocument, Stop<ReplaceAssetResult>> {
    let Replacement { asset, version, idempotency_key } = replacement;
    let id = own_id(&asset)?;
    let version = version.map(|version| version.0);
    let op =
        input::op(app, &[subject, "replaceAsset"], idempotency_key.as_ref(), &(&id, &version))?;
    let expected = version.map_or(Expected::Any, Expected::Nonce);
    replace_expected(app, &id, &expected, &op, idempotency_key.is_some(), incoming).await
}

/// Replaces the file of an asset if the asset is in the expected version.
pub(super) async fn replace_expected(
    app: &App,
    id: &str,
    expected: &Expected,
    op: &Op,
    is_repeatable: bool,
    incoming: Incoming,
) -> Result<AssetDocument, Stop<ReplaceAssetResult>> {
    let is_applied = |asset: &AssetDocument| {
        is_repeatable && asset.ops.iter().any(|record| record.id.as_ref() == Some(&op.id))
    };
    let asset = there(app, id).await?;
    if !is_applied(&asset) && !expected.is(&asset) {
        return Err(AssetConflict::with(asset).into());
    }
    let opened = receive::open(app, incoming).await?;
    if is_applied(&asset) {
        return repeated(app, asset, op, opened).await;
    }
    let attempt = app.begin().await?;
    let upload = receive::begin(app, &op.id, &attempt);
    let purpose = Purpose::Replace(expected);
    let Some(asset) = store::take_upload(app, id, &upload, purpose).await.decided()? else {
        let asset = there(app, id).await?;
        if is_applied(&asset) {
            return repeated(app, asset, op, opened).await;
        }
        return Err(match asset.upload {
            _ if !expected.is(&asset) => AssetConflict::with(asset).into(),
            Some(_) => InUse::because("another upload of this asset is under way").into(),
            None => Error::unavailable("another upload of this asset has just ended").into(),
        });
    };
    // Removes the blob of an attempt that was taken over.
    settle(app, &asset).await;
    let op = is_repeatable.then_some(op);
    Begun { asset, upload, purpose, op }.fill(app, opened, &attempt).await
}

/// The answer if the op was applied before: the asset in its current state, provided that the file is the
/// same.
async fn repeated(
    app: &App,
    asset: AssetDocument,
    op: &Op,
    opened: Opened,
) -> Result<AssetDocument, Stop<ReplaceAssetResult>> {
    let digest = opened.digest(app).await?;
    if with_file(op, &digest).is_applied(&asset.ops)? {
        return Ok(asset);
    }
    Err(OtherInput.into())
}

async fn there(app: &App, id: &str) -> Result<AssetDocument, Stop<ReplaceAssetResult>> {
    let asset = store::find(app, id).await?.filter(|asset| asset.whole().is_some());
    asset.ok_or_else(|| not_found(id).into())
}
