//! MongoDB access of identities. The guarded writes are values: the caller adds its attempt and sends them.

use super::documents::{IdentityDocument, Kind, Name, Pending};
use crate::{graphql::prelude::*, mongo::prelude::*};

/// The collection of the names.
pub(super) fn identities(app: &App) -> Collection<IdentityDocument> {
    app.collection()
}

/// The names of a user, as far as the user is found by them.
pub(super) async fn list_of(app: &App, page: &Page, user: &str) -> Result<Vec<IdentityDocument>> {
    let known = doc! { "userId": user, "$nor": unknown() };
    identities(app).list(List { hint: Some("user"), ..page.list(known) }).await
}

/// The first username of a user.
pub(super) async fn find_username(app: &App, user: &str) -> Result<Option<IdentityDocument>> {
    let usernames = starts_with(&format!("{}:", Kind::Username.name()));
    let filter = doc! { "userId": user, "_id": usernames, "$nor": unknown() };
    identities(app).first(List { filter, hint: Some("user"), ..List::default() }).await
}

/// The conditions under which [`IdentityDocument::is_known`] is false.
fn unknown() -> [Document; 2] {
    [
        doc! { "pending.at": { "$exists": true }, "pending.kept": { "$ne": true } },
        doc! { "releasedAt": { "$exists": true }, "movedTo": { "$exists": false } },
    ]
}

/// Claims a name that has a tombstone, for a user or for the change of an `old` name. Once the name was released again, it has a
/// tombstone as before, so the write is numbered.
pub(super) fn claim_tombstone(
    app: &App,
    name: &Name,
    user: &str,
    old: Option<&IdentityDocument>,
) -> Guarded<IdentityDocument> {
    let tombstone = doc! {
        "_id": name.key(), "releasedAt": { "$exists": true }, "movedTo": { "$exists": false },
    };
    let mut set = doc! { "userId": literal(user), "since": "$$NOW" };
    if let Some(old) = old {
        set.insert("pending", whole(mark_of(old)));
    }
    let gone = doc! { "$unset": ["releasedAt", "insteadOf"] };
    identities(app).guarded(tombstone, vec![gone, doc! { "$set": set }]).numbered()
}

/// Reserves a name for the change of an `old` one if the user already has it, and is to keep it, or if this
/// change has reserved it before.
pub(super) fn keep(app: &App, name: &Name, old: &IdentityDocument) -> Guarded<IdentityDocument> {
    let key = name.key();
    let either = [held(&key, &old.user_id), pending(&key, old)];
    let marked = doc! { "$eq": [{ "$type": "$pending" }, "object"] };
    let before = choose(marked, "$pending", doc! { "kept": true });
    let mark = doc! { "$mergeObjects": [before, mark_of(old)] };
    identities(app).set(doc! { "_id": &key, "$or": either }, doc! { "pending": mark })
}

/// The mark of the change of an `old` name, as expressions.
fn mark_of(old: &IdentityDocument) -> Document {
    doc! { "insteadOf": literal(&old.key), "since": old.since, "at": "$$NOW" }
}

/// Filter: the user has the name, and no change has reserved it.
fn held(key: &str, user: &str) -> Document {
    let none = doc! { "$exists": false };
    doc! { "_id": key, "userId": user, "releasedAt": none.clone(), "pending": none }
}

/// Filter: the name is pending for the change of an `old` one.
fn pending(key: &str, old: &IdentityDocument) -> Document {
    doc! {
        "_id": key, "userId": &old.user_id,
        "pending.insteadOf": &old.key, "pending.since": old.since,
    }
}

/// Releases a name of the user, who may claim it again. So the write is numbered.
pub(super) fn release(app: &App, name: &Name, user: &str) -> Guarded<IdentityDocument> {
    identities(app).set(held(&name.key(), user), doc! { "releasedAt": "$$NOW" }).numbered()
}

/// Commits a change: releases the old name, which the user still has since the same time, in favour of the
/// new one.
pub(super) fn commit(
    app: &App,
    old: &IdentityDocument,
    moved_to: &str,
) -> Guarded<IdentityDocument> {
    let mut guard = held(&old.key, &old.user_id);
    guard.insert("since", old.since);
    identities(app).set(guard, doc! { "releasedAt": "$$NOW", "movedTo": literal(moved_to) })
}

/// Applies a committed change: gives the user the name that is pending for the change of `old`.
pub(super) fn confirm(app: &App, key: &str, old: &IdentityDocument) -> Guarded<IdentityDocument> {
    let since = choose(doc! { "$eq": ["$pending.kept", true] }, "$since", "$$NOW");
    let set = doc! { "$set": { "insteadOf": literal(&old.key), "since": since } };
    identities(app).guarded(pending(key, old), vec![set, doc! { "$unset": "pending" }])
}

/// Notes on the old name that the change is finished: the tombstone may be claimed.
pub(super) fn settle(
    app: &App,
    old: &IdentityDocument,
    moved_to: &str,
) -> Guarded<IdentityDocument> {
    let IdentityDocument { key, user_id, since, .. } = old;
    let moved = doc! { "_id": key, "userId": user_id, "since": *since, "movedTo": moved_to };
    identities(app).set(moved, doc! { "movedTo": "$$REMOVE" })
}

/// Removes the mark of a change that can't be committed any more. A name that the user didn't have before
/// becomes a tombstone.
pub(super) fn withdraw(
    app: &App,
    found: &IdentityDocument,
    mark: &Pending,
) -> Guarded<IdentityDocument> {
    let guard = doc! {
        "_id": &found.key, "userId": &found.user_id, "pending.insteadOf": &mark.instead_of,
        "pending.since": mark.since, "pending.at": mark.at,
    };
    let mut stages = vec![doc! { "$unset": "pending" }];
    if !mark.kept {
        stages.push(doc! { "$set": { "releasedAt": "$$NOW" } });
    }
    identities(app).guarded(guard, stages)
}

/// A page of the old names of changes that were committed at `from` or later and before `before`, and aren't finished.
pub(super) async fn list_moved(
    app: &App,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<SweptPage<IdentityDocument>> {
    let since = doc! { "$gte": from, "$lt": before };
    let filter = doc! { "releasedAt": since, "movedTo": { "$exists": true } };
    let sort = doc! { "releasedAt": 1 };
    let list = List { filter, sort, limit, ..List::default() };
    identities(app).list_swept(("releasedAt", from), list).await
}

/// Removes the tombstones from before `before` that no unfinished change needs; returns how many.
pub(super) async fn remove_tombstones(app: &App, before: DateTime) -> Result<u64> {
    let old = doc! { "releasedAt": { "$lt": before }, "movedTo": { "$exists": false } };
    identities(app).remove_many(old).await
}
