//! The ways in which products can be listed: exactly those that have an index.

use async_graphql::{ID, InputObject, OneofObject};

use super::inputs::PropertyInput;
use crate::graphql::scalars::{CurrencyCode, LocaleTag, Long, Slug};

/// Which products, and in which order. There is no free-form filter: each of these is served by an
/// index.
#[derive(Debug, OneofObject)]
pub enum ProductsBy {
    /// Savings of at least so many per cent of the list price, 1 to 100; highest first.
    DiscountAtLeast(i32),
    /// Albums of a genre, newest first.
    AlbumsByGenre(String),
    /// Products in which someone had a part, newest first.
    Credited(CreditFilter),
    /// Products whose title begins so, by title.
    TitleStartsWith(TitleFilter),
    /// Products that have these words in their title, their description, the names of those who made
    /// them, their genres or the titles of their tracks, best match first. A word in the title counts
    /// most. Only the best 200 are listed. A product that changes its score between two pages may be
    /// passed over or come twice.
    Text(TextFilter),
    /// Products of a category, by title.
    Category(CategoryFilter),
    /// Products that have all of these properties, 1 to 5, by SKU. Put the rarest first: the others
    /// are looked for among its products.
    Property(Vec<PropertyInput>),
    /// Products sold between two prices, cheapest first.
    PriceBetween(PriceRange),
    /// Products within a box of price and weight, by SKU. The whole box is looked at for every
    /// page: keep it small.
    #[graphql(name = "box")]
    Within(PriceAndWeightBox),
}

/// Someone's part in a product.
#[derive(Debug, InputObject)]
pub struct CreditFilter {
    /// Who.
    pub by: CreditedPerson,
    /// Which part, such as `author`.
    pub role: Slug,
    /// Type of the products, such as `book`.
    #[graphql(name = "type")]
    pub kind: Slug,
}

/// Someone, by id or by name.
#[derive(Debug, OneofObject)]
pub enum CreditedPerson {
    /// Global id of a person.
    Person(ID),
    /// A whole name as it is shown; different people may have it.
    Name(String),
}

/// The beginning of a title.
#[derive(Debug, InputObject)]
pub struct TitleFilter {
    /// How the title begins, in upper or lower case, 1 to 300 characters.
    pub prefix: String,
    /// Only products of this type.
    #[graphql(name = "type")]
    pub kind: Option<Slug>,
}

/// Words to look for.
#[derive(Debug, InputObject)]
pub struct TextFilter {
    /// The words, 1 to 200 characters. Any of them is enough; `"several words"` in quotes must
    /// stand together, and no `-word` may be there.
    pub query: String,
    /// Language of the words, by which they are reduced to stems; the site's when left out. Texts
    /// in another language are found by words that have the same stem in both. A product that doesn't
    /// say its language is in the site's.
    pub language: Option<LocaleTag>,
}

/// A place in the tree of categories, by path such as `/music/jazz`.
#[derive(Debug, OneofObject)]
pub enum CategoryFilter {
    /// Products of this category itself.
    Exact(String),
    /// Products of this category's children.
    Children(String),
    /// Products of this category and of everything below it.
    Subtree(String),
}

/// Two prices, both included.
#[derive(Debug, InputObject)]
pub struct PriceRange {
    /// Currency of the prices.
    pub currency: CurrencyCode,
    /// Lowest price, in minor units.
    pub min: Long,
    /// Highest price, in minor units.
    pub max: Long,
}

/// A box on the plane of price and weight, edges included.
#[derive(Debug, InputObject)]
pub struct PriceAndWeightBox {
    /// Currency of the prices.
    pub currency: CurrencyCode,
    /// Retail price, in minor units.
    pub price: AmountRange,
    /// Weight, in grams.
    pub weight: AmountRange,
}

/// Two amounts, both included.
#[derive(Debug, InputObject)]
pub struct AmountRange {
    /// The lowest.
    pub min: Long,
    /// The highest.
    pub max: Long,
}
