//! Products as lazy documents: only the selected fields are decoded.

use std::sync::Arc;

use async_graphql::SimpleObject;
use mongodb::bson::{DateTime, RawDocumentBuf};

use super::documents::{Dimensions, Pricing, ProductDocument, Shipping, Variant};
use crate::{
    domains::{
        categories::CategoryCopyView, comments::DiscussionSummary, images::ImageView,
        metadata::MetadataPairs,
    },
    error::Result,
    graphql::scalars::LocaleTag,
    mongo::{
        Stored, Version,
        lazy_document::{Later, Owned, Viewed, fields, view},
    },
};

/// A stored product as a lazy document.
pub type StoredProduct = Viewed<ProductView<'static>>;

impl Stored for StoredProduct {
    const COLLECTION: &'static str = ProductDocument::COLLECTION;
    const UPGRADES: &'static [crate::mongo::migrations::Upgrade] = ProductDocument::UPGRADES;
    /// What searches and facets need. It can be as large as all the rest.
    const UNREAD: &'static [&'static str] = &["search", "facets"];

    fn read(stored: Arc<RawDocumentBuf>) -> Result<Self> {
        Self::over(stored)
    }
}

view! {
    /// The readable fields of a [`ProductDocument`], which describes them.
    #[derive(Debug, yoke::Yokeable)]
    pub struct ProductView<'a> {
        "_id" => pub sku: &'a str,
        "incarnation" => pub generation: &'a str,
        "type" => pub kind: &'a str,
        "title" => pub title: &'a str,
        "slug" => pub slug: Option<&'a str>,
        "slugs" => pub slugs: Later<'a, Vec<&'a str>>,
        "titleKey" => pub title_key: &'a str,
        "description" => pub description: Option<&'a str>,
        "language" => pub language: Later<'a, Option<LocaleTag>>,
        "translations" => pub translations: Later<'a, Vec<ProductTranslationView<'a>>>,
        "asin" => pub asin: Option<&'a str>,
        "issued" => pub issued: Option<&'a str>,
        "shipping" => pub shipping: Later<'a, Option<Shipping>>,
        "pricing" => pub pricing: Pricing,
        "variants" => pub variants: Later<'a, Vec<Owned<Variant>>>,
        "details" => pub details: Later<'a, Option<DetailsView<'a>>>,
        "properties" => pub properties: Later<'a, Vec<ProductProperty<'a>>>,
        "numbers" => pub numbers: Later<'a, Vec<ProductNumber<'a>>>,
        "categories" => pub categories: Later<'a, Vec<CategoryCopyView<'a>>>,
        "contributors" => pub contributors: Later<'a, Vec<ContributorView<'a>>>,
        "images" => pub images: Later<'a, Vec<ImageView<'a>>>,
        "discussion" => pub discussion: Later<'a, Option<Owned<Box<DiscussionSummary>>>>,
        "meta" => pub meta: Later<'a, Option<Owned<MetadataPairs>>>,
        "nonce" => pub content_version: &'a str,
        "deletedAt" => pub deleted_at: Option<DateTime>,
        "v" => pub v: Version<1>,
    }

    /// What tells the stock of a [`Variant`].
    #[derive(Debug)]
    pub(super) struct VariantKeyView<'a> {
        "sku" => pub(super) sku: &'a str,
        "generation" => pub(super) generation: &'a str,
    }

    /// Title and description of a product in another language.
    #[derive(Debug, SimpleObject)]
    #[graphql(name = "ProductTranslation")]
    pub struct ProductTranslationView<'a> {
        /// Language, with a region if the text is for that region only.
        "locale" => pub locale: LocaleTag,
        /// Title in this language.
        "title" => pub title: &'a str,
        /// Description in this language; null if there is none.
        "description" => pub description: Option<&'a str>,
    }

    /// The own data of albums, films and books, as [`AlbumInput`](super::types::AlbumInput) and its siblings
    /// declare it.
    #[derive(Debug, Default)]
    pub struct DetailsView<'a> {
        "genres" => pub genres: Vec<&'a str>,
        "label" => pub label: Option<&'a str>,
        "tracks" => pub tracks: Vec<Track<'a>>,
        "certificate" => pub certificate: Option<&'a str>,
        "aspectRatio" => pub aspect_ratio: Option<&'a str>,
        "isbn" => pub isbn: Option<&'a str>,
        "pages" => pub pages: Option<i32>,
    }

    /// A track of an album.
    #[derive(Debug, SimpleObject)]
    pub struct Track<'a> {
        /// Title of the track as it is displayed.
        "title" => title: &'a str,
        /// Length in seconds. Null if it is unknown.
        "seconds" => seconds: Option<i32>,
    }

    /// A property of a product whose type has no fields of its own.
    #[derive(Debug, SimpleObject)]
    pub struct ProductProperty<'a> {
        /// Name of the property, such as `colour`. Lists of products are filtered by it.
        "key" => key: &'a str,
        /// Value of the property, such as `red`.
        "value" => value: &'a str,
    }

    /// A numeric property of a product whose type has no fields of its own.
    #[derive(Debug, SimpleObject)]
    pub struct ProductNumber<'a> {
        /// Name of the property, such as `length`. Lists of products are filtered by its ranges.
        "key" => pub key: &'a str,
        /// Value of the property.
        "value" => pub value: f64,
    }

    /// A person's contribution to a product.
    #[derive(Debug)]
    pub struct ContributorView<'a> {
        "personId" => pub person_id: &'a str,
        "name" => pub name: &'a str,
        "role" => pub role: &'a str,
    }
}

fields!(<'a> Pricing {
    "list" => list,
    "retail" => retail,
    "savings" => savings,
    "pctSavings" => pct_savings,
    "currency" => currency,
});
fields!(<'a> Shipping { "weight" => weight, "dimensions" => dimensions });
fields!(<'a> Dimensions { "width" => width, "height" => height, "depth" => depth });
