//! The layout `EMBEDDED`: comments in `discussion.entries` of the discussed document, up to 100, read
//! along with it.
//!
//! One update inserts a comment and commits it. The update that raises the discussion's epoch also seals the
//! store.

use mongodb::bson::{Document, doc};

use super::{
    super::documents::{CommentDocument, OpenDiscussion, of_kind},
    CAP, CommentList, CommentStore, Inserted,
    comments::written,
    decisions,
};
use crate::{
    error::Error,
    flow::Attempt,
    mongo::expression::{both, stored},
};

/// The comments of the store.
pub(super) async fn entries(store: &CommentStore<'_>) -> CommentList {
    let now = store.discussed().await?;
    Ok(now.map(|now| entries_of(store, now.discussion)).unwrap_or_default())
}

pub(super) fn entries_of(
    store: &CommentStore<'_>,
    discussion: OpenDiscussion,
) -> Vec<CommentDocument> {
    let on = store.on();
    discussion.entries.into_iter().filter(|comment| comment.on == on).collect()
}

/// Updates the discussed document while this store is the current one, and returns its comments. `$[comment]` in the
/// update is the comment with the id `changed`.
pub(super) async fn update(
    store: &CommentStore<'_>,
    guard: Document,
    update: Document,
    changed: Option<&str>,
    attempt: &Attempt,
) -> Result<Option<Vec<CommentDocument>>, Error> {
    let current = doc! {
        "_id": &store.parent.key,
        "discussion.id": &store.discussion,
        "discussion.epoch": store.epoch,
    };
    of_kind!(store.parent.kind, Own => {
        let mut write = store.app.collection::<Own>().guarded(both(current, guard), update);
        if let Some(id) = changed {
            write = write.array_filters(vec![doc! { "comment.id": id }]);
        }
        let fields = Own::FIELDS.iter().map(|field| ((*field).to_owned(), 1.into())).collect();
        let after = write.within(attempt).answering(fields).apply().await.decided()?;
        Ok(after.map(|after| after.discussion.map_or_else(Vec::new, |open| open.entries)))
    })
}

pub(super) async fn insert(
    store: &CommentStore<'_>,
    comment: &CommentDocument,
    seen: Document,
    attempt: &Attempt,
) -> Result<Inserted, Error> {
    let (uncommitted, mut commit) = decisions::commit(&[comment], attempt);
    let room = doc! {
        "discussion.total": { "$lt": CAP },
        "discussion.entries.id": { "$ne": &comment.id },
        "discussion.entries.slug": { "$ne": &comment.slug },
    };
    if let Ok(push) = commit.get_document_mut("$push") {
        push.insert("discussion.entries", stored(comment));
    }
    let guard = both(both(seen, uncommitted), room);
    let entries = update(store, guard, commit, None, attempt).await?;
    if let Some(there) = written(entries, &comment.id)? {
        return Ok(Inserted::Committed(there));
    }
    Ok(store.clash(comment).await?.unwrap_or(Inserted::Refused))
}

/// Inserts copies. One batch holds all comments of a store: either all were copied or none.
pub(super) async fn copy(
    store: &CommentStore<'_>,
    comments: &[CommentDocument],
    attempt: &Attempt,
) -> Result<(), Error> {
    let ids: Vec<_> = comments.iter().map(|comment| comment.id.clone()).collect();
    let uncopied = doc! { "discussion.entries.id": { "$nin": &ids } };
    let entries: Vec<_> = comments.iter().map(stored).collect();
    let push = doc! { "$push": { "discussion.entries": { "$each": entries } } };
    let is_copied = update(store, uncopied, push, None, attempt).await?.is_some()
        || store.find_all(&ids).await?.len() == ids.len();
    if is_copied { Ok(()) } else { Err(attempt.overdue()) }
}
