//! Writes of credits, copies, works and removal.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{
    super::documents::{Contributor, Copying, ProductDocument},
    CONTRIBUTORS, begun, change, copying, everyone, next_version, outbox_has_room, there,
    works_due,
};
use crate::{
    app::App,
    domains::{categories::CategoryCopy, people::PersonName},
    error::Error,
    flow::Attempt,
    mongo::{
        Outcome,
        expression::{append, array, both, choose, filter, literal, map, stored},
    },
};

/// Adds a contributor who isn't there in this role. The works of that person become due.
pub(crate) async fn credit(
    app: &App,
    sku: &str,
    contributor: &Contributor,
    token: &str,
    attempt: &Attempt,
) -> Outcome<ProductDocument> {
    let Contributor { person_id, role, .. } = contributor;
    let same = doc! { "personId": person_id, "role": role };
    let is_new = doc! {
        "contributors": { "$not": { "$elemMatch": same } },
        format!("contributors.{}", CONTRIBUTORS - 1): { "$exists": false },
    };
    let guard = both(both(there(sku), is_new), outbox_has_room());
    let update = doc! { "$set": {
        "contributors": append(array("contributors"), vec![literal(stored(contributor))]),
        "version": next_version(),
        "outbox": works_due(vec![literal(person_id)]),
        "copying": copying(token, begun()),
    } };
    change(app, guard, vec![update], attempt).await
}

/// Removes a contributor who is there in this role. The works of that person become due.
pub(crate) async fn uncredit(
    app: &App,
    sku: &str,
    person_id: &str,
    role: &str,
    attempt: &Attempt,
) -> Outcome<ProductDocument> {
    let same = doc! { "personId": person_id, "role": role };
    let guard = both(there(sku), doc! { "contributors": { "$elemMatch": same } });
    let other = doc! { "$or": [
        { "$ne": ["$$this.personId", literal(person_id)] },
        { "$ne": ["$$this.role", literal(role)] },
    ] };
    let update = doc! { "$set": {
        "contributors": filter(array("contributors"), other),
        "version": next_version(),
        "outbox": works_due(vec![literal(person_id)]),
    } };
    change(app, both(guard, outbox_has_room()), vec![update], attempt).await
}

/// The records of a product's copies as they were read again.
#[derive(Debug)]
pub(crate) struct Corrections<'a> {
    /// Its categories, current.
    pub(crate) categories: &'a [CategoryCopy],
    /// Its categories that are gone.
    pub(crate) gone: &'a [String],
    /// Its people, current.
    pub(crate) people: &'a [PersonName],
}

/// Corrects copies of a lower version, withdraws categories that are gone, and removes the mark. Guarded by
/// the mark being the same.
pub(crate) async fn correct(
    app: &App,
    sku: &str,
    mark: &Copying,
    found: &Corrections<'_>,
) -> Outcome<ProductDocument> {
    let name = |PersonName { id, name, version, .. }: &PersonName| {
        doc! { "personId": id, "name": name, "nv": *version }
    };
    let names: Vec<Document> = found.people.iter().map(name).collect();
    let remains = filter(
        array("categories"),
        doc! { "$not": [{ "$in": ["$$this._id", literal(found.gone)] }] },
    );
    let update = doc! { "$set": {
        "categories": renewed(remains, "_id", "cv", stored(&found.categories)),
        "contributors": renewed(array("contributors"), "personId", "nv", Bson::from(names)),
        "copying": "$$REMOVE",
    } };
    let marked = doc! { "_id": sku, "copying.token": &mark.token };
    app.collection::<ProductDocument>().guarded(marked, vec![update]).apply().await
}

/// Expression: the copies, with those replaced of which `records` has a higher version. Copies without a
/// record stay, because another write may have added them since.
fn renewed(copies: Bson, key: &str, version: &str, records: Bson) -> Bson {
    let record = doc! { "$first": { "$filter": {
        "input": literal(records),
        "as": "record",
        "cond": { "$eq": [format!("$$record.{key}"), format!("$$this.{key}")] },
    } } };
    let newer = doc! { "$gt": [format!("$$record.{version}"), format!("$$this.{version}")] };
    let copy = doc! { "$let": {
        "vars": { "record": record },
        "in": choose(newer, doc! { "$mergeObjects": ["$$this", "$$record"] }, "$$this"),
    } };
    map(copies, copy)
}

/// Settles the outbox entries of these versions.
pub(crate) async fn settle(app: &App, sku: &str, versions: &[i64]) -> Outcome<ProductDocument> {
    let update = doc! { "$pull": { "outbox": { "version": { "$in": versions } } } };
    app.collection::<ProductDocument>().guarded(doc! { "_id": sku }, update).apply().await
}

/// Like [`settle`], for many products with all of their outbox entries as they were read.
pub(crate) async fn settle_all(
    app: &App,
    products: &[ProductDocument],
    attempt: &Attempt,
) -> Result<bool, Error> {
    let updates = products.iter().map(|product| {
        let versions: Vec<i64> = product.outbox.iter().map(|due| due.version).collect();
        let given = doc! { "$in": ["$$this.version", versions] };
        let left = filter(array("outbox"), doc! { "$not": [given] });
        (doc! { "_id": &product.sku }, vec![doc! { "$set": { "outbox": left } }])
    });
    app.collection::<ProductDocument>().update_each(updates.collect(), attempt).await
}

/// Marks this generation as deleted. No client sees it any more, no list of a category or a person contains
/// it, and the works of all contributors become due.
pub(crate) async fn mark_deleted(
    app: &App,
    sku: &str,
    generation: &str,
    attempt: &Attempt,
) -> Outcome<ProductDocument> {
    let update = doc! { "$set": {
        "deletedAt": "$$NOW",
        "contributors": [],
        "categories": [],
        "copying": "$$REMOVE",
        "version": next_version(),
        "outbox": works_due(everyone()),
    } };
    let guard = both(there(sku), doc! { "incarnation": generation });
    change(app, guard, vec![update], attempt).await
}

/// Removes a product that was deleted before `before` and has an empty outbox.
pub(crate) async fn remove(app: &App, sku: &str, before: DateTime) -> Outcome<()> {
    let guard = doc! { "_id": sku, "deletedAt": { "$lt": before }, "outbox": [] };
    app.collection::<ProductDocument>().remove(guard).await
}
