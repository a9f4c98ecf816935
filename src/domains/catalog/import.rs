//! Bulk import of products: `docgate import products`, and seeding.
//!
//! Each line is one JSON object in the form of `createProduct`'s input, with categories by path:
//!
//! ```json
//! {"sku": "kob-1", "categories": ["/music/jazz"],
//!  "pricing": {"list": 1999, "retail": 1499, "currency": "EUR"},
//!  "content": {"title": "Kind of Blue", "language": "en", "issueDate": "1959-08-17",
//!              "shipping": {"weight": 110},
//!              "details": {"album": {"genres": ["Jazz"], "tracks": [{"title": "So What"}]}}}}
//! ```
//!
//! If the SKU exists, a line replaces content, price and categories. It replaces the contributors and the images too if it has
//! them. A line with a `slug` sets it. A line with `variants`, each in the form of `addVariant`'s input, adds them or changes
//! those that the product has. The product's other variants stay, and so does an image of a variant that the line doesn't name.
//! A line may be imported repeatedly.

mod checks;
mod images;
mod references;

use std::collections::BTreeSet;

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};

use super::{
    documents::{Content, Pricing, Variant, product_sku},
    operations::{finish_all, import_variants, set_slug},
    store::{self, Imported},
    types::{self, AddVariantInput, PricingInput, ProductContentInput},
};
use crate::{
    domains::images::ImageInput,
    graphql::{
        declared::{each, valid},
        prelude::*,
        refusals::AnyRefusal,
    },
};

pub use checks::{Earlier, check};
pub use references::ImportContributor;
use references::{Found, named};

/// One line of the import.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ImportProduct {
    pub sku: String,
    pub content: ProductContentInput,
    pub pricing: PricingInput,
    /// Paths of its categories, at most 20.
    #[serde(default)]
    pub categories: Vec<String>,
    /// Contributors, at most 100. If absent, those of the product stay.
    #[serde(default)]
    pub contributors: Option<Vec<ImportContributor>>,
    /// Slug for the product's URL. If absent, that of the product stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    /// All images of the product, in order, at most 20. If absent, those of the product stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<ImageInput>>,
    /// Variants to add or to change, at most 100. Those that the line doesn't have stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variants: Option<Vec<AddVariantInput>>,
}

/// Why a line was refused.
#[derive(Debug)]
pub struct Refused {
    /// The field with the fault, and the reason.
    pub fault: InvalidInput,
    /// Whether the product is imported without the field.
    pub is_in_part: bool,
}

impl Refused {
    /// The product is imported without the field.
    fn in_part(fault: InvalidInput) -> Self {
        Self { fault, is_in_part: true }
    }
}

impl From<InvalidInput> for Refused {
    /// Nothing of the line is imported.
    fn from(fault: InvalidInput) -> Self {
        Self { fault, is_in_part: false }
    }
}

/// Number of products per command.
const BATCH: usize = 250;
/// Number of products whose slugs, images or variants are set at the same time.
const LINES_AT_ONCE: usize = 16;

/// Imports `lines`. Returns for each of them, in their order, why it was refused.
///
/// # Errors
/// Some of the lines may have been imported. Import them again.
pub async fn import(app: &App, lines: &[ImportProduct]) -> Result<Vec<Result<(), Refused>>> {
    let mut answers = Vec::with_capacity(lines.len());
    for batch in lines.chunks(BATCH) {
        answers.extend(import_batch(app, batch).await?);
    }
    Ok(answers)
}

