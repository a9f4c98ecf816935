//! Every MongoDB call of identities.

use mongodb::bson::{DateTime, Document, doc};

use super::documents::{IdentityDocument, Kind, Name, Pending};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::page::Page,
    mongo::{
        Outcome, Version,
        collection::List,
        expression::{choose, literal, starts_with, whole},
    },
};

/// The name, for readers.
pub(super) async fn find(app: &App, name: &Name) -> Result<Option<IdentityDocument>, Error> {
    app.collection::<IdentityDocument>().get(&name.key()).await
}

pub(super) async fn find_settled(app: &App, key: &str) -> Result<Option<IdentityDocument>, Error> {
    app.collection::<IdentityDocument>().get_settled(key).await
}

pub(super) async fn open(
    app: &App,
    key: &str,
) -> Result<(Attempt, Option<IdentityDocument>), Error> {
    app.collection::<IdentityDocument>().open(app.bounds(), key).await
}

/// The names of a user, as far as the user is found by them.
pub(super) async fn list_of(
    app: &App,
    page: &Page,
    user: &str,
) -> Result<Vec<IdentityDocument>, Error> {
    let known = doc! { "userId": user, "$nor": unknown() };
    let list = List { hint: Some("user"), ..page.list(known) };
    app.collection::<IdentityDocument>().list(list).await
}

/// The first username of a user.
pub(super) async fn find_username(
    app: &App,
    user: &str,
) -> Result<Option<IdentityDocument>, Error> {
    let filter = doc! {
        "userId": user, "_id": starts_with(&format!("{}:", Kind::Username.name())),
        "$nor": unknown(),
    };
    let list = List { filter, limit: 1, hint: Some("user"), ..List::default() };
    Ok(app.collection::<IdentityDocument>().list(list).await?.pop())
}

/// The conditions under which [`IdentityDocument::is_known`] is false.
fn unknown() -> [Document; 2] {
    [
        doc! { "pending.at": { "$exists": true }, "pending.kept": { "$ne": true } },
        doc! { "releasedAt": { "$exists": true }, "movedTo": { "$exists": false } },
    ]
}

/// Inserts a new name, for a user or for the change of an `old` name.
pub(super) async fn insert(
    app: &App,
    name: &Name,
    user: &str,
    old: Option<&IdentityDocument>,
    attempt: &Attempt,
) -> Result<Option<IdentityDocument>, Error> {
    let pending = old.map(|old| Pending {
        instead_of: old.key.clone(),
        since: old.since,
        kept: false,
        at: attempt.now(),
    });
    let identity = IdentityDocument {
        key: name.key(),
        name: name.clone(),
        user_id: user.to_owned(),
        since: attempt.now(),
        pending,
        instead_of: None,
        released_at: None,
        moved_to: None,
        v: Version,
    };
    Ok(app.collection().insert(identity.clone()).await.decided()?.map(|()| identity))
}

/// Claims a name that has a tombstone, for a user or for the change of an `old` name.
pub(super) async fn take_tombstone(
    app: &App,
    name: &Name,
    user: &str,
    old: Option<&IdentityDocument>,
    attempt: &Attempt,
) -> Outcome<IdentityDocument> {
    let tombstone = doc! {
        "_id": name.key(), "releasedAt": { "$exists": true }, "movedTo": { "$exists": false },
    };
    let mut set = doc! { "userId": literal(user), "since": "$$NOW" };
    if let Some(old) = old {
        set.insert("pending", whole(pending(old)));
    }
    let gone = doc! { "$unset": ["releasedAt", "insteadOf"] };
    app.collection()
        .guarded(tombstone, vec![gone, doc! { "$set": set }])
        .within(attempt)
        .apply()
        .await
}

/// Reserves a name for the change of an `old` one if the user already has it, and is to keep it, or if this
/// change has reserved it before.
pub(super) async fn keep(
    app: &App,
    name: &Name,
    old: &IdentityDocument,
    attempt: &Attempt,
) -> Outcome<IdentityDocument> {
    let (key, user) = (name.key(), &old.user_id);
    let either = [held(&key, user), waiting(&key, user, &old.key, old.since)];
    let guard = doc! { "_id": &key, "$or": either };
    let marked = doc! { "$eq": [{ "$type": "$pending" }, "object"] };
    let before = choose(marked, "$pending", doc! { "kept": true });
    let mark = doc! { "$mergeObjects": [before, pending(old)] };
    app.collection()
        .guarded(guard, vec![doc! { "$set": { "pending": mark } }])
        .within(attempt)
        .apply()
        .await
}

