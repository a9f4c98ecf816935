//! Writes of credits, copies, works and removal.

use super::{
    super::documents::{Contributor, Copying, ProductDocument},
    CONTRIBUTORS, NotChanged, copying, everyone, exists, next_version, outbox_has_room, products,
    unconfirmed, works_due,
};
use crate::{
    domains::{
        categories::CategoryCopy,
        counted,
        people::{PersonName, operations::WORKS},
    },
    graphql::prelude::*,
    mongo::prelude::*,
};

/// Adds a contributor who isn't there in this role. The works of that person, of which there are `works`, become due.
pub(in super::super) fn credit(
    sku: &str,
    contributor: &Contributor,
    works: i64,
    token: &str,
) -> Change<NotChanged> {
    let Contributor { person_id, role, .. } = contributor;
    let rules = [
        exists(),
        (is_credited(person_id, role).negated(), NotChanged::Credited),
        (at_least(WORKS - 1, works), NotChanged::FullPerson),
        (has_room("contributors", count(CONTRIBUTORS)), NotChanged::FullProduct),
        outbox_has_room(),
    ];
    let set = doc! {
        "contributors": append(array("contributors"), vec![literal(stored(contributor))]),
        "version": next_version(),
        "outbox": works_due(vec![literal(person_id)]),
        "facets": counted::changed(false, true),
        "copying": copying(token, unconfirmed()),
    };
    Change::ruled(sku, rules, set).numbered()
}

/// Removes a contributor who is there in this role. The works of that person become due.
pub(in super::super) fn uncredit(sku: &str, person_id: &str, role: &str) -> Change<NotChanged> {
    let rules =
        [exists(), (is_credited(person_id, role), NotChanged::NotCredited), outbox_has_room()];
    let other = doc! { "$or": [
        { "$ne": ["$$this.personId", literal(person_id)] },
        { "$ne": ["$$this.role", literal(role)] },
    ] };
    let set = doc! {
        "contributors": filter(array("contributors"), other),
        "version": next_version(),
        "outbox": works_due(vec![literal(person_id)]),
        "facets": counted::changed(false, true),
    };
    Change::ruled(sku, rules, set).numbered()
}

/// The person is a contributor in this role.
fn is_credited(person_id: &str, role: &str) -> Condition {
    has_element("contributors", [is("personId", person_id), is("role", role)])
}

/// Replaces copies by those of `categories` and `people` that have a higher version, withdraws unconfirmed
/// categories that are gone, and removes the mark. Guarded by the mark being the same.
pub(crate) fn correct(
    app: &App,
    sku: &str,
    mark: &Copying,
    categories: &[CategoryCopy],
    people: &[PersonName],
) -> Guarded<ProductDocument> {
    // A missing category that the product was in before is only marked for a deletion that will be refused.
    let is_gone = |id: &&String| !categories.iter().any(|copy| copy.id == **id);
    let gone: Vec<String> = mark.unconfirmed.iter().filter(is_gone).cloned().collect();
    let name = |PersonName { id, name, version, .. }: &PersonName| {
        doc! { "personId": id, "name": name, "nv": *version }
    };
    let names: Vec<Document> = people.iter().map(name).collect();
    let remains = doc! { "$not": [{ "$in": ["$$this._id", literal(gone)] }] };
    let remaining = filter(array("categories"), remains);
    let categories = renewed(remaining, "_id", "cv", stored(&categories));
    let contributors = renewed(array("contributors"), "personId", "nv", Bson::from(names));
    // Mostly the copies are as they were.
    let is_other = doc! { "$or": [
        { "$ne": [array("categories"), categories.clone()] },
        { "$ne": [array("contributors"), contributors.clone()] },
    ] };
    let update = doc! { "$set": {
        "categories": categories,
        "contributors": contributors,
        "facets": counted::changed(false, is_other),
        "copying": "$$REMOVE",
    } };
    products(app).guarded(doc! { "_id": sku, "copying.token": &mark.token }, vec![update])
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

/// Expression of the outbox without the entries with which the product was read.
fn unsettled(product: &ProductDocument) -> Bson {
    let versions = product.outbox.iter().map(|due| due.version).collect();
    without_any(array("outbox"), "version", versions)
}

/// Settles the outbox entries with which the product was read.
pub(crate) fn settle(app: &App, product: &ProductDocument) -> Guarded<ProductDocument> {
    products(app).set(doc! { "_id": &product.sku }, doc! { "outbox": unsettled(product) })
}

/// Like [`settle`], for many products.
pub(crate) async fn settle_all(
    app: &App,
    settled: &[ProductDocument],
    attempt: &Attempt,
) -> Result<bool> {
    let update = |product: &ProductDocument| {
        let set = doc! { "$set": { "outbox": unsettled(product) } };
        (doc! { "_id": &product.sku }, vec![set])
    };
    products(app).update_each(settled.iter().map(update).collect(), attempt).await
}

/// Marks this generation as deleted. No client sees it any more, no list of a category or a person contains
/// it, and the works of all contributors become due.
pub(in super::super) fn deletion(sku: &str, generation: &str) -> Change<NotChanged> {
    let is_same = (is("incarnation", generation), NotChanged::OtherGeneration);
    let set = doc! {
        "deletedAt": "$$NOW",
        "contributors": [],
        "categories": [],
        "copying": "$$REMOVE",
        "meta": "$$REMOVE",
        "version": next_version(),
        "outbox": works_due(everyone()),
        "facets": counted::changed(false, true),
    };
    Change::ruled(sku, [is_same, exists()], set)
}

/// Removes a product that was deleted before `before`, has an empty outbox and no variants, and isn't counted any more.
/// Returns whether it was still there.
pub(crate) async fn remove(app: &App, sku: &str, before: DateTime) -> Result<bool> {
    let deleted = doc! {
        "_id": sku, "deletedAt": { "$lt": before }, "outbox": [], "facets.at": { "$exists": false },
        // The inventory removes those that were added while the product was deleted.
        "variants.sku": { "$exists": false },
    };
    Ok(products(app).remove(deleted).await.decided()?.is_some())
}
