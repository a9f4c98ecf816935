//! Reads and changes of the comments in a store, whatever its layout.

use mongodb::bson::{Bson, DateTime, Document, doc};

use super::{
    super::documents::{CommentDocument, Due, Layout, OpenDiscussion, PageDocument},
    CommentKey, CommentList, CommentStore, DiscussionHandle, Found, Inserted,
    decisions::touched,
    embedded::{self, ENTRIES},
    list_touched,
    pages::{self, pages},
    remove_authored,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    mongo::{
        Collection,
        collection::List,
        expression::{array, both, count, literal, replaced, starts_with, stored_fields},
    },
};

pub(super) fn comments(app: &App) -> Collection<CommentDocument> {
    app.collection()
}

/// Filter: the comment is posted.
pub(super) fn posted() -> Document {
    doc! { "due.kind": { "$ne": "POST" } }
}

/// The comment with that id, which was just written. `comments` are those of its document after the update, or `None`
/// if it was refused.
pub(super) fn written(comments: Option<Vec<CommentDocument>>, id: &str) -> Found<CommentDocument> {
    let Some(comments) = comments else { return Ok(None) };
    let comment = comments.into_iter().find(|comment| comment.id == id);
    comment.map(Some).ok_or_else(|| Error::internal("a comment isn't where it was written"))
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

/// Filter of an array's path: it contains the comment with that id, for which `guard` holds.
fn containing(id: &str, guard: Document) -> Document {
    doc! { "$elemMatch": both(doc! { "id": id }, guard) }
}

impl CommentStore<'_> {
    /// Finds one comment.
    pub(crate) async fn find(&self, by: CommentKey<'_>) -> Found<CommentDocument> {
        let on = self.on();
        let found = match (self.layout, by) {
            (Layout::PerDocument, CommentKey::Id(id)) => {
                comments(self.app).get_settled(&self.key(id)).await?.into_iter().collect()
            }
            (Layout::PerDocument, CommentKey::Slug(slug)) => {
                let filter = doc! { "on": on, "slug": slug };
                let list = List { filter, limit: 1, hint: Some("slug"), ..List::default() };
                comments(self.app).list(list).await?
            }
            (Layout::Paged, by) => {
                let (filter, hint) = match by {
                    CommentKey::Id(id) => (doc! { "on": on, "entries.id": id }, "comment"),
                    CommentKey::Slug(slug) => (doc! { "on": on, "entries.slug": slug }, "slug"),
                };
                let list = List { filter, limit: 1, hint: Some(hint), ..List::default() };
                pages::entries(self.app, list).await?
            }
            (Layout::Embedded, _) => embedded::entries(self).await?,
        };
        Ok(found.into_iter().find(|comment| by.is(comment)))
    }

    /// Finds comments by their ids.
    pub(crate) async fn find_all(&self, ids: &[String]) -> CommentList {
        let mut found = match self.layout {
            Layout::PerDocument => {
                let keys: Vec<_> = ids.iter().map(|id| self.key(id)).collect();
                comments(self.app).list(List::of_ids(&keys)).await?
            }
            Layout::Paged => {
                let filter = doc! { "on": self.on(), "entries.id": { "$in": ids } };
                let limit = count(ids.len());
                let list = List { filter, limit, hint: Some("comment"), ..List::default() };
                pages::entries(self.app, list).await?
            }
            Layout::Embedded => embedded::entries(self).await?,
        };
        found.retain(|comment| ids.contains(&comment.id));
        Ok(found)
    }

    /// Why the store refuses a new comment: it exists, or another comment has its slug.
    pub(super) async fn clash(&self, new: &CommentDocument) -> Result<Option<Inserted>, Error> {
        if let Some(same) = self.find(CommentKey::Id(&new.id)).await? {
            return Ok(Some(Inserted::Exists(same)));
        }
        Ok(self.find(CommentKey::Slug(&new.slug)).await?.map(|_| Inserted::SlugTaken))
    }

    /// Inserts a comment that is to be posted. `seen` guards the insert that also commits it.
    pub(crate) async fn insert(
        &self,
        discussion: &OpenDiscussion,
        comment: CommentDocument,
        seen: Document,
        attempt: &Attempt,
    ) -> Result<Inserted, Error> {
        match self.layout {
            Layout::PerDocument => {
                if insert_all(self.app, std::slice::from_ref(&comment)).await? {
                    return Ok(Inserted::Unposted(comment));
                }
                Ok(self.clash(&comment).await?.unwrap_or(Inserted::SlugTaken))
            }
            Layout::Paged => Box::pin(pages::insert(self, discussion, &comment, attempt)).await,
            Layout::Embedded => Box::pin(embedded::insert(self, &comment, seen, attempt)).await,
        }
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
        let is_changed = match self.layout {
            Layout::PerDocument => {
                let own = doc! { "_id": self.key(id) };
                let open = both(own.clone(), doc! { "sealed": { "$ne": true } });
                let replace = doc! { "$replaceWith": changed("$$ROOT", old, &new) };
                let write = comments(self.app).guarded(both(open, guard), vec![replace]);
                write.within(attempt).applied_if(both(own, done)).held().await?
            }
            Layout::Paged => {
                // The number of the page isn't known.
                let own = |guard| {
                    let entries = containing(id, guard);
                    doc! { "on": self.on(), "entries.id": id, "entries": entries }
                };
                let open = both(own(guard), doc! { "sealed": { "$ne": true } });
                let entries = replaced("$entries", "id", id, changed("$$this", old, &new));
                let write = pages(self.app).set(open, doc! { "entries": entries });
                write.within(attempt).applied_if(own(done)).held().await?
            }
            Layout::Embedded => {
                let own = |guard| doc! { ENTRIES: containing(id, guard) };
                let with = changed("$$this", old, &new);
                let fields = doc! {
                    ENTRIES: replaced(array(ENTRIES), "id", id, with),
                    // The sweep finds the comment by it.
                    "discussion.touchedAt": touched(attempt),
                };
                embedded::set(self, own(guard), fields, own(done), attempt).await?
            }
        };
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
    ) -> Result<(), Error> {
        match self.layout {
            Layout::PerDocument => insert_all(self.app, &copies).await.map(|_| ()),
            Layout::Paged => {
                // The page is full from the start: comments that are posted meanwhile begin their own pages.
                let number = i64::try_from(number).unwrap_or(i64::MAX);
                let page = PageDocument { full: true, ..pages::page_of(self, number, copies) };
                pages(self.app).insert_many(vec![page]).await.map(|_| ())
            }
            Layout::Embedded => embedded::copy(self, &copies, attempt).await,
        }
    }

    /// Deletes a comment that isn't posted yet; an embedded one is committed by its insert. Returns whether
    /// there was one.
    pub(crate) async fn withdraw(&self, id: &str) -> Result<bool, Error> {
        match self.layout {
            Layout::PerDocument => {
                let unposted = doc! { "_id": self.key(id), "due.kind": "POST" };
                Ok(comments(self.app).remove(unposted).await.decided()?.is_some())
            }
            Layout::Paged => pages::withdraw(self, id).await,
            Layout::Embedded => Ok(false),
        }
    }

    /// Seals the store: no comment in it changes any more. The raised epoch seals an embedded one.
    pub(crate) async fn seal(&self) -> Result<(), Error> {
        let open = doc! { "on": self.on(), "sealed": { "$ne": true } };
        let seal = doc! { "$set": { "sealed": true } };
        match self.layout {
            Layout::PerDocument => comments(self.app).update_many(open, seal, vec![]).await?,
            Layout::Paged => pages(self.app).update_many(open, seal, vec![]).await?,
            Layout::Embedded => 0,
        };
        Ok(())
    }

    /// Removes the store with all its comments. Embedded ones are removed with the discussion's `migration`:
    /// see [`DiscussionHandle::close`](super::DiscussionHandle::close).
    pub(crate) async fn remove(&self) -> Result<(), Error> {
        let store = doc! { "on": self.on() };
        match self.layout {
            Layout::PerDocument => comments(self.app).remove_many(store).await?,
            Layout::Paged => pages(self.app).remove_many(store).await?,
            Layout::Embedded => 0,
        };
        Ok(())
    }

    /// Empties the outboxes of comments with a pending POST, each a document; returns whether all of them had one.
    pub(crate) async fn settle_all(
        &self,
        bulk: &[&CommentDocument],
        attempt: &Attempt,
    ) -> Result<bool, Error> {
        let keys: Vec<_> = bulk.iter().map(|comment| self.key(&comment.id)).collect();
        let due = doc! { "_id": { "$in": keys }, "due.kind": "POST", "sealed": { "$ne": true } };
        let update = doc! { "$set": { "settledAt": attempt.now() }, "$unset": { "due": 1 } };
        let due = both(due, attempt.alive());
        let settled = comments(self.app).update_many(due, update, vec![]).await?;
        Ok(usize::try_from(settled).is_ok_and(|settled| settled == bulk.len()))
    }
}

