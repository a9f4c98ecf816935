//! Exports products as lines of an import, so that another shop or a spreadsheet can take them over.

use serde_json::{Value, json};

use super::{
    documents::{Content, ProductDocument},
    types::OWN_FIELDS,
};
use crate::graphql::prelude::*;

/// Calls `each` for every product, in the order of SKUs, with the line that imports it; see
/// [`ImportProduct`](super::ImportProduct).
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn for_each(app: &App, mut each: impl FnMut(Value)) -> Result<()> {
    let products = app.collection::<ProductDocument>();
    let live = |product: ProductDocument| {
        if product.deleted_at.is_none() {
            each(line(product));
        }
    };
    products.for_each(live).await
}

fn line(product: ProductDocument) -> Value {
    let Content {
        kind,
        title,
        description,
        language,
        translations,
        asin,
        issued,
        shipping,
        details,
        properties,
        numbers,
        // The others follow from these.
        title_key: _,
        stemming: _,
        search: _,
    } = product.content;
    let details = if OWN_FIELDS.contains(&kind.as_str()) {
        json!({ kind: details })
    } else {
        json!({ "generic": { "type": kind, "properties": properties, "numbers": numbers } })
    };
    let contributors = product
        .contributors
        .iter()
        .map(|one| json!({ "personId": NodeKind::PERSON.id(&one.person_id).0, "role": one.role }));
    let images = product.images.unwrap_or_default();
    let shown = images.iter().map(|image| {
        let text = Some(&image.alternative_text).filter(|text| !text.is_empty());
        json!({ "assetId": NodeKind::ASSET.id(&image.asset_id).0, "alternativeText": text })
    });
    let variants = product.variants.iter().map(|one| {
        // An image that the product doesn't have any more isn't shown, and an import would refuse it.
        let image = images.iter().find(|own| one.image.as_ref() == Some(&own.asset_id));
        let image = image.map(|image| NodeKind::ASSET.id(&image.asset_id).0);
        json!({
            "sku": one.sku, "options": one.options, "priceDifference": one.difference,
            "imageId": image,
        })
    });
    json!({
        "sku": product.sku,
        "slug": product.slug,
        "content": {
            "title": title,
            "description": Some(description).filter(|text| !text.is_empty()),
            "language": language,
            "translations": translations,
            "asin": asin,
            "issueDate": Some(issued).filter(|text| !text.is_empty()),
            "shipping": shipping,
            "details": details,
        },
        "pricing": {
            "list": product.pricing.list,
            "retail": product.pricing.retail,
            "currency": product.pricing.currency,
        },
        "images": Some(shown.collect::<Vec<_>>()).filter(|all| !all.is_empty()),
        "variants": Some(variants.collect::<Vec<_>>()).filter(|all| !all.is_empty()),
        "categories": product.categories.iter().map(|one| &one.path).collect::<Vec<_>>(),
        "contributors": contributors.collect::<Vec<_>>(),
    })
}
