//! GraphQL types of facets.

use async_graphql::SimpleObject;

use super::{
    documents::{ContributorCount, Counts, FacetsDocument, PriceCount, PropertyCount, ValueCount},
    store::bands,
};
use crate::{
    domains::people::{self, Person},
    graphql::{
        prelude::*,
        scalars::{DateTime, int},
    },
};

object! {
    /// How many products a category has, together with all categories below it. The counts are stored. They follow
    /// changes of products with a delay of some seconds. Each list begins with the most frequent values.
    pub type CategoryFacets = FacetsDocument as facets {
        /// Time of the count. Null, with empty counts, if no products were counted.
        counted_at: Option<DateTime> = facets.counted_at.map(DateTime::from),
        /// Number of products in the category or below it.
        total: i32 = counts(facets, 0, |counts| int(counts.total)),
        /// Number of products in the category itself.
        direct: i32 = counts(facets, 0, |counts| int(counts.direct)),
        /// Numbers of products by type, at most 20 types.
        types: Vec<FacetValue<'_>> = counts(facets, Vec::new(), |counts| {
            counts.types.iter().map(FacetValue::of).collect()
        }),
        /// Numbers of products by retail price, in the order of currency and price. A band without products isn't listed.
        prices: Vec<PriceFacet> = counts(facets, Vec::new(), |counts| {
            counts.prices.iter().map(PriceFacet::of).collect()
        }),
        /// Numbers of products by contributor, at most 20 contributors. A product counts once for each of them.
        contributors: Vec<ContributorFacet<'_>> = counts(facets, Vec::new(), |counts| {
            counts.contributors.iter().map(ContributorFacet).collect()
        }),
        /// Numbers of products by property. Only the 100 most frequent pairs of key and value are counted.
        properties: Vec<PropertyFacet<'_>> =
            counts(facets, Vec::new(), |counts| PropertyFacet::all(&counts.properties)),
    }
}

/// What is shown of the counts, if there are any.
fn counts<'a, T>(facets: &'a FacetsDocument, none: T, shown: impl Fn(&'a Counts) -> T) -> T {
    facets.counts.as_ref().map_or(none, shown)
}

/// Number of products with a value.
#[derive(Debug, SimpleObject)]
pub(super) struct FacetValue<'a> {
    /// The value, such as a type or the value of a property.
    value: &'a str,
    /// Number of products with this value.
    count: i32,
}

impl<'a> FacetValue<'a> {
    fn of(ValueCount { value, count }: &'a ValueCount) -> Self {
        Self { value, count: int(*count) }
    }
}

/// Number of products in a band of retail prices.
#[derive(Debug, SimpleObject)]
pub(super) struct PriceFacet {
    /// Currency of the prices.
    currency: CurrencyCode,
    /// Lowest price of the band in minor units.
    min: Long,
    /// Highest price of the band in minor units. Null in the band of the highest prices.
    max: Option<Long>,
    /// Number of products in the band.
    count: i32,
}

impl PriceFacet {
    fn of(counted: &PriceCount) -> Self {
        let next = bands().find(|edge| *edge > counted.min);
        Self {
            currency: counted.currency,
            min: Long(counted.min),
            max: next.map(|edge| Long(edge - 1)),
            count: int(counted.count),
        }
    }
}

/// Number of products of a contributor.
#[derive(Debug)]
pub(super) struct ContributorFacet<'a>(&'a ContributorCount);

object! {
    /// Number of products of a contributor.
    impl ContributorFacet<'_> as facet {
        /// Global id of the person.
        person_id: ID = NodeKind::PERSON.id(&facet.0.person_id),
        /// The person, with all works. Null if there is none any more.
        person(context)?: Option<Person> = {
            let id = NodeKind::PERSON.id(&facet.0.person_id);
            Box::pin(people::operations::person(app(context), &id)).await?.map(Person::from)
        },
        /// Name of the person. It is a copy: a new name reaches it with a delay.
        name: &str = &facet.0.name,
        /// Number of products to which the person contributed.
        count: i32 = int(facet.0.count),
    }
}

/// Numbers of products by the values of a property.
#[derive(Debug, SimpleObject)]
pub(super) struct PropertyFacet<'a> {
    /// Key of the property.
    key: &'a str,
    /// Values of the property, the most frequent first.
    values: Vec<FacetValue<'a>>,
}

impl<'a> PropertyFacet<'a> {
    /// The properties by key, the key with the most frequent value first.
    fn all(counted: &'a [PropertyCount]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for PropertyCount { key, value, count } in counted {
            let value = FacetValue { value, count: int(*count) };
            match all.iter_mut().find(|facet| facet.key == key) {
                Some(facet) => facet.values.push(value),
                None => all.push(Self { key, values: vec![value] }),
            }
        }
        all
    }
}