async fn import_batch(app: &App, lines: &[ImportProduct]) -> Result<Vec<Result<(), Refused>>> {
    let (paths, people) = named(lines);
    let mut found = Found::read(app, lines, &paths, &people).await?;
    let mut sound = Vec::new();
    let each = |line| checked(app, line, &mut found).map(|product| sound.push(product));
    let mut answers: Vec<_> =
        lines.iter().map(each).map(|answer| answer.map_err(Refused::from)).collect();
    let token = app.ids().random();
    let refused = send(app, &sound, &token).await?;
    let sent = answers.iter_mut().filter(|answer| answer.is_ok()).zip(&sound).enumerate();
    for (_, (answer, product)) in sent.filter(|(position, _)| refused.contains(position)) {
        *answer = Err(why_refused(app, product).await?.into());
    }
    let renamed = sound.iter().filter(|product| product.contributors.is_some());
    let renamed: Vec<String> = renamed.map(|product| product.sku.clone()).collect();
    let skus: Vec<String> = sound.into_iter().map(|product| product.sku).collect();
    // Who was credited before isn't compared.
    if Found::read(app, &[], &paths, &people).await?.is_same_as(&found) {
        store::unmark_all(app, &skus, &renamed, &token).await?;
    }
    // Corrects copies that became stale meanwhile, and writes the works that are due.
    finish_all(app, &skus).await?;
    set_rest(app, lines, &mut answers).await?;
    Ok(answers)
}

/// Writes the products. Returns the positions of those that were refused.
///
/// An insert is also refused if another caller has inserted the product at the same moment. Then the product is there, so
/// what was refused is sent once more, with all lines of the same SKU, of which the last one stays.
async fn send(app: &App, products: &[Imported], token: &str) -> Result<Vec<usize>> {
    let refused = store::import(app, products, token).await?;
    if refused.is_empty() {
        return Ok(refused);
    }
    let skus: BTreeSet<&str> = refused.iter().map(|at| products[*at].sku.as_str()).collect();
    let again = products.iter().enumerate();
    let (places, again): (Vec<usize>, Vec<Imported>) = again
        .filter(|(_, product)| skus.contains(product.sku.as_str()))
        .map(|(at, product)| (at, product.clone()))
        .unzip();
    let refused = store::import(app, &again, token).await?;
    Ok(refused.into_iter().map(|at| places[at]).collect())
}

/// Why a product wasn't written, also when it was sent again.
async fn why_refused(app: &App, imported: &Imported) -> Result<InvalidInput> {
    let changed = || {
        let reason = "is that of a product which was changed at the same time; import it again";
        InvalidInput::new("sku", reason)
    };
    let product = store::products(app).get_settled(&imported.sku).await?;
    Ok(match product {
        Some(product) if product.deleted_at.is_some() => is_being_removed(),
        Some(product) => misfit(product.pricing.currency, &product.variants, &imported.pricing)
            .unwrap_or_else(changed),
        None => changed(),
    })
}

/// The refusal of a product that is being removed.
fn is_being_removed() -> InvalidInput {
    let reason = "is that of a product which is being removed; import it again in a minute";
    InvalidInput::new("sku", reason)
}

/// Why a product with this currency and these variants doesn't take new prices; see [`store::import`].
fn misfit(currency: CurrencyCode, variants: &[Variant], pricing: &Pricing) -> Option<InvalidInput> {
    if variants.iter().any(|variant| pricing.retail < -variant.difference) {
        let reason = "would be less than what a variant costs less than the product";
        return Some(InvalidInput::new("pricing.retail", reason));
    }
    if currency != pricing.currency && variants.iter().any(|variant| variant.difference != 0) {
        let reason =
            "is another than that of the variants' price differences: set these to 0 first";
        return Some(InvalidInput::new("pricing.currency", reason));
    }
    None
}

