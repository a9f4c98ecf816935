//! Inputs of the catalog's mutations. The lines of `docgate import products` have the same shape.

use async_graphql::OneofObject;
use serde::{Deserialize, Serialize};

use crate::graphql::{
    declared::{each, unique, valid},
    prelude::*,
};

/// Maximum number of categories of a product.
pub(crate) const CATEGORIES: usize = 20;
/// Maximum price, in minor units.
pub(super) const PRICE: i64 = 100_000_000_000;
/// Maximum weight, in grams.
pub(crate) const WEIGHT: i64 = 1_000_000_000;
/// Maximum length of a side, in millimetres.
const SIDE: i64 = 1_000_000;
/// Maximum number of other languages.
const TRANSLATIONS: usize = 20;
/// Types with fields of their own. Others are `generic`.
pub const OWN_FIELDS: [&str; 3] = ["album", "film", "book"];

input! {
    /// Input of `createProduct`: the SKU, the description, the prices and the categories of the new
    /// product.
    pub struct CreateProductInput {
        /// SKU, the key of the product: 1 to 128 letters, digits, `-`, `_`, `~` or `:`. It can't be changed
        /// later.
        pub sku: ID where product_key,
        /// Title, description and the other data that `updateProduct` replaces as a whole.
        pub content: ProductContentInput where content,
        /// List price, retail price and currency.
        pub pricing: PricingInput where pricing,
        /// Global ids of the product's categories, at most 20.
        #[graphql(default)]
        pub category_ids: Vec<ID> where categories,
    }

    /// Content of a product: everything that `updateProduct` replaces as a whole.
    pub struct ProductContentInput: Deserialize {
        /// Title, 1 to 300 characters.
        pub title: String where text(1..=300),
        /// Description in plain text, up to 10,000 characters.
        pub description: Option<String> where description,
        /// Language of title and description. Text search stems words by the rules of this language; without one,
        /// by those of the site's language.
        pub language: Option<LocaleTag>,
        /// Title and description in other languages than `language`, at most 20, each language once.
        #[graphql(default)]
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub translations: Vec<ProductTranslationInput> where each(TRANSLATIONS, nested()),
        /// Amazon Standard Identification Number: ten capital letters or digits.
        pub asin: Option<String> where optional(asin()),
        /// Release date. Products without one come last in lists that are sorted newest first.
        pub issue_date: Option<Date>,
        /// Weight and size of the parcel.
        pub shipping: Option<ShippingInput> where optional(nested()),
        /// Data that depends on the type of the product. The field that is set determines the type.
        pub details: ProductDetailsInput where details,
    }

    /// Title and description of a product in another language.
    pub struct ProductTranslationInput: Deserialize {
        /// Language, with a region if the text is for that region only.
        pub locale: LocaleTag,
        /// Title in this language, 1 to 300 characters.
        pub title: String where text(1..=300),
        /// Description in plain text, up to 10,000 characters. Default: that of another language is shown.
        pub description: Option<String> where optional(text(0..=10_000)),
    }

    /// Weight and size of the parcel.
    pub struct ShippingInput: Deserialize {
        /// Weight in grams, 0 to 1,000,000,000.
        pub weight: i32 where within(0..=WEIGHT),
        /// Size of the parcel.
        pub dimensions: Option<DimensionsInput> where optional(nested()),
    }

    /// Outer size of the parcel in millimetres.
    pub struct DimensionsInput: Deserialize {
        /// Width (left to right) in millimetres, 1 to 1,000,000.
        pub width: i32 where within(1..=SIDE),
        /// Height (bottom to top) in millimetres, 1 to 1,000,000.
        pub height: i32 where within(1..=SIDE),
        /// Depth (front to back) in millimetres, 1 to 1,000,000.
        pub depth: i32 where within(1..=SIDE),
    }
}

/// Data that depends on the type of the product. Exactly one field must be set.
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

