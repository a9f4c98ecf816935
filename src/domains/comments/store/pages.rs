//! The layout `PAGED`: documents with up to 100 comments each, in `commentPages`.
//!
//! One update adds a comment to a page; its guard counts the comments of the page. The time of a comment is
//! that of this update, and later than the time of the comment before, so that pages are ordered by time.

use super::{
    super::documents::{CommentDocument, OpenDiscussion, PageDocument},
    CAP, CommentList, CommentStore, Found, Inserted,
    reads::{Part, Which},
};
use crate::{
    graphql::prelude::*,
    mongo::{keyset, prelude::*},
};

/// Pages that one command of a list reads: a page of a list rarely spans more.
const PAGES: i64 = 2;

pub(crate) fn pages(app: &App) -> Collection<PageDocument> {
    app.collection()
}

/// The comments of the pages of one list read.
pub(super) async fn entries(app: &App, list: List) -> CommentList {
    let found = pages(app).list(list).await?;
    Ok(found.into_iter().flat_map(|page| page.entries).collect())
}

/// The page of that number.
pub(super) fn page_of(
    store: &CommentStore<'_>,
    number: i64,
    entries: Vec<CommentDocument>,
) -> PageDocument {
    let on = store.on();
    PageDocument {
        key: format!("{on}.{number}"),
        on,
        page: number,
        full: false,
        until: entries.last().map_or(DateTime::from_millis(0), |last| last.at),
        until_id: entries.last().map(|last| last.id.clone()).unwrap_or_default(),
        entries,
        sealed: false,
        v: Version,
    }
}

/// Adds the comment to the page that still has room.
async fn push(
    store: &CommentStore<'_>,
    comment: &CommentDocument,
    attempt: &Attempt,
) -> Found<CommentDocument> {
    let filter = doc! {
        "on": store.on(),
        "full": false,
        "sealed": { "$ne": true },
        format!("entries.{}", CAP - 1): { "$exists": false },
        "entries.id": { "$ne": &comment.id },
        "entries.slug": { "$ne": &comment.slug },
    };
    let at = doc! { "$max": ["$$NOW", { "$add": ["$until", 1_i64] }] };
    // The same format as in `CommentDocument::level`.
    let millis = doc! { "$toString": { "$toLong": "$until" } };
    let (above, name) = (literal(comment.above()), literal(comment.name()));
    let sort_key = doc! { "$concat": [above, millis, ".", name, "/"] };
    let timed = doc! { "at": "$until", "sortKey": sort_key };
    let entry = doc! { "$mergeObjects": [literal(stored(comment)), timed] };
    let is_full = doc! { "$gte": [{ "$size": "$entries" }, CAP] };
    let update = vec![
        doc! { "$set": { "until": at, "untilId": literal(&comment.id) } },
        doc! { "$set": { "entries": { "$concatArrays": ["$entries", [entry]] } } },
        doc! { "$set": { "full": is_full } },
    ];
    // The version is that of this call.
    let same = doc! { "id": &comment.id, "nonce": &comment.text_version };
    let done =
        doc! { "on": store.on(), "entries.id": &comment.id, "entries": { "$elemMatch": same } };
    let write = pages(store.app).guarded(filter, update).within(attempt).applied_if(done);
    let Some(page) = write.after().await? else { return Ok(None) };
    let there = page.entries.into_iter().find(|there| there.id == comment.id);
    there.map(Some).ok_or_else(|| Error::internal("a comment isn't where it was written"))
}

/// Begins the page after `last` with the comment.
async fn begin(
    store: &CommentStore<'_>,
    discussion: &OpenDiscussion,
    last: Option<PageDocument>,
    comment: &CommentDocument,
    attempt: &Attempt,
) -> Found<CommentDocument> {
    let next = |moment: DateTime| DateTime::from_millis(moment.timestamp_millis() + 1);
    let number = last.as_ref().map_or(0, |last| last.page + 1).max(discussion.first_page);
    let earliest = last.map_or(discussion.since, |last| next(last.until).max(discussion.since));
    let at = attempt.now().max(earliest);
    let comment = store.as_posted(comment, comment.name(), at, attempt.now());
    let page = page_of(store, number, vec![comment.clone()]);
    Ok(pages(store.app).insert(&page).await.decided()?.map(|()| comment))
}

