//! What MongoDB sees of the catalog.

use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use crate::{
    domains::{
        categories::CategoryCopy,
        comments::{self, DiscussionSummary},
    },
    graphql::scalars::{CurrencyCode, LocaleTag},
    mongo::{
        Stored, Version,
        indexes::{Index, Key, Kind},
    },
};

/// One product, whatever its kind.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProductDocument {
    /// The SKU.
    #[serde(rename = "_id")]
    pub sku: String,
    /// Tells this product from an earlier one under the same SKU.
    pub incarnation: String,
    /// `album`, `film`, `book`, or any other type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Title as shown.
    pub title: String,
    /// Title in lower case, for prefixes.
    pub title_key: String,
    /// What it is, in plain text.
    #[serde(default)]
    pub description: String,
    /// Language of title and description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<LocaleTag>,
    /// The server's name for the rules by which the text's words are reduced to stems: those of its
    /// language, else of the site's.
    pub stemming: String,
    /// Number in another shop's catalog.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asin: Option<String>,
    /// Day on which it came out; empty where it isn't known, so that lists by date hold all.
    #[serde(default)]
    pub issued: String,
    /// What a parcel of it is like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipping: Option<Shipping>,
    /// What it costs.
    pub pricing: Pricing,
    /// Price and weight as a point, see [`coordinate`]; absent where the weight isn't known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plane: Option<[f64; 2]>,
    /// What only albums, films or books have.
    #[serde(default)]
    pub details: Details,
    /// What any other type has.
    #[serde(default)]
    pub properties: Vec<Property>,
    /// Copies of its categories.
    #[serde(default)]
    pub categories: Vec<CategoryCopy>,
    /// Who made it: the record of that, with copies of their names.
    #[serde(default)]
    pub contributors: Vec<Contributor>,
    /// Changes with the part that `updateProduct` replaces.
    pub nonce: String,
    /// Rises with everything of which people carry a copy. It goes on from the server's clock, so
    /// that it also rises from one product to the next under the same SKU.
    pub version: i64,
    /// Digest of the input that created it, by which a repeat is known.
    pub origin: String,
    /// Works of people that are still to be written.
    #[serde(default)]
    pub outbox: Vec<WorksDue>,
    /// Set from a write that copies categories or names until they were looked at again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copying: Option<Copying>,
    /// What people say about it; the room of comments writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discussion: Option<Box<DiscussionSummary>>,
    /// Set when the product was deleted; the document goes one bound later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted_at: Option<DateTime>,
    /// Version of the shape.
    pub v: Version<1>,
}

/// Prices in minor units of one currency. Savings are computed by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pricing {
    /// List price.
    pub list: i64,
    /// Price at which it is sold.
    pub retail: i64,
    /// `list − retail`.
    pub savings: i64,
    /// Savings in per cent of the list price, rounded down.
    pub pct_savings: i32,
    /// Currency of all of them.
    pub currency: CurrencyCode,
}

impl Pricing {
    /// Prices with what follows from them; the list price is no lower than the retail price.
    pub fn of(list: i64, retail: i64, currency: CurrencyCode) -> Self {
        let savings = list - retail;
        let percent = if list == 0 { 0 } else { savings * 100 / list };
        let pct_savings = i32::try_from(percent).unwrap_or(100);
        Self { list, retail, savings, pct_savings, currency }
    }
}

/// What a parcel of the product is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shipping {
    /// Weight in grams.
    pub weight: i64,
    /// Size in millimetres.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimensions: Option<Dimensions>,
}

/// Size in millimetres.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dimensions {
    /// From left to right.
    pub width: i32,
    /// From bottom to top.
    pub height: i32,
    /// From front to back.
    pub depth: i32,
}

/// What only albums, films or books have; each type uses its own fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// Albums and films: what kind of music or story.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub genres: Vec<String>,
    /// Albums: the record company.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Albums: the pieces in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tracks: Vec<Track>,
    /// Films: from which age on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Films: width to height, such as `2.39:1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aspect_ratio: Option<String>,
    /// Books: ISBN-10 or ISBN-13, digits only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isbn: Option<String>,
    /// Books: how many pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<i32>,
}

/// One piece of an album.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// Its title.
    pub title: String,
    /// How long it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i32>,
}

/// One fact about a product of a type without fields of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Property {
    /// What the fact is about.
    pub key: String,
    /// The fact.
    pub value: String,
}

/// Someone who had a part in making the product.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Contributor {
    /// Who.
    pub person_id: String,
    /// Copy of the name.
    pub name: String,
    /// Version of the person of which the name is a copy.
    pub nv: i64,
    /// Which part, such as `author`.
    pub role: String,
}

/// Outbox entry: people whose works have to follow the product.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorksDue {
    /// The product's version that made it due; each has at most one entry.
    pub version: i64,
    /// Whose works.
    pub people: Vec<String>,
    /// Server time of the decision.
    pub at: DateTime,
}

