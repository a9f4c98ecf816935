//! Puts a file at a path: creates an asset, or replaces the file of the existing one.

use super::{
    super::{
        documents::AssetDocument,
        store::{self, Expected},
        types::{AssetConflict, UploadAssetInput},
    },
    upload::{create, replace},
};
use crate::graphql::{codes::Coded, prelude::*, refusals::AnyRefusal, upload::Incoming};

const UNEXPECTED: &str = "If-Match or If-None-Match doesn't hold for the file at this path";

/// Puts a file at the path of a slug in a folder or gallery; `/` is the root. Returns the asset, and whether it
/// was created. The refusal `Conflict` means that the path doesn't hold what was expected.
pub async fn put(
    cx: Cx<'_>,
    parent: &str,
    slug: Slug,
    expected: Expected,
    incoming: Incoming,
) -> Result<(AssetDocument, bool), Stop<AnyRefusal>> {
    let parent = if parent == TOP {
        None
    } else {
        let found = store::find_parent_by_path(&cx, parent).await?;
        Some(found.ok_or_else(|| NotFound::new("folder or gallery", parent))?.id)
    };
    let found = store::find_slug(&cx, parent.as_deref(), &slug).await?;
    let found = found.filter(|found| found.visible_file().is_some());
    if !expected.is(found.as_ref()) {
        return Err(Conflict::because(UNEXPECTED, None).into());
    }
    let op = cx.ids().op(&[], None, &slug);
    let is_new = found.is_none();
    let put = if let Some(asset) = found {
        replace(cx, &asset.id, &expected, &op, false, incoming).await
    } else {
        let (parent_id, slug) = (parent.map(ID), Some(slug));
        let input = UploadAssetInput { parent_id, slug, ..UploadAssetInput::default() };
        create(cx, input, &op, incoming).await
    };
    // The first three refusals mean that the path has changed since it was read.
    Err(match put {
        Ok(asset) => return Ok((asset, is_new)),
        Err(Stop::Refused(AnyRefusal { code: AlreadyExists::CODE, .. })) => InUse::because(
            "another asset was put at this path at the same time; send the file again",
        )
        .into(),
        Err(Stop::Refused(AnyRefusal { code: NotFound::CODE, .. })) if !is_new => {
            InUse::because("the asset was deleted at the same time; send the file again").into()
        }
        Err(Stop::Refused(AnyRefusal { code: AssetConflict::CODE, .. })) => {
            Conflict::because(UNEXPECTED, None).into()
        }
        Err(stop) => stop,
    })
}