/// The time after which a comment must have been posted to be edited.
pub(crate) fn editable_after(app: &App, attempt: &Attempt) -> DateTime {
    let window = i64::try_from(app.config().comment_edit_seconds).unwrap_or(i64::MAX);
    let window = window.saturating_mul(1_000);
    DateTime::from_millis(attempt.now().timestamp_millis().saturating_sub(window))
}

impl DiscussionHandle<'_> {
    /// Finds a posted comment. While not everything is copied to another layout, a comment that isn't in the new store
    /// is still in the old one. Embedded comments were read with the discussion.
    pub(crate) async fn find(&self, by: CommentKey<'_>) -> Found<CommentDocument> {
        let store = self.store();
        let on = store.on();
        let mut found = match self.layout {
            Layout::Embedded => {
                self.entries.iter().find(|comment| comment.on == on && by.is(comment)).cloned()
            }
            _ => store.find(by).await?,
        };
        if found.is_none()
            && let Some((_, before)) = self.uncopied_store()
        {
            found = before.find(by).await?;
        }
        Ok(found.filter(|comment| !comment.is_unposted()))
    }
}

/// Inserts comments as documents of their own; comments that exist stay. Returns whether none existed.
pub(crate) async fn insert_all(app: &App, bulk: &[CommentDocument]) -> Result<bool, Error> {
    Ok(comments(app).insert_many(bulk.to_vec()).await?.is_empty())
}

/// Comments in any store of this layout whose outbox entry is older than `before`, oldest first.
pub(crate) async fn list_due(
    app: &App,
    layout: Layout,
    before: DateTime,
    limit: i64,
) -> CommentList {
    let mut due: Vec<CommentDocument> = match layout {
        Layout::PerDocument => comments(app).list_older(("due.at", "due"), before, limit).await?,
        Layout::Paged => {
            let due = pages(app).list_older(("entries.due.at", "due"), before, limit).await?;
            due.into_iter().flat_map(|page| page.entries).collect()
        }
        Layout::Embedded => {
            let touched = list_touched(app, before, limit).await?;
            touched.into_iter().flat_map(|discussed| discussed.discussion.entries).collect()
        }
    };
    due.retain(|comment| comment.due.as_ref().is_some_and(|due| due.at < before));
    Ok(due)
}

/// Removes all stores of a deleted discussion. Embedded ones go with the document.
pub(crate) async fn remove_all(app: &App, discussion: &str) -> Result<(), Error> {
    let stores = || doc! { "on": starts_with(&format!("{discussion}.")) };
    comments(app).remove_many(stores()).await?;
    pages(app).remove_many(stores()).await?;
    remove_authored(app, discussion).await
}
