//! Inputs of the catalog's mutations. The lines of `docgate import products` have the same shape.

use async_graphql::{ID, InputObject, OneofObject};
use serde::{Deserialize, Serialize};

use crate::graphql::scalars::{CurrencyCode, Date, LocaleTag, Long, Slug};

/// A new product.
#[derive(Debug, InputObject)]
pub struct CreateProductInput {
    /// The SKU, its key from then on: 1 to 128 letters, digits, `-`, `_`, `~` or `:`.
    pub sku: ID,
    /// What the product is.
    pub content: ProductContentInput,
    /// What it costs.
    pub pricing: PricingInput,
    /// Global ids of its categories, at most 20.
    #[graphql(default)]
    pub categories: Vec<ID>,
}

/// Everything about a product that is edited as one piece.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProductContentInput {
    /// The title, 1 to 300 characters.
    pub title: String,
    /// What it is, in plain text, up to 10,000 characters.
    pub description: Option<String>,
    /// Language of title and description; text search reduces words to stems by it, and by the site's
    /// language where it is left out.
    pub language: Option<LocaleTag>,
    /// Number in another shop's catalog: ten capital letters or digits.
    pub asin: Option<String>,
    /// Day on which it came out. Lists that show the newest first show products without one last.
    pub issue_date: Option<Date>,
    /// What a parcel of it is like.
    pub shipping: Option<ShippingInput>,
    /// What depends on the type of the product.
    pub details: ProductDetailsInput,
}

/// What a parcel of the product is like.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShippingInput {
    /// Weight in grams, 0 to 1,000,000,000.
    pub weight: Long,
    /// Its size.
    pub dimensions: Option<DimensionsInput>,
}

/// A size in millimetres.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DimensionsInput {
    /// From left to right, 1 to 1,000,000.
    pub width: i32,
    /// From bottom to top, 1 to 1,000,000.
    pub height: i32,
    /// From front to back, 1 to 1,000,000.
    pub depth: i32,
}

/// What depends on the type of the product.
#[derive(Debug, Clone, OneofObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProductDetailsInput {
    /// It is an album.
    Album(AlbumInput),
    /// It is a film.
    Film(FilmInput),
    /// It is a book.
    Book(BookInput),
    /// It is of any other type.
    Generic(GenericProductInput),
}

/// What only albums have.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AlbumInput {
    /// Kinds of music, at most 20 of 1 to 50 characters each.
    #[graphql(default)]
    #[serde(default)]
    pub genres: Vec<String>,
    /// The record company, 1 to 200 characters.
    pub label: Option<String>,
    /// The pieces in their order, at most 100.
    #[graphql(default)]
    #[serde(default)]
    pub tracks: Vec<TrackInput>,
}

/// One piece of an album.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackInput {
    /// Its title, 1 to 300 characters.
    pub title: String,
    /// How long it is, 1 to 86,400.
    pub seconds: Option<i32>,
}

/// What only films have.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilmInput {
    /// Kinds of story, at most 20 of 1 to 50 characters each.
    #[graphql(default)]
    #[serde(default)]
    pub genres: Vec<String>,
    /// From which age on, 1 to 50 characters.
    pub certificate: Option<String>,
    /// Width to height, such as `2.39:1`, 1 to 20 characters.
    pub aspect_ratio: Option<String>,
}

/// What only books have.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BookInput {
    /// ISBN-10 or ISBN-13, with or without hyphens.
    pub isbn: Option<String>,
    /// How many pages, 1 to 100,000.
    pub pages: Option<i32>,
}

/// A product of a type without fields of its own.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GenericProductInput {
    /// The type, such as `headphones`; not `album`, `film` or `book`.
    #[graphql(name = "type")]
    #[serde(rename = "type")]
    pub kind: Slug,
    /// Its facts, at most 50.
    #[graphql(default)]
    #[serde(default)]
    pub properties: Vec<PropertyInput>,
}

/// One fact about a product.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertyInput {
    /// What the fact is about, such as `colour`, 1 to 64 characters.
    pub key: String,
    /// The fact, such as `black`, 1 to 300 characters.
    pub value: String,
}

/// What a product costs.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PricingInput {
    /// List price in minor units, 0 to 100,000,000,000.
    pub list: Long,
    /// Price at which it is sold, in minor units; at most the list price.
    pub retail: Long,
    /// Currency of both.
    pub currency: CurrencyCode,
}

/// Another content for a product.
#[derive(Debug, InputObject)]
pub struct UpdateProductInput {
    /// Which product.
    pub sku: ID,
    /// The `nonce` of the product as you read it: an update of something that changed meanwhile is
    /// refused.
    pub nonce: ID,
    /// The whole content: what is left out is removed.
    pub content: ProductContentInput,
}

/// Another price for a product. What is left out stays.
#[derive(Debug, InputObject)]
pub struct SetProductPriceInput {
    /// Which product.
    pub sku: ID,
    /// List price in minor units, 0 to 100,000,000,000.
    pub list: Option<Long>,
    /// Price at which it is sold, in minor units; at most the list price.
    pub retail: Option<Long>,
    /// Currency of both. Another currency than the stored one takes both prices.
    pub currency: Option<CurrencyCode>,
}

/// Other categories for a product.
#[derive(Debug, InputObject)]
pub struct CategorizeProductInput {
    /// Which product.
    pub sku: ID,
    /// Global ids of all its categories, at most 20.
    pub categories: Vec<ID>,
}

/// A part that someone had in making a product.
#[derive(Debug, InputObject)]
pub struct CreditPersonInput {
    /// Which product.
    pub sku: ID,
    /// Who, by global id.
    pub person_id: ID,
    /// Which part, such as `author`.
    pub role: Slug,
}

/// A part that someone didn't have in making a product.
#[derive(Debug, InputObject)]
pub struct UncreditPersonInput {
    /// Which product.
    pub sku: ID,
    /// Who, by global id.
    pub person_id: ID,
    /// Which part, such as `author`.
    pub role: Slug,
}
