//! MongoDB access of metadata.

use super::{
    documents::{BYTES, EVERYONE, Owner, OwnerDocument, StoredPair},
    types::MetadataFilter,
};
use crate::{
    graphql::{declared::valid, prelude::*},
    mongo::prelude::*,
};

/// The collection of an owner.
fn owners(app: &App, owner: &Owner) -> Collection<OwnerDocument> {
    app.collection().named(owner.kind.collection)
}

/// The owner as it is now.
pub(super) async fn find(app: &App, owner: &Owner) -> Result<Option<OwnerDocument>> {
    owners(app, owner).get_settled(&owner.key).await
}

/// Replaces the pairs of `set`, adds those that are new, and removes those with a key of `remove`. Refused if the owner
/// doesn't exist, has another version than `version`, or would have too many pairs or bytes.
pub(super) fn set(
    app: &App,
    owner: &Owner,
    set: &[StoredPair],
    remove: &[String],
    (version, next): (Option<&str>, &str),
) -> Guarded<OwnerDocument> {
    let changed = set.iter().map(|pair| &pair.key).chain(remove);
    let changed: Vec<&str> = changed.map(String::as_str).collect();
    let others = without_any(array("meta.pairs"), "key", changed);
    let pairs: Bson = doc! { "$concatArrays": [others, literal(stored(&set))] }.into();
    let size = doc! { "$bsonSize": whole(doc! { "pairs": &pairs }) };
    let fits = vec![
        (owner.kind.exists)().expression(),
        doc! { "$lte": [{ "$size": &pairs }, count(app.config().metadata_pairs)] },
        doc! { "$lte": [size, BYTES] },
    ];
    let mut guard = both(doc! { "_id": &owner.key }, all(fits));
    match version {
        Some(NONE) => drop(guard.insert("meta.version", doc! { "$exists": false })),
        Some(version) => drop(guard.insert("meta.version", version)),
        None => {}
    }
    let meta = whole(doc! {
        "version": literal(next),
        "pairs": { "$sortArray": { "input": pairs, "sortBy": { "key": 1 } } },
    });
    owners(app, owner).set(guard, doc! { "meta": meta })
}

/// The version of an owner without metadata. No random or derived id is as short.
pub(super) const NONE: &str = "0";

/// Filter: the document has a pair that the caller may read. The index [`METADATA`](super::METADATA) serves it, in the
/// order of `_id`.
///
/// # Errors
/// `InvalidInput` that names the argument; its path begins with `field`.
pub fn having(
    requester: &Requester,
    field: &str,
    filter: MetadataFilter,
) -> Result<Document, InvalidInput> {
    let mut pair = checked_pair(field, filter)?;
    let mut readers = requester.role_names();
    readers.push(EVERYONE);
    pair.insert("readers", doc! { "$in": readers });
    Ok(with_pair(pair))
}

/// Filter: the document has a pair, whoever may read it. It is for callers who edit the documents, and so read all pairs.
///
/// # Errors
/// `InvalidInput` that names the argument; its path begins with `field`.
pub fn having_for_editors(field: &str, filter: MetadataFilter) -> Result<Document, InvalidInput> {
    checked_pair(field, filter).map(with_pair)
}

fn checked_pair(field: &str, mut filter: MetadataFilter) -> Result<Document, InvalidInput> {
    valid(field, &mut filter)?;
    let MetadataFilter { key, value } = filter;
    Ok(doc! { "key": key, "value": Bson::from(value) })
}

/// The first condition is that of the partial indexes.
fn with_pair(pair: Document) -> Document {
    doc! { "meta.version": { "$exists": true }, "meta.pairs": { "$elemMatch": pair } }
}
