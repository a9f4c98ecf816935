//! Compares the indexes that the rooms declare with those that exist, and builds missing ones.

use std::time::Duration;

use futures_util::{TryStreamExt, future::try_join_all};
use mongodb::{
    Database, IndexModel,
    bson::{Bson, Document, doc},
    options::IndexOptions,
};

use super::{
    driver::{send, send_within},
    placement::{Group, Placement, create},
    shards::ShardKey,
};
use crate::error::Error;

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

/// Time limit of one `createIndexes`, which can take hours on a large collection.
const BUILD_TIMEOUT: Duration = Duration::from_secs(24 * 3_600);

/// The comparison of one index with its declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Declared, and exists.
    Keep,
    /// Declared, and missing.
    Create,
    /// Exists under the declared name, but with other keys or options.
    Differs,
    /// Exists, and isn't declared.
    Undeclared,
}

/// One entry of the plan.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The collection.
    pub collection: &'static str,
    /// The index's name.
    pub name: String,
    /// The result of the comparison.
    pub step: Step,
    /// The read that needs it; empty if it isn't declared.
    pub serves: &'static str,
}

/// A declared collection.
#[derive(Debug, Clone, Copy)]
pub struct Declared {
    /// Its name.
    pub name: &'static str,
    /// Its indexes.
    pub indexes: &'static [Index],
    /// Its group, which has its database.
    pub group: Group,
    /// How a cluster divides it.
    pub shard_key: ShardKey,
}

/// Lists the indexes of an existing collection.
async fn existing(database: &Database, collection: &'static str) -> Result<Vec<IndexModel>, Error> {
    let handle = database.collection::<Document>(collection);
    send(collection, "listIndexes", async move { handle.list_indexes().await?.try_collect().await })
        .await
}

async fn collections(database: &Database) -> Result<Vec<String>, Error> {
    let database = database.clone();
    send("", "listCollections", async move { database.list_collection_names().await }).await
}

pub(super) fn name_of(model: &IndexModel) -> String {
    model.options.as_ref().and_then(|options| options.name.clone()).unwrap_or_default()
}

/// Compares the declared indexes with the existing ones.
pub async fn plan(placement: &Placement, declared: &[Declared]) -> Result<Vec<Planned>, Error> {
    let mut plan = Vec::new();
    let there = Group::ALL.map(|group| async move { collections(placement.database(group)).await });
    let there = try_join_all(there).await?;
    for &Declared { name: collection, indexes, group, shard_key } in declared {
        let database = placement.database(group);
        let mut of_group = Group::ALL.into_iter().zip(&there).filter(|(of, _)| *of == group);
        let exists = of_group.any(|(_, names)| names.iter().any(|name| name == collection));
        let found = if exists { existing(database, collection).await? } else { Vec::new() };
        for index in indexes {
            let step = match found.iter().find(|model| name_of(model) == index.name) {
                None => Step::Create,
                Some(model) if index.matches(model) => Step::Keep,
                Some(_) => Step::Differs,
            };
            plan.push(Planned { collection, name: index.name.into(), step, serves: index.serves });
        }
        for model in &found {
            let name = name_of(model);
            let is_declared = indexes.iter().any(|index| index.name == name);
            if name != "_id_" && !is_declared && !is_of_shard_key(model, shard_key) {
                plan.push(Planned { collection, name, step: Step::Undeclared, serves: "" });
            }
        }
    }
    Ok(plan)
}

/// Whether it is the index that a sharded collection has for its shard key.
fn is_of_shard_key(model: &IndexModel, key: ShardKey) -> bool {
    key.field().is_some_and(|field| model.keys == doc! { field: "hashed" })
}

/// Builds missing indexes, and creates the collections of groups whose compression is set. With `drop`, also removes
/// undeclared indexes and rebuilds those that differ. The missing indexes of one collection are built by one command,
/// which reads the collection once. `done` is called for each index of the plan.
///
/// # Errors
/// `Unavailable` or `Internal`; the collections before the failed one keep their new indexes.
pub async fn apply(
    placement: &Placement,
    declared: &[Declared],
    drop: bool,
    mut done: impl FnMut(&Planned),
) -> Result<(), Error> {
    for Declared { name: collection, group, .. } in declared {
        create(placement.of(*group), collection).await?;
    }
    let plan = plan(placement, declared).await?;
    let place = |collection| {
        let of = declared.iter().find(|declared| declared.name == collection);
        placement.database(of.map_or(Group::Core, |declared| declared.group))
    };
    for steps in plan.chunk_by(|left, right| left.collection == right.collection) {
        for step in steps.iter().filter(|step| drop && step.must_be_dropped()) {
            remove(place(step.collection), step).await?;
        }
        let is_missing = |planned: &&Planned| match planned.step {
            Step::Create => true,
            Step::Differs => drop,
            Step::Keep | Step::Undeclared => false,
        };
        let missing: Vec<_> = steps.iter().filter(is_missing).collect();
        if let Some(first) = missing.first() {
            let wanted = |index: &Index| missing.iter().any(|planned| planned.name == index.name);
            build(place(first.collection), first.collection, declared, wanted).await?;
        }
        steps.iter().for_each(&mut done);
    }
    Ok(())
}

impl Planned {
    /// Whether the existing index is undeclared or differs from its declaration.
    fn must_be_dropped(&self) -> bool {
        matches!(self.step, Step::Differs | Step::Undeclared)
    }
}

async fn remove(database: &Database, planned: &Planned) -> Result<(), Error> {
    let handle = database.collection::<Document>(planned.collection);
    let name = planned.name.clone();
    send(planned.collection, "dropIndexes", async move { handle.drop_index(name).await }).await
}

async fn build(
    database: &Database,
    collection: &'static str,
    declared: &[Declared],
    wanted: impl Fn(&Index) -> bool,
) -> Result<(), Error> {
    let of_collection = declared.iter().filter(|declared| declared.name == collection);
    let indexes = of_collection.flat_map(|declared| declared.indexes);
    let models: Vec<_> = indexes.filter(|index| wanted(index)).map(Index::model).collect();
    let handle = database.collection::<Document>(collection);
    let built = async move { handle.create_indexes(models).await };
    send_within(BUILD_TIMEOUT, collection, "createIndexes", built).await?;
    Ok(())
}
