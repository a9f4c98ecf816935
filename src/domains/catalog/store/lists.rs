//! The lists of products. Each list is one range of one index.

use std::time::Duration;

use super::{
    super::{
        documents::coordinate,
        types::{PriceAndWeightBox, PriceRange, ProductsBy, TitleFilter, WEIGHT},
        view::{ProductView, StoredProduct},
    },
    combined::{RATING, REVIEWS, combined},
    conditions::{
        BY_NUMBER, NUMBERS, category_filter, credited, first_number, with_properties, words,
    },
};
use crate::{
    domains::attributes,
    graphql::prelude::*,
    mongo::{
        keyset::{self, SortKey},
        lazy_document::Owned,
        prelude::*,
    },
};

/// Maximum price of a range, in minor units. It exceeds every price in the catalog.
pub(super) const AMOUNT: i64 = 1_000_000_000_000;
/// Maximum number of results of full text search.
const BEST: i64 = 200;
/// Tolerance for coordinates. MongoDB computes logarithms itself, and its last digit may differ.
const EDGE: f64 = 1e-9;
/// Sort key of full text search. No index has it.
pub(super) const SCORE: &str = "score";

/// A checked selection of products: the index that serves it, the sort keys that the index has after the
/// fields that the filter fixes, and the filter.
pub(super) type Selection = (&'static str, Vec<SortKey>, Document);

/// A product with its values of the list's sort keys.
type Placed = (Vec<Bson>, StoredProduct);

/// A page of products.
///
/// # Errors
/// `BadInput` with the invalid argument, or an error of the read.
pub async fn list(cx: Cx<'_>, by: ProductsBy, paging: Paging) -> Result<(Page, Vec<Placed>)> {
    let app = cx.app;
    let list = format!("products {by:?}");
    // The other lists examine as many products as they return. Text search has a time limit of its own.
    let examines_more = matches!(
        by,
        ProductsBy::Where(_)
            | ProductsBy::Property(_)
            | ProductsBy::Metadata(_)
            | ProductsBy::Within(_)
    );
    let number = first_number(&by)?;
    let (hint, keys, filter) = selected(cx, by)?;
    let page = Page::new(app, Order { list, keys: keys.clone() }, paging)?;
    let filter = both(filter, doc! { "deletedAt": { "$exists": false } });
    let time = examines_more.then_some(EXAMINING);
    if hint == "text" {
        let found = rank(app, filter, &keys, &page, time).await?;
        return Ok((page, found));
    }
    if let (BY_NUMBER, Some(number)) = (hint, number) {
        let found = list_by_number(app, filter, &number, &page).await?;
        return Ok((page, found));
    }
    let list = List { hint: Some(hint), time, ..page.list(filter) };
    let found = app.collection::<StoredProduct>().list(list).await?;
    let placed = |product: StoredProduct| Ok((position(&keys, product.get(), 0.0)?, product));
    Ok((page, found.into_iter().map(placed).collect::<Result<_>>()?))
}

/// A page in the order of a number, which the index has; see [`crate::domains::attributes`].
async fn list_by_number(
    app: &App,
    filter: Document,
    number: &attributes::Condition,
    page: &Page,
) -> Result<Vec<Placed>> {
    page.demand_forward()?;
    let limit = i64::try_from(page.wanted()).unwrap_or(i64::MAX);
    let between = Some(number.between(&NUMBERS, page)?);
    let time = Some(EXAMINING);
    let list = List { filter, limit, between, hint: Some(BY_NUMBER), time, ..List::default() };
    let found = app.collection::<StoredProduct>().list(list).await?;
    let placed = |product: StoredProduct| {
        let numbers = product.get().numbers.get()?;
        let own = numbers.iter().find(|own| own.key == number.key);
        let value = own.map_or(Bson::Null, |own| own.value.into());
        Ok((vec![value, product.get().sku.into()], product))
    };
    found.into_iter().map(placed).collect()
}

/// A page of the other products of the same type to which a product's first contributor contributed in the same role,
/// newest first. A product without contributors has none.
///
/// # Errors
/// `BadInput` with the invalid argument, or an error of the read.
pub async fn related(
    app: &App,
    product: &ProductView<'_>,
    paging: Paging,
) -> Result<(Page, Vec<Placed>)> {
    let keys = vec![("issued", -1), ("_id", 1)];
    let list = format!("products related to {}", product.sku);
    let page = Page::new(app, Order { list, keys: keys.clone() }, paging)?;
    let contributors = product.contributors.get()?;
    let Some(first) = contributors.first() else { return Ok((page, Vec::new())) };
    let filter = doc! {
        "contributors": { "$elemMatch": { "personId": first.person_id, "role": first.role } },
        "type": product.kind,
        "_id": { "$ne": product.sku },
        "deletedAt": { "$exists": false },
    };
    let list = List { hint: Some("credited"), ..page.list(filter) };
    let found = app.collection::<StoredProduct>().list(list).await?;
    let placed = |product: StoredProduct| Ok((position(&keys, product.get(), 0.0)?, product));
    Ok((page, found.into_iter().map(placed).collect::<Result<_>>()?))
}

/// A page of the best matches. No index is sorted by score, so each page ranks them again.
async fn rank(
    app: &App,
    filter: Document,
    keys: &[SortKey],
    page: &Page,
    time: Option<Duration>,
) -> Result<Vec<Placed>> {
    #[derive(Deserialize)]
    struct Match {
        score: f64,
        product: StoredProduct,
    }
    let rest = page.list(Document::new());
    let pipeline = vec![
        doc! { "$match": filter },
        doc! { "$project": { SCORE: { "$meta": "textScore" }, "product": "$$ROOT" } },
        doc! { "$sort": keyset::sort(keys) },
        doc! { "$limit": BEST },
        // Differs from the first sort if the page is read backwards.
        doc! { "$sort": rest.sort },
        doc! { "$match": rest.filter },
        doc! { "$limit": rest.limit },
        doc! { "$unset": unread("product.") },
    ];
    let found: Vec<Match> = app.collection::<StoredProduct>().rank(pipeline, time).await?;
    let placed = |Match { score, product }| Ok((position(keys, product.get(), score)?, product));
    found.into_iter().map(placed).collect()
}

/// The fields that reads of products leave out, below `path`.
fn unread(path: &str) -> Vec<String> {
    StoredProduct::UNREAD.iter().map(|field| format!("{path}{field}")).collect()
}

/// The product's values of the sort keys.
fn position(keys: &[SortKey], product: &ProductView<'_>, score: f64) -> Result<Vec<Bson>> {
    let rating = || -> Result<_> {
        let discussion = product.discussion.get()?;
        Ok(discussion.and_then(|Owned(discussion)| discussion.rating).unwrap_or_default())
    };
    let value = |(key, _): &SortKey| -> Result<Bson> {
        Ok(match *key {
            "pricing.pctSavings" => product.pricing.pct_savings.into(),
            "pricing.retail" => product.pricing.retail.into(),
            "issued" => product.issued.unwrap_or_default().into(),
            "titleKey" => product.title_key.into(),
            SCORE => score.into(),
            RATING => rating()?.score.into(),
            REVIEWS => rating()?.count.into(),
            _ => product.sku.into(),
        })
    };
    keys.iter().map(value).collect()
}

fn selected(cx: Cx<'_>, by: ProductsBy) -> Result<Selection, InvalidInput> {
    let app = cx.app;
    let (hint, key, filter) = match by {
        ProductsBy::DiscountAtLeast(least) => {
            input::within("by.discountAtLeast", least.into(), 1..=100)?;
            let filter = doc! { "pricing.pctSavings": { "$gte": least } };
            ("discount", Some(("pricing.pctSavings", -1)), filter)
        }
        ProductsBy::AlbumsByGenre(genre) => {
            let genre = input::verbatim("by.albumsByGenre", &genre, 1..=50)?;
            let filter = doc! { "type": "album", "details.genres": genre };
            ("genre", Some(("issued", -1)), filter)
        }
        ProductsBy::Credited(filter) => {
            let (hint, filter) = credited("by.credited", filter)?;
            (hint, Some(("issued", -1)), filter)
        }
        ProductsBy::TitleStartsWith(TitleFilter { prefix, kind }) => {
            let prefix = input::verbatim("by.titleStartsWith.prefix", &prefix, 1..=300)?;
            let title = doc! { "titleKey": starts_with(&input::folded(&prefix)) };
            let (hint, filter) = match kind.as_ref().map(Slug::as_str) {
                Some(kind) => ("type_title", both(doc! { "type": kind }, title)),
                None => ("title", title),
            };
            (hint, Some(("titleKey", 1)), filter)
        }
        ProductsBy::Text(filter) => ("text", Some((SCORE, -1)), words(app, "by.text", filter)?),
        ProductsBy::Category(filter) => {
            let (hint, filter) = category_filter("by.category", filter)?;
            (hint, Some(("titleKey", 1)), filter)
        }
        ProductsBy::Property(properties) => {
            ("property", None, with_properties("by.property", properties)?)
        }
        ProductsBy::Metadata(filter) => {
            let having = crate::domains::metadata::operations::having;
            ("metadata", None, having(cx.requester, "by.metadata", filter)?)
        }
        ProductsBy::Where(conditions) => return combined(cx, *conditions),
        ProductsBy::PriceBetween(PriceRange { currency, min, max }) => {
            let price = range("by.priceBetween", [min.0, max.0], AMOUNT)?;
            let filter =
                doc! { "pricing.currency": currency.code(), "pricing.retail": between(price) };
            ("price", Some(("pricing.retail", 1)), filter)
        }
        ProductsBy::Within(PriceAndWeightBox { currency, price, weight }) => {
            let price = range("by.box.price", [price.min.0, price.max.0], AMOUNT)?;
            let weight = [weight.min, weight.max].map(i64::from);
            let weight = range("by.box.weight", weight, WEIGHT)?;
            let filter = doc! {
                "plane": { "$geoWithin": { "$box": corners(price, weight) } },
                "pricing.currency": currency.code(),
                "pricing.retail": between(price),
                "shipping.weight": between(weight),
            };
            ("plane", None, filter)
        }
    };
    Ok((hint, key.into_iter().chain([("_id", 1)]).collect(), filter))
}

/// Checks a range: its minimum isn't negative, and its maximum is between the minimum and `most`.
pub(super) fn range(
    field: &str,
    [min, max]: [i64; 2],
    most: i64,
) -> Result<[i64; 2], InvalidInput> {
    input::within(&format!("{field}.min"), min, 0..=most)?;
    input::within(&format!("{field}.max"), max, min..=most)?;
    Ok([min, max])
}

pub(super) fn between([min, max]: [i64; 2]) -> Document {
    doc! { "$gte": min, "$lte": max }
}

/// The box on the plane, enlarged by a tolerance. The amounts themselves decide at its edge.
fn corners(price: [i64; 2], weight: [i64; 2]) -> Vec<Bson> {
    let corner = |side: usize, edge: f64| {
        Bson::from(vec![coordinate(price[side]) + edge, coordinate(weight[side]) + edge])
    };
    vec![corner(0, -EDGE), corner(1, EDGE)]
}
