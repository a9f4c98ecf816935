//! Sets the images of products that the lines of an import name.

use std::slice;

use super::{
    super::{ILLUSTRATED, store::products},
    ImportProduct,
};
use crate::{
    domains::images::{self, IMAGES, ImageRef},
    graphql::{
        declared::{each, valid},
        prelude::*,
        refusals::AnyRefusal,
    },
    join::try_join_all,
};

/// The images of a line as a product stores them; none if the line doesn't have the field.
pub(super) fn stored(line: &ImportProduct) -> Result<Option<Vec<ImageRef>>, InvalidInput> {
    let Some(mut images) = line.images.clone() else { return Ok(None) };
    each(IMAGES, valid)("images", &mut images)?;
    Ok(Some(images::stored(&images)))
}

/// Checks that the assets of a product's new images are pictures, and returns the refusal of the first one that isn't. Images
/// that the product has already aren't checked: their assets may have been deleted, and an import of an export changes
/// nothing. The operator who imports may see all assets.
pub(super) async fn check(
    app: &App,
    own: &[ImageRef],
    images: &[ImageRef],
) -> Result<Result<(), InvalidInput>> {
    let requester = Requester { roles: vec![Role::Admin], ..Requester::default() };
    let cx = Cx { app, requester: &requester };
    let is_new = |image: &ImageRef| !own.iter().any(|own| own.asset_id == image.asset_id);
    let new = images.iter().enumerate().filter(|(_, image)| is_new(image));
    let checked = new.map(|(at, image)| async move {
        match images::check::<AnyRefusal>(cx, slice::from_ref(image)).await {
            Ok(()) => Ok(None),
            Err(Stop::Failed(error)) => Err(error),
            Err(Stop::Refused(refusal)) => {
                Ok(Some(InvalidInput::new(&format!("images.{at}.assetId"), refusal.message)))
            }
        }
    });
    Ok(try_join_all(checked).await?.into_iter().flatten().next().map_or(Ok(()), Err))
}

/// Sets the images of a line that was imported, if it has them, and returns its refusal. A repeat changes nothing.
pub(super) async fn set(app: &App, line: &ImportProduct) -> Result<Result<(), InvalidInput>> {
    let Ok(Some(images)) = stored(line) else { return Ok(Ok(())) };
    let product = products(app).get_settled(&line.sku).await?;
    let own = product.and_then(|product| product.images).unwrap_or_default();
    if own == images {
        return Ok(Ok(()));
    }
    if let Err(refusal) = check(app, &own, &images).await? {
        return Ok(Err(refusal));
    }
    let is_set = images::set(app, &ILLUSTRATED, &line.sku, &images).await?;
    let missing = || InvalidInput::new("sku", NotFound::new("product", &line.sku).message);
    Ok(is_set.then_some(()).ok_or_else(missing))
}