input! {
    /// Fields that only albums have.
    pub struct AlbumInput: Deserialize {
        /// Musical genres, at most 20 of 1 to 50 characters each.
        #[graphql(default)]
        #[serde(default)]
        pub genres: Vec<String> where each(20, text(1..=50)),
        /// Record label, 1 to 200 characters.
        pub label: Option<String> where optional(text(1..=200)),
        /// Tracks in playing order, at most 100.
        #[graphql(default)]
        #[serde(default)]
        pub tracks: Vec<TrackInput> where each(100, nested()),
    }

    /// A track of an album. The position in the list is that on the album.
    pub struct TrackInput: Deserialize {
        /// Title, 1 to 300 characters.
        pub title: String where text(1..=300),
        /// Duration in seconds, 1 to 86,400.
        pub seconds: Option<i32> where optional(within(1..=86_400)),
    }

    /// Fields that only films have.
    pub struct FilmInput: Deserialize {
        /// Genres, at most 20 of 1 to 50 characters each.
        #[graphql(default)]
        #[serde(default)]
        pub genres: Vec<String> where each(20, text(1..=50)),
        /// Age rating, 1 to 50 characters.
        pub certificate: Option<String> where optional(text(1..=50)),
        /// Ratio of width to height, such as `2.39:1`, 1 to 20 characters.
        pub aspect_ratio: Option<String> where optional(text(1..=20)),
    }

    /// Fields that only books have.
    pub struct BookInput: Deserialize {
        /// Genres, at most 20 of 1 to 50 characters each.
        #[graphql(default)]
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub genres: Vec<String> where each(20, text(1..=50)),
        /// ISBN-10 or ISBN-13, with or without hyphens.
        pub isbn: Option<String> where optional(isbn),
        /// Number of pages, 1 to 100,000.
        pub pages: Option<i32> where optional(within(1..=100_000)),
    }

    /// Data of a product whose type has no fields of its own.
    pub struct GenericProductInput: Deserialize {
        /// Type of the product, such as `headphones`. `album`, `film` and `book` are refused.
        #[graphql(name = "type")]
        #[serde(rename = "type")]
        pub kind: Slug where other_type,
        /// Properties of the product, at most 50.
        #[graphql(default)]
        #[serde(default)]
        pub properties: Vec<PropertyInput> where each(50, nested()),
        /// Numeric properties of the product, such as a length, at most 50. No key may occur twice. Lists of products
        /// are filtered by their ranges.
        #[graphql(default)]
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub numbers: Vec<NumberInput> where one_per_key,
    }

    /// Numeric property of a product: a key with a number.
    pub struct NumberInput: Deserialize {
        /// Key, such as `length`, 1 to 64 characters.
        pub key: String where text(1..=64),
        /// Number in double precision. It can't be NaN or infinite.
        pub value: f64 where finite,
    }

    /// Property of a product: a key with a value.
    pub struct PropertyInput: Deserialize {
        /// Key, such as `colour`, 1 to 64 characters.
        pub key: String where text(1..=64),
        /// Value, such as `black`, 1 to 300 characters.
        pub value: String where text(1..=300),
    }

    /// List price, retail price and currency of a product.
    pub struct PricingInput: Deserialize {
        /// List price in minor units of the currency, 0 to 100,000,000,000.
        pub list: Long where within(0..=PRICE),
        /// Retail price, at which the product is sold, in minor units of the currency. It can't exceed the list
        /// price.
        pub retail: Long where within(0..=PRICE),
        /// Currency of both prices.
        pub currency: CurrencyCode,
    }

    /// Input of `updateProduct`: the product, its new description, and its version as the client
    /// read it.
    pub struct UpdateProductInput {
        /// SKU of the product.
        pub sku: ID where sku(),
        /// `version` of the product as the client read it. If the product's content changed since, the update is
        /// refused with `Conflict`.
        pub version: ID where verbatim(1..=128),
        /// The complete new content. Fields that are left out are removed from the product.
        pub content: ProductContentInput where content,
    }

    /// Input of `setProductPrice`. At least one of the two prices must be set.
    pub struct SetProductPriceInput {
        /// SKU of the product.
        pub sku: ID where sku(),
        /// List price in minor units of the currency, 0 to 100,000,000,000. Default: the stored list price.
        pub list: Option<Long> where optional(within(0..=PRICE)),
        /// Retail price in minor units of the currency. It can't exceed the list price. Default: the stored
        /// retail price.
        pub retail: Option<Long> where optional(within(0..=PRICE)),
        /// Currency of both prices. Default: the stored currency. To change the currency, give both prices.
        pub currency: Option<CurrencyCode>,
    }

    /// Input of `categorizeProduct`: the product and all of its new categories.
    pub struct CategorizeProductInput {
        /// SKU of the product.
        pub sku: ID where sku(),
        /// Global ids of all categories that the product is to be in, at most 20. An empty list removes it from
        /// all.
        pub category_ids: Vec<ID> where categories,
    }

    /// Input of `creditPerson`: the product, the person and the role of the new credit.
    pub struct CreditPersonInput {
        /// SKU of the product.
        pub sku: ID where sku(),
        /// Global id of the person.
        pub person_id: ID where id(NodeKind::PERSON),
        /// Role of the person, such as `author`.
        pub role: Slug,
    }

    /// Input of `uncreditPerson`: the product, the person and the role of the credit to remove.
    pub struct UncreditPersonInput {
        /// SKU of the product.
        pub sku: ID where sku(),
        /// Global id of the person.
        pub person_id: ID where id(NodeKind::PERSON),
        /// Role of the person, such as `author`.
        pub role: Slug,
    }
}

