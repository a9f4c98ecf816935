//! Inputs of the catalog's mutations. The lines of `docgate import products` have the same shape.

use crate::graphql::declared::input;
use async_graphql::{ID, InputObject, OneofObject};
use serde::{Deserialize, Serialize};

use crate::graphql::scalars::{CurrencyCode, Date, LocaleTag, Long, Slug};

input! {
    /// Input of `createProduct`.
    pub struct CreateProductInput {
        /// SKU, the key of the product: 1 to 128 letters, digits, `-`, `_`, `~` or `:`. It can't be changed
        /// later.
        pub sku: ID,
        /// Title, description and the other data that `updateProduct` replaces as a whole.
        pub content: ProductContentInput,
        /// List price, retail price and currency.
        pub pricing: PricingInput,
        /// Global ids of the product's categories, at most 20.
        #[graphql(default)]
        pub categories: Vec<ID>,
    }
}

/// Content of a product: everything that `updateProduct` replaces as a whole.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProductContentInput {
    /// Title, 1 to 300 characters.
    pub title: String,
    /// Description in plain text, up to 10,000 characters.
    pub description: Option<String>,
    /// Language of title and description. Text search stems words by the rules of this language; without one,
    /// by those of the site's language.
    pub language: Option<LocaleTag>,
    /// Amazon Standard Identification Number: ten capital letters or digits.
    pub asin: Option<String>,
    /// Release date. Products without one come last in lists that are sorted newest first.
    pub issue_date: Option<Date>,
    /// Weight and size of the parcel.
    pub shipping: Option<ShippingInput>,
    /// Data that depends on the type of the product. The field that is given determines the type.
    pub details: ProductDetailsInput,
}

/// Weight and size of the parcel.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShippingInput {
    /// Weight in grams, 0 to 1,000,000,000.
    pub weight: Long,
    /// Size of the parcel.
    pub dimensions: Option<DimensionsInput>,
}

/// Size in millimetres.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DimensionsInput {
    /// Width (left to right) in millimetres, 1 to 1,000,000.
    pub width: i32,
    /// Height (bottom to top) in millimetres, 1 to 1,000,000.
    pub height: i32,
    /// Depth (front to back) in millimetres, 1 to 1,000,000.
    pub depth: i32,
}

/// Data that depends on the type of the product; exactly one field is given.
#[derive(Debug, Clone, OneofObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProductDetailsInput {
    /// The product is an album.
    Album(AlbumInput),
    /// The product is a film.
    Film(FilmInput),
    /// The product is a book.
    Book(BookInput),
    /// The product is of any other type.
    Generic(GenericProductInput),
}

/// Data of an album.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AlbumInput {
    /// Musical genres, at most 20 of 1 to 50 characters each.
    #[graphql(default)]
    #[serde(default)]
    pub genres: Vec<String>,
    /// Record label, 1 to 200 characters.
    pub label: Option<String>,
    /// Tracks in playing order, at most 100.
    #[graphql(default)]
    #[serde(default)]
    pub tracks: Vec<TrackInput>,
}

/// Track of an album.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrackInput {
    /// Title, 1 to 300 characters.
    pub title: String,
    /// Duration in seconds, 1 to 86,400.
    pub seconds: Option<i32>,
}

/// Data of a film.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilmInput {
    /// Genres, at most 20 of 1 to 50 characters each.
    #[graphql(default)]
    #[serde(default)]
    pub genres: Vec<String>,
    /// Age rating, 1 to 50 characters.
    pub certificate: Option<String>,
    /// Ratio of width to height, such as `2.39:1`, 1 to 20 characters.
    pub aspect_ratio: Option<String>,
}

/// Data of a book.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BookInput {
    /// ISBN-10 or ISBN-13, with or without hyphens.
    pub isbn: Option<String>,
    /// Number of pages, 1 to 100,000.
    pub pages: Option<i32>,
}

/// Data of a product whose type has no fields of its own.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GenericProductInput {
    /// Type of the product, such as `headphones`. `album`, `film` and `book` are refused.
    #[graphql(name = "type")]
    #[serde(rename = "type")]
    pub kind: Slug,
    /// Properties of the product, at most 50.
    #[graphql(default)]
    #[serde(default)]
    pub properties: Vec<PropertyInput>,
}

/// Property of a product: a key with a value.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertyInput {
    /// Key, such as `colour`, 1 to 64 characters.
    pub key: String,
    /// Value, such as `black`, 1 to 300 characters.
    pub value: String,
}

/// List price, retail price and currency of a product.
#[derive(Debug, Clone, InputObject, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PricingInput {
    /// List price in minor units of the currency, 0 to 100,000,000,000.
    pub list: Long,
    /// Retail price, at which the product is sold, in minor units of the currency. It can't exceed the list
    /// price.
    pub retail: Long,
    /// Currency of both prices.
    pub currency: CurrencyCode,
}

input! {
    /// Input of `updateProduct`.
    pub struct UpdateProductInput {
        /// SKU of the product.
        pub sku: ID,
        /// `version` of the product as the client read it. If the product's content changed since, the update is
        /// refused with `Conflict`.
        pub version: ID,
        /// The complete new content. Fields that are left out are removed from the product.
        pub content: ProductContentInput,
    }
}

input! {
    /// Input of `setProductPrice`. At least one of the two prices is given.
    pub struct SetProductPriceInput {
        /// SKU of the product.
        pub sku: ID,
        /// List price in minor units of the currency, 0 to 100,000,000,000. Default: the stored list price.
        pub list: Option<Long>,
        /// Retail price in minor units of the currency. It can't exceed the list price. Default: the stored
        /// retail price.
        pub retail: Option<Long>,
        /// Currency of both prices. Default: the stored currency. To change the currency, give both prices.
        pub currency: Option<CurrencyCode>,
    }
}

input! {
    /// Input of `categorizeProduct`.
    pub struct CategorizeProductInput {
        /// SKU of the product.
        pub sku: ID,
        /// Global ids of all categories that the product is to be in, at most 20. An empty list removes it from
        /// all.
        pub categories: Vec<ID>,
    }
}

input! {
    /// Input of `creditPerson`.
    pub struct CreditPersonInput {
        /// SKU of the product.
        pub sku: ID,
        /// Global id of the person.
        pub person_id: ID,
        /// Role of the person, such as `author`.
        pub role: Slug,
    }
}

input! {
    /// Input of `uncreditPerson`.
    pub struct UncreditPersonInput {
        /// SKU of the product.
        pub sku: ID,
        /// Global id of the person.
        pub person_id: ID,
        /// Role of the person, such as `author`.
        pub role: Slug,
    }
}
