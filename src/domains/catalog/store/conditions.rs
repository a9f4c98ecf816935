//! The conditions of lists of products, as filters.

use super::super::types::{
    CategoryFilter, CreditFilter, CreditedPerson, NumberRangeInput, ProductsBy, PropertyInput,
    TextFilter,
};
use crate::{
    domains::attributes::{self, Attributes, Test, is_ordered},
    graphql::{
        declared::{each, valid},
        prelude::*,
    },
    mongo::prelude::*,
};

/// The index of numbers.
pub(super) const BY_NUMBER: &str = "number";
/// The numbers of a product, with the index [`BY_NUMBER`].
pub(super) const NUMBERS: Attributes = Attributes { key: "numbers.key", value: "numbers.value" };

/// What is given of a contributor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Credit {
    /// The person, with role and type.
    Whole,
    /// The person, without the one or the other.
    Person,
    /// A name, with role and type.
    Name,
}

impl Credit {
    pub(super) fn of(filter: &CreditFilter) -> Self {
        match filter {
            CreditFilter { by: CreditedPerson::Name(_), .. } => Self::Name,
            CreditFilter { role: Some(_), kind: Some(_), .. } => Self::Whole,
            _ => Self::Person,
        }
    }

    /// The index, which has the order `NEWEST`.
    fn index(self) -> &'static str {
        match self {
            Self::Whole => "credited",
            Self::Person => "contributed",
            Self::Name => "credited_name",
        }
    }
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
    filter: CreditFilter,
) -> Result<(&'static str, Document), InvalidInput> {
    let hint = Credit::of(&filter).index();
    let CreditFilter { by, role, kind } = filter;
    let mut part = match by {
        CreditedPerson::PersonId(id) => {
            doc! { "personId": input::id_or_none(NodeKind::PERSON, &id) }
        }
        CreditedPerson::Name(name) => {
            let at = format!("{at}.by.name");
            if role.is_none() || kind.is_none() {
                return Err(InvalidInput::new(&at, "needs `role` and `type` beside it"));
            }
            doc! { "name": input::verbatim(&at, &name, 1..=200)? }
        }
    };
    if let Some(role) = role {
        part.insert("role", role.as_str());
    }
    let mut found = doc! { "contributors": { "$elemMatch": part } };
    if let Some(kind) = kind {
        found.insert("type", kind.as_str());
    }
    Ok((hint, found))
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
pub(super) fn number_ranges(
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
