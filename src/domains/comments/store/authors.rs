//! Lists of comments by author: from `comments` itself, and from the copies of comments in other layouts.

use mongodb::bson::doc;

use super::{
    super::documents::{AuthoredComment, CommentDocument},
    posted,
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
pub(in super::super) async fn list_authored(
    app: &App,
    author: &str,
    page: &Page,
) -> Result<Vec<CommentDocument>, Error> {
    let own = both(doc! { "author": author }, posted());
    let own = List { hint: Some("author"), ..page.list(own) };
    let copied = List { hint: Some("author"), ..page.list(doc! { "author": author }) };
    let (single, elsewhere) =
        (app.collection::<CommentDocument>(), app.collection::<AuthoredComment>());
    let (own, copied) = tokio::try_join!(single.list(own), elsewhere.list(copied))?;
    Ok(own.into_iter().chain(copied.into_iter().map(|copy| copy.comment)).collect())
}

/// Writes copies of these comments, unless a copy of the same or a later version exists.
pub(in super::super) async fn put_authored(
    app: &App,
    discussion: &str,
    comments: &[CommentDocument],
) -> Result<(), Error> {
    let updates = comments.iter().map(|comment| {
        let CommentDocument { id, author, at, version, .. } = comment.clone();
        // Readers don't need the outbox.
        let comment = CommentDocument { due: None, ..comment.clone() };
        let key = id.clone();
        let discussion = discussion.to_owned();
        let older = doc! { "_id": &key, "version": { "$lt": version } };
        let copy =
            AuthoredComment { key, id, discussion, author, at, version, comment, v: Version };
        (older, vec![doc! { "$replaceWith": literal(stored(&copy)) }])
    });
    // A refused copy exists in that version or a later one.
    let _there = app.collection::<AuthoredComment>().upsert_each(updates.collect()).await?;
    Ok(())
}

/// Removes the copies of a discussion.
pub(in super::super) async fn remove_authored(app: &App, discussion: &str) -> Result<(), Error> {
    let filter = doc! { "discussion": discussion };
    app.collection::<AuthoredComment>().remove_many(filter).await?;
    Ok(())
}
