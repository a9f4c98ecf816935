//! Products as they are shown: what nobody asks for isn't read.

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
        view::{Later, Owned, Viewed, fields},
    },
};

/// A product as it is stored, to be shown.
pub type StoredProduct = Viewed<ProductView<'static>>;

impl Stored for StoredProduct {
    const COLLECTION: &'static str = ProductDocument::COLLECTION;
    const INDEXES: &'static [Index] = &[];

    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self, Error> {
        Self::over(stored)
    }
}

/// What is shown of a [`ProductDocument`].
#[derive(Debug, yoke::Yokeable)]
pub struct ProductView<'a> {
    /// The SKU.
    pub sku: &'a str,
    /// Tells this product from an earlier one under the same SKU.
    pub incarnation: &'a str,
    /// `album`, `film`, `book`, or any other type.
    pub kind: &'a str,
    /// Title as shown.
    pub title: &'a str,
    /// Title in lower case, for prefixes.
    pub title_key: &'a str,
    /// What it is, in plain text.
    pub description: Option<&'a str>,
    /// Language of title and description.
    pub language: Later<'a, Option<LocaleTag>>,
    /// Number in another shop's catalog.
    pub asin: Option<&'a str>,
    /// Day on which it came out; empty where it isn't known.
    pub issued: Option<&'a str>,
    /// What a parcel of it is like.
    pub shipping: Later<'a, Option<Shipping>>,
    /// What it costs.
    pub pricing: Pricing,
    /// What only albums, films or books have.
    pub details: Later<'a, Option<DetailsView<'a>>>,
    /// What any other type has.
    pub properties: Later<'a, Vec<ProductProperty<'a>>>,
    /// Its categories.
    pub categories: Later<'a, Vec<CategoryCopyView<'a>>>,
    /// Who made it.
    pub contributors: Later<'a, Vec<ContributorView<'a>>>,
    /// What people say about it.
    pub discussion: Later<'a, Option<Owned<Box<DiscussionSummary>>>>,
    /// Changes with the part that `updateProduct` replaces.
    pub nonce: &'a str,
    /// Set when the product was deleted.
    pub deleted_at: Option<DateTime>,
    /// Version of the shape.
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

/// What only albums, films or books have; each type uses its own fields.
#[derive(Debug, Default)]
pub struct DetailsView<'a> {
    /// Albums and films: what kind of music or story.
    pub genres: Vec<&'a str>,
    /// Albums: the record company.
    pub label: Option<&'a str>,
    /// Albums: the pieces in their order.
    pub tracks: Vec<Track<'a>>,
    /// Films: from which age on.
    pub certificate: Option<&'a str>,
    /// Films: width to height.
    pub aspect_ratio: Option<&'a str>,
    /// Books: ISBN-10 or ISBN-13.
    pub isbn: Option<&'a str>,
    /// Books: how many pages.
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

/// One piece of an album.
#[derive(Debug, SimpleObject)]
pub struct Track<'a> {
    /// Its title.
    title: &'a str,
    /// How long it is.
    seconds: Option<i32>,
}

fields!(<'a> Track<'a> { "title" => title, "seconds" => seconds });

/// One fact about a product.
#[derive(Debug, SimpleObject)]
pub struct ProductProperty<'a> {
    /// What the fact is about.
    key: &'a str,
    /// The fact.
    value: &'a str,
}

fields!(<'a> ProductProperty<'a> { "key" => key, "value" => value });

/// Someone who had a part in making the product.
#[derive(Debug)]
pub struct ContributorView<'a> {
    /// Who.
    pub person_id: &'a str,
    /// The person's name.
    pub name: &'a str,
    /// Which part, such as `author`.
    pub role: &'a str,
}

fields!(<'a> ContributorView<'a> { "personId" => person_id, "name" => name, "role" => role });
