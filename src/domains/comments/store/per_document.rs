//! The layout `PER_DOCUMENT`: one document per comment.

use async_trait::async_trait;
use mongodb::bson::{DateTime, Document, doc};

use super::{
    super::documents::{CommentDocument, OpenDiscussion},
    BATCH, By, Change, Inserted, Place, Storage, Way, posted, stores_of,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::page::Page,
    mongo::{
        Collection, Outcome,
        collection::List,
        expression::{both, starts_with},
    },
};

/// The layout; its collection is `comments`.
pub(super) struct PerDocument;

fn comments(app: &App) -> Collection<CommentDocument> {
    app.collection()
}

/// Inserts comments in bulk; comments that exist stay. Returns whether none existed.
pub(in super::super) async fn insert_all(
    app: &App,
    bulk: &[CommentDocument],
) -> Result<bool, Error> {
    let there = comments(app).insert_many(bulk.to_vec()).await?;
    Ok(there.is_empty())
}

/// Empties the outboxes of comments with a pending POST; returns whether all of them had one.
pub(in super::super) async fn settle_all(
    app: &App,
    place: &Place,
    bulk: &[&CommentDocument],
    attempt: &Attempt,
) -> Result<bool, Error> {
    let keys: Vec<_> = bulk.iter().map(|comment| place.key(&comment.id)).collect();
    let due = doc! { "_id": { "$in": keys }, "due.kind": "POST", "sealed": { "$ne": true } };
    let update = doc! { "$set": { "settledAt": attempt.now() }, "$unset": { "due": 1 } };
    let settled = comments(app).update_many(both(due, attempt.alive()), update, vec![]).await?;
    Ok(usize::try_from(settled).is_ok_and(|settled| settled == bulk.len()))
}

#[async_trait]
impl Storage for PerDocument {
    fn serves(&self, _way: &Way) -> bool {
        true
    }

    fn lists_authors(&self) -> bool {
        true
    }

    async fn insert(
        &self,
        app: &App,
        place: &Place,
        _discussion: &OpenDiscussion,
        comment: CommentDocument,
        _guard: Document,
        _run: &Attempt,
    ) -> Result<Inserted, Error> {
        if comments(app).insert(comment.clone()).await.decided()?.is_some() {
            return Ok(Inserted::Unposted(comment));
        }
        let there = self.find(app, place, By::Id(&comment.id)).await?;
        Ok(there.map_or(Inserted::SlugTaken, Inserted::Exists))
    }

    async fn find(
        &self,
        app: &App,
        place: &Place,
        by: By<'_>,
    ) -> Result<Option<CommentDocument>, Error> {
        match by {
            By::Id(id) => comments(app).get_settled(&place.key(id)).await,
            By::Slug(slug) => {
                let filter = doc! { "on": place.on(), "slug": slug };
                let list = List { filter, limit: 1, hint: Some("slug"), ..List::default() };
                Ok(comments(app).list(list).await?.pop())
            }
        }
    }

    async fn find_all(
        &self,
        app: &App,
        place: &Place,
        ids: &[String],
    ) -> Result<Vec<CommentDocument>, Error> {
        let keys: Vec<_> = ids.iter().map(|id| place.key(id)).collect();
        let limit = i64::try_from(keys.len()).unwrap_or(i64::MAX);
        let filter = doc! { "_id": { "$in": keys } };
        comments(app).list(List { filter, limit, ..List::default() }).await
    }

    async fn change(
        &self,
        app: &App,
        place: &Place,
        id: &str,
        guard: Document,
        change: Change,
        attempt: &Attempt,
    ) -> Outcome<CommentDocument> {
        let filter = both(doc! { "_id": place.key(id), "sealed": { "$ne": true } }, guard);
        comments(app).guarded(filter, change.at("")).within(attempt).apply().await
    }

    async fn list(
        &self,
        app: &App,
        place: &Place,
        _discussion: &OpenDiscussion,
        way: &Way,
        page: &Page,
    ) -> Result<Vec<CommentDocument>, Error> {
        let on = place.on();
        let (filter, hint) = match way {
            Way::Chronological => (doc! { "on": on }, "chronological"),
            Way::Threaded => (doc! { "on": on }, "threaded"),
            Way::Replies(to) => (doc! { "on": on, "replyTo": to }, "replies"),
            Way::Subthread(top) => (doc! { "on": on, "sortKey": starts_with(top) }, "threaded"),
        };
        let list = List { hint: Some(hint), ..page.list(both(filter, posted())) };
        comments(app).list(list).await
    }

    async fn newest(
        &self,
        app: &App,
        place: &Place,
        taken: &[&str],
        limit: i64,
    ) -> Result<Vec<CommentDocument>, Error> {
        let taken = doc! { "id": { "$in": taken } };
        let filter = doc! {
            "on": place.on(),
            "removed": { "$exists": false },
            "$or": [posted(), taken],
        };
        let sort = doc! { "at": -1, "id": -1 };
        let hint = Some("chronological");
        comments(app).list(List { filter, sort, limit, hint, ..List::default() }).await
    }

    async fn withdraw(&self, app: &App, place: &Place, id: &str) -> Outcome<()> {
        comments(app).remove(doc! { "_id": place.key(id), "due.kind": "POST" }).await
    }

    async fn seal(&self, app: &App, place: &Place) -> Result<(), Error> {
        let open = doc! { "on": place.on(), "sealed": { "$ne": true } };
        comments(app).update_many(open, doc! { "$set": { "sealed": true } }, vec![]).await?;
        Ok(())
    }

    async fn batch(
        &self,
        app: &App,
        place: &Place,
        after: Option<&(DateTime, String)>,
    ) -> Result<Vec<CommentDocument>, Error> {
        let keys = [("at", 1), ("id", 1)];
        let filter = doc! { "on": place.on() };
        let filter = match after {
            Some((at, id)) => {
                crate::mongo::keyset::beyond(filter, &keys, &[(*at).into(), id.into()])
            }
            None => filter,
        };
        let sort = crate::mongo::keyset::sort(&keys);
        let hint = Some("chronological");
        comments(app).list(List { filter, sort, limit: BATCH, hint, ..List::default() }).await
    }

    async fn copy(
        &self,
        app: &App,
        _place: &Place,
        _number: i64,
        copies: Vec<CommentDocument>,
        _run: &Attempt,
    ) -> Result<(), Error> {
        comments(app).insert_many(copies).await?;
        Ok(())
    }

    async fn list_due(
        &self,
        app: &App,
        before: DateTime,
        limit: i64,
    ) -> Result<Vec<CommentDocument>, Error> {
        let filter = doc! { "due.at": { "$lt": before } };
        let sort = doc! { "due.at": 1 };
        let hint = Some("due");
        comments(app).list(List { filter, sort, limit, hint, ..List::default() }).await
    }

    async fn remove(&self, app: &App, place: &Place) -> Result<(), Error> {
        comments(app).remove_many(doc! { "on": place.on() }).await?;
        Ok(())
    }

    async fn remove_all(&self, app: &App, discussion: &str) -> Result<(), Error> {
        comments(app).remove_many(doc! { "on": stores_of(discussion) }).await?;
        Ok(())
    }
}
