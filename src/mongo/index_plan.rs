//! Compares the indexes that the rooms declare with those that exist, and builds missing ones.

use std::{borrow::Cow, time::Duration};

use futures_util::TryStreamExt;
use mongodb::{
    Database, IndexModel,
    bson::{Document, doc},
};

use super::{
    driver::{send, send_within},
    indexes::{Declared, Index, name_of},
    placement::{Group, Placement, collection_names, create},
    shards::ShardKey,
};
use crate::{error::Error, join::try_join_all};

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
    pub collection: Cow<'static, str>,
    /// The index's name.
    pub name: String,
    /// The result of the comparison.
    pub step: Step,
    /// The read that needs it; empty if it isn't declared.
    pub serves: &'static str,
    /// The declaration of the collection.
    of: Declared,
}

/// Lists the indexes of an existing collection.
async fn existing(database: &Database, collection: &str) -> Result<Vec<IndexModel>, Error> {
    let handle = database.collection::<Document>(collection);
    send(collection, "listIndexes", async move { handle.list_indexes().await?.try_collect().await })
        .await
}

impl Declared {
    /// The collections that it stands for, each with whether it exists, if these ones exist.
    fn each(&self, there: &[String]) -> Vec<(Cow<'static, str>, bool)> {
        let Some(start) = self.name.strip_suffix('*') else {
            return vec![(self.name.into(), there.iter().any(|name| name == self.name))];
        };
        let named = there.iter().filter(|name| name.starts_with(start));
        let mut named: Vec<_> = named.map(|name| (name.clone().into(), true)).collect();
        named.sort();
        named
    }
}

/// Compares the declared indexes with the existing ones.
pub async fn plan(placement: &Placement, declared: &[Declared]) -> Result<Vec<Planned>, Error> {
    let mut plan = Vec::new();
    let there = Group::ALL.map(|group| collection_names(placement.database(group)));
    let there = try_join_all(there).await?;
    for of in declared {
        let database = placement.database(of.group);
        let mut of_group =
            Group::ALL.into_iter().zip(&there).filter(|(group, _)| *group == of.group);
        let there = of_group.next().map(|(_, names)| names.as_slice()).unwrap_or_default();
        for (collection, exists) in of.each(there) {
            let found = if exists { existing(database, &collection).await? } else { Vec::new() };
            let planned = |name: String, step, serves| {
                let collection = collection.clone();
                Planned { collection, name, step, serves, of: *of }
            };
            for index in of.indexes {
                let step = match found.iter().find(|model| name_of(model) == index.name) {
                    None => Step::Create,
                    Some(model) if index.matches(model) => Step::Keep,
                    Some(_) => Step::Differs,
                };
                plan.push(planned(index.name.into(), step, index.serves));
            }
            for model in &found {
                let name = name_of(model);
                let is_declared = of.indexes.iter().any(|index| index.name == name);
                if name != "_id_" && !is_declared && !is_of_shard_key(model, of.shard_key) {
                    plan.push(planned(name, Step::Undeclared, ""));
                }
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
        // The others exist.
        if !collection.ends_with('*') {
            create(placement.of(*group), collection).await?;
        }
    }
    let plan = plan(placement, declared).await?;
    for steps in plan.chunk_by(|left, right| left.collection == right.collection) {
        let Some(Planned { collection, of, .. }) = steps.first() else { continue };
        let database = placement.database(of.group);
        for step in steps.iter().filter(|step| drop && step.must_be_dropped()) {
            remove(database, step).await?;
        }
        let is_missing = |planned: &&Planned| match planned.step {
            Step::Create => true,
            Step::Differs => drop,
            Step::Keep | Step::Undeclared => false,
        };
        let missing: Vec<_> = steps.iter().filter(is_missing).collect();
        if !missing.is_empty() {
            let is_wanted =
                |index: &&Index| missing.iter().any(|planned| planned.name == index.name);
            let models = of.indexes.iter().filter(is_wanted).map(Index::model).collect();
            build(database, collection, models).await?;
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
    let handle = database.collection::<Document>(&planned.collection);
    let name = planned.name.clone();
    send(&planned.collection, "dropIndexes", async move { handle.drop_index(name).await }).await
}

async fn build(
    database: &Database,
    collection: &str,
    models: Vec<IndexModel>,
) -> Result<(), Error> {
    let handle = database.collection::<Document>(collection);
    let built = async move { handle.create_indexes(models).await };
    send_within(BUILD_TIMEOUT, collection, "createIndexes", built).await?;
    Ok(())
}
