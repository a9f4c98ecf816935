//! Assets by path: the old path of an asset leads to the new one, as for content.

use super::{
    super::{documents::AssetDocument, store},
    may_read,
};
use crate::graphql::prelude::*;

/// The asset that has the path, or else the one that had it last, if the caller may read it. `path` is checked.
///
/// # Errors
/// `Unavailable` or `Internal`: the read failed.
pub async fn at_path(cx: Cx<'_>, path: &str) -> Result<Option<AssetDocument>> {
    let found = store::find_by_path(&cx, path).await?.into_iter();
    let seen = found.filter(|found| may_read(cx, found.now, &found.document));
    let seen = seen.map(|found| found.document);
    // If several have it, which doesn't last long, the one that got it last.
    let best =
        seen.max_by_key(|asset| (asset.metadata.path == path, asset.left(path), asset.parent_cv));
    Ok(best.map(|asset| {
        let redirected_from = (asset.metadata.path != path).then(|| path.to_owned());
        AssetDocument { redirected_from, ..asset }
    }))
}
