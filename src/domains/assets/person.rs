//! The personal data in the collections of this room. An erasure also removes the person's files.

use super::{documents::AssetDocument, operations::delete_asset, types::DeleteAssetInput};
use crate::{
    domains::{
        comments,
        persons::{self, Erasing},
    },
    graphql::prelude::*,
    mongo::personal::{Blank, Field, Find, Personal},
};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::of(
        "assetEntries",
        Find::Walk,
        &[Field::blanks("metadata.author.id", &[("name", Blank::Pseudonym)])],
    ),
    Personal::copies("assetEntries", Find::Walk, comments::EMBEDDED),
    Personal::nothing("assets.files", "contents of files; `assetEntries` says whose they are"),
    Personal::nothing("assets.chunks", "contents of files"),
];

/// Deletes the files that the person has uploaded, unless they are to be kept.
pub(super) async fn erase(app: &App, erasing: &mut Erasing) -> Result<()> {
    if erasing.keeps_files {
        return Ok(());
    }
    let requester = erasing.requester.clone();
    for id in persons::ids(app, "assetEntries", "metadata.author.id", &erasing.subject).await? {
        let asset = app.collection::<AssetDocument>().get_settled(&id).await?;
        if asset.is_none_or(|asset| asset.deleting.is_some() || asset.deleted_at.is_some()) {
            continue;
        }
        let cx = Cx { app, requester: &requester };
        let input = DeleteAssetInput { asset_id: NodeKind::ASSET.id(&id), version: None };
        match delete_asset(cx, input).await {
            Ok(_) => erasing.ends("files"),
            Err(Stop::Failed(error)) => return Err(error),
            // Nobody sees it: its first upload isn't complete.
            Err(Stop::Refused(_)) => erasing.waits.push("a file is being uploaded".to_owned()),
        }
    }
    Ok(())
}
