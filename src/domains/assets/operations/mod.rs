//! The rules of assets.

mod blobs;
mod changes;
mod illustrate;
mod media;
mod pictures;
mod put;
mod reads;
mod receive;
mod renditions;
mod reservation;
mod upload;

pub use super::store::{Expected, PhotosBy, is_parent, list_photos as photos};
pub use blobs::bytes;
pub(super) use blobs::discard;
pub(super) use changes::dispose;
pub use changes::{delete_asset, edit_asset, tag_asset, untag_asset};
pub use illustrate::set_images;
pub use put::put;
pub use reads::{asset, asset_by_id, assets, at_path};
pub use renditions::{
    AtWidth, NotRendered, Picture, Pictures, at_width, drop_rendition, picture, pictures, render,
};
pub use upload::{replace_asset, upload_asset};

use super::{documents::AssetDocument, store};
use crate::graphql::prelude::*;

/// What an operation returns that creates or changes an asset.
type Changed<U> = Result<AssetDocument, Stop<U>>;

/// Updates the paths of the assets in a parent; `version` is the version of the new path. It may be repeated,
/// and may run after a later one.
///
/// # Errors
/// `Unavailable` or `Internal`: it has to be repeated.
pub async fn repath(app: &App, parent: &str, path: &str, version: i64) -> Result<u64> {
    store::update_paths(app, parent, path, version, None).await
}

/// The asset, if it is complete and not deleted.
async fn find_visible<U: From<NotFound>>(app: &App, id: &str) -> Changed<U> {
    let asset = store::assets(app).get_settled(id).await?;
    asset.filter(|asset| asset.visible_file().is_some()).ok_or_else(|| not_found(id).into())
}

fn not_found(id: &str) -> NotFound {
    NotFound::of(NodeKind::ASSET, id)
}
