//! Present and former paths of assets, and their descriptions.

use super::{super::documents::AssetDocument, assets};
use crate::{
    app::App,
    error::Result,
    mongo::{collection::Timed, prelude::*},
};

/// Maximum number of former paths.
const FORMER: i32 = 20;
/// The fields that a lookup by path uses.
const PATHS: &[&str] = &["metadata.path", "former.path"];

/// Assets that have this path or had it before.
pub(crate) async fn find_by_path(app: &App, path: &str) -> Result<Vec<Timed<AssetDocument>>> {
    assets(app).find_timed(PATHS, path).await
}

/// Expression of the former paths of an asset that gets the path `path`, an expression. A path that no reader has seen, and
/// the new one, aren't among them.
pub(super) fn with_left(path: &Document) -> Bson {
    let left = whole(doc! { "path": "$metadata.path", "until": "$$NOW" });
    let is_other = doc! { "$not": [{ "$in": ["$$this.path", ["$metadata.path", path]] }] };
    let others = filter(array("former"), is_other);
    let former = doc! { "$slice": [{ "$concatArrays": [[left], others] }, FORMER] };
    let is_moved = doc! { "$and": [
        { "$ne": ["$metadata.path", path] }, { "$not": [is_missing("file")] },
    ] };
    choose(is_moved, former, "$former")
}

/// Expression of a text, or of no field if it is empty.
pub(super) fn or_nothing(text: &str) -> Bson {
    if text.is_empty() { "$$REMOVE".into() } else { literal(text) }
}
