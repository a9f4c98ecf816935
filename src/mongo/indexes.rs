//! The indexes that the rooms declare. `super::index_plan` compares them with those that exist.

use std::time::Duration;

use mongodb::{
    IndexModel,
    bson::{Bson, Document, doc},
    options::IndexOptions,
};

pub use super::index_plan::{Planned, Step, apply, plan};
use super::{placement::Group, shards::ShardKey};

/// A declared index.
#[derive(Debug, Clone, Copy)]
pub struct Index {
    /// Its name. It is stable: `docgate indexes` compares indexes by name.
    pub name: &'static str,
    /// Its fields in order, separated by spaces: `-field` is descending, `field^10` full text with that weight,
    /// `@field` a point of a plane, and `%field` a point on the globe.
    pub keys: &'static str,
    /// Its other properties.
    pub kind: Kind,
    /// The read that needs it, for `docgate indexes plan`.
    pub serves: &'static str,
}

/// Properties of an index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// No special properties.
    Plain,
    /// No two documents have the same keys.
    Unique,
    /// Contains only documents that have the named field.
    Where(&'static str),
    /// Contains only documents that have the named field; no two of them have the same keys.
    UniqueWhere(&'static str),
    /// Contains only documents whose named field is a number below this one.
    Below(&'static str, i64),
    /// Full text, stemmed in the language that the named field holds.
    Text(&'static str),
    /// `2d`, with both coordinates between these bounds.
    Plane(f64, f64),
    /// TTL: MongoDB removes a document soon after the time in the index's field, if it has one.
    Expiry,
}

impl Index {
    const fn new(name: &'static str, keys: &'static str, kind: Kind, serves: &'static str) -> Self {
        Self { name, keys, kind, serves }
    }

    /// An index without special properties.
    pub const fn plain(name: &'static str, keys: &'static str, serves: &'static str) -> Self {
        Self::new(name, keys, Kind::Plain, serves)
    }

    /// An index that lets no two documents have the same keys.
    pub const fn unique(name: &'static str, keys: &'static str, serves: &'static str) -> Self {
        Self::new(name, keys, Kind::Unique, serves)
    }

    /// A partial index of the documents that have `field`.
    pub const fn of(
        name: &'static str,
        keys: &'static str,
        field: &'static str,
        serves: &'static str,
    ) -> Self {
        Self::new(name, keys, Kind::Where(field), serves)
    }

    /// An index of one field, of the documents that have it.
    pub const fn of_field(name: &'static str, field: &'static str, serves: &'static str) -> Self {
        Self::of(name, field, field, serves)
    }

    /// An index of one field, of the documents that have it; no two have the same value.
    pub const fn unique_of(name: &'static str, field: &'static str, serves: &'static str) -> Self {
        Self::new(name, field, Kind::UniqueWhere(field), serves)
    }

    /// A partial index of the documents whose `field` is below `most`. A read that names a lower bound can use it.
    pub const fn below(
        name: &'static str,
        keys: &'static str,
        (field, most): (&'static str, i64),
        serves: &'static str,
    ) -> Self {
        Self::new(name, keys, Kind::Below(field, most), serves)
    }

    /// A full text index, stemmed in the language that the field `language` holds.
    pub const fn text(
        name: &'static str,
        keys: &'static str,
        language: &'static str,
        serves: &'static str,
    ) -> Self {
        Self::new(name, keys, Kind::Text(language), serves)
    }

    /// A `2d` index with both coordinates between `least` and `most`.
    pub const fn plane(
        name: &'static str,
        keys: &'static str,
        (least, most): (f64, f64),
        serves: &'static str,
    ) -> Self {
        Self::new(name, keys, Kind::Plane(least, most), serves)
    }

    /// A TTL index: MongoDB removes a document soon after the time in `field`. A document without the field stays.
    pub const fn expiry(name: &'static str, field: &'static str, serves: &'static str) -> Self {
        Self::new(name, field, Kind::Expiry, serves)
    }

    /// Its fields in order.
    pub fn fields(&self) -> impl Iterator<Item = &'static str> {
        let field = |key: &'static str| key.trim_start_matches(['-', '@', '%']).split('^').next();
        self.keys.split(' ').filter_map(field)
    }

    /// Whether it lets no two documents have the same keys.
    pub fn is_unique(&self) -> bool {
        matches!(self.kind, Kind::Unique | Kind::UniqueWhere(_))
    }

    fn keys(&self) -> Document {
        let of = |name: &str| Bson::String(name.into());
        let value = |key: &'static str| match (key.split_at(1), key.split_once('^')) {
            (("-", field), _) => (field, Bson::Int32(-1)),
            (("@", field), _) => (field, of("2d")),
            (("%", field), _) => (field, of("2dsphere")),
            (_, Some((field, _))) => (field, of("text")),
            (_, None) => (key, Bson::Int32(1)),
        };
        self.keys.split(' ').map(value).map(|(field, key)| (field.to_owned(), key)).collect()
    }

    pub(super) fn model(&self) -> IndexModel {
        let mut options = IndexOptions::default();
        options.name = Some(self.name.to_owned());
        match self.kind {
            Kind::Plain => {}
            Kind::Unique => options.unique = Some(true),
            Kind::Where(field) | Kind::UniqueWhere(field) => {
                options.unique = matches!(self.kind, Kind::UniqueWhere(_)).then_some(true);
                options.partial_filter_expression = Some(doc! { field: { "$exists": true } });
            }
            Kind::Below(field, most) => {
                options.partial_filter_expression = Some(doc! { field: { "$lt": most } });
            }
            Kind::Text(language) => {
                let weights = self.keys.split(' ').filter_map(|key| {
                    let (field, weight) = key.split_once('^')?;
                    Some((field.to_owned(), Bson::Int32(weight.parse().ok()?)))
                });
                options.weights = Some(weights.collect());
                options.default_language = Some("none".into());
                options.language_override = Some(language.to_owned());
            }
            Kind::Plane(min, max) => {
                options.min = Some(min);
                options.max = Some(max);
            }
            Kind::Expiry => options.expire_after = Some(Duration::ZERO),
        }
        IndexModel::builder().keys(self.keys()).options(options).build()
    }

    /// Whether an existing index of the same name has this definition.
    pub(super) fn matches(&self, existing: &IndexModel) -> bool {
        let declared = self.model();
        let (Some(mine), Some(theirs)) = (declared.options, existing.options.as_ref()) else {
            return false;
        };
        // The server rewrites the keys of a text index, but not its name and weights.
        let keys = matches!(self.kind, Kind::Text(_)) || same_keys(&declared.keys, &existing.keys);
        keys && mine.unique.unwrap_or(false) == theirs.unique.unwrap_or(false)
            && mine.partial_filter_expression == theirs.partial_filter_expression
            && mine.weights.is_none_or(|mine| {
                theirs.weights.as_ref().is_some_and(|theirs| same_weights(&mine, theirs))
            })
            && (mine.min, mine.max) == (theirs.min, theirs.max)
            && mine.expire_after == theirs.expire_after
    }
}

/// Compares weights regardless of their order, because the server returns them in its own order.
fn same_weights(left: &Document, right: &Document) -> bool {
    let sorted = |weights: &Document| {
        let mut pairs: Vec<_> = weights.clone().into_iter().collect();
        pairs.sort_by(|left, right| left.0.cmp(&right.0));
        pairs.into_iter().collect::<Document>()
    };
    same_keys(&sorted(left), &sorted(right))
}

fn same_keys(left: &Document, right: &Document) -> bool {
    let number = |value: &Bson| match value {
        Bson::Int64(number) => Bson::Int32(i32::try_from(*number).unwrap_or(i32::MAX)),
        #[expect(clippy::cast_possible_truncation, reason = "index keys are 1 or -1")]
        Bson::Double(number) => Bson::Int32(*number as i32),
        other => other.clone(),
    };
    left.len() == right.len()
        && left.iter().zip(right).all(|(l, r)| l.0 == r.0 && number(l.1) == number(r.1))
}

/// A declared collection, or several.
#[derive(Debug, Clone, Copy)]
pub struct Declared {
    /// Its name. With a `*` at its end it stands for all collections that exist and whose names begin so.
    pub name: &'static str,
    /// Its indexes.
    pub indexes: &'static [Index],
    /// Its group, which has its database.
    pub group: Group,
    /// How a cluster divides it.
    pub shard_key: ShardKey,
}

impl Declared {
    /// Whether it stands for a collection with this name.
    pub fn is(&self, name: &str) -> bool {
        self.name.strip_suffix('*').map_or(name == self.name, |start| name.starts_with(start))
    }
}

pub(super) fn name_of(model: &IndexModel) -> String {
    model.options.as_ref().and_then(|options| options.name.clone()).unwrap_or_default()
}
