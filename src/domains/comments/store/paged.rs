//! The layout `PAGED`: documents with up to 100 comments each, in `commentPages`.
//!
//! One update adds a comment to a page; its guard counts the comments of the page. The time of a comment is
//! that of this update, and later than the time of the comment before, so that pages are ordered by time.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{
    super::documents::{CommentDocument, OpenDiscussion, PageDocument},
    All, By, CAP, Change, Found, Inserted, Part, Place,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    mongo::{
        Collection, Version,
        collection::List,
        expression::{both, literal, stored},
        keyset,
    },
};

/// Pages that one command of a list reads: a page of a list rarely spans more.
const PAGES: i64 = 2;

fn pages(app: &App) -> Collection<PageDocument> {
    app.collection()
}

/// The pages after the given values of a last comment, in that direction of time.
fn behind(place: &Place<'_>, direction: i32, from: Option<&[Bson]>) -> List {
    let keys = [("until", direction), ("untilId", direction)];
    let filter = doc! { "on": place.on() };
    let filter = match from {
        Some(from) => keyset::beyond(filter, &keys, from),
        None => filter,
    };
    let sort = keyset::sort(&keys);
    List { filter, sort, limit: PAGES, hint: Some("until"), ..List::default() }
}

/// Time and id of a page's last comment.
fn end(page: &PageDocument) -> Vec<Bson> {
    vec![page.until.into(), Bson::from(&page.until_id)]
}

fn pick(page: PageDocument, by: By<'_>) -> Option<CommentDocument> {
    page.entries.into_iter().find(|comment| by.is(comment))
}

/// The next millisecond.
fn next(moment: DateTime) -> DateTime {
    DateTime::from_millis(moment.timestamp_millis() + 1)
}

