//! Writes of credits, copies, works and removal.

use mongodb::bson::{Bson, DateTime, Document, doc, serialize_to_bson};

use super::{
    super::documents::{Contributor, Copying, ProductDocument},
    CONTRIBUTORS, begun, copying, everyone, marked, next_version, outbox_has_room, there,
    works_due,
};
use crate::{
    app::App,
    domains::{categories::CategoryCopy, people::PersonName},
    error::Error,
    flow::Attempt,
    mongo::{
        Outcome,
        collection::List,
        expression::{append, array, both, choose, filter, literal, map},
    },
};

/// Adds a contributor who isn't there in this role. The works of that person become due.
pub(in super::super) async fn credit(
    app: &App,
    sku: &str,
    contributor: &Contributor,
    token: &str,
    attempt: &Attempt,
) -> Outcome<ProductDocument> {
    let Contributor { person_id, name, nv, role } = contributor;
    let same = doc! { "personId": person_id, "role": role };
    let mut guard = both(
        there(sku),
        doc! {
            "contributors": { "$not": { "$elemMatch": same } },
            format!("contributors.{}", CONTRIBUTORS - 1): { "$exists": false },
        },
    );
    guard = both(guard, outbox_has_room());
    let entry = doc! { "personId": person_id, "name": name, "nv": nv, "role": role };
    let update = doc! { "$set": {
        "contributors": append(array("contributors"), vec![literal(entry)]),
        "version": next_version(),
        "outbox": works_due(vec![literal(person_id)]),
        "copying": copying(token, begun()),
    } };
    app.collection::<ProductDocument>().guarded(guard, vec![update]).within(attempt).apply().await
}

/// Removes a contributor who is there in this role. The works of that person become due.
pub(in super::super) async fn uncredit(
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
    app.collection::<ProductDocument>()
        .guarded(both(guard, outbox_has_room()), vec![update])
        .within(attempt)
        .apply()
        .await
}

/// The records of a product's copies as they were read again.
#[derive(Debug)]
pub(in super::super) struct Corrections<'a> {
    /// Its categories, current.
    pub(in super::super) categories: &'a [CategoryCopy],
    /// Its categories that are gone.
    pub(in super::super) gone: &'a [String],
    /// Its people, current.
    pub(in super::super) people: &'a [PersonName],
}

/// Corrects copies of a lower version, withdraws categories that are gone, and removes the mark. Guarded by
/// the mark being the same.
pub(in super::super) async fn correct(
    app: &App,
    sku: &str,
    mark: &Copying,
    found: &Corrections<'_>,
) -> Result<Outcome<ProductDocument>, Error> {
    let categories = serialize_to_bson(found.categories).map_err(Error::internal)?;
    let people = found.people.iter();
    let names: Vec<Document> = people
        .map(|person| doc! { "personId": &person.id, "name": &person.name, "nv": person.version })
        .collect();
    let remains = filter(
        array("categories"),
        doc! { "$not": [{ "$in": ["$$this._id", literal(found.gone)] }] },
    );
    let update = doc! { "$set": {
        "categories": renewed(remains, "_id", "cv", categories),
        "contributors": renewed(array("contributors"), "personId", "nv", Bson::from(names)),
        "copying": "$$REMOVE",
    } };
    Ok(app.collection::<ProductDocument>().guarded(marked(sku, mark), vec![update]).apply().await)
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
pub(in super::super) async fn settle(
    app: &App,
    sku: &str,
    versions: &[i64],
) -> Outcome<ProductDocument> {
    let update = doc! { "$pull": { "outbox": { "version": { "$in": versions } } } };
    app.collection::<ProductDocument>().guarded(doc! { "_id": sku }, update).apply().await
}

/// Like [`settle`], for many products with all of their outbox entries as they were read.
pub(in super::super) async fn settle_all(
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
pub(in super::super) async fn mark_deleted(
    app: &App,
    sku: &str,
    incarnation: &str,
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
    let guard = both(there(sku), doc! { "incarnation": incarnation });
    app.collection::<ProductDocument>().guarded(guard, vec![update]).within(attempt).apply().await
}

/// Removes a product that was deleted before `before` and has an empty outbox.
pub(in super::super) async fn remove(app: &App, sku: &str, before: DateTime) -> Outcome<()> {
    let guard = doc! { "_id": sku, "deletedAt": { "$lt": before }, "outbox": [] };
    app.collection::<ProductDocument>().remove(guard).await
}

/// Products whose copies weren't checked again since `before`, oldest first.
pub(in super::super) async fn list_copying(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<ProductDocument>, Error> {
    list_older(app, "copying.at", "copying", before, limit).await
}

/// Products with outbox entries older than `before`, oldest first.
pub(in super::super) async fn list_due(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<ProductDocument>, Error> {
    list_older(app, "outbox.at", "outbox", before, limit).await
}

/// Products that were deleted before `before`, oldest first.
pub(in super::super) async fn list_deleted(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<ProductDocument>, Error> {
    list_older(app, "deletedAt", "deleted", before, limit).await
}

async fn list_older(
    app: &App,
    field: &str,
    index: &'static str,
    before: DateTime,
    limit: i64,
) -> Result<Vec<ProductDocument>, Error> {
    let (filter, sort) = (doc! { field: { "$lt": before } }, doc! { field: 1 });
    app.collection().list(List { filter, sort, limit, hint: Some(index), ..List::default() }).await
}
