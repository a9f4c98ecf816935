//! Indexes as each room declares them, against those that exist.

use std::time::Duration;

use futures_util::TryStreamExt;
use mongodb::{
    Database, IndexModel,
    bson::{Bson, Document, doc},
    options::IndexOptions,
};

use super::driver::{send, send_within};
use crate::error::Error;

/// One declared index.
#[derive(Debug, Clone, Copy)]
pub struct Index {
    /// Its name; stable, and part of what `docgate indexes` compares.
    pub name: &'static str,
    /// Its keys in order.
    pub keys: &'static [(&'static str, Key)],
    /// What else it is.
    pub kind: Kind,
    /// Which read needs it, for `docgate indexes plan`.
    pub serves: &'static str,
}

/// How one field is indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Rising.
    Up,
    /// Falling.
    Down,
    /// Full text, with its weight.
    Text(i32),
    /// A plane with the declared bounds.
    Plane,
}

/// Properties of an index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// Nothing special.
    Plain,
    /// No two documents with the same keys.
    Unique,
    /// Only documents that have the named field.
    Where(&'static str),
    /// Text, stemmed by the language that the named field holds.
    Text(&'static str),
    /// A plane from `min` to `max` in both directions.
    Plane(f64, f64),
}

impl Index {
    fn keys(&self) -> Document {
        self.keys
            .iter()
            .map(|(field, key)| {
                let value = match key {
                    Key::Up => Bson::Int32(1),
                    Key::Down => Bson::Int32(-1),
                    Key::Text(_) => Bson::String("text".into()),
                    Key::Plane => Bson::String("2d".into()),
                };
                ((*field).to_owned(), value)
            })
            .collect()
    }

    fn model(&self) -> IndexModel {
        let mut options = IndexOptions::default();
        options.name = Some(self.name.to_owned());
        match self.kind {
            Kind::Plain => {}
            Kind::Unique => options.unique = Some(true),
            Kind::Where(field) => {
                options.partial_filter_expression = Some(doc! { field: { "$exists": true } });
            }
            Kind::Text(language) => {
                let weights = self.keys.iter().filter_map(|(field, key)| match key {
                    Key::Text(weight) => Some(((*field).to_owned(), Bson::Int32(*weight))),
                    _ => None,
                });
                options.weights = Some(weights.collect());
                options.default_language = Some("none".into());
                options.language_override = Some(language.to_owned());
            }
            Kind::Plane(min, max) => {
                options.min = Some(min);
                options.max = Some(max);
            }
        }
        IndexModel::builder().keys(self.keys()).options(options).build()
    }

    /// Whether an existing index of the same name is this one.
    fn is(&self, existing: &IndexModel) -> bool {
        let declared = self.model();
        let (Some(mine), Some(theirs)) = (declared.options, existing.options.as_ref()) else {
            return false;
        };
        // The server rewrites the keys of a text index; its name and weights stay.
        let keys = matches!(self.kind, Kind::Text(_)) || same_keys(&declared.keys, &existing.keys);
        keys && mine.unique.unwrap_or(false) == theirs.unique.unwrap_or(false)
            && mine.partial_filter_expression == theirs.partial_filter_expression
            && mine.weights.is_none_or(|mine| {
                theirs.weights.as_ref().is_some_and(|theirs| same_weights(&mine, theirs))
            })
            && (mine.min, mine.max) == (theirs.min, theirs.max)
    }
}

/// The server tells weights in an order of its own.
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

/// How long one index may take to build; a large collection takes hours.
const BUILDING: Duration = Duration::from_secs(24 * 3_600);

/// One line of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Declared and there.
    Keep,
    /// Declared and missing.
    Create,
    /// There under the declared name but with other keys or options.
    Differs,
    /// There and not declared.
    Undeclared,
}

/// What `docgate indexes` found about one index.
#[derive(Debug, Clone)]
pub struct Planned {
    /// The collection.
    pub collection: &'static str,
    /// The index's name.
    pub name: String,
    /// What would be done.
    pub step: Step,
    /// Which read it serves, where it is declared.
    pub serves: &'static str,
}

/// What a collection declares: its name and its indexes.
pub type Declared = (&'static str, &'static [Index]);

/// The indexes of a collection that exists.
async fn existing(database: &Database, collection: &'static str) -> Result<Vec<IndexModel>, Error> {
    let handle = database.collection::<Document>(collection);
    send(collection, "listIndexes", async move { handle.list_indexes().await?.try_collect().await })
        .await
}

async fn collections(database: &Database) -> Result<Vec<String>, Error> {
    let database = database.clone();
    send("", "listCollections", async move { database.list_collection_names().await }).await
}

fn name_of(model: &IndexModel) -> String {
    model.options.as_ref().and_then(|options| options.name.clone()).unwrap_or_default()
}

/// Compares what is declared with what exists.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn plan(database: &Database, declared: &[Declared]) -> Result<Vec<Planned>, Error> {
    let mut plan = Vec::new();
    let collections = collections(database).await?;
    for (collection, indexes) in declared {
        let is_there = collections.iter().any(|name| name == collection);
        let found = if is_there { existing(database, collection).await? } else { Vec::new() };
        for index in *indexes {
            let step = match found.iter().find(|model| name_of(model) == index.name) {
                None => Step::Create,
                Some(model) if index.is(model) => Step::Keep,
                Some(_) => Step::Differs,
            };
            plan.push(Planned { collection, name: index.name.into(), step, serves: index.serves });
        }
        for model in &found {
            let name = name_of(model);
            if name != "_id_" && !indexes.iter().any(|index| index.name == name) {
                plan.push(Planned { collection, name, step: Step::Undeclared, serves: "" });
            }
        }
    }
    Ok(plan)
}

/// Builds what is missing; with `drop` also removes what is undeclared and rebuilds what differs. The
/// missing indexes of one collection are built by one command, which reads the collection once.
///
/// # Errors
/// `Unavailable` or `Internal`; the collections before the one that failed keep what was built.
pub async fn apply(
    database: &Database,
    declared: &[Declared],
    drop: bool,
    mut done: impl FnMut(&Planned),
) -> Result<(), Error> {
    let plan = plan(database, declared).await?;
    for steps in plan.chunk_by(|left, right| left.collection == right.collection) {
        for step in steps.iter().filter(|step| drop && step.is_in_the_way()) {
            remove(database, step).await?;
        }
        let is_missing = |planned: &&Planned| match planned.step {
            Step::Create => true,
            Step::Differs => drop,
            Step::Keep | Step::Undeclared => false,
        };
        let missing: Vec<_> = steps.iter().filter(is_missing).collect();
        if let Some(first) = missing.first() {
            let wanted = |index: &Index| missing.iter().any(|planned| planned.name == index.name);
            build(database, first.collection, declared, wanted).await?;
        }
        steps.iter().for_each(&mut done);
    }
    Ok(())
}

impl Planned {
    /// Whether the existing index isn't the declared one.
    fn is_in_the_way(&self) -> bool {
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
    let of_collection = declared.iter().filter(|(name, _)| *name == collection);
    let indexes = of_collection.flat_map(|(_, indexes)| indexes.iter());
    let models: Vec<_> = indexes.filter(|index| wanted(index)).map(Index::model).collect();
    let handle = database.collection::<Document>(collection);
    let built = async move { handle.create_indexes(models).await };
    send_within(BUILDING, collection, "createIndexes", built).await?;
    Ok(())
}
