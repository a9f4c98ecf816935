//! The combined filter of the list of products. One of its conditions is a range of an index, and the others are
//! checked for each product of that range.

use super::{
    super::types::{CategoryFilter, CreditFilter, PriceLimits, ProductOrder, ProductsWhere},
    conditions::{
        BY_NUMBER, Credit, NUMBERS, category_filter, credited, number_ranges, with_properties,
        words,
    },
    lists::{AMOUNT, SCORE, Selection, between, range},
};
use crate::{
    domains::{attributes, metadata::operations::having},
    graphql::prelude::*,
    mongo::{keyset::SortKey, prelude::*},
};

/// The combinations that exist, for the errors of those that don't.
const COMBINATIONS: &str = "there are: `text` by RELEVANCE; `contributor` by NEWEST; `category` (`exact` or `subtree`) by \
    TITLE, NEWEST, DISCOUNT, or with `price` by PRICE_UP or PRICE_DOWN; `category` (`subtree`) by RATING; `category` (`children`) by \
    TITLE; `type` with `genre` by NEWEST; `metadata` or `properties` by SKU; `numbers` by NUMBER; `type` by NEWEST or TITLE (each of these with any \
    further conditions); `price` by PRICE_UP or PRICE_DOWN; `discountAtLeast` by DISCOUNT; and all products by NEWEST, TITLE, \
    DISCOUNT or RATING";

/// Average of the reviews of a product.
pub(super) const RATING: &str = "discussion.rating.score";
/// Number of its reviews.
pub(super) const REVIEWS: &str = "discussion.rating.count";

/// The condition that is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Range {
    Text,
    Contributor(Credit),
    Subtree,
    Exact,
    Children,
    Genre,
    Metadata,
    Properties,
    Numbers,
    Type,
    Price,
    Discount,
    All,
}

use ProductOrder::{Discount, Newest, Number, PriceDown, PriceUp, Rating, Relevance, Sku, Title};

impl Range {
    fn of(by: &ProductsWhere) -> Self {
        let is_newest = by.order.is_none_or(|order| order == Newest);
        match by {
            ProductsWhere { text: Some(_), .. } => Self::Text,
            ProductsWhere { contributor: Some(credit), category, .. }
                if category.is_none() || is_newest =>
            {
                Self::Contributor(Credit::of(credit))
            }
            ProductsWhere { category: Some(CategoryFilter::Subtree(_)), .. } => Self::Subtree,
            ProductsWhere { category: Some(CategoryFilter::Exact(_)), .. } => Self::Exact,
            ProductsWhere { category: Some(CategoryFilter::Children(_)), .. } => Self::Children,
            ProductsWhere { kind: Some(_), genre: Some(_), .. } => Self::Genre,
            ProductsWhere { metadata: Some(_), .. } => Self::Metadata,
            ProductsWhere { properties: Some(_), .. } => Self::Properties,
            ProductsWhere { numbers: Some(_), .. } => Self::Numbers,
            ProductsWhere { kind: Some(_), .. } => Self::Type,
            ProductsWhere { price: Some(_), .. } => Self::Price,
            ProductsWhere { discount_at_least: Some(_), .. } => Self::Discount,
            _ => Self::All,
        }
    }

    /// The orders that there are, each with its index. The first is the default.
    fn orders(self) -> &'static [(ProductOrder, &'static str)] {
        match self {
            Self::Text => &[(Relevance, "text")],
            Self::Contributor(Credit::Whole) => &[(Newest, "credited")],
            Self::Contributor(Credit::Person) => &[(Newest, "contributed")],
            Self::Contributor(Credit::Name) => &[(Newest, "credited_name")],
            Self::Subtree => &[
                (Title, "category_subtree"),
                (Newest, "category_newest"),
                (Discount, "category_discount"),
                (Rating, "category_rating"),
                (PriceUp, "category_price"),
                (PriceDown, "category_price"),
            ],
            Self::Exact => &[
                (Title, "category"),
                (Newest, "category_own_newest"),
                (Discount, "category_own_discount"),
                (PriceUp, "category_own_price"),
                (PriceDown, "category_own_price"),
            ],
            Self::Children => &[(Title, "category_children")],
            Self::Genre => &[(Newest, "genre")],
            Self::Metadata => &[(Sku, "metadata")],
            Self::Properties => &[(Sku, "property")],
            Self::Numbers => &[(Number, BY_NUMBER)],
            Self::Type => &[(Newest, "type_newest"), (Title, "type_title")],
            Self::Price => &[(PriceUp, "price"), (PriceDown, "price")],
            Self::Discount => &[(Discount, "discount")],
            Self::All => {
                &[(Newest, "newest"), (Title, "title"), (Discount, "discount"), (Rating, "rating")]
            }
        }
    }

    /// Whether few enough products are in the range that further conditions may be checked for each of them.
    fn is_narrow(self) -> bool {
        !matches!(self, Self::Price | Self::Discount | Self::All)
    }
}

