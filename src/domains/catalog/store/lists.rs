//! The lists of products. Each list is one range of one index.

use mongodb::bson::{Bson, Document, doc};
use serde::Deserialize;

use super::super::{
    documents::{Property, coordinate},
    view::{ProductView, StoredProduct},
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        page::{Order, Page},
        scalars::CurrencyCode,
    },
    mongo::{
        collection::List,
        expression::{both, starts_with},
    },
};

/// A checked selection of products.
#[derive(Debug, Clone)]
pub(in super::super) enum Selection {
    /// Savings of at least this percentage.
    Discount(i32),
    /// Albums of a genre.
    Genre(String),
    /// A person, by id or by name, in a role, in products of a type.
    Credited { field: &'static str, who: String, role: String, kind: String },
    /// Prefix of the title's key.
    Title { prefix: String, kind: Option<String> },
    /// Search words, and MongoDB's name of their language.
    Text { query: String, language: &'static str },
    /// A category path, and which categories it selects.
    Category(Place, String),
    /// All of these properties.
    Properties(Vec<Property>),
    /// Currency, minimum and maximum price.
    Price(CurrencyCode, [i64; 2]),
    /// Currency, minimum and maximum price, minimum and maximum weight.
    Plane(CurrencyCode, [i64; 2], [i64; 2]),
}

/// The categories that a path selects.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Place {
    /// The category with this path.
    Exact,
    /// Its children.
    Children,
    /// The category and all categories below it.
    Subtree,
}

/// Maximum number of results of full text search.
const BEST: i64 = 200;
/// Tolerance for coordinates. MongoDB computes logarithms itself, and its last digit may differ.
const EDGE: f64 = 1e-9;

impl Selection {
    /// Sort keys. The list's index has them after the fields that the filter fixes.
    pub(in super::super) fn order(&self) -> Order {
        let keys = match self {
            Self::Discount(_) => vec![("pricing.pctSavings", -1), ("_id", 1)],
            Self::Genre(_) | Self::Credited { .. } => vec![("issued", -1), ("_id", 1)],
            Self::Title { .. } | Self::Category(..) => vec![("titleKey", 1), ("_id", 1)],
            Self::Text { .. } => vec![("score", -1), ("_id", 1)],
            Self::Properties(_) | Self::Plane(..) => vec![("_id", 1)],
            Self::Price(..) => vec![("pricing.retail", 1), ("_id", 1)],
        };
        Order { list: format!("products {self:?}"), keys }
    }

    fn hint(&self) -> &'static str {
        match self {
            Self::Discount(_) => "discount",
            Self::Genre(_) => "genre",
            Self::Credited { field: "contributors.name", .. } => "credited_name",
            Self::Credited { .. } => "credited",
            Self::Title { kind: None, .. } => "title",
            Self::Title { .. } => "type_title",
            Self::Text { .. } => "text",
            Self::Category(Place::Exact, _) => "category",
            Self::Category(Place::Children, _) => "category_children",
            Self::Category(Place::Subtree, _) => "category_subtree",
            Self::Properties(_) => "property",
            Self::Price(..) => "price",
            Self::Plane(..) => "plane",
        }
    }

