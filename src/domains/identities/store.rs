//! Every MongoDB call of identities.

use mongodb::bson::{DateTime, Document, doc};

use super::documents::{IdentityDocument, Kind, Name, Pending};
use crate::{
    app::App,
    error::Error,
    graphql::page::Page,
    mongo::{
        Outcome, Run, Version,
        collection::List,
        expression::{choose, literal, starts_with},
    },
};

/// The name, for readers.
pub(super) async fn find(app: &App, name: &Name) -> Result<Option<IdentityDocument>, Error> {
    app.collection::<IdentityDocument>().get(&name.key()).await
}

pub(super) async fn find_settled(app: &App, key: &str) -> Result<Option<IdentityDocument>, Error> {
    app.collection::<IdentityDocument>().get_settled(key).await
}

pub(super) async fn open(app: &App, name: &Name) -> Result<(Run, Option<IdentityDocument>), Error> {
    app.collection::<IdentityDocument>().open(app.bounds(), &name.key()).await
}

/// The names of a user, those that are being let go or waited for among them.
pub(super) async fn list_of(
    app: &App,
    page: &Page,
    user: &str,
) -> Result<Vec<IdentityDocument>, Error> {
    let held = doc! {
        "userId": user, "releasedAt": { "$exists": false }, "pending": { "$exists": false },
    };
    let list = List { hint: Some("user"), ..page.list(held) };
    app.collection::<IdentityDocument>().list(list).await
}

/// The first username of a user.
pub(super) async fn find_username(
    app: &App,
    user: &str,
) -> Result<Option<IdentityDocument>, Error> {
    let filter = doc! {
        "userId": user, "_id": starts_with(&format!("{}:", Kind::Username.name())),
        "releasedAt": { "$exists": false }, "pending": { "$exists": false },
    };
    let list = List { filter, limit: 1, hint: Some("user"), ..List::default() };
    Ok(app.collection::<IdentityDocument>().list(list).await?.pop())
}

/// Takes a name that isn't there, for a user or, with `instead_of`, for a change.
pub(super) async fn insert(
    app: &App,
    name: &Name,
    user: &str,
    instead_of: Option<&str>,
    run: &Run,
) -> Outcome<IdentityDocument> {
    let pending = instead_of.map(|key| Pending { instead_of: key.to_owned(), at: run.now() });
    let identity = IdentityDocument {
        key: name.key(),
        name: name.clone(),
        user_id: user.to_owned(),
        since: run.now(),
        pending,
        instead_of: None,
        released_at: None,
        moved_to: None,
        v: Version,
    };
    match app.collection().insert(identity.clone()).await {
        Outcome::Applied(()) => Outcome::Applied(identity),
        Outcome::Refused => Outcome::Refused,
        Outcome::Unknown(error) => Outcome::Unknown(error),
    }
}

/// Takes a name whose stone is there, for a user or, with `instead_of`, for a change.
pub(super) async fn take_stone(
    app: &App,
    name: &Name,
    user: &str,
    instead_of: Option<&str>,
    run: &Run,
) -> Outcome<IdentityDocument> {
    let stone = doc! {
        "_id": name.key(), "releasedAt": { "$exists": true }, "movedTo": { "$exists": false },
    };
    let mut set = doc! { "userId": literal(user), "since": "$$NOW" };
    if let Some(instead_of) = instead_of {
        set.insert("pending", pending(instead_of));
    }
    let gone = doc! { "$unset": ["releasedAt", "insteadOf"] };
    app.collection().guarded(stone, vec![gone, doc! { "$set": set }]).within(run).apply().await
}

/// Takes a name again that this change of this user has taken before.
pub(super) async fn renew(
    app: &App,
    name: &Name,
    user: &str,
    instead_of: &str,
    run: &Run,
) -> Outcome<IdentityDocument> {
    let set = doc! { "$set": { "pending": pending(instead_of) } };
    let waiting = waiting(&name.key(), user, instead_of);
    app.collection().guarded(waiting, vec![set]).within(run).apply().await
}

