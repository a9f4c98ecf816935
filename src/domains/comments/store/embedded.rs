//! The layout `EMBEDDED`: comments in `discussion.entries` of the discussed document, up to 100, read
//! along with it.
//!
//! One update inserts a comment and commits it. The update that raises the discussion's epoch also seals the
//! store.

use mongodb::bson::{Document, doc};

use super::{
    super::documents::{CommentDocument, OpenDiscussion},
    CAP, CommentList, CommentStore, Inserted, decisions, discussions,
};
use crate::{
    error::Error,
    flow::Attempt,
    mongo::expression::{append, array, both, literal, stored},
};

/// Path of the comments.
pub(super) const ENTRIES: &str = "discussion.entries";

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

/// Sets fields of the discussed document to the values of expressions while this store is the current one. Returns
/// whether the guard held. The document matches `done` once this was done, and only then.
pub(super) async fn set(
    store: &CommentStore<'_>,
    guard: Document,
    fields: Document,
    done: Document,
    attempt: &Attempt,
) -> Result<bool, Error> {
    let current = doc! {
        "_id": &store.parent.key,
        "discussion.id": &store.discussion,
        "discussion.epoch": store.epoch,
    };
    let parents = discussions::parents(store.app, store.parent.kind);
    let write = parents.set(both(current.clone(), guard), fields);
    write.within(attempt).applied_if(both(current, done)).held().await
}

pub(super) async fn insert(
    store: &CommentStore<'_>,
    comment: &CommentDocument,
    seen: Document,
    attempt: &Attempt,
) -> Result<Inserted, Error> {
    let (uncommitted, mut set) = decisions::commit(&[comment], attempt);
    let room = doc! {
        "discussion.total": { "$lt": CAP },
        "discussion.entries.id": { "$ne": &comment.id },
        "discussion.entries.slug": { "$ne": &comment.slug },
    };
    let with = append(array(ENTRIES), vec![literal(stored(comment))]);
    set.insert(ENTRIES, with);
    let guard = both(both(seen, uncommitted), room);
    // The version is that of this call.
    let same = doc! { "id": &comment.id, "nonce": &comment.text_version, "at": comment.at };
    let inserted = doc! { ENTRIES: { "$elemMatch": same } };
    if self::set(store, guard, set, inserted, attempt).await? {
        return Ok(Inserted::Committed(comment.clone()));
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
    let copies = comments.iter().map(|comment| literal(stored(comment))).collect();
    let set = doc! { ENTRIES: append(array(ENTRIES), copies) };
    let done = doc! { "discussion.entries.id": { "$all": &ids } };
    let is_copied = self::set(store, uncopied, set, done, attempt).await?
        || store.find_all(&ids).await?.len() == ids.len();
    if is_copied { Ok(()) } else { Err(attempt.overdue()) }
}
