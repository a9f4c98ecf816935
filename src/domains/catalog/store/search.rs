//! Suggestions, the terms by which products are found, and the claims of slugs.

use std::sync::Arc;

use super::{
    super::documents::{ProductDocument, SlugDocument, SuggestedProduct},
    NotChanged, exists, products,
};
use crate::{
    graphql::prelude::*,
    mongo::{
        prelude::*,
        terms::{Suggested, Typed},
    },
};

/// Maximum number of slugs of a product, the former ones included.
pub(in super::super) const SLUGS: usize = 20;

/// The first products that have the words of a text in their titles or in those of their tracks.
///
/// # Errors
/// The read failed.
pub async fn suggested_products(
    app: &App,
    typed: &Typed,
    limit: i64,
) -> Result<Vec<Arc<Suggested<SuggestedProduct>>>> {
    app.collection().suggest(typed, limit).await
}

/// Corrects the terms of products that an earlier version has stored, and returns their number. It may be interrupted
/// and repeated.
///
/// # Errors
/// Products that were corrected before the failure stay so.
pub async fn correct_terms(app: &App) -> Result<u64> {
    let outdated = |product: &ProductDocument| {
        let terms = product.content.terms();
        let filter = doc! { "_id": &product.sku, "nonce": &product.content_version };
        (product.content.search.as_ref() != Some(&terms)).then_some((filter, terms))
    };
    products(app).correct_terms(|product| &product.sku, outdated).await
}

/// The claims of slugs.
pub(in super::super) fn claims(app: &App) -> Collection<SlugDocument> {
    app.collection()
}

/// The claims of these slugs.
pub(in super::super) async fn list_claims(app: &App, slugs: &[&str]) -> Result<Vec<SlugDocument>> {
    if slugs.is_empty() {
        return Ok(Vec::new());
    }
    claims(app).list(List { hint: Some("_id_"), ..List::of_ids(slugs) }).await
}

/// Claims a slug for a product. Returns whether the product has the claim, now or from before.
pub(in super::super) async fn claim(
    app: &App,
    slug: &str,
    product: &ProductDocument,
    attempt: &Attempt,
) -> Result<bool> {
    let claim = SlugDocument {
        slug: slug.to_owned(),
        sku: product.sku.clone(),
        generation: product.generation.clone(),
        claimed_at: Some(attempt.now()),
        v: Version,
    };
    if claims(app).insert(&claim).await.decided()?.is_some() {
        return Ok(true);
    }
    // The claim of an earlier call may be about to be removed. With a later time it stays.
    let own = doc! { "_id": slug, "sku": &product.sku, "generation": &product.generation };
    claims(app).set(own, doc! { "claimedAt": "$$NOW" }).within(attempt).held().await
}

/// Sets the slug of this generation of a product, which has claimed it.
pub(in super::super) fn set_slug(product: &ProductDocument, slug: &str) -> Change<NotChanged> {
    let is_own = contains("slugs", slug);
    let has_place = Condition::Any(vec![is_own.clone(), has_room("slugs", count(SLUGS))]);
    let rules = [
        exists(),
        (is("incarnation", &product.generation), NotChanged::OtherGeneration),
        (has_place, NotChanged::FullSlugs),
    ];
    let longer = append(array("slugs"), vec![literal(slug)]);
    let slugs = choose(is_own.expression(), array("slugs"), longer);
    Change::ruled(&product.sku, rules, doc! { "slug": literal(slug), "slugs": slugs }).numbered()
}

/// Marks a claim as settled, or removes it if the product doesn't have the slug. Returns whether the claim was the same
/// as when it was read.
pub(in super::super) async fn settle_claim(
    app: &App,
    claim: &SlugDocument,
    is_held: bool,
) -> Result<bool> {
    let same = doc! { "_id": &claim.slug, "claimedAt": claim.claimed_at };
    if is_held {
        return claims(app).set(same, doc! { "claimedAt": "$$REMOVE" }).held().await;
    }
    Ok(claims(app).remove(same).await.decided()?.is_some())
}

/// Removes the claims of a deleted product.
pub(in super::super) async fn free_slugs(app: &App, product: &ProductDocument) -> Result<()> {
    if product.slugs.is_empty() {
        return Ok(());
    }
    let own = doc! {
        "_id": { "$in": &product.slugs },
        "sku": &product.sku,
        "generation": &product.generation,
    };
    claims(app).remove_many(own).await.map(|_removed| ())
}
