//! Invariants of the catalog, for `docgate check`.

use std::collections::{HashMap, HashSet};

use super::{
    documents::{
        Pricing, ProductDocument, SlugDocument, Variant, coordinate, is_variant, product_sku,
    },
    store,
};
use crate::{graphql::prelude::*, invariants::Report};

/// Checks derived fields, and that contributors and works agree in both directions.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    report.rule("catalog: savings, keys and coordinates follow from their sources");
    let site = &app.config().site_locale;
    let mut slugs = Vec::new();
    let each = |product: ProductDocument| {
        if product.deleted_at.is_none() {
            let of = |slug: &String| {
                (slug.clone(), [&product.sku, &product.generation].map(String::clone))
            };
            slugs.extend(product.slugs.iter().map(of));
        }
        for fault in faults(&product, site) {
            report.broken(format!("{}: {fault}", product.sku));
        }
    };
    store::products(app).for_each(each).await?;
    report.rule("catalog: every slug of a product is claimed by it");
    let mut claims = HashMap::new();
    let claim = |SlugDocument { slug, sku, generation, .. }| {
        claims.insert(slug, [sku, generation]);
    };
    store::claims(app).for_each(claim).await?;
    for (slug, product) in slugs {
        if claims.get(&slug) != Some(&product) {
            report.broken(format!("{slug:?} of {product:?} is claimed by {:?}", claims.get(&slug)));
        }
    }
    let rule = "catalog: every contributor's works agree with the product";
    report.add(rule, store::list_unwritten_works(app).await?);
    let rule = "catalog: every work of a person belongs to a product that credits the person";
    report.add(rule, store::list_works_without_product(app).await?);
    Ok(())
}

fn faults(product: &ProductDocument, site: &str) -> Vec<&'static str> {
    let Pricing { list, retail, currency, .. } = product.pricing;
    let mut faults = Vec::new();
    if retail < 0 || retail > list || product.pricing != Pricing::of(list, retail, currency) {
        faults.push("the prices don't fit each other");
    }
    if product.content.title_key != input::folded(&product.content.title) {
        faults.push("the title's key isn't the title in lower case");
    }
    // Earlier versions don't store terms.
    if product.content.search.as_ref().is_some_and(|terms| *terms != product.content.terms()) {
        faults.push("its terms aren't those of its titles (`docgate indexes apply` mends it)");
    }
    if product.slug.as_ref().is_some_and(|slug| !product.slugs.contains(slug)) {
        faults.push("its slug isn't among its slugs");
    }
    if product.content.stemming != LocaleTag::stemming_of(product.content.language.as_ref(), site) {
        faults.push("text search doesn't go by its language (`docgate indexes apply` mends it)");
    }
    let (mut skus, mut values) = (HashSet::new(), HashSet::new());
    let of_product = |sku: &str| is_variant(sku) && product_sku(sku) == product.sku;
    let mut variants = product.variants.iter();
    let are_sound = variants.all(|one| {
        of_product(&one.sku)
            && one.title == Variant::title_of(&one.options)
            && skus.insert(&one.sku)
            && values.insert(Variant::values_of(&one.options))
    });
    if !are_sound {
        faults
            .push("a variant has the SKU or the options of another one, or another product's SKU");
    }
    let is_near = |on_axis: f64, amount| (on_axis - coordinate(amount)).abs() < 1e-9;
    let is_placed = match (product.content.shipping, product.plane) {
        (None, None) => true,
        (Some(shipping), Some([x, y])) => is_near(x, retail) && is_near(y, shipping.weight),
        _ => false,
    };
    if !is_placed {
        faults.push("the point on the plane isn't that of price and weight");
    }
    let mut contributors = HashSet::new();
    let mut all = product.contributors.iter();
    if !all.all(|one| contributors.insert((&one.person_id, &one.role))) {
        faults.push("a contributor stands there twice");
    }
    faults
}
