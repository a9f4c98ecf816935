//! Writes of the comments in a store, whatever its layout.
//!
//! | layout | documents | sealed by |
//! |---|---|---|
//! | `PER_DOCUMENT` | each comment | `sealed` of the comment |
//! | `PAGED` | pages, with up to 100 comments in `entries` | `sealed` of the page |
//! | `EMBEDDED` | the discussed document, with the comments of the store in `discussion.entries` | the next epoch |

use std::time::Duration;

use super::{
    super::documents::{AuthoredComment, CommentDocument, Due, Layout, Mark, PageDocument},
    CAP, CommentKey, CommentStore, DiscussionHandle, Found, Inserted,
    decisions::touched,
    pages::{self, pages},
};
use crate::{flow::earlier, graphql::prelude::*, mongo::prelude::*};

/// Path of embedded comments.
const ENTRIES: &str = "discussion.entries";

pub(crate) fn comments(app: &App) -> Collection<CommentDocument> {
    app.collection()
}

/// The layouts with documents of their own, which have the store in their field `on`. The type of pages is another one;
/// this is for commands that return no documents.
fn own_documents(app: &App) -> [(Layout, Collection<CommentDocument>); 2] {
    let pages = comments(app).named(PageDocument::COLLECTION);
    [(Layout::PerDocument, comments(app)), (Layout::Paged, pages)]
}

/// Expression that turns the comment `stored_as` into `new`: only the fields change in which `old` differs from it.
fn changed(stored_as: &str, old: &CommentDocument, new: &CommentDocument) -> Bson {
    let (old, new) = (stored_fields(old), stored_fields(new));
    let gone = old.keys().filter(|field| !new.contains_key(*field));
    let left = gone.fold(Bson::from(stored_as), |left, field| {
        doc! { "$unsetField": { "field": field, "input": left } }.into()
    });
    let set: Document =
        new.into_iter().filter(|(field, value)| old.get(field) != Some(value)).collect();
    doc! { "$mergeObjects": [left, literal(set)] }.into()
}

