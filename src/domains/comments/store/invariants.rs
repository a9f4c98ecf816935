//! Reads for the check of the invariants.

use mongodb::bson::{Document, doc};

use super::super::documents::{AuthoredComment, CommentDocument, Layout, PageDocument};
use crate::{app::App, error::Error};

/// All stores with documents of their own, and their layouts.
pub(in super::super) async fn list_stores(app: &App) -> Result<Vec<(String, Layout)>, Error> {
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
pub(in super::super) async fn list_wrong_pages(app: &App) -> Result<Vec<Document>, Error> {
    let size = doc! { "$size": "$entries" };
    let wrong = doc! { "$or": [
        { "$gt": [size.clone(), super::CAP] },
        { "$lt": [size.clone(), 1] },
        { "$and": [{ "$gte": [size.clone(), super::CAP] }, { "$ne": ["$full", true] }] },
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
pub(in super::super) async fn list_copies(app: &App) -> Result<Vec<AuthoredComment>, Error> {
    let mut copies = Vec::new();
    let all = app.collection::<AuthoredComment>();
    all.for_each(|copy| {
        copies.push(copy);
        Ok(())
    })
    .await?;
    Ok(copies)
}
