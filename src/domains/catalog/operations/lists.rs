//! The lists of products and their arguments.

use mongodb::bson::Bson;

use super::super::{
    documents::Property,
    store::{self, Place, Selection},
    types::{
        AmountRange, CategoryFilter, CreditFilter, CreditedPerson, PriceAndWeightBox, PriceRange,
        ProductsBy, TextFilter, TitleFilter,
    },
    view::StoredProduct,
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        cx::Cx,
        declared::{each, valid},
        input,
        node_id::NodeKind,
        page::{Page, Paging},
        refusals::InvalidInput,
        scalars::LocaleTag,
    },
};

/// A page of products, each with its position in the sort order.
///
/// # Errors
/// `BadInput` with the invalid argument, or an error of the read.
pub async fn products(
    cx: Cx<'_>,
    by: ProductsBy,
    paging: Paging,
) -> Result<(Page, Vec<(Vec<Bson>, StoredProduct)>), Error> {
    let selection = checked(&cx, by)?;
    let page = Page::new(&cx, selection.order(), paging)?;
    let found = store::list(&cx, &selection, &page).await?;
    Ok((page, found))
}

fn checked(app: &App, by: ProductsBy) -> Result<Selection, InvalidInput> {
    match by {
        ProductsBy::DiscountAtLeast(least) => {
            input::within("by.discountAtLeast", least.into(), 1..=100)?;
            Ok(Selection::Discount(least))
        }
        ProductsBy::AlbumsByGenre(genre) => {
            Ok(Selection::Genre(input::verbatim("by.albumsByGenre", &genre, 1..=50)?))
        }
        ProductsBy::Credited(credit) => credited(credit),
        ProductsBy::TitleStartsWith(TitleFilter { prefix, kind }) => {
            let prefix = input::verbatim("by.titleStartsWith.prefix", &prefix, 1..=300)?;
            let kind = kind.map(String::from);
            Ok(Selection::Title { prefix: input::folded(&prefix), kind })
        }
        ProductsBy::Text(TextFilter { query, language }) => {
            let language = LocaleTag::stemming_of(language.as_ref(), &app.config().site_locale);
            Ok(Selection::Text {
                query: input::verbatim("by.text.query", &query, 1..=200)?,
                language,
            })
        }
        ProductsBy::Category(place) => category(place),
        ProductsBy::Property(mut properties) => {
            if !(1..=5).contains(&properties.len()) {
                return Err(InvalidInput::new("by.property", "takes 1 to 5 properties"));
            }
            each(5, valid)("by.property", &mut properties)?;
            Ok(Selection::Properties(properties.into_iter().map(Property::from).collect()))
        }
        ProductsBy::PriceBetween(PriceRange { currency, min, max }) => {
            Ok(Selection::Price(currency, range("by.priceBetween", min.0, max.0)?))
        }
        ProductsBy::Within(PriceAndWeightBox { currency, price, weight }) => {
            let side = |field: &str, AmountRange { min, max }: AmountRange| {
                range(&format!("by.box.{field}"), min.0, max.0)
            };
            Ok(Selection::Plane(currency, side("price", price)?, side("weight", weight)?))
        }
    }
}

fn credited(CreditFilter { by, role, kind }: CreditFilter) -> Result<Selection, InvalidInput> {
    let (field, who) = match by {
        CreditedPerson::Person(id) => {
            // No person has an empty `_id`.
            ("contributors.personId", input::id(NodeKind::Person, &id).unwrap_or_default())
        }
        CreditedPerson::Name(name) => {
            ("contributors.name", input::verbatim("by.credited.by.name", &name, 1..=200)?)
        }
    };
    Ok(Selection::Credited { field, who, role: role.into(), kind: kind.into() })
}

fn category(place: CategoryFilter) -> Result<Selection, InvalidInput> {
    let (place, field, path) = match place {
        CategoryFilter::Exact(path) => (Place::Exact, "exact", path),
        CategoryFilter::Children(path) => (Place::Children, "children", path),
        CategoryFilter::Subtree(path) => (Place::Subtree, "subtree", path),
    };
    input::path(&format!("by.category.{field}"), &path)?;
    Ok(Selection::Category(place, path))
}

/// Checks a range of two amounts: neither is negative, and the minimum isn't greater than the maximum.
fn range(field: &str, min: i64, max: i64) -> Result<[i64; 2], InvalidInput> {
    /// Greater than every amount in the catalog.
    const MOST: i64 = 1_000_000_000_000;
    let min = input::within(&format!("{field}.min"), min, 0..=MOST)?;
    let max = input::within(&format!("{field}.max"), max, min..=MOST)?;
    Ok([min, max])
}
