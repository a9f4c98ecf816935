//! The documents of the catalog as MongoDB stores them.

mod variants;

use async_graphql::SimpleObject;

pub(super) use self::variants::VariantOption;
pub use self::variants::{Variant, is_variant, product_sku, product_sku_of};
use super::types::{NumberInput, PropertyInput};
use crate::{
    domains::{
        categories::CategoryCopy,
        comments::{self, DiscussionSummary},
        counted::FacetMark,
        images::ImageRef,
        metadata::{METADATA, MetadataPairs},
        people::PersonName,
    },
    graphql::prelude::*,
    mongo::{
        prelude::*,
        terms::{Termed, Terms},
    },
};

document! {
    /// One product of any type.
    pub struct ProductDocument {
        pub sku as "_id": String,
        /// Generation: distinguishes this product from an earlier one under the same SKU.
        pub generation as "incarnation": String,
        /// What `updateProduct` replaces as a whole.
        #[serde(flatten)]
        pub content: Content,
        pub pricing: Pricing,
        /// Its variants, in the order in which they were added.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub variants: Vec<Variant>,
        /// Price and weight as a point, see [`coordinate`]; absent if the weight is unknown.
        pub plane?: [f64; 2],
        /// Copies of its categories.
        #[serde(default)]
        pub categories: Vec<CategoryCopy>,
        /// Contributors: the record of who made it, with copies of their names.
        #[serde(default)]
        pub contributors: Vec<Contributor>,
        /// Its pictures, which `setImages` writes.
        pub images?: Vec<ImageRef>,
        /// Version of the content. It changes with each `updateProduct`, which guards on it.
        pub content_version as "nonce": String,
        /// Rises with each change that people copy. It is at least the server's clock, so it also rises from one
        /// product to the next under the same SKU.
        pub version: i64,
        /// Its present slug, which is one of `slugs`.
        pub slug?: String,
        /// Its present slug and its former ones. Each is claimed by a [`SlugDocument`].
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub slugs: Vec<String>,
        /// Digest of the input that created it, which identifies a repeat.
        pub origin: String,
        /// Works of people that are still to be written.
        #[serde(default)]
        pub outbox: Vec<WorksDue>,
        /// The mark of a write that begins to copy categories or names. It stays until the copies were checked.
        pub copying?: Copying,
        /// The mark of changes that the facets of its categories haven't followed yet. It stays, without a time, when
        /// they have.
        pub facets?: FacetMark,
        /// Summary of its comments, which the room of comments writes.
        pub discussion?: Box<DiscussionSummary>,
        /// Its metadata.
        pub meta?: Box<MetadataPairs>,
        /// Server time of the deletion. The document is removed two grace periods later.
        pub deleted_at?: DateTime,
        pub v: Version<1>,
    } in "products" {
        plain("discount", "-pricing.pctSavings _id", "products by discount"),
        plain("genre", "type details.genres -issued _id", "albums of a genre, newest first"),
        plain("credited", "contributors.personId contributors.role type -issued _id",
            "products of a person, newest first; copies of names"),
        plain("credited_name", "contributors.name contributors.role type -issued _id",
            "products of people of a name, newest first"),
        plain("contributed", "contributors.personId -issued _id",
            "products of a person in any role, newest first"),
        plain("newest", "-issued _id", "all products, newest first"),
        plain("type_newest", "type -issued _id", "products of a type, newest first"),
        plain("title", "titleKey _id", "all products by title, and those with its beginning"),
        plain("type_title", "type titleKey _id",
            "products of a type by the beginning of their title"),
        text("text",
            "title^10 contributors.name^6 description^5 details.genres^3 details.tracks.title^3",
            "stemming", "products by words of title, description, contributors, genres and tracks"),
        plain("words", "search.words titleKey _id", "suggestions of products while somebody types"),
        of_field("slugs", "slugs", "one product by its present or a former slug"),
        // Without the version of the copies: if an update changes a field of any index, MongoDB computes the keys of all of them.
        // So a change of a category's names changes none here.
        plain("category_id", "categories._id",
            "copies of a category; whether it still has products"),
        plain("category", "categories.path titleKey _id", "products of a category"),
        plain("category_own_newest", "categories.path -issued _id",
            "products of a category, newest first"),
        plain("category_own_price", "categories.path pricing.currency pricing.retail _id",
            "products of a category by price, and between two prices"),
        plain("category_own_discount", "categories.path -pricing.pctSavings _id",
            "products of a category by discount"),
        plain("category_children", "categories.parentPath titleKey _id",
            "products of a category's children"),
        plain("category_subtree", "categories.within titleKey _id",
            "products of a category and everything below it"),
        plain("category_newest", "categories.within -issued _id",
            "products of a category and everything below it, newest first"),
        plain("category_price", "categories.within pricing.currency pricing.retail _id",
            "products of a category and everything below it by price, and between two prices"),
        plain("category_discount", "categories.within -pricing.pctSavings _id",
            "products of a category and everything below it by discount"),
        of("rating", "-discussion.rating.score -discussion.rating.count _id",
            "discussion.rating.score", "products with reviews, the best rated first"),
        of("category_rating",
            "categories.within -discussion.rating.score -discussion.rating.count _id",
            "discussion.rating.score",
            "products with reviews of a category and everything below it, the best rated first"),
        plain("property", "properties.key properties.value _id",
            "products with all of some properties"),
        plain("number", "numbers.key numbers.value _id",
            "products with a number of a range, by the number"),
        plain("price", "pricing.currency pricing.retail _id", "products between two prices"),
        plane("plane", "@plane pricing.currency", PLANE,
            "products within a box of price and weight"),
        of_field("copying", "copying.at",
            "the sweep of products whose copies weren't looked at again"),
        of_field("outbox", "outbox.at", "the sweep of works that are still to be written"),
        of_field("facets", "facets.at", "the sweep of changes that facets haven't followed"),
        of_field("deleted", "deletedAt", "the sweep that removes deleted products"),
        + METADATA,
        + comments::TOUCHED,
        + Terms::BY_VARIANT,
    }

    /// Content of a product, with its derived fields.
    pub struct Content {
        /// `album`, `film`, `book`, or any other type.
        pub kind as "type": String,
        pub title: String,
        /// Title in lower case, for search by prefix.
        pub title_key: String,
        #[serde(default)]
        pub description: String,
        /// Language of title and description.
        pub language?: LocaleTag,
        /// Title and description in other languages, each language once.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub translations: Vec<ProductTranslation>,
        /// MongoDB's name of the language whose stemming rules text search applies: the product's language, else
        /// the site's.
        pub stemming: String,
        /// Amazon Standard Identification Number.
        pub asin?: String,
        /// Date of issue; empty if unknown, so that lists by date contain every product.
        #[serde(default)]
        pub issued: String,
        /// Weight and size of a parcel.
        pub shipping?: Shipping,
        /// The album's, film's or book's own data, as in its input; see `DetailsView`.
        #[serde(default)]
        pub details: Document,
        /// Properties of a product of any other type.
        #[serde(default)]
        pub properties: Vec<PropertyInput>,
        /// Numeric properties of a product of any other type.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub numbers: Vec<NumberInput>,
        /// The words by which `suggest` finds it. They follow from the titles of the product and of its tracks.
        pub search?: Terms,
    }

    /// Title and description in another language.
    #[derive(PartialEq, Eq)]
    pub struct ProductTranslation {
        pub locale: LocaleTag,
        pub title: String,
        /// Description; absent if that of another language is shown.
        pub description?: String,
    }

    /// Prices in minor units of one currency. The server computes the savings.
    #[derive(Copy, PartialEq, Eq)]
    pub struct Pricing {
        pub list: i64,
        /// Selling price.
        pub retail: i64,
        /// `list − retail`.
        pub savings: i64,
        /// Savings as a percentage of the list price, rounded down.
        pub pct_savings: i32,
        /// Currency of all amounts.
        pub currency: CurrencyCode,
    }
}

