//! Brings assets of earlier versions up to date: the attributes by which their files are found, and the lists of videos.

use super::{
    documents::{AssetDocument, Attribute, FILE},
    store,
};
use crate::graphql::prelude::*;

/// Adds the missing attributes of files. Returns what it added them to.
pub(super) async fn repair(app: &App) -> Result<Vec<String>> {
    let is_of_file = |attribute: &Attribute| attribute.key.starts_with(FILE);
    let mut left = Vec::new();
    let collect = |asset: AssetDocument| {
        if asset.visible_file().is_some() && !asset.attributes.iter().any(is_of_file) {
            left.push(asset.id);
        }
    };
    app.collection().for_each(collect).await?;
    let mut repaired = Vec::new();
    for id in left {
        if store::add_attributes(app, &id).held().await? {
            repaired.push(format!("asset {id:?} is found by its file"));
        }
    }
    Ok(repaired)
}
