//! The combined filter of the list of products. One of its conditions is a range of an index, and the others are
//! checked for each product of that range.

use super::{
    super::types::{
        CategoryFilter, CreditFilter, CreditedPerson, NumberRangeInput, PriceLimits, ProductOrder,
        ProductsBy, ProductsWhere, PropertyInput, TextFilter,
    },
    lists::{AMOUNT, SCORE, Selection, between, range},
};
use crate::{
    domains::attributes::{self, Attributes, Test, is_ordered},
    graphql::{
        declared::{each, valid},
        prelude::*,
    },
    mongo::{keyset::SortKey, prelude::*},
};

/// The combinations that exist, for the errors of those that don't.
const COMBINATIONS: &str = "there are: `text` by RELEVANCE; `contributor` by NEWEST; `category` (`exact` or `subtree`) by \
    TITLE, NEWEST, DISCOUNT, or with `price` by PRICE_UP or PRICE_DOWN; `category` (`subtree`) by RATING; `category` (`children`) by \
    TITLE; `type` with `genre` by NEWEST; `properties` by SKU; `numbers` by NUMBER; `type` by NEWEST or TITLE (each of these with any \
    further conditions); `price` by PRICE_UP or PRICE_DOWN; `discountAtLeast` by DISCOUNT; and all products by NEWEST, TITLE, \
    DISCOUNT or RATING";

/// Average of the reviews of a product.
pub(super) const RATING: &str = "discussion.rating.score";
/// Number of its reviews.
pub(super) const REVIEWS: &str = "discussion.rating.count";
/// The index of numbers.
pub(super) const BY_NUMBER: &str = "number";
/// The numbers of a product, with the index [`BY_NUMBER`].
pub(super) const NUMBERS: Attributes = Attributes { key: "numbers.key", value: "numbers.value" };

/// The condition that is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Range {
    Text,
    Contributor { is_named: bool },
    Subtree,
    Exact,
    Children,
    Genre,
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
                Self::Contributor { is_named: matches!(credit.by, CreditedPerson::Name(_)) }
            }
            ProductsWhere { category: Some(CategoryFilter::Subtree(_)), .. } => Self::Subtree,
            ProductsWhere { category: Some(CategoryFilter::Exact(_)), .. } => Self::Exact,
            ProductsWhere { category: Some(CategoryFilter::Children(_)), .. } => Self::Children,
            ProductsWhere { kind: Some(_), genre: Some(_), .. } => Self::Genre,
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
            Self::Contributor { is_named: false } => &[(Newest, "credited")],
            Self::Contributor { is_named: true } => &[(Newest, "credited_name")],
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
pub(super) fn combined(app: &App, by: ProductsWhere) -> Result<Selection, InvalidInput> {
    let selected = Range::of(&by);
    let orders = selected.orders();
    let order = by.order.or_else(|| orders.first().map(|(order, _)| *order)).unwrap_or(Sku);
    let index = orders.iter().find(|(one, _)| *one == order).map(|(_, index)| *index);
    let index = index.ok_or_else(|| refused("order", "isn't an order of this combination"))?;
    if matches!(order, PriceUp | PriceDown) && by.price.is_none() {
        return Err(refused("price", "is missing, and prices of one currency only have an order"));
    }
    if by.contributor.is_some() && by.kind.is_some() {
        return Err(refused("type", "can't be combined with `contributor`, which has a type"));
    }
    if by.genre.is_some() && !selected.is_narrow() {
        return Err(refused("genre", "needs a `type`"));
    }
    if by.discount_at_least.is_some() && selected == Range::Price {
        return Err(refused("discountAtLeast", "can't be combined with `price` alone"));
    }
    let filter = conditions(app, by, order)?;
    Ok((index, order.keys(), filter))
}