impl ProductOrder {
    /// The sort keys of the order. An index has them after the fields that its range fixes.
    fn keys(self) -> Vec<SortKey> {
        match self {
            Newest => vec![("issued", -1), ("_id", 1)],
            Title => vec![("titleKey", 1), ("_id", 1)],
            Discount => vec![("pricing.pctSavings", -1), ("_id", 1)],
            Rating => vec![(RATING, -1), (REVIEWS, -1), ("_id", 1)],
            PriceUp => vec![("pricing.retail", 1), ("_id", 1)],
            PriceDown => vec![("pricing.retail", -1), ("_id", -1)],
            Number => vec![(NUMBERS.value, 1), ("_id", 1)],
            Sku => vec![("_id", 1)],
            Relevance => vec![(SCORE, -1), ("_id", 1)],
        }
    }
}

fn refused(field: &str, reason: &str) -> InvalidInput {
    InvalidInput::new(&format!("by.where.{field}"), format!("{reason}; {COMBINATIONS}"))
}

/// The selection of a combination.
pub(super) fn combined(cx: Cx<'_>, by: ProductsWhere) -> Result<Selection, InvalidInput> {
    let selected = Range::of(&by);
    let orders = selected.orders();
    let order = by.order.or_else(|| orders.first().map(|(order, _)| *order)).unwrap_or(Sku);
    let index = orders.iter().find(|(one, _)| *one == order).map(|(_, index)| *index);
    let index = index.ok_or_else(|| refused("order", "isn't an order of this combination"))?;
    if matches!(order, PriceUp | PriceDown) && by.price.is_none() {
        return Err(refused("price", "is missing, and prices of one currency only have an order"));
    }
    let has_type = |contributor: &CreditFilter| contributor.kind.is_some();
    if by.contributor.as_ref().is_some_and(has_type) && by.kind.is_some() {
        return Err(refused("type", "can't be combined with a `contributor` that has a type"));
    }
    if by.genre.is_some() && !selected.is_narrow() {
        return Err(refused("genre", "needs a `type`"));
    }
    if by.discount_at_least.is_some() && selected == Range::Price {
        return Err(refused("discountAtLeast", "can't be combined with `price` alone"));
    }
    let filter = conditions(cx, by, order)?;
    Ok((index, order.keys(), filter))
}

/// All conditions.
fn conditions(
    cx: Cx<'_>,
    by: ProductsWhere,
    order: ProductOrder,
) -> Result<Document, InvalidInput> {
    let ProductsWhere {
        category,
        contributor,
        kind,
        genre,
        text,
        properties,
        numbers,
        metadata,
        price,
        ..
    } = by;
    let mut all = Vec::new();
    if let Some(filter) = text {
        all.push(words(cx.app, "by.where.text", filter)?);
    }
    if let Some(filter) = category {
        all.push(category_filter("by.where.category", filter)?.1);
    }
    if let Some(filter) = contributor {
        all.push(credited("by.where.contributor", filter)?.1);
    }
    if let Some(kind) = kind {
        all.push(doc! { "type": kind.as_str() });
    }
    if let Some(genre) = genre {
        let genre = input::verbatim("by.where.genre", &genre, 1..=50)?;
        all.push(doc! { "details.genres": genre });
    }
    if let Some(properties) = properties {
        all.push(with_properties("by.where.properties", properties)?);
    }
    if let Some(numbers) = numbers {
        let all_numbers = number_ranges("by.where.numbers", &numbers)?;
        let each: Vec<_> = all_numbers.iter().map(attributes::Condition::filter).collect();
        all.push(doc! { "numbers": { "$all": each } });
    }
    if let Some(pair) = metadata {
        all.push(having(cx.requester, "by.where.metadata", pair)?);
    }
    if let Some(PriceLimits { currency, min, max }) = price {
        let limits = [min.map_or(0, i64::from), max.map_or(AMOUNT, i64::from)];
        let limits = range("by.where.price", limits, AMOUNT)?;
        all.push(doc! { "pricing.currency": currency.code(), "pricing.retail": between(limits) });
    }
    if let Some(least) = by.discount_at_least {
        input::within("by.where.discountAtLeast", least.into(), 1..=100)?;
        all.push(doc! { "pricing.pctSavings": { "$gte": least } });
    }
    if order == Rating {
        // Only products with reviews are in the indexes.
        all.push(doc! { RATING: { "$gte": 0_i64 } });
    }
    if all.is_empty() {
        // The whole index, so that the command names its field.
        all.push(match order {
            Newest => doc! { "issued": { "$gte": "" } },
            Title => doc! { "titleKey": { "$gte": "" } },
            _ => doc! { "pricing.pctSavings": { "$gte": i32::MIN } },
        });
    }
    Ok(all.into_iter().fold(Document::new(), both))
}
