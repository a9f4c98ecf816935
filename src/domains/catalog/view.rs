//! Products as lazy documents: only the selected fields are decoded.

use std::sync::Arc;

use async_graphql::SimpleObject;
use mongodb::bson::{DateTime, RawDocumentBuf};

use super::documents::{Dimensions, Pricing, ProductDocument, Shipping};
use crate::{
    domains::{categories::CategoryCopyView, comments::DiscussionSummary},
    error::Error,
    graphql::scalars::LocaleTag,
    mongo::{
        Stored, Version,
        indexes::Index,
        lazy_document::{Later, Owned, Viewed, fields},
    },
};

/// A stored product as a lazy document.
pub type StoredProduct = Viewed<ProductView<'static>>;

impl Stored for StoredProduct {
    const COLLECTION: &'static str = ProductDocument::COLLECTION;
    const INDEXES: &'static [Index] = &[];

    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self, Error> {
        Self::over(stored)
    }
}

/// The readable fields of a [`ProductDocument`].
#[derive(Debug, yoke::Yokeable)]
pub struct ProductView<'a> {
    /// The SKU.
    pub sku: &'a str,
    /// Generation: distinguishes this product from an earlier one under the same SKU.
    pub incarnation: &'a str,
    /// `album`, `film`, `book`, or any other type.
    pub kind: &'a str,
    /// Title as it is displayed.
    pub title: &'a str,
    /// Title in lower case, for search by prefix.
    pub title_key: &'a str,
    /// Description in plain text.
    pub description: Option<&'a str>,
    /// Language of title and description.
    pub language: Later<'a, Option<LocaleTag>>,
    /// Amazon Standard Identification Number.
    pub asin: Option<&'a str>,
    /// Date of issue; empty if unknown.
    pub issued: Option<&'a str>,
    /// Weight and size of a parcel.
    pub shipping: Later<'a, Option<Shipping>>,
    /// Prices.
    pub pricing: Pricing,
    /// Fields that only albums, films or books have.
    pub details: Later<'a, Option<DetailsView<'a>>>,
    /// Properties of a product of any other type.
    pub properties: Later<'a, Vec<ProductProperty<'a>>>,
    /// Copies of its categories.
    pub categories: Later<'a, Vec<CategoryCopyView<'a>>>,
    /// Contributors.
    pub contributors: Later<'a, Vec<ContributorView<'a>>>,
    /// Summary of its comments.
    pub discussion: Later<'a, Option<Owned<Box<DiscussionSummary>>>>,
    /// Changes with each `updateProduct`, which guards on it.
    pub nonce: &'a str,
    /// Server time of the deletion.
    pub deleted_at: Option<DateTime>,
    /// Version of the document's format.
    pub v: Version<1>,
}

fields!(<'a> ProductView<'a> {
    "_id" => sku,
    "incarnation" => incarnation,
    "type" => kind,
    "title" => title,
    "titleKey" => title_key,
    "description" => description,
    "language" => language,
    "asin" => asin,
    "issued" => issued,
    "shipping" => shipping,
    "pricing" => pricing,
    "details" => details,
    "properties" => properties,
    "categories" => categories,
    "contributors" => contributors,
    "discussion" => discussion,
    "nonce" => nonce,
    "deletedAt" => deleted_at,
    "v" => v,
});

fields!(<'a> Pricing {
    "list" => list,
    "retail" => retail,
    "savings" => savings,
    "pctSavings" => pct_savings,
    "currency" => currency,
});

fields!(<'a> Shipping { "weight" => weight, "dimensions" => dimensions });

fields!(<'a> Dimensions { "width" => width, "height" => height, "depth" => depth });

/// Fields that only albums, films or books have. Each type uses its own.
#[derive(Debug, Default)]
pub struct DetailsView<'a> {
    /// Albums and films: genres.
    pub genres: Vec<&'a str>,
    /// Albums: record label.
    pub label: Option<&'a str>,
    /// Albums: tracks in their order.
    pub tracks: Vec<Track<'a>>,
    /// Films: age rating.
    pub certificate: Option<&'a str>,
    /// Films: ratio of width to height.
    pub aspect_ratio: Option<&'a str>,
    /// Books: ISBN-10 or ISBN-13.
    pub isbn: Option<&'a str>,
    /// Books: number of pages.
    pub pages: Option<i32>,
}

fields!(<'a> DetailsView<'a> {
    "genres" => genres,
    "label" => label,
    "tracks" => tracks,
    "certificate" => certificate,
    "aspectRatio" => aspect_ratio,
    "isbn" => isbn,
    "pages" => pages,
});

/// A track of an album.
#[derive(Debug, SimpleObject)]
pub struct Track<'a> {
    /// Title of the track.
    title: &'a str,
    /// Length in seconds. Null if it is unknown.
    seconds: Option<i32>,
}

fields!(<'a> Track<'a> { "title" => title, "seconds" => seconds });

/// A property of a product whose type has no fields of its own.
#[derive(Debug, SimpleObject)]
pub struct ProductProperty<'a> {
    /// Name of the property.
    key: &'a str,
    /// Value of the property.
    value: &'a str,
}

fields!(<'a> ProductProperty<'a> { "key" => key, "value" => value });

/// A person's contribution to a product.
#[derive(Debug)]
pub struct ContributorView<'a> {
    /// `_id` of the person.
    pub person_id: &'a str,
    /// The person's name.
    pub name: &'a str,
    /// Role, such as `author`.
    pub role: &'a str,
}

fields!(<'a> ContributorView<'a> { "personId" => person_id, "name" => name, "role" => role });
