//! The combined filter of the list of products.

use async_graphql::{Enum, InputObject};

use super::{
    inputs::PropertyInput,
    lists::{CategoryFilter, CreditFilter, ProductsBy, TextFilter},
};
use crate::{
    domains::{categories, metadata::MetadataFilter},
    graphql::{prelude::*, scalars::int},
};

/// Conditions that must all hold, and the order of the list. Without any condition it lists all products.
///
/// One condition is looked up in an index, which also has the order. The others are checked for each product that it
/// finds, until the page is full. So combine a rare condition with a category that has few products: a list that isn't found
/// within 5 seconds is the error `TIMEOUT`. The first of these rows that applies tells which condition is looked up, and
/// the orders that there are; the first order is the default.
///
/// | looked up | if these are given | orders |
/// |---|---|---|
/// | words | `text` | `RELEVANCE` |
/// | contributor | `contributor`, unless there is a `category` with another order than `NEWEST` | `NEWEST` |
/// | category | `category.subtree` | `TITLE`, `NEWEST`, `DISCOUNT`, `RATING`, `PRICE_UP`, `PRICE_DOWN` |
/// | category | `category.exact` | `TITLE`, `NEWEST`, `DISCOUNT`, `PRICE_UP`, `PRICE_DOWN` |
/// | category | `category.children` | `TITLE` |
/// | genre | `type` and `genre` | `NEWEST` |
/// | metadata | `metadata` | `SKU` |
/// | properties | `properties` | `SKU` |
/// | numbers | `numbers` | `NUMBER` |
/// | type | `type` | `NEWEST`, `TITLE` |
/// | price | `price` | `PRICE_UP`, `PRICE_DOWN` |
/// | discount | `discountAtLeast` | `DISCOUNT` |
/// | all products | none | `NEWEST`, `TITLE`, `DISCOUNT`, `RATING` |
///
/// The first ten rows are combined with any further conditions, except for `type` beside a `contributor` that has a
/// type of its own. `PRICE_UP` and `PRICE_DOWN` need `price` with its currency. `genre` alone needs `type`. Any other
/// combination is refused with an error that names the argument.
#[derive(Debug, InputObject)]
pub struct ProductsWhere {
    /// Category of the products.
    pub category: Option<CategoryFilter>,
    /// Contributor of the products, in a role or in any.
    pub contributor: Option<CreditFilter>,
    /// Type of the products, such as `book`.
    #[graphql(name = "type")]
    pub kind: Option<Slug>,
    /// Genre of albums, films or books, 1 to 50 characters.
    pub genre: Option<String>,
    /// Words in the products.
    pub text: Option<TextFilter>,
    /// Properties of which the products have all, 1 to 5.
    pub properties: Option<Vec<PropertyInput>>,
    /// Numeric properties of which the products have all, 1 to 5.
    pub numbers: Option<Vec<NumberRangeInput>>,
    /// Pair of metadata that the products have and the caller may read.
    pub metadata: Option<MetadataFilter>,
    /// Limits of the retail price.
    pub price: Option<PriceLimits>,
    /// Lowest savings in per cent of the list price, 1 to 100.
    pub discount_at_least: Option<i32>,
    /// Order of the list. Default: the first order of the row that applies.
    pub order: Option<ProductOrder>,
}

/// Limits of the retail price in one currency; both are included.
#[derive(Debug, InputObject)]
pub struct PriceLimits {
    /// Currency of the prices. Products with another currency don't match.
    pub currency: CurrencyCode,
    /// Lowest price in minor units of the currency, 0 to 1,000,000,000,000. Default: 0.
    pub min: Option<Long>,
    /// Highest price in minor units of the currency, `min` to 1,000,000,000,000. Default: the highest.
    pub max: Option<Long>,
}

/// Range of a numeric property; both limits are included. At least one limit must be set.
#[derive(Debug, InputObject)]
#[graphql(name = "ProductNumberRange")]
pub struct NumberRangeInput {
    /// Key of the property, 1 to 64 characters.
    pub key: String,
    /// Lower limit. Default: none.
    pub from: Option<f64>,
    /// Upper limit. Default: none.
    pub to: Option<f64>,
}

/// Order of a list of products. Products that are equal in it are sorted by SKU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub enum ProductOrder {
    /// Newest release first. Products without a date come last.
    Newest,
    /// Title, in alphabetical order of code points, regardless of upper and lower case.
    Title,
    /// Highest savings in per cent of the list price first.
    Discount,
    /// Highest average of the reviews first, in thousandths of a star, then most reviews. Only products with reviews are
    /// listed.
    Rating,
    /// Lowest retail price first.
    PriceUp,
    /// Highest retail price first.
    PriceDown,
    /// Lowest SKU first, in the order of code points.
    Sku,
    /// Number of the first of `numbers`, the lowest first. The list is read forwards only.
    Number,
    /// Best match of the words first, as in the list `text`.
    Relevance,
}

impl ProductsWhere {
    /// The category, if it is the only condition.
    fn only_category(&self) -> Option<&CategoryFilter> {
        match self {
            Self {
                category: Some(category),
                contributor: None,
                kind: None,
                genre: None,
                text: None,
                properties: None,
                numbers: None,
                metadata: None,
                price: None,
                discount_at_least: None,
                order: _,
            } => Some(category),
            _ => None,
        }
    }
}

/// The number of products of a list, if it is stored: the category of the list.
#[derive(Debug)]
pub struct TotalCount(Option<CategoryCount>);

/// A category whose products are counted, with those below it or without.
#[derive(Debug)]
struct CategoryCount {
    path: String,
    is_with_below: bool,
}

impl TotalCount {
    /// That of a list whose products aren't counted.
    pub const UNKNOWN: Self = Self(None);

    /// The number of products of this list.
    pub fn of(by: &ProductsBy) -> Self {
        let category = match by {
            ProductsBy::Category(category) => Some(category),
            // A list by rating has only the products with reviews, which aren't counted.
            ProductsBy::Where(conditions) if conditions.order != Some(ProductOrder::Rating) => {
                conditions.only_category()
            }
            _ => None,
        };
        let counted = |path: &str, is_with_below| {
            Some(CategoryCount { path: path.to_owned(), is_with_below })
        };
        Self(match category {
            Some(CategoryFilter::Subtree(path)) => counted(path, true),
            Some(CategoryFilter::Exact(path)) => counted(path, false),
            Some(CategoryFilter::Children(_)) | None => None,
        })
    }
}

object! {
    /// The number of products of a list.
    impl TotalCount as total {
        /// Number of products of the whole list, where it is stored: in lists of one category (`exact` or `subtree`)
        /// without further conditions, in any order but `RATING`. It follows changes with a delay of some seconds, like
        /// `Category.facets`. Null in other lists, and as long as no products of the category were counted.
        total_count(context)?: Option<i32> = {
            let Some(CategoryCount { path, is_with_below }) = &total.0 else { return Ok(None) };
            categories::total(app(context), path, *is_with_below).await?.map(int)
        },
    }
}
