//! Filters of the list of products. Each one is served by an index.

use async_graphql::{InputObject, OneofObject};

use super::{combined::ProductsWhere, inputs::PropertyInput};
use crate::{domains::metadata::MetadataFilter, graphql::prelude::*};

/// Filter and sort order of a list of products. Exactly one field must be set. There is no free-form filter,
/// because each of these is served by an index.
#[derive(Debug, OneofObject)]
pub enum ProductsBy {
    /// Products whose savings are at least this percentage of the list price, 1 to 100. Highest percentage
    /// first.
    DiscountAtLeast(i32),
    /// Albums of this genre, 1 to 50 characters. Newest release first.
    AlbumsByGenre(String),
    /// Products to which a person contributed. Newest release first.
    Credited(CreditFilter),
    /// Products whose title begins with a prefix, sorted by title.
    TitleStartsWith(TitleFilter),
    /// Products with these words in the title, the description, the contributors' names, the genres or the
    /// track titles. Best match first; words in the title count most. Only the best 200 matches are listed. A
    /// product whose score changes between two pages may be skipped or listed twice.
    Text(TextFilter),
    /// Products of a category, sorted by title.
    Category(CategoryFilter),
    /// Products that have all of these properties, 1 to 5, sorted by SKU. Put the rarest property first: the
    /// products that have it are searched for the others.
    Property(Vec<PropertyInput>),
    /// Products with a pair of metadata, sorted by SKU.
    Metadata(MetadataFilter),
    /// Products whose retail price is in a range, cheapest first.
    PriceBetween(PriceRange),
    /// Products whose price and weight are both in a range, sorted by SKU. Every page reads all products in
    /// the ranges, so keep them narrow: a list that isn't found within 5 seconds is the error `TIMEOUT`.
    #[graphql(name = "box")]
    Within(PriceAndWeightBox),
    /// Products that meet several conditions, in one of several orders. Without conditions: all products.
    Where(Box<ProductsWhere>),
}

/// Contributor, role and product type that must all match.
#[derive(Debug, InputObject)]
pub struct CreditFilter {
    /// Person who contributed to the products.
    pub by: CreditedPerson,
    /// Role of the contributor, such as `author`. Default: any role. A name needs it.
    pub role: Option<Slug>,
    /// Type of the products, such as `book`. Default: any type. A name needs it.
    #[graphql(name = "type")]
    pub kind: Option<Slug>,
}

/// A contributor by id or by name. Exactly one field must be set.
#[derive(Debug, OneofObject)]
pub enum CreditedPerson {
    /// Global id of the person.
    PersonId(ID),
    /// Complete name as it is displayed, 1 to 200 characters. Several people may have the same name.
    Name(String),
}

/// Products whose title begins with a text.
#[derive(Debug, InputObject)]
pub struct TitleFilter {
    /// Beginning of the title, 1 to 300 characters. Upper and lower case are treated as equal.
    pub prefix: String,
    /// Type of the products. Default: all types.
    #[graphql(name = "type")]
    pub kind: Option<Slug>,
}

/// Full-text search of products.
#[derive(Debug, InputObject)]
pub struct TextFilter {
    /// Words to search for, 1 to 200 characters. A product matches if it has any of the words. Words in
    /// double quotes must appear together. `-word` excludes products that contain the word.
    pub query: String,
    /// Language of the words, by whose rules they are stemmed. Default: the site's language. A product in
    /// another language matches if its words have the same stem in both. A product without a language counts
    /// as written in the site's language.
    pub language: Option<LocaleTag>,
}

/// A category by its path, such as `/music/jazz`. Exactly one field must be set.
#[derive(Debug, OneofObject)]
pub enum CategoryFilter {
    /// Products of this category itself.
    Exact(String),
    /// Products of this category's direct children.
    Children(String),
    /// Products of this category and of all its descendants.
    Subtree(String),
}

/// Range of prices; both limits are included.
#[derive(Debug, InputObject)]
pub struct PriceRange {
    /// Currency of the prices. Products with another currency don't match.
    pub currency: CurrencyCode,
    /// Lowest price in minor units of the currency, 0 to 1,000,000,000,000.
    pub min: Long,
    /// Highest price in minor units of the currency, `min` to 1,000,000,000,000.
    pub max: Long,
}

/// Range of prices and range of weights; all limits are included.
#[derive(Debug, InputObject)]
pub struct PriceAndWeightBox {
    /// Currency of the prices. Products with another currency don't match.
    pub currency: CurrencyCode,
    /// Retail price in minor units of the currency.
    pub price: AmountRange,
    /// Weight of the parcel in grams.
    pub weight: WeightRange,
}

/// Range of amounts; both limits are included.
#[derive(Debug, InputObject)]
pub struct AmountRange {
    /// Lowest amount, 0 to 1,000,000,000,000.
    pub min: Long,
    /// Highest amount, `min` to 1,000,000,000,000.
    pub max: Long,
}

/// Range of weights in grams; both limits are included.
#[derive(Debug, InputObject)]
pub struct WeightRange {
    /// Lowest weight, 0 to 1,000,000,000.
    pub min: i32,
    /// Highest weight, `min` to 1,000,000,000.
    pub max: i32,
}
