//! Invariants of the catalog, for `docgate check`.

use super::{
    documents::{Pricing, ProductDocument, coordinate},
    store,
};
use crate::{
    app::App,
    error::Error,
    graphql::{input, scalars::LocaleTag},
    invariants::Report,
};

/// Checks derived fields, and that contributors and works agree in both directions.
pub async fn check(app: &App, report: &mut Report) -> Result<(), Error> {
    report.rule("catalog: savings, keys and coordinates follow from what they are made of");
    let site = &app.config().site_locale;
    store::for_each(app, |product| {
        for fault in faults(&product, site) {
            report.broken(format!("{}: {fault}", product.sku));
        }
        Ok(())
    })
    .await?;
    report.rule("catalog: every contributor's works say what the product says");
    for wrong in store::list_unwritten_works(app).await? {
        report.broken(format!("{wrong}"));
    }
    report.rule("catalog: every work of a person belongs to a product that credits the person");
    for wrong in store::list_works_without_product(app).await? {
        report.broken(format!("{wrong}"));
    }
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
    if product.content.stemming != LocaleTag::stemming_of(product.content.language.as_ref(), site) {
        faults.push("text search doesn't go by its language (`docgate indexes apply` mends it)");
    }
    let weight = product.content.shipping.map(|shipping| shipping.weight);
    let near = |[x, y]: [f64; 2], weight| {
        (x - coordinate(retail)).abs() < 1e-9 && (y - coordinate(weight)).abs() < 1e-9
    };
    let placed = match (weight, product.plane) {
        (None, None) => true,
        (Some(weight), Some(point)) => near(point, weight),
        _ => false,
    };
    if !placed {
        faults.push("the point on the plane isn't that of price and weight");
    }
    let mut parts: Vec<_> =
        product.contributors.iter().map(|part| (&part.person_id, &part.role)).collect();
    parts.sort_unstable();
    parts.dedup();
    if parts.len() != product.contributors.len() {
        faults.push("a contributor stands there twice");
    }
    faults
}
