//! Lists of comments by author: from `comments` itself, and from the copies of comments in other layouts; and
//! the reads of the invariants.

use mongodb::bson::{Document, doc};

use super::{
    super::documents::{AuthoredComment, CommentDocument, Layout, PageDocument},
    CAP, CommentList, DiscussionHandle,
    comments::posted,
};
use crate::{
    app::App,
    error::Error,
    graphql::page::Page,
    mongo::{
        Version,
        collection::List,
        expression::{both, literal, stored},
    },
};

/// A page of the author's comments, newest first. Both collections are read in parallel; a comment may be in
/// both.
pub(crate) async fn list_authored(app: &App, author: &str, page: &Page) -> CommentList {
    let own = both(doc! { "author": author }, posted());
    let own = List { hint: Some("author"), ..page.list(own) };
    let copied = List { hint: Some("author"), ..page.list(doc! { "author": author }) };
    let (single, elsewhere) =
        (app.collection::<CommentDocument>(), app.collection::<AuthoredComment>());
    let (own, copied) = tokio::try_join!(single.list(own), elsewhere.list(copied))?;
    Ok(own.into_iter().chain(copied.into_iter().map(|copy| copy.comment)).collect())
}

/// Writes copies of these comments, unless a copy of the same or a later version exists.
pub(crate) async fn put_authored(
    discussed: &DiscussionHandle<'_>,
    comments: &[CommentDocument],
) -> Result<(), Error> {
    let updates = comments.iter().map(|comment| {
        let CommentDocument { id, author, at, version, .. } = comment.clone();
        // Readers don't need the outbox.
        let comment = CommentDocument { due: None, ..comment.clone() };
        let key = id.clone();
        let discussion = discussed.id.clone();
        let older = doc! { "_id": &key, "version": { "$lt": version } };
        let copy =
            AuthoredComment { key, id, discussion, author, at, version, comment, v: Version };
        (older, vec![doc! { "$replaceWith": literal(stored(&copy)) }])
    });
    // A refused copy exists in that version or a later one.
    let _there =
        discussed.app.collection::<AuthoredComment>().upsert_each(updates.collect()).await?;
    Ok(())
}

/// Removes the copies of a discussion.
pub(crate) async fn remove_authored(app: &App, discussion: &str) -> Result<(), Error> {
    let copies = doc! { "discussion": discussion };
    app.collection::<AuthoredComment>().remove_many(copies).await?;
    Ok(())
}

/// All stores with documents of their own, and their layouts.
pub(crate) async fn list_stores(app: &App) -> Result<Vec<(String, Layout)>, Error> {
    let each = || vec![doc! { "$group": { "_id": "$on" } }];
    let comments = app.collection::<CommentDocument>().aggregate(each()).await?;
    let pages = app.collection::<PageDocument>().aggregate(each()).await?;
    let named = |of: Layout| {
        move |group: Document| (group.get_str("_id").unwrap_or_default().to_owned(), of)
    };
    let comments = comments.into_iter().map(named(Layout::PerDocument));
    Ok(comments.chain(pages.into_iter().map(named(Layout::Paged))).collect())
}

/// Pages with more than 100 comments or none, or whose fields contradict their comments.
pub(crate) async fn list_wrong_pages(app: &App) -> Result<Vec<Document>, Error> {
    let size = doc! { "$size": "$entries" };
    let wrong = doc! { "$or": [
        { "$gt": [size.clone(), CAP] },
        { "$lt": [size.clone(), 1] },
        { "$and": [{ "$gte": [size.clone(), CAP] }, { "$ne": ["$full", true] }] },
        { "$lt": ["$until", { "$max": "$entries.at" }] },
    ] };
    app.collection::<PageDocument>()
        .aggregate(vec![
            doc! { "$project": { "size": size, "full": 1, "until": 1, "wrong": wrong } },
            doc! { "$match": { "wrong": true } },
            doc! { "$limit": 100 },
        ])
        .await
}

/// Every copy of a comment for the lists by author.
pub(crate) async fn for_each_copy(
    app: &App,
    each: impl FnMut(AuthoredComment),
) -> Result<(), Error> {
    app.collection().for_each(each).await
}
