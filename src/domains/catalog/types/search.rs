//! GraphQL types of suggestions, of the keys of a product, and of the input of its slug.

use std::{iter, sync::Arc};

use async_graphql::OneofObject;

use super::{
    super::{documents::SuggestedProduct, operations},
    Album, Book, Film, GenericProduct, Product,
};
use crate::{
    domains::{
        categories::name_in,
        people::{self, PersonSuggestion},
    },
    graphql::prelude::*,
    mongo::terms::{Suggested, Typed},
};

/// Key of a product. Exactly one field must be set.
#[derive(Debug, OneofObject)]
pub enum ProductBy {
    /// SKU of the product, or of one of its variants.
    Sku(ID),
    /// Slug of the product, or one that it had before. If `Product.slug` is another one, the product's URL has changed.
    Slug(Slug),
}

/// The text for which `suggest` looks.
#[derive(Debug)]
pub struct Suggestions {
    typed: Typed,
    first: i64,
}

impl Suggestions {
    /// Suggestions for a text, at most `first` of each kind.
    pub fn of(text: &str, first: i32) -> Result<Self, InvalidInput> {
        let first = input::within("first", first.into(), 1..=20)?;
        Ok(Self { typed: operations::typed(text)?, first })
    }
}

object! {
    /// What the words of a typed text are found in. Each field is one read, and is only read if it is selected.
    impl Suggestions as suggestions {
        /// Products that have all the words in their title or in the titles of their tracks. Each product once, by the
        /// word that begins so, then by title.
        products(context)?: Vec<ProductSuggestion> = {
            let Suggestions { typed, first } = suggestions;
            let found = operations::suggested_products(app(context), typed, *first).await?;
            found.into_iter().map(ProductSuggestion).collect()
        },
        /// People that have all the words in their name, whether they contributed to products or not. Each person once,
        /// by the word that begins so, then by name.
        people(context)?: Vec<PersonSuggestion> =
            people::operations::suggested(app(context), &suggestions.typed, suggestions.first)
                .await?,
    }
}

/// A product that has the words of a typed text.
#[derive(Debug)]
pub struct ProductSuggestion(Arc<Suggested<SuggestedProduct>>);

impl ProductSuggestion {
    /// The title in the language, or in the product's own.
    fn title_in(&self, locale: Option<&LocaleTag>) -> &str {
        let SuggestedProduct { title, language, translations, .. } = &self.0.found;
        let own = language.as_ref().map_or("", LocaleTag::as_str);
        let others = translations.iter();
        let others = others.map(|other| (other.locale.as_str(), other.title.as_str()));
        let all: Vec<_> = iter::once((own, title.as_str())).chain(others).collect();
        name_in(all.iter().copied(), locale, own).unwrap_or(title)
    }
}

object! {
    /// A product that has the words of the text in its titles.
    impl ProductSuggestion as suggestion {
        /// SKU of the product.
        sku: ID = suggestion.0.found.sku.as_str().into(),
        /// Slug for the product's URL; null if it has none.
        slug: Option<&str> = suggestion.0.found.slug.as_deref(),
        /// Type of the product: `album`, `film`, `book` or any other.
        #[graphql(name = "type")]
        kind: &str = &suggestion.0.found.kind,
        /// Title as it is displayed. Its language is chosen as that of `Product.title`.
        title(
            _context,
            #[graphql(desc = "Language of the title. Default: the product's own.")]
            locale: Option<LocaleTag>,
        ): &str = suggestion.title_in(locale.as_ref()),
        /// Text that was searched instead, if the typed one had a typing error; else null.
        corrected_text: Option<&str> = suggestion.0.corrected.as_deref(),
        /// The product. Null if it was just deleted.
        product(
            context,
            #[graphql(desc = "Language of titles, descriptions and names of categories. Default: the product's own, and the site's for names.")]
            locale: Option<LocaleTag>,
        )?: Option<Product> = {
            let found = operations::product(app(context), &suggestion.0.found.sku).await?;
            found.map(|product| Product::of(product, locale))
        },
    }
}

input! {
    /// Input of `setProductSlug`: the product and its new slug.
    pub struct SetProductSlugInput {
        /// SKU of the product.
        pub sku: ID where sku(),
        /// Slug, 1 to 64 lower-case letters, digits and single hyphens between them. No other product has it or had it
        /// before. Default: the words of the title, without accents and without words in other letters.
        pub slug: Option<Slug>,
    }
}

result! {
    /// Result of `setProductSlug`: the product with the slug, or a refusal. `AlreadyExists`: another product has the slug
    /// or had it before. `InvalidInput`: among others, the product has had 20 slugs already.
    pub enum SetProductSlugResult:
        Album | Film | Book | GenericProduct | AlreadyExists | NotFound | InvalidInput;
}
