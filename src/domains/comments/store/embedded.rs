//! The layout `EMBEDDED`: comments inside the discussed document, up to 100, read along with it.
//!
//! One update inserts a comment and commits it. The update that raises the discussion's epoch also seals the
//! store.

use async_trait::async_trait;
use mongodb::bson::{DateTime, Document, doc};

use super::{
    super::documents::{CommentDocument, OpenDiscussion, ParentKind, of_kind},
    By, CAP, Change, Inserted, Place, Storage, Way,
    parents::{self, taking},
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    graphql::page::Page,
    mongo::{
        Outcome,
        expression::{both, stored},
    },
};

/// The layout; its comments are in `discussion.entries` of the discussed document.
pub(super) struct Embedded;

/// Filter: the discussed document, while this store is the current one.
fn there(place: &Place) -> Document {
    doc! {
        "_id": &place.parent.key,
        "discussion.id": &place.discussion,
        "discussion.epoch": place.epoch,
    }
}

/// The comments of the store.
async fn entries(app: &App, place: &Place) -> Result<Vec<CommentDocument>, Error> {
    let found = parents::settled(app, &place.parent).await?;
    let own = found.filter(|discussion| discussion.id == place.discussion);
    Ok(own.map(|discussion| entries_of(place, *discussion)).unwrap_or_default())
}

fn entries_of(place: &Place, discussion: OpenDiscussion) -> Vec<CommentDocument> {
    let on = place.on();
    discussion.entries.into_iter().filter(|comment| comment.on == on).collect()
}

/// Updates the discussed document and returns one of its comments.
async fn update(
    app: &App,
    place: &Place,
    filter: Document,
    update: Document,
    array_filters: Vec<Document>,
    id: &str,
    attempt: Option<&Attempt>,
) -> Outcome<Option<CommentDocument>> {
    of_kind!(place.parent.kind, Own => {
        let mut write = app.collection::<Own>().guarded(filter, update);
        if !array_filters.is_empty() {
            write = write.array_filters(array_filters);
        }
        if let Some(attempt) = attempt {
            write = write.within(attempt);
        }
        let fields: Document =
            Own::FIELDS.iter().map(|field| ((*field).to_owned(), 1.into())).collect();
        match write.answering(fields).apply().await {
            Outcome::Applied(after) => {
                let entries = after.discussion.into_iter().flat_map(|open| open.entries);
                Outcome::Applied(entries.into_iter().find(|comment| comment.id == id))
            }
            Outcome::Refused => Outcome::Refused,
            Outcome::Unknown(error) => Outcome::Unknown(error),
        }
    })
}

fn by_time(comments: &mut [CommentDocument]) {
    comments.sort_by(|left, right| Way::Chronological.compare(left, right));
}

#[async_trait]
impl Storage for Embedded {
    fn serves(&self, _way: &Way) -> bool {
        true
    }

    fn lists_authors(&self) -> bool {
        false
    }

    async fn insert(
        &self,
        app: &App,
        place: &Place,
        _discussion: &OpenDiscussion,
        comment: CommentDocument,
        guard: Document,
        attempt: &Attempt,
    ) -> Result<Inserted, Error> {
        let (untaken, mut take) = taking(&comment, attempt);
        let mut filter = both(both(there(place), guard), untaken);
        filter = both(
            filter,
            doc! {
                "discussion.total": { "$lt": CAP },
                "discussion.entries.id": { "$ne": &comment.id },
                "discussion.entries.slug": { "$ne": &comment.slug },
            },
        );
        if let Ok(push) = take.get_document_mut("$push") {
            push.insert("discussion.entries", stored(&comment));
        }
        let written = update(app, place, filter, take, vec![], &comment.id, Some(attempt)).await;
        if let Some(there) = written.decided()? {
            let gone = || Error::internal("an embedded comment isn't where it was put");
            return there.map(Inserted::Taken).ok_or_else(gone);
        }
        let there = entries(app, place).await?;
        if let Some(same) = there.iter().find(|other| other.id == comment.id) {
            return Ok(Inserted::Exists(same.clone()));
        }
        let is_taken = there.iter().any(|other| other.slug == comment.slug);
        Ok(if is_taken { Inserted::SlugTaken } else { Inserted::Refused })
    }

    async fn find(
        &self,
        app: &App,
        place: &Place,
        by: By<'_>,
    ) -> Result<Option<CommentDocument>, Error> {
        Ok(entries(app, place).await?.into_iter().find(|comment| by.is(comment)))
    }

