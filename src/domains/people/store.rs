//! Every MongoDB call of people.

use std::sync::Arc;

use super::documents::{
    CreditedProduct, PersonAddress, PersonDocument, PersonName, SuggestedPerson, Work,
};
use crate::{
    domains::counted,
    graphql::prelude::*,
    mongo::{
        copies::CopyPath,
        prelude::*,
        terms::{Suggested, Typed},
    },
};

/// The array of the copies of names in products. Its index begins with `contributors.personId`.
const NAMES: CopyPath = CopyPath { array: "contributors", key: "personId", version: "nv" };

/// The collection of the people.
pub(super) fn people(app: &App) -> Collection<PersonDocument> {
    app.collection()
}

/// People whose name begins with a prefix, by name.
pub(super) async fn list_by_name(
    app: &App,
    prefix: &str,
    page: &Page,
) -> Result<Vec<PersonDocument>> {
    let list = page.list(doc! { "nameKey": starts_with(prefix) });
    people(app).list(List { hint: Some("name"), ..list }).await
}

/// The first people that have the words of a text in their names.
pub(super) async fn suggest(
    app: &App,
    typed: &Typed,
    limit: i64,
) -> Result<Vec<Arc<Suggested<SuggestedPerson>>>> {
    app.collection().suggest(typed, limit).await
}

/// Corrects the terms of people that an earlier version has stored, and returns their number. It may be interrupted and
/// repeated.
///
/// # Errors
/// People that were corrected before the failure stay so.
pub async fn correct_terms(app: &App) -> Result<u64> {
    let outdated = |person: &PersonDocument| {
        let terms = PersonDocument::terms(&person.name);
        let filter = doc! { "_id": &person.id, "name": &person.name };
        (person.search.as_ref() != Some(&terms)).then_some((filter, terms))
    };
    people(app).correct_terms(|person| &person.id, outdated).await
}

/// Names of these people, read with majority concern. People that don't exist are absent.
pub async fn list_names(app: &App, ids: &[String]) -> Result<Vec<PersonName>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let fields = doc! { "name": 1, "version": 1, "works": { "$size": array("works") } };
    app.collection().list(List { projection: Some(fields), ..List::of_ids(ids) }).await
}

/// Changes the name unless it is the same, and adds the change to the outbox.
pub(super) fn rename(app: &App, id: &str, name: &str) -> Guarded<PersonDocument> {
    let next = doc! { "$add": ["$version", 1_i64] };
    let due = whole(doc! { "version": next.clone(), "at": "$$NOW" });
    let set = doc! {
        "name": literal(name),
        "nameKey": literal(input::folded(name)),
        "search": literal(stored(&PersonDocument::terms(name))),
        "version": next,
        "outbox": append(array("outbox"), vec![due]),
    };
    people(app).set(doc! { "_id": id, "name": { "$ne": name } }, set).numbered()
}

/// Writes the name into every copy with a lower version.
pub(super) async fn spread_name(app: &App, person: &PersonDocument) -> Result<u64> {
    let products = app.collection::<CreditedProduct>();
    let (name, facets) =
        (doc! { "name": &person.name }, doc! { "facets": counted::changed(false, true) });
    NAMES.spread(&products, &person.id, person.version, name, facets).await
}

/// Removes the outbox entries that the person was read with.
pub(super) fn settle(app: &App, person: &PersonDocument) -> Guarded<PersonDocument> {
    let versions: Vec<i64> = person.outbox.iter().map(|due| due.version).collect();
    let left = without_any(array("outbox"), "version", versions);
    people(app).set(doc! { "_id": &person.id }, doc! { "outbox": left })
}

/// Sets the address, or removes it.
pub(super) fn set_address(
    app: &App,
    id: &str,
    address: Option<&PersonAddress>,
) -> Guarded<PersonDocument> {
    let address = address.map_or(Bson::from("$$REMOVE"), |address| literal(stored(address)));
    people(app).set(doc! { "_id": id }, doc! { "address": address }).numbered()
}

/// Writes the work as a whole if there is no entry of its product, or one with a lower version.
pub(super) fn write_work(app: &App, id: &str, work: &Work) -> Guarded<PersonDocument> {
    let sku = work.sku.as_str();
    let as_new = doc! { "sku": sku, "version": { "$gte": work.version } };
    let guard = doc! { "_id": id, "works": { "$not": { "$elemMatch": as_new } } };
    let mut entry = doc! {
        "sku": literal(sku),
        "title": literal(&work.title),
        "roles": literal(work.roles.clone()),
        "version": work.version,
    };
    if work.roles.is_empty() {
        entry.insert("stoneAt", "$$NOW");
    }
    let others = without(array("works"), "sku", sku);
    people(app).set(guard, doc! { "works": append(others, vec![whole(entry)]) })
}

/// Like [`apply_work`](super::operations::apply_work) for many people, each with one work per product. Returns
/// whether all works were written. That is only possible if the people have no entries of these products yet,
/// and if every work has roles. Otherwise some may have been written, and the works have to be applied one by
/// one.
///
/// # Errors
/// The outcome is unknown: the entries have to be applied again.
pub async fn apply_first_works(
    app: &App,
    works: &[(&str, Vec<Work>)],
    attempt: &Attempt,
) -> Result<bool> {
    // The time of a tombstone is set by the server.
    if works.iter().flat_map(|(_, works)| works).any(|work| work.roles.is_empty()) {
        return Ok(false);
    }
    let updates = works.iter().map(|(id, works)| {
        let skus: Vec<&str> = works.iter().map(|work| work.sku.as_str()).collect();
        let entries = works.iter().map(|work| literal(stored(work))).collect();
        let guard = doc! { "_id": id, "works.sku": { "$nin": skus } };
        (guard, vec![doc! { "$set": { "works": append(array("works"), entries) } }])
    });
    people(app).update_each(updates.collect(), attempt).await
}

/// Removes the tombstones from before `before`; returns how many people had one.
pub(super) async fn remove_tombstones(app: &App, before: DateTime) -> Result<u64> {
    let filter = doc! { "works.stoneAt": { "$lt": before } };
    let update = doc! { "$pull": { "works": { "stoneAt": { "$lt": before } } } };
    people(app).update_many(filter, update).await
}

/// Copies of names that differ from the record.
pub(super) async fn list_wrong_names(app: &App) -> Result<Vec<Document>> {
    let same = doc! { "$and": [
        { "$eq": ["$contributors.name", "$person.name"] },
        { "$eq": ["$contributors.nv", "$person.version"] },
    ] };
    app.collection::<CreditedProduct>()
        .aggregate(vec![
            doc! { "$project": { "contributors": 1 } },
            doc! { "$unwind": "$contributors" },
            doc! { "$lookup": {
                "from": "people",
                "localField": "contributors.personId",
                "foreignField": "_id",
                "as": "person",
            } },
            doc! { "$set": { "person": { "$first": "$person" } } },
            doc! { "$match": { "$expr": { "$not": [same] } } },
            doc! { "$project": {
                "copy": "$contributors", "name": "$person.name", "version": "$person.version",
            } },
            doc! { "$limit": 100 },
        ])
        .await
}