    fn filter(&self) -> Document {
        match self {
            Self::Discount(least) => doc! { "pricing.pctSavings": { "$gte": least } },
            Self::Genre(genre) => doc! { "type": "album", "details.genres": genre },
            Self::Credited { field, who, role, kind } => {
                let key = field.trim_start_matches("contributors.");
                let part = doc! { key: who, "role": role };
                doc! { "contributors": { "$elemMatch": part }, "type": kind }
            }
            Self::Title { prefix, kind } => {
                let title = doc! { "titleKey": starts_with(prefix) };
                kind.as_ref().map_or(title.clone(), |kind| both(doc! { "type": kind }, title))
            }
            Self::Text { query, language } => {
                doc! { "$text": { "$search": query, "$language": *language } }
            }
            Self::Category(Place::Exact, path) => doc! { "categories.path": path },
            Self::Category(Place::Children, path) => doc! { "categories.parentPath": path },
            Self::Category(Place::Subtree, path) => doc! { "categories.within": path },
            Self::Properties(all) => doc! { "properties": { "$all": matching(all) } },
            Self::Price(currency, price) => doc! {
                "pricing.currency": currency.code(), "pricing.retail": between(*price),
            },
            Self::Plane(currency, price, weight) => doc! {
                "plane": { "$geoWithin": { "$box": corners(*price, *weight) } },
                "pricing.currency": currency.code(),
                "pricing.retail": between(*price),
                "shipping.weight": between(*weight),
            },
        }
    }

    /// The product's values of the sort keys.
    fn position(&self, product: &ProductView<'_>, score: f64) -> Vec<Bson> {
        let id = Bson::from(product.sku);
        match self {
            Self::Discount(_) => vec![product.pricing.pct_savings.into(), id],
            Self::Genre(_) | Self::Credited { .. } => {
                vec![Bson::from(product.issued.unwrap_or_default()), id]
            }
            Self::Title { .. } | Self::Category(..) => vec![Bson::from(product.title_key), id],
            Self::Text { .. } => vec![score.into(), id],
            Self::Properties(_) | Self::Plane(..) => vec![id],
            Self::Price(..) => vec![product.pricing.retail.into(), id],
        }
    }
}

fn between([min, max]: [i64; 2]) -> Document {
    doc! { "$gte": min, "$lte": max }
}

fn matching(properties: &[Property]) -> Vec<Document> {
    let one = |property: &Property| doc! { "key": &property.key, "value": &property.value };
    properties.iter().map(|property| doc! { "$elemMatch": one(property) }).collect()
}

/// The box on the plane, enlarged by a tolerance. The amounts themselves decide at its edge.
fn corners(price: [i64; 2], weight: [i64; 2]) -> Vec<Bson> {
    let corner = |side: usize, edge: f64| {
        Bson::from(vec![coordinate(price[side]) + edge, coordinate(weight[side]) + edge])
    };
    vec![corner(0, -EDGE), corner(1, EDGE)]
}

/// A page of products, each with its values of the sort keys.
pub(in super::super) async fn list(
    app: &App,
    selection: &Selection,
    page: &Page,
) -> Result<Vec<(Vec<Bson>, StoredProduct)>, Error> {
    let filter = both(selection.filter(), doc! { "deletedAt": { "$exists": false } });
    if matches!(selection, Selection::Text { .. }) {
        return rank(app, selection, filter, page).await;
    }
    let list = List { hint: Some(selection.hint()), ..page.list(filter) };
    let found = app.collection::<StoredProduct>().list(list).await?;
    Ok(found.into_iter().map(|product| (selection.position(product.get(), 0.0), product)).collect())
}

/// A page of the best matches. No index is sorted by score, so each page ranks them again.
async fn rank(
    app: &App,
    selection: &Selection,
    filter: Document,
    page: &Page,
) -> Result<Vec<(Vec<Bson>, StoredProduct)>, Error> {
    #[derive(Deserialize)]
    struct Match {
        score: f64,
        product: StoredProduct,
    }
    let rest = page.list(Document::new());
    let found: Vec<Match> = app
        .collection::<StoredProduct>()
        .rank(vec![
            doc! { "$match": filter },
            doc! { "$project": { "score": { "$meta": "textScore" }, "product": "$$ROOT" } },
            doc! { "$sort": &rest.sort },
            doc! { "$limit": BEST },
            doc! { "$match": rest.filter },
            doc! { "$limit": rest.limit },
        ])
        .await?;
    let placed = |Match { score, product }| (selection.position(product.get(), score), product);
    Ok(found.into_iter().map(placed).collect())
}
