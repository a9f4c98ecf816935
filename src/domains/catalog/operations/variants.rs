//! Variants of products: adding and changing them, and reading products by their SKUs.
//!
//! A variant is an element of its product's document, so each change is one update of it. A variant is deleted as a product
//! is: its stock decides, and [`remove_variant`] follows.

use super::{
    super::{
        documents::{ProductDocument, Variant, VariantOption, is_variant, product_sku},
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
use crate::{
    graphql::{prelude::*, refusals::AnyRefusal},
    mongo::lazy_document::Owned,
};

/// Adds a variant to its product. A repeat of the call returns the product.
pub async fn add_variant(cx: Cx<'_>, input: AddVariantInput) -> Changed<AddVariantResult> {
    let input = input.checked()?;
    let origin = cx.op(&["addVariant"], None, &*input).input;
    let AddVariantInput { sku, options, price_difference } = input.into_inner();
    add(&cx, &sku, stored_options(options), difference(price_difference), origin).await
}

/// Replaces options and price difference of a variant, guarded by the version that the client read.
pub async fn update_variant(cx: Cx<'_>, input: UpdateVariantInput) -> Changed<UpdateVariantResult> {
    let UpdateVariantInput { sku, version, options, price_difference } =
        input.checked()?.into_inner();
    let (options, difference) = (stored_options(options), difference(price_difference));
    update(&cx, &sku, &version, &options, difference).await
}

async fn add<U>(
    app: &App,
    sku: &str,
    options: Vec<VariantOption>,
    difference: i64,
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

async fn update<U>(
    app: &App,
    sku: &str,
    version: &str,
    options: &[VariantOption],
    difference: i64,
) -> Changed<U>
where
    U: From<Conflict> + From<InvalidInput> + From<NotFound>,
{
    // The next version is derived from this one and the content, so it identifies a repeat.
    let content = app.ids().op(&["updateVariant"], None, &(options, difference)).input;
    let next = app.ids().derived(&["variant", sku, version, &content]);
    let attempt = app.begin().await?;
    let change = store::update_variant(sku, version, &next, options, difference);
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
fn unfit(reason: NotChanged) -> InvalidInput {
    match reason {
        NotChanged::FullVariants => {
            InvalidInput::new("sku", format!("the product has {VARIANTS} variants already"))
        }
        NotChanged::Underpriced => {
            InvalidInput::new("priceDifference", "would make the variant cost less than nothing")
        }
        _ => InvalidInput::new("options", "are those of another variant of the product"),
    }
}

fn stored_options(options: Vec<VariantOptionInput>) -> Vec<VariantOption> {
    let option = |VariantOptionInput { name, value }| VariantOption { name, value };
    options.into_iter().map(option).collect()
}

fn difference(given: Option<Long>) -> i64 {
    given.map_or(0, |Long(difference)| difference)
}

/// Adds or changes checked variants of a product. Its other variants stay. It may be repeated. If some are refused, the others
/// are imported, and the first refusal is returned.
pub(in super::super) async fn import_variants(
    app: &App,
    sku: &str,
    variants: &[AddVariantInput],
) -> Result<(), Stop<AnyRefusal>> {
    let all: Vec<_> = variants.iter().collect();
    let mut refused = import_each(app, sku, &all).await?;
    // A variant may take the options that a later one of the line gives away.
    if !refused.is_empty() && refused.len() < all.len() {
        let again: Vec<_> = refused.into_iter().map(|(variant, _)| variant).collect();
        refused = import_each(app, sku, &again).await?;
    }
    refused.into_iter().next().map_or(Ok(()), |(_, refusal)| Err(Stop::Refused(refusal)))
}

/// Imports variants one by one. Returns those that were refused.
async fn import_each<'a>(
    app: &App,
    sku: &str,
    variants: &[&'a AddVariantInput],
) -> Result<Vec<(&'a AddVariantInput, AnyRefusal)>, Stop<AnyRefusal>> {
    let product: Option<ProductDocument> = products(app).get_settled(sku).await?;
    let product = product.ok_or_else(|| NotFound::new("product", sku))?;
    let mut refused = Vec::new();
    for variant in variants {
        match import_variant(app, &product, variant).await {
            Ok(()) => {}
            Err(Stop::Refused(refusal)) => refused.push((*variant, refusal)),
            Err(failed) => return Err(failed),
        }
    }
    Ok(refused)
}

async fn import_variant(
    app: &App,
    product: &ProductDocument,
    variant: &AddVariantInput,
) -> Result<(), Stop<AnyRefusal>> {
    let sku = &variant.sku;
    let (options, difference) =
        (stored_options(variant.options.clone()), difference(variant.price_difference));
    match product.variants.iter().find(|own| own.sku == **sku) {
        Some(own) if own.options == options && own.difference == difference => {}
        Some(own) => {
            update::<AnyRefusal>(app, sku, &own.version, &options, difference).await?;
        }
        None => {
            let origin = app.ids().op(&["importVariant"], None, variant).input;
            add::<AnyRefusal>(app, sku, options, difference, origin).await?;
        }
    }
    Ok(())
}

/// Checks that a product with these variants and this retail price takes those of a line, as [`import_variants`] does.
pub(in super::super) fn check_variants(
    own: &[Variant],
    retail: i64,
    variants: &[AddVariantInput],
) -> Result<(), InvalidInput> {
    let is_new = |line: &&AddVariantInput| {
        let (options, difference) =
            (stored_options(line.options.clone()), difference(line.price_difference));
        let is_same = |own: &Variant| own.options == options && own.difference == difference;
        !own.iter().any(|own| own.sku == *line.sku && is_same(own))
    };
    let mut titles: Vec<(&str, String)> =
        own.iter().map(|own| (own.sku.as_str(), own.title.clone())).collect();
    let all: Vec<_> = variants.iter().filter(is_new).collect();
    let mut refused = refused_of(&mut titles, retail, &all);
    // A variant may take the options that a later one of the line gives away.
    if !refused.is_empty() && refused.len() < all.len() {
        let again: Vec<_> = refused.into_iter().map(|(line, _)| line).collect();
        refused = refused_of(&mut titles, retail, &again);
    }
    refused.into_iter().next().map_or(Ok(()), |(_, reason)| Err(unfit(reason)))
}

/// Those of a line's variants that a product doesn't take. The others change `titles`, those of its variants by SKU.
fn refused_of<'a>(
    titles: &mut Vec<(&'a str, String)>,
    retail: i64,
    variants: &[&'a AddVariantInput],
) -> Vec<(&'a AddVariantInput, NotChanged)> {
    let mut refused = Vec::new();
    for line in variants {
        let title = Variant::title_of(&stored_options(line.options.clone()));
        let place = titles.iter().position(|(sku, _)| *sku == *line.sku);
        if titles.iter().any(|(sku, other)| *other == title && *sku != *line.sku) {
            refused.push((*line, NotChanged::SameOptions));
        } else if place.is_none() && titles.len() >= VARIANTS {
            refused.push((*line, NotChanged::FullVariants));
        } else if retail.saturating_add(difference(line.price_difference)) < 0 {
            refused.push((*line, NotChanged::Underpriced));
        } else {
            match place {
                Some(place) => titles[place].1 = title,
                None => titles.push((&line.sku, title)),
            }
        }
    }
    refused
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
    Ok(found.map(|variant| ProductVariant::of(variant, product.get().pricing)))
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