impl Content {
    /// The terms that follow from the other fields.
    pub(super) fn terms(&self) -> Terms {
        let tracks = self.details.get_array("tracks").map(Vec::as_slice).unwrap_or_default();
        let tracks = tracks.iter().filter_map(|track| track.as_document()?.get_str("title").ok());
        let titles = self.translations.iter().map(|translation| translation.title.as_str());
        Terms::of([self.title.as_str()].into_iter().chain(titles), tracks)
    }
}

document! {
    /// What `suggest` shows of a product.
    pub struct SuggestedProduct {
        pub sku as "_id": String,
        pub kind as "type": String,
        pub title: String,
        /// Language of the title.
        pub language?: LocaleTag,
        /// The title in other languages, without descriptions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub translations: Vec<ProductTranslation>,
        pub slug?: String,
        /// Its words, if the text had a typing error.
        pub search?: Terms,
    } in ProductDocument;

    /// The claim of a slug by a product. The products that have a slug in `slugs` have claimed it before.
    pub(super) struct SlugDocument {
        pub slug as "_id": String,
        /// SKU of the product.
        pub sku: String,
        /// Generation of the product, see [`ProductDocument`].
        pub generation: String,
        /// Server time of the claim. It is removed when the product was seen to have the slug.
        pub claimed_at?: DateTime,
        pub v: Version<1>,
    } in "productSlugs" {
        of_field("claimed", "claimedAt", "the sweep of claims that may not have reached their product"),
    }
}

