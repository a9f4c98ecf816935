//! MongoDB access of users and circles. The guarded writes are values: the caller adds its attempt and sends them.

pub(super) mod feeds;
pub(super) mod posts;
pub(super) mod votes;

use super::documents::{EdgeDocument, Profile, UserDocument, edge_id};
use crate::{graphql::prelude::*, mongo::prelude::*};

/// The collection of the users.
pub(super) fn users(app: &App) -> Collection<UserDocument> {
    app.collection()
}

/// The collection of the edges between users.
pub(super) fn edges(app: &App) -> Collection<EdgeDocument> {
    app.collection()
}

/// The edge between two users.
pub(super) async fn edge(app: &App, by: &str, of: &str) -> Result<Option<EdgeDocument>> {
    edges(app).get(&edge_id(by, of)).await
}

/// The users with a pair of metadata, by `_id`; `having` is the filter that finds them. Their field `blocked` isn't read.
pub(super) async fn list_users_having(
    app: &App,
    page: &Page,
    having: Document,
) -> Result<Vec<UserDocument>> {
    let projection = Some(doc! { "blocked": 0 });
    users(app).list(List { projection, hint: Some("metadata"), ..page.list(having) }).await
}

/// Removes a user. Returns whether there was one.
pub(super) async fn remove_user(app: &App, id: &str) -> Result<bool> {
    Ok(users(app).remove(doc! { "_id": id }).await.decided()?.is_some())
}

/// Replaces the profile of this version.
pub(super) fn update_profile(
    app: &App,
    id: &str,
    version: i64,
    profile: &Profile,
) -> Guarded<UserDocument> {
    let set = doc! { "profile": literal(stored(profile)), "version": version.saturating_add(1) };
    users(app).set(doc! { "_id": id, "version": version }, set)
}

/// Adds a circle to an edge that has at most `most` circles afterwards.
pub(super) fn add_circle(
    app: &App,
    by: &str,
    of: &str,
    circle: &str,
    most: usize,
) -> Guarded<EdgeDocument> {
    let has_room = doc! { "$expr": { "$lt": [{ "$size": "$circles" }, count(most)] } };
    let mut guard = doc! { "_id": edge_id(by, of), "circles": { "$ne": circle } };
    guard.extend(has_room);
    edges(app).set(guard, doc! { "circles": append("$circles", vec![literal(circle)]) }).numbered()
}

/// Takes a circle from an edge that has others.
pub(super) fn remove_circle(app: &App, by: &str, of: &str, circle: &str) -> Guarded<EdgeDocument> {
    let guard =
        doc! { "_id": edge_id(by, of), "circles": circle, "circles.1": { "$exists": true } };
    let others = filter("$circles", doc! { "$ne": ["$$this", literal(circle)] });
    edges(app).set(guard, doc! { "circles": others }).numbered()
}

/// Removes an edge that has no other circle. Returns whether it did.
pub(super) async fn remove_edge(app: &App, by: &str, of: &str, circle: &str) -> Result<bool> {
    let last = doc! { "_id": edge_id(by, of), "circles": [circle] };
    Ok(edges(app).remove(last).await.decided()?.is_some())
}

/// Adds a user to those whom a user blocks; there are at most `most` of them afterwards.
pub(super) fn block(app: &App, id: &str, blocked: &str, most: usize) -> Guarded<UserDocument> {
    let has_room = doc! { "$lt": [{ "$size": array("blocked") }, count(most)] };
    let guard = doc! { "_id": id, "blocked": { "$ne": blocked }, "$expr": has_room };
    let with = append(array("blocked"), vec![literal(blocked)]);
    users(app).set(guard, doc! { "blocked": with }).numbered()
}

/// Removes a user from those whom a user blocks.
pub(super) fn unblock(app: &App, id: &str, blocked: &str) -> Guarded<UserDocument> {
    let others = filter(array("blocked"), doc! { "$ne": ["$$this", literal(blocked)] });
    users(app).set(doc! { "_id": id, "blocked": blocked }, doc! { "blocked": others }).numbered()
}

/// Those of the users who exist. Of the users whom each blocks, only the sender is read.
pub(super) async fn list_recipients(
    app: &App,
    sender: &str,
    subjects: &[String],
) -> Result<Vec<UserDocument>> {
    let sender = doc! { "$elemMatch": { "$eq": sender } };
    let projection = doc! { "profile": 1, "version": 1, "at": 1, "v": 1, "blocked": sender };
    users(app).list(List { projection: Some(projection), ..List::of_ids(subjects) }).await
}

