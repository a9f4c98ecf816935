//! The layout `PER_DOCUMENT`: one document per comment, in the collection `comments`.

use mongodb::bson::{DateTime, Document, doc};

use super::{
    super::documents::{CommentDocument, OpenDiscussion},
    All, By, Change, Found, Inserted, Part, Place, Range, Which, posted,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    mongo::{
        Collection,
        collection::List,
        expression::{both, starts_with},
        keyset,
    },
};

fn comments(app: &App) -> Collection<CommentDocument> {
    app.collection()
}

/// Inserts comments in bulk; comments that exist stay. Returns whether none existed.
pub(crate) async fn insert_all(app: &App, bulk: &[CommentDocument]) -> Result<bool, Error> {
    Ok(comments(app).insert_many(bulk.to_vec()).await?.is_empty())
}

/// Empties the outboxes of comments with a pending POST; returns whether all of them had one.
pub(crate) async fn settle_all(
    place: &Place<'_>,
    bulk: &[&CommentDocument],
    attempt: &Attempt,
) -> Result<bool, Error> {
    let keys: Vec<_> = bulk.iter().map(|comment| place.key(&comment.id)).collect();
    let due = doc! { "_id": { "$in": keys }, "due.kind": "POST", "sealed": { "$ne": true } };
    let update = doc! { "$set": { "settledAt": attempt.now() }, "$unset": { "due": 1 } };
    let due = both(due, attempt.alive());
    let settled = comments(place.app).update_many(due, update, vec![]).await?;
    Ok(usize::try_from(settled).is_ok_and(|settled| settled == bulk.len()))
}

pub(super) async fn insert(
    place: &Place<'_>,
    _: &OpenDiscussion,
    comment: CommentDocument,
    _: Document,
    _: &Attempt,
) -> Result<Inserted, Error> {
    if comments(place.app).insert(comment.clone()).await.decided()?.is_some() {
        return Ok(Inserted::Unposted(comment));
    }
    let there = find(place, By::Id(&comment.id)).await?;
    Ok(there.map_or(Inserted::SlugTaken, Inserted::Exists))
}

pub(super) async fn find(place: &Place<'_>, by: By<'_>) -> Found<CommentDocument> {
    match by {
        By::Id(id) => comments(place.app).get_settled(&place.key(id)).await,
        By::Slug(slug) => {
            let filter = doc! { "on": place.on(), "slug": slug };
            let list = List { filter, limit: 1, hint: Some("slug"), ..List::default() };
            Ok(comments(place.app).list(list).await?.pop())
        }
    }
}

pub(super) async fn find_all(place: &Place<'_>, ids: &[String]) -> All {
    let keys: Vec<_> = ids.iter().map(|id| place.key(id)).collect();
    comments(place.app).list(List::of_ids(&keys)).await
}

pub(super) async fn change(
    place: &Place<'_>,
    id: &str,
    guard: Document,
    change: Change,
    attempt: &Attempt,
) -> Found<CommentDocument> {
    let filter = both(doc! { "_id": place.key(id), "sealed": { "$ne": true } }, guard);
    comments(place.app).guarded(filter, change.at("")).within(attempt).apply().await.decided()
}

pub(super) async fn list(place: &Place<'_>, part: &Part<'_>, _: Option<&OpenDiscussion>) -> All {
    let threaded = if part.listing.is_threaded() { "threaded" } else { "chronological" };
    let mut filter = doc! { "on": place.on() };
    let hint = match &part.listing.0 {
        Range::All => threaded,
        Range::Replies(to) => {
            filter.insert("replyTo", to);
            "replies"
        }
        Range::Subthread(top) => {
            filter.insert("sortKey", starts_with(top));
            threaded
        }
    };
    filter = match part.which {
        Which::Stored => filter,
        Which::Posted => both(filter, posted()),
        Which::Counted(tags) => {
            let committed = doc! { "$or": [posted(), { "id": { "$in": tags } }] };
            both(filter, both(doc! { "removed": { "$exists": false } }, committed))
        }
    };
    let keys = part.keys();
    if let Some(from) = &part.from {
        filter = keyset::beyond(filter, &keys, from);
    }
    let (sort, limit) = (keyset::sort(&keys), i64::try_from(part.limit).unwrap_or(i64::MAX));
    comments(place.app)
        .list(List { filter, sort, limit, hint: Some(hint), ..List::default() })
        .await
}

pub(super) async fn withdraw(place: &Place<'_>, id: &str) -> Result<bool, Error> {
    let unposted = doc! { "_id": place.key(id), "due.kind": "POST" };
    Ok(comments(place.app).remove(unposted).await.decided()?.is_some())
}

pub(super) async fn copy(
    place: &Place<'_>,
    _: i64,
    copies: Vec<CommentDocument>,
    _: &Attempt,
) -> Result<(), Error> {
    comments(place.app).insert_many(copies).await?;
    Ok(())
}

pub(super) async fn list_due(app: &App, before: DateTime, limit: i64) -> All {
    comments(app).list_older(("due.at", "due"), before, limit).await
}
