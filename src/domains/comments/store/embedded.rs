//! The layout `EMBEDDED`: comments in `discussion.entries` of the discussed document, up to 100, read
//! along with it.
//!
//! One update inserts a comment and commits it. The update that raises the discussion's epoch also seals the
//! store.

use mongodb::bson::{DateTime, Document, doc};

use super::{
    super::documents::{CommentDocument, OpenDiscussion, ParentKind, of_kind},
    All, By, CAP, Change, Found, Inserted, Part, Place,
    parents::{self, committing},
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    mongo::expression::{both, stored},
};

/// Filter: the discussed document, while this store is the current one.
fn there(place: &Place<'_>) -> Document {
    doc! {
        "_id": &place.parent.key,
        "discussion.id": &place.discussion,
        "discussion.epoch": place.epoch,
    }
}

/// The comments of the store.
async fn entries(place: &Place<'_>) -> All {
    let found = parents::settled(place.app, &place.parent).await?;
    let own = found.filter(|discussed| discussed.id == place.discussion);
    Ok(own.map(|discussed| entries_of(place, discussed.discussion)).unwrap_or_default())
}

fn entries_of(place: &Place<'_>, discussion: OpenDiscussion) -> Vec<CommentDocument> {
    let on = place.on();
    discussion.entries.into_iter().filter(|comment| comment.on == on).collect()
}

/// Updates the discussed document and returns its comments.
async fn update(
    place: &Place<'_>,
    filter: Document,
    update: Document,
    array_filters: Vec<Document>,
    attempt: &Attempt,
) -> Result<Option<Vec<CommentDocument>>, Error> {
    of_kind!(place.parent.kind, Own => {
        let mut write = place.app.collection::<Own>().guarded(filter, update).within(attempt);
        if !array_filters.is_empty() {
            write = write.array_filters(array_filters);
        }
        let fields = Own::FIELDS.iter().map(|field| ((*field).to_owned(), 1.into())).collect();
        let after = write.answering(fields).apply().await.decided()?;
        Ok(after.map(|after| after.discussion.map_or_else(Vec::new, |open| open.entries)))
    })
}

/// The comment of that id, which was just written.
fn written(entries: Option<Vec<CommentDocument>>, id: &str) -> Found<CommentDocument> {
    let Some(entries) = entries else { return Ok(None) };
    let comment = entries.into_iter().find(|comment| comment.id == id);
    comment.map(Some).ok_or_else(|| Error::internal("an embedded comment isn't where it was put"))
}

pub(super) async fn insert(
    place: &Place<'_>,
    _: &OpenDiscussion,
    comment: CommentDocument,
    guard: Document,
    attempt: &Attempt,
) -> Result<Inserted, Error> {
    let (uncommitted, mut commit) = committing(&[&comment], attempt);
    let room = doc! {
        "discussion.total": { "$lt": CAP },
        "discussion.entries.id": { "$ne": &comment.id },
        "discussion.entries.slug": { "$ne": &comment.slug },
    };
    let filter = both(both(both(there(place), guard), uncommitted), room);
    if let Ok(push) = commit.get_document_mut("$push") {
        push.insert("discussion.entries", stored(&comment));
    }
    let entries_now = update(place, filter, commit, vec![], attempt).await?;
    if let Some(there) = written(entries_now, &comment.id)? {
        return Ok(Inserted::Committed(there));
    }
    let there = entries(place).await?;
    if let Some(same) = there.iter().find(|other| other.id == comment.id) {
        return Ok(Inserted::Exists(same.clone()));
    }
    let is_taken = there.iter().any(|other| other.slug == comment.slug);
    Ok(if is_taken { Inserted::SlugTaken } else { Inserted::Refused })
}

pub(super) async fn find(place: &Place<'_>, by: By<'_>) -> Found<CommentDocument> {
    Ok(entries(place).await?.into_iter().find(|comment| by.is(comment)))
}

pub(super) async fn find_all(place: &Place<'_>, ids: &[String]) -> All {
    let there = entries(place).await?.into_iter();
    Ok(there.filter(|comment| ids.contains(&comment.id)).collect())
}

pub(super) async fn change(
    place: &Place<'_>,
    id: &str,
    guard: Document,
    change: Change,
    attempt: &Attempt,
) -> Found<CommentDocument> {
    let comment = both(doc! { "id": id }, guard);
    let filter = both(there(place), doc! { "discussion.entries": { "$elemMatch": comment } });
    let mut change = change.at("discussion.entries.$[comment].");
    // The sweep finds the comment by the discussion's `touchedAt`.
    change.insert("$min", parents::touch(attempt));
    let which = vec![doc! { "comment.id": id }];
    written(update(place, filter, change, which, attempt).await?, id)
}

pub(super) async fn list(place: &Place<'_>, part: &Part<'_>, read: Option<&OpenDiscussion>) -> All {
    Ok(part.of(match read {
        Some(discussion) => entries_of(place, discussion.clone()),
        None => entries(place).await?,
    }))
}

pub(super) async fn copy(
    place: &Place<'_>,
    _: i64,
    comments: Vec<CommentDocument>,
    attempt: &Attempt,
) -> Result<(), Error> {
    let ids: Vec<_> = comments.iter().map(|comment| comment.id.as_str()).collect();
    // One batch holds all comments: either all were copied or none.
    let filter = both(there(place), doc! { "discussion.entries.id": { "$nin": ids } });
    let entries: Vec<_> = comments.iter().map(stored).collect();
    let push = doc! { "$push": { "discussion.entries": { "$each": entries } } };
    if update(place, filter, push, vec![], attempt).await?.is_some() {
        return Ok(());
    }
    let wanted: Vec<_> = comments.into_iter().map(|comment| comment.id).collect();
    let there = find_all(place, &wanted).await?;
    if there.len() == wanted.len() { Ok(()) } else { Err(attempt.overdue()) }
}

pub(super) async fn list_due(app: &App, before: DateTime, limit: i64) -> All {
    let mut due = Vec::new();
    for kind in ParentKind::ALL {
        let touched = parents::list_touched_of(app, kind, before, limit).await?.into_iter();
        due.extend(touched.flat_map(|discussed| discussed.discussion.entries));
    }
    due.retain(|comment| comment.due.as_ref().is_some_and(|due| due.at < before));
    Ok(due)
}
