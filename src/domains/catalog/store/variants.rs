//! Writes of variants, and the offers that carts copy.

use async_graphql::MaybeUndefined;

use super::{
    super::documents::{Pricing, ProductDocument, Variant, VariantOption, is_variant, product_sku},
    NotChanged, exists,
};
use crate::{graphql::prelude::*, mongo::prelude::*};

/// Maximum number of variants of a product.
pub(in super::super) const VARIANTS: usize = 100;

/// The fields of a product or a variant that a cart copies.
#[derive(Debug, Clone)]
pub struct Offer {
    /// SKU under which it is sold.
    pub sku: String,
    /// Type of the product.
    pub kind: String,
    /// Title of the product.
    pub title: String,
    /// Values of the variant's options; `None` for a product.
    pub variant_title: Option<String>,
    /// Prices of one piece.
    pub pricing: Pricing,
}

document! {
    /// The part of a product that an offer needs.
    struct Offered {
        sku as "_id": String,
        kind as "type": String,
        title: String,
        pricing: Pricing,
        #[serde(default)]
        variants: Vec<Variant>,
        deleted_at?: DateTime,
    } in ProductDocument: ["_id", "type", "title", "pricing", "variants", "deletedAt"];
}

/// The current offer of a product or a variant, unless it was deleted.
pub async fn find_offer(app: &App, sku: &str) -> Result<Option<Offer>> {
    let found = app.collection::<Offered>().get_settled(product_sku(sku)).await?;
    let Some(product) = found.filter(|product| product.deleted_at.is_none()) else {
        return Ok(None);
    };
    let Offered { sku: own, kind, title, pricing, variants, .. } = product;
    if !is_variant(sku) {
        return Ok(Some(Offer { sku: own, kind, title, variant_title: None, pricing }));
    }
    let variant = variants.into_iter().find(|variant| variant.sku == sku);
    Ok(variant.map(|variant| {
        let pricing = variant.pricing(pricing);
        Offer { sku: variant.sku, kind, title, variant_title: Some(variant.title), pricing }
    }))
}

/// Adds a variant that the product doesn't have. A deletion leaves no trace of it in the product, so the write is numbered.
pub(in super::super) fn add_variant(variant: &Variant) -> Change<NotChanged> {
    let Variant { sku, options, difference, image, .. } = variant;
    let mut rules = vec![
        exists(),
        (has_variant([is("sku", sku)]).negated(), NotChanged::HasVariant),
        (has_variant([has_values(options)]).negated(), NotChanged::SameOptions),
        (has_room("variants", count(VARIANTS)), NotChanged::FullVariants),
        costs_something(*difference),
    ];
    rules.extend(image.as_deref().map(has_image));
    let longer = append(array("variants"), vec![literal(stored(variant))]);
    Change::ruled(product_sku(sku), rules, doc! { "variants": longer }).numbered()
}

/// Replaces options, price difference and image of a variant that has this version. An image that is undefined stays.
pub(in super::super) fn update_variant(
    sku: &str,
    version: &str,
    next_version: &str,
    options: &[VariantOption],
    difference: i64,
    image: &MaybeUndefined<ID>,
) -> Change<NotChanged> {
    let title = Variant::title_of(options);
    let is_read = has_variant([is("sku", sku), is("version", version)]);
    let has_another = has_variant([has_values(options), is("sku", sku).negated()]);
    let mut rules = vec![
        exists(),
        (is_read, NotChanged::OtherVersion),
        (has_another.negated(), NotChanged::SameOptions),
        costs_something(difference),
    ];
    let options: Vec<Bson> = options.iter().map(stored).collect();
    let mut changes = doc! {
        "options": literal(options),
        "title": literal(title),
        "difference": difference,
        "version": literal(next_version),
    };
    if let MaybeUndefined::Value(image) = image {
        rules.push(has_image(image));
        changes.insert("image", literal(image.as_str()));
    }
    let mut now = changed(changes);
    if image.is_null() {
        now = doc! { "$unsetField": { "field": "image", "input": now } }.into();
    }
    let variants = replaced(array("variants"), "sku", sku, now);
    Change::ruled(product_sku(sku), rules, doc! { "variants": variants })
}

/// Removes this generation of a variant. The product may be deleted.
pub(in super::super) fn remove_variant(sku: &str, generation: &str) -> Change<NotChanged> {
    let is_same = has_variant([is("sku", sku), is("generation", generation)]);
    let variants = without(array("variants"), "sku", sku);
    let rules = [(is_same, NotChanged::OtherGeneration)];
    Change::ruled(product_sku(sku), rules, doc! { "variants": variants })
}

/// The product has a variant that meets these conditions.
fn has_variant(conditions: impl IntoIterator<Item = Condition>) -> Condition {
    has_element("variants", conditions)
}

/// Of a variant: it has the values of these options, in the same order.
fn has_values(options: &[VariantOption]) -> Condition {
    is("options.value", Variant::values_of(options))
}

/// A variant of the product has another price than the product.
pub(super) fn differs() -> Condition {
    has_variant([is("difference", 0_i64).negated()])
}

/// Rule: a variant with this price difference costs no less than nothing.
fn costs_something(difference: i64) -> (Condition, NotChanged) {
    (at_least("pricing.retail", -difference), NotChanged::Underpriced)
}

/// Rule: the asset is one of the product's images.
fn has_image(asset: &str) -> (Condition, NotChanged) {
    (has_element("images", [is("assetId", asset)]), NotChanged::NoSuchImage)
}
