//! Variants of products: adding and changing them, and reading products by their SKUs.
//!
//! A variant is an element of its product's document, so each change is one update of it. A variant is deleted as a product
//! is: its stock decides, and [`remove_variant`] follows.

use async_graphql::MaybeUndefined;

use super::{
    super::{
        documents::{Variant, VariantOption, is_variant, product_sku},
        store::{self, NotChanged, VARIANTS, products},
        types::{
            AddVariantInput, AddVariantResult, ProductVariant, UpdateVariantInput,
            UpdateVariantResult, VariantOptionInput,
        },
        view::StoredProduct,
    },
    Changed,
    follow::write,
};
use crate::{graphql::prelude::*, mongo::lazy_document::Owned};

/// Adds a variant to its product. A repeat of the call returns the product.
pub async fn add_variant(cx: Cx<'_>, input: AddVariantInput) -> Changed<AddVariantResult> {
    let input = input.checked()?;
    let origin = Op::digest(&*input);
    let AddVariantInput { sku, options, price_difference, image_id } = input.into_inner();
    let (options, difference) = (stored_options(options), difference(price_difference));
    add(&cx, &sku, options, difference, image_id.map(|image| image.0), origin).await
}

/// Replaces options, price difference and image of a variant, guarded by the version that the client read. An image that the
/// input leaves out stays.
pub async fn update_variant(cx: Cx<'_>, input: UpdateVariantInput) -> Changed<UpdateVariantResult> {
    let UpdateVariantInput { sku, version, options, price_difference, image_id } =
        input.checked()?.into_inner();
    let (options, difference) = (stored_options(options), difference(price_difference));
    update(&cx, &sku, &version, &options, difference, &image_id).await
}

pub(super) async fn add<U>(
    app: &App,
    sku: &str,
    options: Vec<VariantOption>,
    difference: i64,
    image: Option<String>,
    origin: String,
) -> Changed<U>
where
    U: From<AlreadyExists> + From<InvalidInput> + From<NotFound>,
{
    let variant = Variant {
        sku: sku.to_owned(),
        generation: app.ids().random(),
        title: Variant::title_of(&options),
        options,
        difference,
        image,
        version: app.ids().random(),
        origin,
    };
    let attempt = app.begin().await?;
    let change = store::add_variant(&variant);
    let (reason, product) = match write(app, &attempt, product_sku(sku), change).await? {
        Ok(product) => return Ok(product),
        Err(refused) => refused,
    };
    if reason != NotChanged::HasVariant {
        return Err(unfit(reason).into());
    }
    let is_same = |own: &Variant| own.sku == sku && own.origin == variant.origin;
    if product.variants.iter().any(is_same) {
        return Ok(product);
    }
    Err(AlreadyExists::new("variant", sku).into())
}

pub(super) async fn update<U>(
    app: &App,
    sku: &str,
    version: &str,
    options: &[VariantOption],
    difference: i64,
    image: &MaybeUndefined<ID>,
) -> Changed<U>
where
    U: From<Conflict> + From<InvalidInput> + From<NotFound>,
{
    // The next version is derived from this one and the content, so it identifies a repeat.
    let content = match image {
        MaybeUndefined::Undefined => Op::digest(&(options, difference)),
        image => Op::digest(&(options, difference, image)),
    };
    let next = app.ids().derived(&["variant", sku, version, &content]);
    let attempt = app.begin().await?;
    let change = store::update_variant(sku, version, &next, options, difference, image);
    let (reason, product) = match write(app, &attempt, product_sku(sku), change).await? {
        Ok(product) => return Ok(product),
        Err(refused) => refused,
    };
    if reason != NotChanged::OtherVersion {
        return Err(unfit(reason).into());
    }
    match product.variants.iter().find(|own| own.sku == sku) {
        Some(own) if own.version == next => Ok(product),
        Some(own) => Err(Conflict::stale_version(own.version.clone()).into()),
        None => Err(NotFound::new("variant", sku).into()),
    }
}

/// The refusal of a variant that doesn't fit its product.
pub(super) fn unfit(reason: NotChanged) -> InvalidInput {
    match reason {
        NotChanged::FullVariants => {
            InvalidInput::new("sku", format!("the product has {VARIANTS} variants already"))
        }
        NotChanged::Underpriced => {
            InvalidInput::new("priceDifference", "would make the variant cost less than nothing")
        }
        NotChanged::NoSuchImage => {
            InvalidInput::new("imageId", "isn't the asset of one of the product's images")
        }
        _ => InvalidInput::new("options", "are those of another variant of the product"),
    }
}

pub(super) fn stored_options(options: Vec<VariantOptionInput>) -> Vec<VariantOption> {
    let option = |VariantOptionInput { name, value }| VariantOption { name, value };
    options.into_iter().map(option).collect()
}

pub(super) fn difference(given: Option<Long>) -> i64 {
    given.map_or(0, |Long(difference)| difference)
}

/// The product with this SKU, or the product that has a variant with it, unless it was deleted.
pub async fn product_selling(app: &App, sku: &str) -> Result<Option<StoredProduct>> {
    let Some(product) = super::product(app, product_sku(sku)).await? else { return Ok(None) };
    let is_sold = !is_variant(sku) || variant_in(&product, sku)?.is_some();
    Ok(is_sold.then_some(product))
}

/// The variant with this SKU, unless it was deleted.
pub async fn variant(app: &App, sku: &str) -> Result<Option<ProductVariant>> {
    if !is_variant(sku) {
        return Ok(None);
    }
    let Some(product) = super::product(app, product_sku(sku)).await? else { return Ok(None) };
    let found = variant_in(&product, sku)?;
    found.map(|variant| ProductVariant::of(variant, product.get())).transpose()
}

/// Generation of the product or the variant with this SKU, unless it was deleted.
pub async fn generation_on_sale(app: &App, sku: &str) -> Result<Option<String>> {
    let Some(product) = super::product(app, product_sku(sku)).await? else { return Ok(None) };
    if !is_variant(sku) {
        return Ok(Some(product.get().generation.to_owned()));
    }
    Ok(variant_in(&product, sku)?.map(|variant| variant.generation))
}

fn variant_in(product: &StoredProduct, sku: &str) -> Result<Option<Variant>> {
    let variants = product.get().variants.get()?;
    Ok(variants.into_iter().map(|Owned(variant)| variant).find(|variant| variant.sku == sku))
}

/// Removes this generation of a variant. If it is already gone, nothing changes.
///
/// # Errors
/// The outcome is unknown, or the attempt is over: repeat the call.
pub async fn remove_variant(
    app: &App,
    sku: &str,
    generation: &str,
    attempt: &Attempt,
) -> Result<()> {
    products(app).write(&store::remove_variant(sku, generation), attempt).await.map(|_verdict| ())
}