/// Numbers, at most one of each key.
fn one_per_key(field: &str, numbers: &mut Vec<NumberInput>) -> Result<(), InvalidInput> {
    each(50, valid)(field, numbers)?;
    unique(field, numbers, "key", |number| &number.key)
}

/// A number that can be compared with others.
pub(crate) fn finite(field: &str, number: &mut f64) -> Result<(), InvalidInput> {
    if number.is_finite() {
        return Ok(());
    }
    Err(InvalidInput::new(field, "isn't a finite number"))
}

/// The content of a product, each language once.
pub(crate) fn content(field: &str, content: &mut ProductContentInput) -> Result<(), InvalidInput> {
    valid(field, content)?;
    let mut languages: Vec<&LocaleTag> = content.language.iter().collect();
    for (position, translation) in content.translations.iter().enumerate() {
        if languages.contains(&&translation.locale) {
            let field = format!("{field}.translations.{position}.locale");
            return Err(InvalidInput::new(&field, "stands there twice"));
        }
        languages.push(&translation.locale);
    }
    Ok(())
}

fn product_key(field: &str, sku: &mut ID) -> Result<(), InvalidInput> {
    input::key(field, sku).map(|_| ())
}

/// Global ids of categories, each once.
fn categories(field: &str, ids: &mut Vec<ID>) -> Result<(), Unusable> {
    input::at_most(field, ids, CATEGORIES)?;
    let mut keys = Vec::new();
    for id in ids.iter() {
        let key = ID(input::id(NodeKind::CATEGORY, id)?);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    *ids = keys;
    Ok(())
}

/// A missing description is empty.
fn description(field: &str, value: &mut Option<String>) -> Result<(), InvalidInput> {
    *value = Some(input::text(field, value.as_deref().unwrap_or_default(), 0..=10_000)?);
    Ok(())
}

fn asin() -> impl Fn(&str, &mut String) -> Result<(), InvalidInput> {
    let fits = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    move |field, asin| {
        if asin.len() == 10 && asin.bytes().all(fits) {
            return Ok(());
        }
        Err(InvalidInput::new(field, "needs ten capital letters or digits"))
    }
}

fn details(field: &str, details: &mut ProductDetailsInput) -> Result<(), InvalidInput> {
    let field = |kind: &str| format!("{field}.{kind}");
    match details {
        ProductDetailsInput::Album(album) => valid(&field("album"), album),
        ProductDetailsInput::Film(film) => valid(&field("film"), film),
        ProductDetailsInput::Book(book) => valid(&field("book"), book),
        ProductDetailsInput::Generic(generic) => valid(&field("generic"), generic),
    }
}

/// Checks the check digit of an ISBN-10 or ISBN-13, and removes hyphens.
fn isbn(field: &str, isbn: &mut String) -> Result<(), InvalidInput> {
    let invalid = || InvalidInput::new(field, "isn't an ISBN-10 or ISBN-13");
    if isbn.len() > 20 {
        return Err(invalid());
    }
    isbn.retain(|character| character != '-');
    let value = |(at, character): (usize, char)| match character {
        'X' if at == 9 && isbn.len() == 10 => Some(10),
        other => other.to_digit(10),
    };
    let values: Vec<u32> =
        isbn.chars().enumerate().map(value).collect::<Option<_>>().ok_or_else(invalid)?;
    // ISO 2108: weights 10 to 1 modulo 11, or 1 and 3 in turn modulo 10.
    let (weights, modulus): (&[u32], u32) = match values.len() {
        10 => (&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1], 11),
        13 => (&[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1], 10),
        _ => return Err(invalid()),
    };
    let sum: u32 = values.iter().zip(weights).map(|(value, weight)| value * weight).sum();
    if sum.is_multiple_of(modulus) { Ok(()) } else { Err(invalid()) }
}

/// A type without fields of its own. Clients know the field as `type`.
fn other_type(_: &str, kind: &mut Slug) -> Result<(), InvalidInput> {
    let kind = kind.as_str();
    if !OWN_FIELDS.contains(&kind) {
        return Ok(());
    }
    Err(InvalidInput::new("type", format!("is {kind:?}: use the input `{kind}` for this type")))
}

/// Prices: the list price must not be lower than the retail price.
pub(crate) fn pricing(field: &str, pricing: &mut PricingInput) -> Result<(), InvalidInput> {
    valid(field, pricing)?;
    if pricing.retail.0 > pricing.list.0 {
        return Err(InvalidInput::new(&format!("{field}.retail"), "is above the list price"));
    }
    Ok(())
}