/// The mark of the change of an `old` name, as expressions.
fn pending(old: &IdentityDocument) -> Document {
    doc! { "insteadOf": literal(&old.key), "since": old.since, "at": "$$NOW" }
}

/// Filter: the user has the name, and no change has reserved it.
fn held(key: &str, user: &str) -> Document {
    let none = doc! { "$exists": false };
    doc! { "_id": key, "userId": user, "releasedAt": none.clone(), "pending": none }
}

/// Releases a name of the user.
pub(super) async fn release(
    app: &App,
    name: &Name,
    user: &str,
    attempt: &Attempt,
) -> Outcome<IdentityDocument> {
    let set = vec![doc! { "$set": { "releasedAt": "$$NOW" } }];
    app.collection().guarded(held(&name.key(), user), set).within(attempt).apply().await
}

/// Commits a change: releases the old name, which the user still has since the same time, in favour of the
/// new one.
pub(super) async fn commit(
    app: &App,
    old: &IdentityDocument,
    moved_to: &str,
    attempt: &Attempt,
) -> Outcome<IdentityDocument> {
    let mut guard = held(&old.key, &old.user_id);
    guard.insert("since", old.since);
    let set = doc! { "releasedAt": "$$NOW", "movedTo": literal(moved_to) };
    app.collection().guarded(guard, vec![doc! { "$set": set }]).within(attempt).apply().await
}

/// Applies a committed change: gives the user the name that is pending for the change of `old`.
pub(super) async fn confirm(
    app: &App,
    key: &str,
    old: &IdentityDocument,
) -> Outcome<IdentityDocument> {
    let guard = waiting(key, &old.user_id, &old.key, old.since);
    let since = choose(doc! { "$eq": ["$pending.kept", true] }, "$since", "$$NOW");
    let set = doc! { "$set": { "insteadOf": literal(&old.key), "since": since } };
    app.collection().guarded(guard, vec![set, doc! { "$unset": "pending" }]).apply().await
}

/// Filter: the name is pending for that change.
fn waiting(key: &str, user: &str, instead_of: &str, since: DateTime) -> Document {
    doc! {
        "_id": key, "userId": user, "pending.insteadOf": instead_of, "pending.since": since,
    }
}

/// Notes on the old name that the change is finished: the tombstone may be claimed.
pub(super) async fn settle(
    app: &App,
    old: &IdentityDocument,
    moved_to: &str,
) -> Outcome<IdentityDocument> {
    let IdentityDocument { key, user_id, since, .. } = old;
    let moved = doc! { "_id": key, "userId": user_id, "since": *since, "movedTo": moved_to };
    app.collection().guarded(moved, doc! { "$unset": { "movedTo": "" } }).apply().await
}

/// Removes the mark of a change that can't be committed any more. A name that the user didn't have before
/// becomes a tombstone.
pub(super) async fn withdraw(app: &App, found: &IdentityDocument) -> Outcome<IdentityDocument> {
    let IdentityDocument { key, user_id, pending, .. } = found;
    let Some(Pending { instead_of, since, kept, at }) = pending else { return Outcome::Refused };
    let mut guard = waiting(key, user_id, instead_of, *since);
    guard.insert("pending.at", *at);
    let mut stages = vec![doc! { "$unset": "pending" }];
    if !kept {
        stages.push(doc! { "$set": { "releasedAt": "$$NOW" } });
    }
    app.collection().guarded(guard, stages).apply().await
}

/// Names that have been pending since before `before`.
pub(super) async fn list_pending(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<IdentityDocument>, Error> {
    let (filter, sort) = (doc! { "pending.at": { "$lt": before } }, doc! { "pending.at": 1 });
    app.collection().list(List { filter, sort, limit, ..List::default() }).await
}

/// The old names of changes that were committed before `before` and aren't finished.
pub(super) async fn list_moved(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<IdentityDocument>, Error> {
    let filter = doc! { "releasedAt": { "$lt": before }, "movedTo": { "$exists": true } };
    let sort = doc! { "releasedAt": 1 };
    app.collection().list(List { filter, sort, limit, ..List::default() }).await
}

/// Removes the tombstones from before `before` that no unfinished change needs; returns how many.
pub(super) async fn remove_tombstones(app: &App, before: DateTime) -> Result<u64, Error> {
    let old = doc! { "releasedAt": { "$lt": before }, "movedTo": { "$exists": false } };
    app.collection::<IdentityDocument>().remove_many(old).await
}