    async fn find_all(
        &self,
        app: &App,
        place: &Place,
        ids: &[String],
    ) -> Result<Vec<CommentDocument>, Error> {
        let there = entries(app, place).await?.into_iter();
        Ok(there.filter(|comment| ids.contains(&comment.id)).collect())
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
        let comment = both(By::Id(id).filter(), guard);
        let filter = both(there(place), doc! { "discussion.entries": { "$elemMatch": comment } });
        let mut change = change.at("discussion.entries.$[comment].");
        // The sweep finds the comment by the discussion's `touchedAt`.
        change.insert("$min", parents::touch(attempt));
        let which = vec![doc! { "comment.id": id }];
        match update(app, place, filter, change, which, id, Some(attempt)).await {
            Outcome::Applied(Some(comment)) => Outcome::Applied(comment),
            Outcome::Applied(None) => {
                Outcome::Unknown(Error::internal("an embedded comment isn't where it was"))
            }
            Outcome::Refused => Outcome::Refused,
            Outcome::Unknown(error) => Outcome::Unknown(error),
        }
    }

    async fn list(
        &self,
        _app: &App,
        place: &Place,
        discussion: &OpenDiscussion,
        way: &Way,
        page: &Page,
    ) -> Result<Vec<CommentDocument>, Error> {
        Ok(way.page_of(page, entries_of(place, discussion.clone())))
    }

    async fn newest(
        &self,
        app: &App,
        place: &Place,
        taken: &[&str],
        limit: i64,
    ) -> Result<Vec<CommentDocument>, Error> {
        let mut there = entries(app, place).await?;
        there.retain(|comment| comment.removed.is_none() && comment.is_taken(taken));
        by_time(&mut there);
        there.reverse();
        there.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(there)
    }

    async fn withdraw(&self, _app: &App, _place: &Place, _id: &str) -> Outcome<()> {
        // An embedded comment is committed by its insert and never withdrawn.
        Outcome::Refused
    }

    async fn seal(&self, _app: &App, _place: &Place) -> Result<(), Error> {
        Ok(())
    }

    async fn batch(
        &self,
        app: &App,
        place: &Place,
        after: Option<&(DateTime, String)>,
    ) -> Result<Vec<CommentDocument>, Error> {
        let mut there = entries(app, place).await?;
        by_time(&mut there);
        if let Some((at, id)) = after {
            there.retain(|comment| (comment.at, &comment.id) > (*at, id));
        }
        Ok(there)
    }

    async fn copy(
        &self,
        app: &App,
        place: &Place,
        _number: i64,
        comments: Vec<CommentDocument>,
        attempt: &Attempt,
    ) -> Result<(), Error> {
        let ids: Vec<_> = comments.iter().map(|comment| comment.id.as_str()).collect();
        // One batch holds all comments: either all were copied or none.
        let filter = both(there(place), doc! { "discussion.entries.id": { "$nin": ids } });
        let entries: Vec<_> = comments.iter().map(stored).collect();
        let push = doc! { "$push": { "discussion.entries": { "$each": entries } } };
        if update(app, place, filter, push, vec![], "", Some(attempt)).await.decided()?.is_some() {
            return Ok(());
        }
        let wanted: Vec<_> = comments.into_iter().map(|comment| comment.id).collect();
        let there = self.find_all(app, place, &wanted).await?;
        if there.len() == wanted.len() { Ok(()) } else { Err(attempt.overdue()) }
    }

    async fn list_due(
        &self,
        app: &App,
        before: DateTime,
        limit: i64,
    ) -> Result<Vec<CommentDocument>, Error> {
        let mut due = Vec::new();
        for kind in ParentKind::ALL {
            let touched = parents::list_touched_of(app, kind, before, limit).await?;
            due.extend(touched.into_iter().flat_map(|(_, discussion)| discussion.entries));
        }
        due.retain(|comment| comment.due.as_ref().is_some_and(|due| due.at < before));
        Ok(due)
    }

    async fn remove(&self, _app: &App, _place: &Place) -> Result<(), Error> {
        // They are removed with the discussion's `migration`: see `parents::close`.
        Ok(())
    }

    async fn remove_all(&self, _app: &App, _discussion: &str) -> Result<(), Error> {
        Ok(())
    }
}
