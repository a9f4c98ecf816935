//! Imports the variants in the lines of an import, or checks them for `--dry-run`.

use async_graphql::MaybeUndefined;

use super::{
    super::{
        documents::{ProductDocument, Variant},
        store::{NotChanged, VARIANTS, products},
        types::AddVariantInput,
    },
    variants::{add, difference, stored_options, unfit, update},
};
use crate::{domains::images::ImageRef, graphql::prelude::*};

/// A variant of a line, with its position.
type Placed<'a> = (usize, &'a AddVariantInput);

/// The refusal of a variant, as a fault of one of its fields.
struct Fault(InvalidInput);

impl From<InvalidInput> for Fault {
    fn from(refusal: InvalidInput) -> Self {
        Self(refusal)
    }
}

impl From<NotFound> for Fault {
    fn from(refusal: NotFound) -> Self {
        Self(InvalidInput::new("sku", refusal.message))
    }
}

impl From<AlreadyExists> for Fault {
    fn from(refusal: AlreadyExists) -> Self {
        Self(InvalidInput::new("sku", refusal.message))
    }
}

impl From<Conflict> for Fault {
    fn from(refusal: Conflict) -> Self {
        Self(InvalidInput::new("sku", refusal.message))
    }
}

/// Adds or changes checked variants of a product. Its other variants stay. It may be repeated. If some are refused, the others
/// are imported, and the first refusal is returned, with the field of the line.
pub(in super::super) async fn import_variants(
    app: &App,
    sku: &str,
    variants: &[AddVariantInput],
) -> Result<(), Stop<InvalidInput>> {
    let all: Vec<Placed<'_>> = variants.iter().enumerate().collect();
    let mut refused = import_each(app, sku, &all).await?;
    // A variant may take the options that a later one of the line gives away.
    if !refused.is_empty() && refused.len() < all.len() {
        let again: Vec<_> = refused.into_iter().map(|(placed, _)| placed).collect();
        refused = import_each(app, sku, &again).await?;
    }
    match refused.into_iter().next() {
        Some(((at, _), Fault(refusal))) => Err(placed(at, refusal).into()),
        None => Ok(()),
    }
}

/// The refusal of the variant at this position of a line.
fn placed(at: usize, refusal: InvalidInput) -> InvalidInput {
    refusal.below(&format!("variants.{at}"))
}

/// Imports variants one by one. Returns those that were refused.
async fn import_each<'a>(
    app: &App,
    sku: &str,
    variants: &[Placed<'a>],
) -> Result<Vec<(Placed<'a>, Fault)>> {
    let product: Option<ProductDocument> = products(app).get_settled(sku).await?;
    let mut refused = Vec::new();
    for (at, variant) in variants {
        let imported = match &product {
            Some(product) => import_variant(app, product, variant).await,
            None => Err(NotFound::new("product", sku).into()),
        };
        match imported {
            Ok(()) => {}
            Err(Stop::Refused(fault)) => refused.push(((*at, *variant), fault)),
            Err(Stop::Failed(error)) => return Err(error),
        }
    }
    Ok(refused)
}

async fn import_variant(
    app: &App,
    product: &ProductDocument,
    variant: &AddVariantInput,
) -> Result<(), Stop<Fault>> {
    let AddVariantInput { sku, options, price_difference, image_id } = variant;
    let (options, difference) = (stored_options(options.clone()), difference(*price_difference));
    match product.variants.iter().find(|own| own.sku == **sku) {
        Some(own) if is_same(own, variant) => {}
        Some(own) => {
            let image = image_id.clone().map_or(MaybeUndefined::Undefined, MaybeUndefined::Value);
            update::<Fault>(app, sku, &own.version, &options, difference, &image).await?;
        }
        None => {
            let origin = Op::digest(variant);
            let image = image_id.as_ref().map(|image| image.0.clone());
            add::<Fault>(app, sku, options, difference, image, origin).await?;
        }
    }
    Ok(())
}

/// Whether an import of the variant would change nothing. Without an image in the line, that of the variant stays.
fn is_same(own: &Variant, line: &AddVariantInput) -> bool {
    let image = line.image_id.as_ref().map(|image| image.0.as_str());
    own.options == stored_options(line.options.clone())
        && own.difference == difference(line.price_difference)
        && (image.is_none() || image == own.image.as_deref())
}

/// Checks that a product with these stored variants and images takes the variants of a line at this retail price, as
/// [`import_variants`] does.
pub(in super::super) fn check_variants(
    stored: &[Variant],
    images: &[ImageRef],
    retail: i64,
    variants: &[AddVariantInput],
) -> Result<(), InvalidInput> {
    let is_new = |(_, line): &Placed<'_>| {
        !stored.iter().any(|own| own.sku == *line.sku && is_same(own, line))
    };
    let values_of = |own: &Variant| Variant::values_of(&own.options);
    let mut values: Vec<(&str, Vec<String>)> =
        stored.iter().map(|own| (own.sku.as_str(), values_of(own))).collect();
    let has_image = |image: &str| images.iter().any(|own| own.asset_id == image);
    let all: Vec<Placed<'_>> = variants.iter().enumerate().filter(is_new).collect();
    let mut refused = refused_of(&mut values, retail, has_image, &all);
    // A variant may take the options that a later one of the line gives away.
    if !refused.is_empty() && refused.len() < all.len() {
        let again: Vec<_> = refused.into_iter().map(|(placed, _)| placed).collect();
        refused = refused_of(&mut values, retail, has_image, &again);
    }
    match refused.into_iter().next() {
        Some(((at, _), reason)) => Err(placed(at, unfit(reason))),
        None => Ok(()),
    }
}

/// Those of a line's variants that a product doesn't take. The others change `values`, those of the options of its
/// variants by SKU.
fn refused_of<'a>(
    values: &mut Vec<(&'a str, Vec<String>)>,
    retail: i64,
    has_image: impl Fn(&str) -> bool,
    variants: &[Placed<'a>],
) -> Vec<(Placed<'a>, NotChanged)> {
    let mut refused = Vec::new();
    for (at, line) in variants {
        let mut refuse = |reason| refused.push(((*at, *line), reason));
        let own = Variant::values_of(&stored_options(line.options.clone()));
        let place = values.iter().position(|(sku, _)| *sku == *line.sku);
        if values.iter().any(|(sku, other)| *other == own && *sku != *line.sku) {
            refuse(NotChanged::SameOptions);
        } else if place.is_none() && values.len() >= VARIANTS {
            refuse(NotChanged::FullVariants);
        } else if retail.saturating_add(difference(line.price_difference)) < 0 {
            refuse(NotChanged::Underpriced);
        } else if line.image_id.as_ref().is_some_and(|image| !has_image(image)) {
            refuse(NotChanged::NoSuchImage);
        } else {
            match place {
                Some(place) => values[place].1 = own,
                None => values.push((&line.sku, own)),
            }
        }
    }
    refused
}