/// Begins the marking of the edges to a user, unless it has begun or is done. A docgate that didn't mark edges may have said
/// that news merge in the user's posts; then it is done again.
pub(super) fn begin_marking(app: &App, id: &str) -> Guarded<UserDocument> {
    let unmarked =
        [doc! { "mergedAt": { "$exists": false } }, doc! { "celebrityAt": { "$exists": true } }];
    let guard = doc! { "_id": id, "marking": { "$exists": false }, "$or": unmarked };
    users(app).set(guard, doc! { "marking": "$$NOW" })
}

/// Marks these edges. Whether they keep the mark is decided by that.
pub(super) async fn mark(app: &App, ids: &[&str]) -> Result<u64> {
    let undone = [doc! { "merged": { "$exists": false } }, doc! { "due": { "$exists": true } }];
    let set = doc! { "$set": { "merged": "$by", "due": "$$REMOVE" } };
    edges(app).update_many(doc! { "_id": { "$in": ids }, "$or": undone }, vec![set]).await
}

/// Notes that all edges to the user are marked, if the marking is that which began at this time.
pub(super) fn end_marking(app: &App, id: &str, began: DateTime) -> Guarded<UserDocument> {
    let set = doc! {
        "mergedAt": { "$ifNull": ["$mergedAt", "$$NOW"] },
        "marking": "$$REMOVE",
        "celebrityAt": "$$REMOVE",
    };
    users(app).set(doc! { "_id": id, "marking": began }, set)
}

/// Decides whether an edge keeps its mark, unless that was decided or the edge is another one.
pub(super) fn decide_mark(app: &App, edge: &EdgeDocument, is_kept: bool) -> Guarded<EdgeDocument> {
    let guard = doc! { "_id": &edge.id, "at": edge.at, "due": { "$exists": true } };
    let mut set = doc! { "due": "$$REMOVE" };
    if !is_kept {
        set.insert("merged", "$$REMOVE");
    }
    edges(app).set(guard, set)
}

/// The marked edges of a follower.
pub(super) async fn list_marked(app: &App, by: &str) -> Result<Vec<EdgeDocument>> {
    edges(app).find_by(&["merged"], by).await
}

/// More than there are users with very many followers.
const CELEBRITIES: i64 = 100_000;

/// The subjects of the users whose posts news merge in, and whose edges have no marks yet.
pub(super) async fn list_unmarked(app: &App) -> Result<Vec<String>> {
    let list = List {
        filter: doc! { "celebrityAt": { "$exists": true } },
        limit: CELEBRITIES,
        projection: Some(doc! { "blocked": 0 }),
        hint: Some("celebrities"),
        ..List::default()
    };
    Ok(users(app).list(list).await?.into_iter().map(|user| user.id).collect())
}

/// A page of the followers of a user.
pub(super) async fn list_followers(app: &App, page: &Page, of: &str) -> Result<Vec<EdgeDocument>> {
    edges(app).list(List { hint: Some("of"), ..page.list(doc! { "of": of }) }).await
}

/// A page of the users whom a user follows, or of those in one circle.
pub(super) async fn list_following(
    app: &App,
    page: &Page,
    by: &str,
    circle: Option<&str>,
) -> Result<Vec<EdgeDocument>> {
    let mut filter = doc! { "by": by };
    if let Some(circle) = circle {
        filter.insert("circles", circle);
    }
    let hint = if circle.is_some() { "circle" } else { "by" };
    edges(app).list(List { hint: Some(hint), ..page.list(filter) }).await
}

/// Whether a user has anyone in a circle.
pub(super) async fn has_circle(app: &App, by: &str, circle: &str) -> Result<bool> {
    let filter = doc! { "by": by, "circles": circle };
    let list = List { filter, hint: Some("circle"), ..List::default() };
    Ok(edges(app).first(list).await?.is_some())
}

/// The next followers of a user, by the `_id` of their edges.
pub(super) async fn next_followers(
    app: &App,
    of: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<EdgeDocument>> {
    let mut filter = doc! { "of": of };
    if let Some(after) = after {
        filter.insert("_id", doc! { "$gt": after });
    }
    let sort = doc! { "_id": 1 };
    let list = List { filter, sort, limit: count(limit), hint: Some("of"), ..List::default() };
    edges(app).list(list).await
}

/// Number of followers of a user, counted up to `most`.
pub(super) async fn count_followers(app: &App, of: &str, most: u64) -> Result<u64> {
    edges(app).count(doc! { "of": of }, most).await
}