fn pending(instead_of: &str) -> Document {
    doc! { "$mergeObjects": [{ "insteadOf": literal(instead_of), "at": "$$NOW" }] }
}

fn waiting(key: &str, user: &str, instead_of: &str) -> Document {
    doc! { "_id": key, "userId": user, "pending.insteadOf": instead_of }
}

/// Lets go of a name that the user has; with `moved_to`, as the decision of a change.
pub(super) async fn release(
    app: &App,
    name: &Name,
    user: &str,
    moved_to: Option<&str>,
    run: &Run,
) -> Outcome<IdentityDocument> {
    let held = doc! {
        "_id": name.key(), "userId": user,
        "releasedAt": { "$exists": false }, "pending": { "$exists": false },
    };
    let mut set = doc! { "releasedAt": "$$NOW" };
    if let Some(moved_to) = moved_to {
        set.insert("movedTo", literal(moved_to));
    }
    app.collection().guarded(held, vec![doc! { "$set": set }]).within(run).apply().await
}

/// Gives a user the name that a change, now decided, has taken, or that the user had already.
pub(super) async fn confirm(
    app: &App,
    key: &str,
    user: &str,
    instead_of: &str,
) -> Outcome<IdentityDocument> {
    let guard = doc! {
        "_id": key, "userId": user, "releasedAt": { "$exists": false },
        "pending.insteadOf": { "$in": [instead_of, null] },
    };
    let waits = doc! { "$eq": [{ "$type": "$pending" }, "object"] };
    let since = choose(waits, "$$NOW", "$since");
    let set = doc! { "$set": { "insteadOf": literal(instead_of), "since": since } };
    app.collection().guarded(guard, vec![set, doc! { "$unset": "pending" }]).apply().await
}

/// Notes on the old name that the change is finished: the stone may be claimed.
pub(super) async fn settle(
    app: &App,
    key: &str,
    user: &str,
    moved_to: &str,
) -> Outcome<IdentityDocument> {
    let moved = doc! { "_id": key, "userId": user, "movedTo": moved_to };
    app.collection().guarded(moved, doc! { "$unset": { "movedTo": "" } }).apply().await
}

/// Takes back a name that a change, which can't be decided any more, has taken at `at`. A stone stays.
pub(super) async fn withdraw(
    app: &App,
    key: &str,
    user: &str,
    instead_of: &str,
    at: DateTime,
) -> Outcome<IdentityDocument> {
    let mut guard = waiting(key, user, instead_of);
    guard.insert("pending.at", at);
    let stages = vec![doc! { "$set": { "releasedAt": "$$NOW" } }, doc! { "$unset": "pending" }];
    app.collection().guarded(guard, stages).apply().await
}

/// Changes from before `before` that aren't finished.
pub(super) async fn list_pending(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<IdentityDocument>, Error> {
    let (filter, sort) = (doc! { "pending.at": { "$lt": before } }, doc! { "pending.at": 1 });
    app.collection::<IdentityDocument>().list(List { filter, sort, limit, ..List::default() }).await
}

/// Changes that were decided before `before` and aren't finished: the old names.
pub(super) async fn list_moved(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<IdentityDocument>, Error> {
    let filter = doc! { "releasedAt": { "$lt": before }, "movedTo": { "$exists": true } };
    let sort = doc! { "releasedAt": 1 };
    app.collection::<IdentityDocument>().list(List { filter, sort, limit, ..List::default() }).await
}

/// Removes the stones from before `before` of which nothing is to be known any more; answers how many.
pub(super) async fn remove_stones(app: &App, before: DateTime) -> Result<u64, Error> {
    let old = doc! { "releasedAt": { "$lt": before }, "movedTo": { "$exists": false } };
    app.collection::<IdentityDocument>().remove_many(old).await
}