impl CommentStore<'_> {
    /// The documents of the store itself, for commands that return none of them; of an embedded store there are none.
    fn own_documents(&self) -> Option<Collection<CommentDocument>> {
        let mut own = own_documents(self.app).into_iter();
        own.find(|(layout, _)| *layout == self.layout).map(|(_, documents)| documents)
    }

    /// The documents that hold its comments, for writes that return none of them.
    fn documents(&self) -> Collection<CommentDocument> {
        let discussed = || comments(self.app).named(self.parent.kind.collection);
        self.own_documents().unwrap_or_else(discussed)
    }

    /// Filter of an embedded store: the discussed document, while the store is the current one.
    fn current(&self) -> Document {
        doc! {
            "_id": &self.parent.key,
            "discussion.id": &self.discussion,
            "discussion.epoch": self.epoch,
        }
    }

    /// Why the store refuses a new comment: it exists, or another comment has its slug.
    pub(super) async fn clash(&self, new: &CommentDocument) -> Result<Option<Inserted>> {
        if let Some(same) = self.find(CommentKey::Id(&new.id)).await? {
            return Ok(Some(Inserted::Exists(same)));
        }
        Ok(self.find(CommentKey::Slug(&new.slug)).await?.map(|_| Inserted::SlugTaken))
    }

    /// Inserts a comment that is to be posted into the current store of a discussion. `seen` guards the insert that
    /// also commits it.
    pub(crate) async fn insert(
        &self,
        discussed: &mut DiscussionHandle<'_>,
        comment: CommentDocument,
        seen: Document,
        attempt: &Attempt,
    ) -> Result<Inserted> {
        let (is_new, otherwise) = match self.layout {
            Layout::PerDocument => {
                let inserted = comments(self.app).insert(&comment).await;
                (inserted.decided()?.is_some(), Inserted::SlugTaken)
            }
            Layout::Paged => {
                return Box::pin(pages::insert(self, discussed, &comment, attempt)).await;
            }
            Layout::Embedded => {
                let room = Condition::All(vec![
                    at_least(CAP - 1, "discussion.total"),
                    contains("discussion.entries.id", &comment.id).negated(),
                    contains("discussion.entries.slug", &comment.slug).negated(),
                ]);
                let with = append(array(ENTRIES), vec![literal(stored(&comment))]);
                // The version is that of this call.
                let same =
                    doc! { "id": &comment.id, "nonce": &comment.text_version, "at": comment.at };
                let (with, done) =
                    (doc! { ENTRIES: with }, doc! { ENTRIES: { "$elemMatch": same } });
                let guard = both(seen, room.guard());
                let is_new =
                    Box::pin(discussed.commit_with(&[&comment], guard, with, done, attempt))
                        .await?;
                if is_new {
                    discussed.discussion.marks.push(Mark::of(&comment.id, attempt.now()));
                }
                (is_new, Inserted::Refused)
            }
        };
        if is_new {
            return Ok(Inserted::New(comment));
        }
        Ok(self.clash(&comment).await?.unwrap_or(otherwise))
    }

    /// Writes the fields in which `new` differs from `old`, if `guard` holds for the comment and the store isn't sealed.
    /// Returns `new`: the guard holds only for the comment as it was read. The comment matches `done` once this was
    /// done, and only then.
    async fn change(
        &self,
        old: &CommentDocument,
        new: CommentDocument,
        guard: Document,
        done: Document,
        attempt: &Attempt,
    ) -> Found<CommentDocument> {
        let id = &old.id;
        let entry = |guard| doc! { "$elemMatch": both(doc! { "id": id }, guard) };
        let holding = |guard| match self.layout {
            Layout::PerDocument => both(doc! { "_id": self.key(id), "on": self.on() }, guard),
            // The number of the page isn't known.
            Layout::Paged => {
                doc! { "on": self.on(), "entries.id": id, "entries": entry(guard) }
            }
            Layout::Embedded => both(self.current(), doc! { ENTRIES: entry(guard) }),
        };
        let among = |all: Bson| replaced(all, "id", id, changed("$$this", old, &new));
        let stage = match self.layout {
            Layout::PerDocument => doc! { "$replaceWith": changed("$$ROOT", old, &new) },
            Layout::Paged => doc! { "$set": { "entries": among("$entries".into()) } },
            Layout::Embedded => doc! { "$set": {
                ENTRIES: among(array(ENTRIES)),
                // The sweep finds the comment by it.
                "discussion.touchedAt": touched(attempt),
            } },
        };
        let open = both(holding(guard), doc! { "sealed": { "$ne": true } });
        let write = self.documents().guarded(open, vec![stage]).within(attempt);
        let is_changed = write.applied_if(holding(done)).held().await?;
        Ok(is_changed.then_some(new))
    }

    /// Empties the outbox of a comment if it still holds this entry.
    pub(crate) async fn settle(
        &self,
        comment: &CommentDocument,
        due: &Due,
        attempt: &Attempt,
    ) -> Found<CommentDocument> {
        let settled_at = Some(attempt.now());
        let settled = CommentDocument { due: None, settled_at, ..comment.clone() };
        let same =
            doc! { "nonce": &comment.text_version, "at": comment.at, "version": comment.version };
        let due = both(same.clone(), doc! { "due.tag": &due.tag });
        let done = both(same, doc! { "due": { "$exists": false } });
        self.change(comment, settled, due, done, attempt).await
    }

    /// Edits a comment or removes its text, if it is unchanged since it was read and its outbox is empty. Only an edit
    /// has to be in time.
    pub(crate) async fn rewrite(
        &self,
        old: &CommentDocument,
        mut new: CommentDocument,
        attempt: &Attempt,
    ) -> Found<CommentDocument> {
        new.version = old.version + 1;
        new.due = Some(Due::of(Some(old), &new, attempt.now()));
        let mut unchanged = doc! {
            "version": old.version,
            "removed": { "$exists": false },
            "due": { "$exists": false },
        };
        if new.removed.is_none() {
            let in_time = doc! { "$gt": editable_after(self.app, attempt) };
            unchanged
                .extend(doc! { "author": &old.author, "nonce": &old.text_version, "at": in_time });
        }
        let due = new.due.as_ref().map(|due| &due.tag);
        let done = doc! { "version": new.version, "nonce": &new.text_version, "due.tag": due };
        self.change(old, new, unchanged, done, attempt).await
    }

    /// Inserts the `number`th batch of copies; copies that exist stay.
    pub(crate) async fn copy(
        &self,
        number: usize,
        copies: Vec<CommentDocument>,
        attempt: &Attempt,
    ) -> Result<()> {
        match self.layout {
            Layout::PerDocument => insert_all(self.app, &copies).await.map(|_| ()),
            Layout::Paged => {
                // The page is full from the start: comments that are posted meanwhile begin their own pages.
                let page = pages::page_of(self, count(number), copies);
                let page = PageDocument { full: true, ..page };
                pages(self.app).insert_many(vec![page]).await.map(|_| ())
            }
            Layout::Embedded => {
                // One batch holds all comments of a store: either all were copied or none.
                let ids: Vec<_> = copies.iter().map(|comment| comment.id.clone()).collect();
                let copies = copies.iter().map(|comment| literal(stored(comment))).collect();
                let with = doc! { ENTRIES: append(array(ENTRIES), copies) };
                let uncopied =
                    both(self.current(), doc! { "discussion.entries.id": { "$nin": &ids } });
                let done = both(self.current(), doc! { "discussion.entries.id": { "$all": &ids } });
                let write = self.documents().set(uncopied, with).within(attempt).applied_if(done);
                let is_copied =
                    write.held().await? || self.find_all(&ids).await?.len() == ids.len();
                if is_copied { Ok(()) } else { Err(attempt.overdue()) }
            }
        }
    }

    /// Deletes a comment that isn't posted yet; an embedded one is committed by its insert. Returns whether
    /// there was one.
    pub(crate) async fn withdraw(&self, id: &str, attempt: &Attempt) -> Result<bool> {
        match self.layout {
            Layout::PerDocument => {
                let unposted = doc! { "_id": self.key(id), "due.kind": "POST" };
                Ok(comments(self.app).remove(unposted).await.decided()?.is_some())
            }
            Layout::Paged => pages::withdraw(self, id, attempt).await,
            Layout::Embedded => Ok(false),
        }
    }

    /// Seals the store: no comment in it changes any more. The raised epoch seals an embedded one.
    pub(crate) async fn seal(&self) -> Result<()> {
        let open = doc! { "on": self.on(), "sealed": { "$ne": true } };
        if let Some(own) = self.own_documents() {
            own.update_many(open, doc! { "$set": { "sealed": true } }).await?;
        }
        Ok(())
    }

    /// Removes the store with all its comments. Embedded ones are removed with the discussion's `migration`:
    /// see [`DiscussionHandle::close`](super::DiscussionHandle::close).
    pub(crate) async fn remove(&self) -> Result<()> {
        if let Some(own) = self.own_documents() {
            own.remove_many(doc! { "on": self.on() }).await?;
        }
        Ok(())
    }

    /// Writes the copies of these comments for the lists by author, unless a copy of the same or a later version
    /// exists. Comments that are documents need none.
    pub(crate) async fn put_authored(&self, comments: &[CommentDocument]) -> Result<()> {
        if self.lists_authors() {
            return Ok(());
        }
        let updates = comments.iter().map(|comment| {
            let CommentDocument { id, author, at, version, .. } = comment.clone();
            // Readers don't need the outbox.
            let comment = CommentDocument { due: None, ..comment.clone() };
            let (key, discussion) = (id.clone(), self.discussion.clone());
            let older = doc! { "_id": &key, "version": { "$lt": version } };
            let copy =
                AuthoredComment { key, id, discussion, author, at, version, comment, v: Version };
            (older, vec![doc! { "$replaceWith": literal(stored(&copy)) }])
        });
        // A refused copy exists in that version or a later one.
        let copies = self.app.collection::<AuthoredComment>();
        copies.upsert_each(updates.collect()).await.map(|_there| ())
    }

    /// Removes the copies for the lists by author that were made of the stores before this one. A command that comes late, after
    /// the next move, leaves the copies of that move: they are of a later store.
    pub(crate) async fn remove_authored(&self) -> Result<()> {
        let earlier = (1..self.epoch).map(|epoch| Self { epoch, ..self.clone() }.on());
        let earlier: Vec<String> = earlier.collect();
        let copies = self.app.collection::<AuthoredComment>();
        let made = doc! { "discussion": &self.discussion, "comment.on": { "$in": earlier } };
        copies.remove_many(made).await.map(|_| ())
    }

    /// Empties the outboxes of comments with a pending POST, each a document; returns whether all of them had one.
    pub(crate) async fn settle_all(
        &self,
        bulk: &[&CommentDocument],
        attempt: &Attempt,
    ) -> Result<bool> {
        let keys: Vec<_> = bulk.iter().map(|comment| self.key(&comment.id)).collect();
        let due = doc! { "_id": { "$in": keys }, "due.kind": "POST", "sealed": { "$ne": true } };
        let update = doc! { "$set": { "settledAt": attempt.now() }, "$unset": { "due": 1 } };
        let due = both(due, attempt.alive());
        let settled = comments(self.app).update_many(due, update).await?;
        Ok(usize::try_from(settled).is_ok_and(|settled| settled == bulk.len()))
    }
}