pub(super) async fn insert(
    store: &CommentStore<'_>,
    discussion: &OpenDiscussion,
    comment: &CommentDocument,
    attempt: &Attempt,
) -> Result<Inserted> {
    while !attempt.is_over() {
        if let Some(there) = push(store, comment, attempt).await? {
            return Ok(Inserted::New(there));
        }
        let (filter, sort) = (doc! { "on": store.on() }, doc! { "page": -1 });
        let last = List { filter, sort, hint: Some("page"), ..List::default() };
        let last = pages(store.app).first(last).await?;
        let is_open = |page: &PageDocument| page.page >= discussion.first_page && !page.full;
        match last {
            Some(page) if is_open(&page) && page.sealed => return Ok(Inserted::Refused),
            // It has room: the comment may already exist.
            Some(page) if is_open(&page) => {}
            last => {
                if let Some(there) = begin(store, discussion, last, comment, attempt).await? {
                    return Ok(Inserted::New(there));
                }
            }
        }
        if let Some(clash) = store.clash(comment).await? {
            return Ok(clash);
        }
    }
    Err(attempt.overdue())
}

/// Lists the comments of a part page by page.
pub(super) async fn list(
    store: &CommentStore<'_>,
    part: &Part<'_>,
    which: Which<'_>,
) -> CommentList {
    let direction = if part.is_descending { -1 } else { 1 };
    let mut from = part.from.clone();
    let mut found = Vec::new();
    if part.is_descending
        && let Some([at, id]) = from.as_deref()
    {
        // The page on which the position lies ends behind it.
        let earlier = doc! { "until": at, "untilId": { "$lt": id } };
        let filter = doc! { "on": store.on(), "until": { "$gte": at }, "$nor": [earlier] };
        let around = List { filter, limit: 1, ..behind(store, 1, None) };
        found = entries(store.app, around).await?;
    }
    loop {
        let listed = part.of(found.clone(), which);
        if listed.len() >= part.limit {
            return Ok(listed);
        }
        let read = pages(store.app).list(behind(store, direction, from.as_deref())).await?;
        let is_end = count(read.len()) < PAGES;
        from = read.last().map(|page| vec![page.until.into(), Bson::from(&page.until_id)]);
        found.extend(read.into_iter().flat_map(|page| page.entries));
        if is_end {
            return Ok(part.of(found, which));
        }
    }
}

/// The pages after the given values of a last comment, in that direction of time.
fn behind(store: &CommentStore<'_>, direction: i32, from: Option<&[Bson]>) -> List {
    let keys = [("until", direction), ("untilId", direction)];
    let mut filter = doc! { "on": store.on() };
    if let Some(from) = from {
        filter = keyset::beyond(filter, &keys, from);
    }
    List { filter, sort: keyset::sort(&keys), limit: PAGES, hint: Some("until"), ..List::default() }
}

/// Removes a comment that isn't posted yet. A copy of the command that arrives after the attempt's deadline removes
/// nothing: the comment may have been posted anew by then.
pub(super) async fn withdraw(
    store: &CommentStore<'_>,
    id: &str,
    attempt: &Attempt,
) -> Result<bool> {
    let unposted = doc! { "id": id, "due.kind": "POST" };
    let holding = |is_alone: bool| {
        doc! {
            "on": store.on(),
            "entries.id": id,
            "entries": { "$elemMatch": &unposted },
            "entries.1": { "$exists": !is_alone },
        }
    };
    let pull = doc! { "$pull": { "entries": &unposted } };
    if pages(store.app).guarded(holding(false), pull).within(attempt).after().await?.is_some() {
        return Ok(true);
    }
    // It is alone on its page, and pages are never empty: the page is removed.
    Ok(pages(store.app).remove(holding(true)).await.decided()?.is_some())
}

/// Pages with more than 100 comments or none, or whose fields contradict their comments.
pub(crate) async fn list_wrong_pages(app: &App) -> Result<Vec<Document>> {
    let size = doc! { "$size": "$entries" };
    let wrong = doc! { "$or": [
        { "$gt": [size.clone(), CAP] },
        { "$lt": [size.clone(), 1] },
        { "$and": [{ "$gte": [size.clone(), CAP] }, { "$ne": ["$full", true] }] },
        { "$lt": ["$until", { "$max": "$entries.at" }] },
    ] };
    pages(app)
        .aggregate(vec![
            doc! { "$project": { "size": size, "full": 1, "until": 1, "wrong": wrong } },
            doc! { "$match": { "wrong": true } },
            doc! { "$limit": 100 },
        ])
        .await
}
