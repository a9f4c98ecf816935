//! The business rules of the catalog.

mod content;
mod edits;
mod follow;
mod imported_variants;
mod search;
mod variants;

pub use edits::{
    categorize_product, create_product, credit_person, set_product_price, uncredit_person,
    update_product,
};
pub(super) use follow::{finish, finish_all};
pub(super) use imported_variants::{check_variants, import_variants};
pub(super) use search::{finish_claim, full_slugs, set_slug, taken_slug};
pub use search::{product_by, set_product_slug, typed};
pub use variants::{
    add_variant, generation_on_sale, product_selling, remove_variant, update_variant, variant,
};

use super::{
    documents::{ProductDocument, Variant},
    store::{self, NotChanged, products},
    view::StoredProduct,
};
pub use super::{
    import::import,
    store::{Offer, correct_terms, find_offer as offer, list, related, suggested_products},
};
use crate::{graphql::prelude::*, mongo::Walk};

/// What a mutation of a product returns.
type Changed<U> = Result<ProductDocument, Stop<U>>;

/// The product, unless it was deleted.
pub async fn product(app: &App, sku: &str) -> Result<Option<StoredProduct>> {
    let Ok(sku) = input::sku(sku) else { return Ok(None) };
    let found = app.collection::<StoredProduct>().get_settled(&sku).await?;
    Ok(found.filter(|product| product.get().deleted_at.is_none()))
}

/// A product that is to be deleted.
#[derive(Debug)]
pub struct Deletable {
    /// Its generation.
    pub generation: String,
    /// Whether it isn't deleted yet and has variants.
    pub has_variants: bool,
}

/// The product with the SKU, also while it is being removed.
pub async fn deletable(app: &App, sku: &str) -> Result<Option<Deletable>> {
    let deletable = |product: ProductDocument| Deletable {
        generation: product.generation,
        has_variants: product.deleted_at.is_none() && !product.variants.is_empty(),
    };
    Ok(products(app).get_settled(sku).await?.map(deletable))
}

/// Deletes this generation of the product. If it is already gone, nothing changes. Returns the variants that were added
/// since it was decided to delete the product.
///
/// # Errors
/// The outcome is unknown, or the attempt is over: repeat the call.
pub async fn delete(
    app: &App,
    sku: &str,
    generation: &str,
    attempt: &Attempt,
) -> Result<Vec<Variant>> {
    let deletion = store::deletion(sku, generation);
    match products(app).write_and_read(&deletion, attempt).await? {
        Verdict::Applied(product) | Verdict::Refused(NotChanged::Gone, product) => {
            Ok(finish(app, attempt, product).await?.variants)
        }
        Verdict::Missing | Verdict::Refused(..) => Ok(Vec::new()),
    }
}

/// Sets the stemming of products without a language to the site's language, including those that an earlier
/// version or another configuration has stored. Returns the number of changed products. It may be interrupted
/// and repeated.
///
/// # Errors
/// Products that were changed before the failure stay changed.
pub async fn follow_site_locale(app: &App) -> Result<u64> {
    let stemming = LocaleTag::stemming_of(None, &app.config().site_locale);
    let (mut changed, mut walk) = (0, Some(Walk::default()));
    while let Some(next) = walk {
        let (number, rest) = store::set_stemming(app, next, stemming).await?;
        (changed, walk) = (changed + number, rest);
    }
    Ok(changed)
}