/// All conditions.
fn conditions(app: &App, by: ProductsWhere, order: ProductOrder) -> Result<Document, InvalidInput> {
    let ProductsWhere {
        category, contributor, kind, genre, text, properties, numbers, price, ..
    } = by;
    let mut all = Vec::new();
    if let Some(filter) = text {
        all.push(words(app, "by.where.text", filter)?);
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

/// The filter of a category, with its index by title.
pub(super) fn category_filter(
    at: &str,
    filter: CategoryFilter,
) -> Result<(&'static str, Document), InvalidInput> {
    let (name, hint, field, path) = match filter {
        CategoryFilter::Exact(path) => ("exact", "category", "categories.path", path),
        CategoryFilter::Children(path) => {
            ("children", "category_children", "categories.parentPath", path)
        }
        CategoryFilter::Subtree(path) => ("subtree", "category_subtree", "categories.within", path),
    };
    input::path(&format!("{at}.{name}"), &path)?;
    Ok((hint, doc! { field: path }))
}

/// The filter of a contributor, with its index.
pub(super) fn credited(
    at: &str,
    CreditFilter { by, role, kind }: CreditFilter,
) -> Result<(&'static str, Document), InvalidInput> {
    let (hint, mut part) = match by {
        CreditedPerson::PersonId(id) => {
            // No person has an empty `_id`.
            let id = input::id(NodeKind::PERSON, &id).unwrap_or_default();
            ("credited", doc! { "personId": id })
        }
        CreditedPerson::Name(name) => {
            let name = input::verbatim(&format!("{at}.by.name"), &name, 1..=200)?;
            ("credited_name", doc! { "name": name })
        }
    };
    part.insert("role", role.as_str());
    Ok((hint, doc! { "contributors": { "$elemMatch": part }, "type": kind.as_str() }))
}

/// The filter of full text search.
pub(super) fn words(
    app: &App,
    at: &str,
    TextFilter { query, language }: TextFilter,
) -> Result<Document, InvalidInput> {
    let query = input::verbatim(&format!("{at}.query"), &query, 1..=200)?;
    let language = LocaleTag::stemming_of(language.as_ref(), &app.config().site_locale);
    Ok(doc! { "$text": { "$search": query, "$language": language } })
}

/// The filter of products that have all of these properties.
pub(super) fn with_properties(
    at: &str,
    mut properties: Vec<PropertyInput>,
) -> Result<Document, InvalidInput> {
    if !(1..=5).contains(&properties.len()) {
        return Err(InvalidInput::new(at, "takes 1 to 5 properties"));
    }
    each(5, valid)(at, &mut properties)?;
    let one = |PropertyInput { key, value }| doc! { "$elemMatch": { "key": key, "value": value } };
    let all: Vec<Document> = properties.into_iter().map(one).collect();
    Ok(doc! { "properties": { "$all": all } })
}

/// The ranges of numbers as conditions.
fn number_ranges(
    at: &str,
    ranges: &[NumberRangeInput],
) -> Result<Vec<attributes::Condition>, InvalidInput> {
    if !(1..=5).contains(&ranges.len()) {
        return Err(InvalidInput::new(at, "takes 1 to 5 ranges"));
    }
    let condition = |(position, range): (usize, &NumberRangeInput)| {
        let at = format!("{at}.{position}");
        let key = input::verbatim(&format!("{at}.key"), &range.key, 1..=64)?;
        let (from, to) = (range.from.map(Bson::from), range.to.map(Bson::from));
        match (&from, &to) {
            (None, None) => Err(InvalidInput::new(&at, "needs from, to or both")),
            (Some(from), Some(to)) if !is_ordered(from, to) => {
                Err(InvalidInput::new(&at, "`from` is above `to`"))
            }
            _ => Ok(attributes::Condition { key, test: Test::Between(from, to) }),
        }
    };
    ranges.iter().enumerate().map(condition).collect()
}

/// The first range of numbers, which is the range of the index if the list is in the order of the numbers.
pub(super) fn first_number(by: &ProductsBy) -> Result<Option<attributes::Condition>, InvalidInput> {
    match by {
        ProductsBy::Where(conditions) => {
            let Some(numbers) = &conditions.numbers else { return Ok(None) };
            Ok(number_ranges("by.where.numbers", numbers)?.into_iter().next())
        }
        _ => Ok(None),
    }
}