impl Termed for SuggestedProduct {
    const FIELDS: &'static [&'static str] =
        &["type", "title", "language", "translations.locale", "translations.title", "slug"];

    fn condition() -> Document {
        doc! { "deletedAt": { "$exists": false } }
    }

    fn take_terms(&mut self) -> Option<Terms> {
        self.search.take()
    }
}

impl Pricing {
    /// Prices with their savings. The list price must not be lower than the retail price.
    pub fn of(list: i64, retail: i64, currency: CurrencyCode) -> Self {
        let savings = list - retail;
        let percent = if list == 0 { 0 } else { savings * 100 / list };
        let pct_savings = i32::try_from(percent).unwrap_or(100);
        Self { list, retail, savings, pct_savings, currency }
    }
}

document! {
    /// Weight and size of the parcel.
    #[derive(Copy, PartialEq, Eq, SimpleObject)]
    #[graphql(name = "ProductShipping")]
    pub struct Shipping {
        /// Weight in grams.
        pub weight: i64,
        /// Size of the parcel; null if unknown.
        pub dimensions?: Dimensions,
    }

    /// Size in millimetres.
    #[derive(Copy, PartialEq, Eq, SimpleObject)]
    #[graphql(name = "ProductDimensions")]
    pub struct Dimensions {
        /// Width (left to right) in millimetres.
        pub width: i32,
        /// Height (bottom to top) in millimetres.
        pub height: i32,
        /// Depth (front to back) in millimetres.
        pub depth: i32,
    }

    /// A person's contribution to a product.
    #[derive(PartialEq, Eq)]
    pub struct Contributor {
        /// `_id` of the person.
        pub person_id: String,
        /// Copy of the person's name.
        pub name: String,
        /// Version of the person that has this name.
        pub nv: i64,
        /// Role, such as `author`.
        pub role: String,
    }
}

impl Contributor {
    /// The contribution of a person in a role.
    pub(super) fn of(person: &PersonName, role: &Slug) -> Self {
        Self {
            person_id: person.id.clone(),
            name: person.name.clone(),
            nv: person.version,
            role: role.as_str().to_owned(),
        }
    }
}

document! {
    /// Outbox entry: people whose works are to be written.
    #[derive(PartialEq, Eq)]
    pub struct WorksDue {
        /// Version of the product that made it due. Each version has at most one entry.
        pub version: i64,
        /// Ids of the people.
        pub people: Vec<String>,
        /// Server time of the commit.
        pub at: DateTime,
    }

    /// Mark of a write that began to copy records, which may change at the same time.
    #[derive(PartialEq, Eq)]
    pub struct Copying {
        /// Identifies the write. Only a check of the last write's copies may remove the mark.
        pub token: String,
        /// Server time of the write.
        pub at: DateTime,
        /// Categories that the product began to be in and that may not exist any more. A category that it was in
        /// before can't be deleted: the deletion finds its products first.
        #[serde(default)]
        pub unconfirmed as "begun": Vec<String>,
    }
}

/// Coordinate of an amount on an axis of the plane: a logarithm. Prices and weights span many orders of
/// magnitude, and on a logarithmic scale the plane's cells are fine enough for all of them. The function is
/// increasing, so a range of amounts is a range of coordinates. At the edge of a range the amount itself
/// decides.
pub(super) fn coordinate(amount: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "amounts are checked to be below 2^53")]
    let amount = amount as f64;
    (amount + 1.0).log2()
}

/// Limits of the plane, beyond the coordinate of every amount.
const PLANE: (f64, f64) = (-1.0, 63.0);