/// Mark of a write that began to copy records which may change at the same time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Copying {
    /// Which write: only who looked at the copies of the last one removes the mark.
    pub token: String,
    /// Server time of the write.
    pub at: DateTime,
    /// Categories that the product began to be in and that may turn out to be gone. One that it was
    /// in before can't go: whoever deletes a category finds its products first.
    #[serde(default)]
    pub begun: Vec<String>,
}

/// Where an amount stands on an axis of the plane. Prices and weights reach over many orders of
/// magnitude; on a scale of logarithms the plane's cells are fine enough for all of them. Rising,
/// so a range of amounts is a range of coordinates; which side of its edge an amount falls on is
/// decided by the amount itself.
pub(super) fn coordinate(amount: i64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "amounts are checked to be below 2^53")]
    let amount = amount as f64;
    (amount + 1.0).log2()
}

/// Bounds of the plane: the coordinate of no amount reaches them.
const PLANE: (f64, f64) = (-1.0, 63.0);

impl Stored for ProductDocument {
    const COLLECTION: &'static str = "products";
    const INDEXES: &'static [Index] = &[
        Index {
            name: "discount",
            keys: &[("pricing.pctSavings", Key::Down), ("_id", Key::Up)],
            kind: Kind::Plain,
            serves: "products by discount",
        },
        Index {
            name: "genre",
            keys: &[
                ("type", Key::Up),
                ("details.genres", Key::Up),
                ("issued", Key::Down),
                ("_id", Key::Up),
            ],
            kind: Kind::Plain,
            serves: "albums of a genre, newest first",
        },
        Index {
            name: "credited",
            keys: &[
                ("contributors.personId", Key::Up),
                ("contributors.role", Key::Up),
                ("type", Key::Up),
                ("issued", Key::Down),
                ("_id", Key::Up),
            ],
            kind: Kind::Plain,
            serves: "products of a person, newest first; copies of names",
        },
        Index {
            name: "credited_name",
            keys: &[
                ("contributors.name", Key::Up),
                ("contributors.role", Key::Up),
                ("type", Key::Up),
                ("issued", Key::Down),
                ("_id", Key::Up),
            ],
            kind: Kind::Plain,
            serves: "products of people of a name, newest first",
        },
        Index {
            name: "title",
            keys: &[("titleKey", Key::Up), ("_id", Key::Up)],
            kind: Kind::Plain,
            serves: "products by the beginning of their title",
        },
        Index {
            name: "type_title",
            keys: &[("type", Key::Up), ("titleKey", Key::Up), ("_id", Key::Up)],
            kind: Kind::Plain,
            serves: "products of a type by the beginning of their title",
        },
        Index {
            name: "text",
            keys: &[
                ("title", Key::Text(10)),
                ("contributors.name", Key::Text(6)),
                ("description", Key::Text(5)),
                ("details.genres", Key::Text(3)),
                ("details.tracks.title", Key::Text(3)),
            ],
            kind: Kind::Text("stemming"),
            serves: "products by words of title, description, contributors, genres and tracks",
        },
        Index {
            name: "category_copies",
            keys: &[("categories._id", Key::Up), ("categories.cv", Key::Up)],
            kind: Kind::Plain,
            serves: "copies of a category; whether it still has products",
        },
        Index {
            name: "category",
            keys: &[("categories.path", Key::Up), ("titleKey", Key::Up), ("_id", Key::Up)],
            kind: Kind::Plain,
            serves: "products of a category",
        },
        Index {
            name: "category_children",
            keys: &[("categories.parentPath", Key::Up), ("titleKey", Key::Up), ("_id", Key::Up)],
            kind: Kind::Plain,
            serves: "products of a category's children",
        },
        Index {
            name: "category_subtree",
            keys: &[("categories.within", Key::Up), ("titleKey", Key::Up), ("_id", Key::Up)],
            kind: Kind::Plain,
            serves: "products of a category and everything below it",
        },
        Index {
            name: "property",
            keys: &[("properties.key", Key::Up), ("properties.value", Key::Up), ("_id", Key::Up)],
            kind: Kind::Plain,
            serves: "products with all of some properties",
        },
        Index {
            name: "price",
            keys: &[("pricing.currency", Key::Up), ("pricing.retail", Key::Up), ("_id", Key::Up)],
            kind: Kind::Plain,
            serves: "products between two prices",
        },
        Index {
            name: "plane",
            keys: &[("plane", Key::Plane), ("pricing.currency", Key::Up)],
            kind: Kind::Plane(PLANE.0, PLANE.1),
            serves: "products within a box of price and weight",
        },
        Index {
            name: "copying",
            keys: &[("copying.at", Key::Up)],
            kind: Kind::Where("copying.at"),
            serves: "the sweep of products whose copies weren't looked at again",
        },
        Index {
            name: "outbox",
            keys: &[("outbox.at", Key::Up)],
            kind: Kind::Where("outbox.at"),
            serves: "the sweep of works that are still to be written",
        },
        Index {
            name: "deleted",
            keys: &[("deletedAt", Key::Up)],
            kind: Kind::Where("deletedAt"),
            serves: "the sweep that removes deleted products",
        },
        comments::TOUCHED,
    ];
}