/// Sets the slugs, the images and the variants of the lines that were imported. If one of these is refused, the line is answered
/// with the first refusal, and the rest of it stays imported. Lines that have a SKU or a slug in common come one after the other, in their
/// order.
async fn set_rest(
    app: &App,
    lines: &[ImportProduct],
    answers: &mut [Result<(), Refused>],
) -> Result<()> {
    let skus = repeated(lines.iter().map(|line| line.sku.as_str()));
    let slugs = repeated(lines.iter().filter_map(|line| Some(line.slug.as_ref()?.as_str())));
    let is_repeated = |line: &ImportProduct| {
        skus.contains(line.sku.as_str())
            || line.slug.as_ref().is_some_and(|slug| slugs.contains(slug.as_str()))
    };
    let has_rest = |line: &ImportProduct| {
        line.slug.is_some() || line.images.is_some() || line.variants.is_some()
    };
    let imported =
        lines.iter().zip(answers).filter(|(line, answer)| answer.is_ok() && has_rest(line));
    let (in_order, apart): (Vec<_>, Vec<_>) = imported.partition(|(line, _)| is_repeated(line));
    let groups = std::iter::once(in_order).chain(apart.into_iter().map(|one| vec![one]));
    stream::iter(groups)
        .map(Ok)
        .try_for_each_concurrent(LINES_AT_ONCE, async |group| {
            for (line, answer) in group {
                let slug = set_slug_of(app, line).await?;
                // Variants show images of the product, so these come first.
                let images = images::set(app, line).await?;
                let variants = set_variants_of(app, line).await?;
                *answer = slug.and(images).and(variants).map_err(Refused::in_part);
            }
            Ok(())
        })
        .await
}

/// Those of the names that are there more than once.
fn repeated<'a>(names: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    names.filter(|name| !seen.insert(*name)).collect()
}

/// Sets the slug of a line, if it has one, and returns its refusal.
async fn set_slug_of(app: &App, line: &ImportProduct) -> Result<Result<(), InvalidInput>> {
    let Some(slug) = &line.slug else { return Ok(Ok(())) };
    match set_slug::<AnyRefusal>(app, &line.sku, Some(slug)).await {
        Ok(_) => Ok(Ok(())),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Refused(refusal)) => Ok(Err(InvalidInput::new("slug", refusal.message))),
    }
}

/// Adds and changes the variants of a line, and returns the first refusal.
async fn set_variants_of(app: &App, line: &ImportProduct) -> Result<Result<(), InvalidInput>> {
    let Ok(variants) = variants(line) else { return Ok(Ok(())) };
    if variants.is_empty() {
        return Ok(Ok(()));
    }
    match import_variants(app, &line.sku, &variants).await {
        Ok(()) => Ok(Ok(())),
        Err(Stop::Failed(error)) => Err(error),
        Err(Stop::Refused(invalid)) => Ok(Err(invalid)),
    }
}

/// The variants of a line, checked: they are of its product, and each has a SKU of its own.
fn variants(line: &ImportProduct) -> Result<Vec<AddVariantInput>, InvalidInput> {
    let mut variants = line.variants.clone().unwrap_or_default();
    each(store::VARIANTS, valid)("variants", &mut variants)?;
    let mut skus = BTreeSet::new();
    for (at, variant) in variants.iter().enumerate() {
        let invalid = |reason| Err(InvalidInput::new(&format!("variants.{at}.sku"), reason));
        if product_sku(&variant.sku) != line.sku {
            return invalid("doesn't begin with the SKU of the product and a dot");
        }
        if !skus.insert(variant.sku.as_str()) {
            return invalid("is that of an earlier variant of the line");
        }
    }
    Ok(variants)
}

fn checked(app: &App, line: &ImportProduct, found: &mut Found) -> Result<Imported, InvalidInput> {
    let sku = input::key("sku", &line.sku)?;
    let (mut content, mut pricing) = (line.content.clone(), line.pricing.clone());
    types::content("content", &mut content)?;
    types::pricing("pricing", &mut pricing)?;
    images::stored(line)?;
    variants(line)?;
    let contributors = line.contributors.as_deref();
    Ok(Imported {
        sku,
        content: Content::of(app, content),
        pricing: Pricing::from(pricing),
        categories: found.categories(&line.categories)?,
        contributors: contributors.map(|lines| found.contributors(&line.sku, lines)).transpose()?,
        origin: Op::digest(line),
    })
}