/// Adds the comment to the page that still has room.
async fn push(
    place: &Place<'_>,
    comment: &CommentDocument,
    attempt: &Attempt,
) -> Found<CommentDocument> {
    let filter = doc! {
        "on": place.on(),
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
    let page = pages(place.app).guarded(filter, update).within(attempt).apply().await.decided()?;
    Ok(page.and_then(|page| pick(page, By::Id(&comment.id))))
}

/// The page with the highest number.
async fn last(place: &Place<'_>) -> Result<Option<PageDocument>, Error> {
    let filter = doc! { "on": place.on() };
    let sort = doc! { "page": -1 };
    let list = List { filter, sort, limit: 1, hint: Some("page"), ..List::default() };
    Ok(pages(place.app).list(list).await?.pop())
}

/// Begins the page after `last` with the comment.
async fn begin(
    place: &Place<'_>,
    discussion: &OpenDiscussion,
    last: Option<&PageDocument>,
    comment: &CommentDocument,
    attempt: &Attempt,
) -> Found<CommentDocument> {
    let number = last.map_or(0, |last| last.page + 1).max(discussion.first_page);
    let earliest = last.map_or(discussion.since, |last| next(last.until).max(discussion.since));
    let at = attempt.now().max(earliest);
    let level = CommentDocument::level(at, comment.name());
    let sort_key = [comment.above(), &level].concat();
    let comment = CommentDocument { sort_key, at, ..comment.clone() };
    let page = page_of(place, number, vec![comment.clone()]);
    Ok(pages(place.app).insert(page).await.decided()?.map(|()| comment))
}

/// Why no page accepts the comment: it exists, or another comment has its slug.
async fn clash(place: &Place<'_>, comment: &CommentDocument) -> Result<Option<Inserted>, Error> {
    let on = place.on();
    let same = [
        doc! { "on": &on, "entries.id": &comment.id },
        doc! { "on": &on, "entries.slug": &comment.slug },
    ];
    let list = List { filter: doc! { "$or": same.to_vec() }, limit: 2, ..List::default() };
    let found = pages(place.app).list(list).await?;
    let entries = || found.iter().flat_map(|page| &page.entries);
    if let Some(same) = entries().find(|other| other.id == comment.id) {
        return Ok(Some(Inserted::Exists(same.clone())));
    }
    let is_taken = entries().any(|other| other.slug == comment.slug);
    Ok(is_taken.then_some(Inserted::SlugTaken))
}

fn page_of(place: &Place<'_>, number: i64, entries: Vec<CommentDocument>) -> PageDocument {
    let on = place.on();
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

pub(super) async fn insert(
    place: &Place<'_>,
    discussion: &OpenDiscussion,
    comment: CommentDocument,
    _: Document,
    attempt: &Attempt,
) -> Result<Inserted, Error> {
    while !attempt.is_over() {
        if let Some(there) = push(place, &comment, attempt).await? {
            return Ok(Inserted::Unposted(there));
        }
        let last = last(place).await?;
        let is_open = |page: &PageDocument| page.page >= discussion.first_page && !page.full;
        match last {
            Some(page) if is_open(&page) && page.sealed => return Ok(Inserted::Refused),
            // It has room: the comment may already exist.
            Some(page) if is_open(&page) => {}
            last => {
                let begun = begin(place, discussion, last.as_ref(), &comment, attempt).await?;
                if let Some(there) = begun {
                    return Ok(Inserted::Unposted(there));
                }
            }
        }
        if let Some(clash) = clash(place, &comment).await? {
            return Ok(clash);
        }
    }
    Err(attempt.overdue())
}

pub(super) async fn find(place: &Place<'_>, by: By<'_>) -> Found<CommentDocument> {
    let (field, value, hint) = match by {
        By::Id(id) => ("entries.id", id, "comment"),
        By::Slug(slug) => ("entries.slug", slug, "slug"),
    };
    let filter = doc! { "on": place.on(), field: value };
    let list = List { filter, limit: 1, hint: Some(hint), ..List::default() };
    Ok(pages(place.app).list(list).await?.pop().and_then(|page| pick(page, by)))
}

pub(super) async fn find_all(place: &Place<'_>, ids: &[String]) -> All {
    let filter = doc! { "on": place.on(), "entries.id": { "$in": ids } };
    let limit = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    let list = List { filter, limit, hint: Some("comment"), ..List::default() };
    let entries = pages(place.app).list(list).await?.into_iter().flat_map(|page| page.entries);
    Ok(entries.filter(|comment| ids.contains(&comment.id)).collect())
}

pub(super) async fn change(
    place: &Place<'_>,
    id: &str,
    guard: Document,
    change: Change,
    attempt: &Attempt,
) -> Found<CommentDocument> {
    let comment = both(doc! { "id": id }, guard);
    let filter = doc! {
        "on": place.on(),
        "entries.id": id,
        "entries": { "$elemMatch": comment },
        "sealed": { "$ne": true },
    };
    let changed = pages(place.app)
        .guarded(filter, change.at("entries.$[comment]."))
        .array_filters(vec![doc! { "comment.id": id }])
        .within(attempt);
    let Some(page) = changed.apply().await.decided()? else { return Ok(None) };
    let gone = || Error::internal("a comment left its page");
    pick(page, By::Id(id)).map(Some).ok_or_else(gone)
}

pub(super) async fn list(place: &Place<'_>, part: &Part<'_>, _: Option<&OpenDiscussion>) -> All {
    let direction = if part.is_descending { -1 } else { 1 };
    let mut from = part.from.clone();
    let mut found = Vec::new();
    if part.is_descending
        && let Some([at, id]) = from.as_deref()
    {
        // The page on which the position lies ends behind it.
        let earlier = doc! { "until": at, "untilId": { "$lt": id } };
        let filter = doc! { "on": place.on(), "until": { "$gte": at }, "$nor": [earlier] };
        let around = List { filter, limit: 1, ..behind(place, 1, None) };
        found
            .extend(pages(place.app).list(around).await?.into_iter().flat_map(|page| page.entries));
    }
    loop {
        let listed = part.of(found.clone());
        if listed.len() >= part.limit {
            return Ok(listed);
        }
        let read = pages(place.app).list(behind(place, direction, from.as_deref())).await?;
        let is_end = i64::try_from(read.len()).is_ok_and(|count| count < PAGES);
        from = read.last().map(end);
        found.extend(read.into_iter().flat_map(|page| page.entries));
        if is_end {
            return Ok(part.of(found));
        }
    }
}

pub(super) async fn withdraw(place: &Place<'_>, id: &str) -> Result<bool, Error> {
    let unposted = doc! { "id": id, "due.kind": "POST" };
    let on = place.on();
    let with_others = doc! {
        "on": &on, "entries.id": id, "entries": { "$elemMatch": &unposted },
        "entries.1": { "$exists": true },
    };
    let pull = doc! { "$pull": { "entries": &unposted } };
    if pages(place.app).guarded(with_others, pull).apply().await.decided()?.is_some() {
        return Ok(true);
    }
    // It is alone on its page, and pages are never empty: the page is removed.
    let alone = doc! {
        "on": on, "entries.id": id, "entries": { "$elemMatch": unposted },
        "entries.1": { "$exists": false },
    };
    Ok(pages(place.app).remove(alone).await.decided()?.is_some())
}

pub(super) async fn copy(
    place: &Place<'_>,
    number: i64,
    comments: Vec<CommentDocument>,
    _: &Attempt,
) -> Result<(), Error> {
    // The page is full from the start: comments that are posted meanwhile begin their own pages.
    let page = PageDocument { full: true, ..page_of(place, number, comments) };
    pages(place.app).insert_many(vec![page]).await?;
    Ok(())
}

pub(super) async fn list_due(app: &App, before: DateTime, limit: i64) -> All {
    let due = pages(app).list_older(("entries.due.at", "due"), before, limit).await?;
    let entries = due.into_iter().flat_map(|page| page.entries);
    let is_due =
        |comment: &CommentDocument| comment.due.as_ref().is_some_and(|due| due.at < before);
    Ok(entries.filter(is_due).collect())
}
