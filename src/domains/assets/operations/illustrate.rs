//! Sets the images of documents of other rooms.

use super::super::types::{SetImagesInput, SetImagesResult, ShownImages};
use crate::{
    domains::images::{self, Illustrated},
    graphql::prelude::*,
};

/// Replaces all images of a product, person or category. A repeat changes nothing.
pub async fn set_images(cx: Cx<'_>, input: SetImagesInput) -> Answer<SetImagesResult> {
    let SetImagesInput { subject_id, images } = input.checked()?.into_inner();
    let missing = || NotFound::given("product, person or category", &subject_id);
    let (of, key) = Illustrated::of(cx.config(), &subject_id).ok_or_else(missing)?;
    let images = images::stored(&images);
    images::check(cx, &images).await?;
    if !images::set(&cx, of, &key, &images).await? {
        return Err(NotFound::of(of.kind, &key).into());
    }
    Ok(ShownImages { subject_id, images })
}