/// The time after which a comment must have been posted to be edited.
pub(crate) fn editable_after(app: &App, attempt: &Attempt) -> DateTime {
    earlier(attempt.now(), Duration::from_secs(app.config().comment_edit_seconds))
}

/// Inserts comments as documents of their own; comments that exist stay. Returns whether none existed.
pub(crate) async fn insert_all(app: &App, bulk: &[CommentDocument]) -> Result<bool> {
    Ok(comments(app).insert_many(bulk.to_vec()).await?.is_empty())
}

/// All stores with documents of their own, and their layouts.
pub(crate) async fn list_stores(app: &App) -> Result<Vec<(String, Layout)>> {
    let mut stores = Vec::new();
    for (layout, documents) in own_documents(app) {
        let found = documents.aggregate(vec![doc! { "$group": { "_id": "$on" } }]).await?;
        let on = |store: &Document| store.get_str("_id").unwrap_or_default().to_owned();
        stores.extend(found.iter().map(|store| (on(store), layout)));
    }
    Ok(stores)
}

/// Removes all stores of a deleted discussion. Embedded ones go with the document.
pub(crate) async fn remove_all(app: &App, discussion: &str) -> Result<()> {
    for (_, documents) in own_documents(app) {
        documents.remove_many(doc! { "on": starts_with(&format!("{discussion}.")) }).await?;
    }
    let copies = app.collection::<AuthoredComment>();
    copies.remove_many(doc! { "discussion": discussion }).await.map(|_| ())
}
