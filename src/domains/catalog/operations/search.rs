//! Slugs of products, and the suggestions for a text that is being typed.

use super::{
    super::{
        documents::{ProductDocument, SlugDocument},
        store::{self, NotChanged, SLUGS, products},
        types::{ProductBy, SetProductSlugInput, SetProductSlugResult},
        view::StoredProduct,
    },
    Changed,
    follow::write,
};
use crate::{
    graphql::prelude::*,
    mongo::{terms::Typed, words::words},
};

/// Maximum length of a typed text, in characters.
const LONGEST: usize = 100;
/// Maximum length of a derived slug, in characters.
const LONGEST_SLUG: usize = 64;

/// The words of a text that is being typed. A text without words is valid.
pub fn typed(text: &str) -> Result<Typed, InvalidInput> {
    Ok(Typed::of(&input::verbatim("text", text, 0..=LONGEST)?))
}

/// The product with this SKU or with a variant of this SKU, or with this present or former slug.
pub async fn product_by(app: &App, by: ProductBy) -> Result<Option<StoredProduct>> {
    let slug = match by {
        ProductBy::Sku(sku) => return super::product_selling(app, &sku).await,
        ProductBy::Slug(slug) => slug,
    };
    let found =
        app.collection::<StoredProduct>().find_settled_by(&["slugs"], slug.as_str()).await?;
    Ok(found.into_iter().find(|product| product.get().deleted_at.is_none()))
}

/// Sets the slug of a product. Its former slug stays its own.
pub async fn set_product_slug(
    cx: Cx<'_>,
    input: SetProductSlugInput,
) -> Changed<SetProductSlugResult> {
    let SetProductSlugInput { sku, slug } = &*input.checked()?;
    set_slug(&cx, sku, slug.as_ref()).await
}

/// Sets the slug of a product, or derives it from the title. It may be repeated.
pub(in super::super) async fn set_slug<U>(app: &App, sku: &str, slug: Option<&Slug>) -> Changed<U>
where
    U: From<AlreadyExists> + From<InvalidInput> + From<NotFound>,
{
    let (attempt, product) = products(app).begin_with(app.bounds(), sku).await?;
    let product = product.filter(|product| product.deleted_at.is_none());
    let product = product.ok_or_else(|| NotFound::new("product", sku))?;
    let slug = match slug {
        Some(slug) => slug.clone(),
        None => derived(&product.content.title).ok_or_else(|| {
            InvalidInput::new("slug", "can't be derived from the title; choose one")
        })?,
    };
    let slug = slug.as_str();
    if product.slug.as_deref() == Some(slug) {
        return Ok(product);
    }
    if product.slugs.len() >= SLUGS && !product.slugs.iter().any(|own| own == slug) {
        return Err(full_slugs().into());
    }
    if !store::claim(app, slug, &product, &attempt).await? {
        return Err(taken_slug(slug).into());
    }
    match write(app, &attempt, sku, store::set_slug(&product, slug)).await? {
        Ok(product) => Ok(product),
        Err((NotChanged::FullSlugs, _)) => Err(full_slugs().into()),
        Err(_) => Err(NotFound::new("product", sku).into()),
    }
}

/// The refusal of another slug of a product that has had as many as it may.
pub(in super::super) fn full_slugs() -> InvalidInput {
    InvalidInput::new("slug", format!("the product has had {SLUGS} slugs already"))
}

/// The refusal of a slug that another product has or had.
pub(in super::super) fn taken_slug(slug: &str) -> AlreadyExists {
    AlreadyExists::new("product with the slug", slug)
}

/// The slug of a title: its words of letters from A to Z and digits, as many as fit.
fn derived(title: &str) -> Option<Slug> {
    let mut slug = String::new();
    let is_plain = |word: &String| word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    for word in words(title).into_iter().filter(is_plain) {
        if slug.len() + 1 + word.len() > LONGEST_SLUG {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word);
    }
    Slug::parse_slug(&slug)
}

/// Finishes a claim that may not have reached its product: it stays if the product has the slug. Otherwise the call that
/// made it was cut or refused, and none of its writes can follow any more.
pub(in super::super) async fn finish_claim(app: &App, claim: SlugDocument) -> Result<bool> {
    let product = products(app).get_settled(&claim.sku).await?;
    let is_held = product.is_some_and(|product: ProductDocument| {
        product.generation == claim.generation && product.slugs.contains(&claim.slug)
    });
    store::settle_claim(app, &claim, is_held).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_is_made_of_plain_words() {
        let of = |title| derived(title).map(String::from);
        assert_eq!(of("Così fan tutte, K. 588!").as_deref(), Some("cosi-fan-tutte-k-588"));
        assert_eq!(of("Война и мир: War").as_deref(), Some("war"));
        assert_eq!(of("源氏物語"), None);
        let (many, long) = ("abcdefgh ".repeat(20), "x".repeat(100));
        assert_eq!(of(&many).map(|slug| slug.len()), Some(62));
        assert_eq!(of(&long), None);
    }
}
