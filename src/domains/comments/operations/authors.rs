//! Lists the comments of one author that the caller can see: those whose discussed document is visible.

use std::collections::HashSet;

use mongodb::bson::Bson;

use super::{
    super::{documents::CommentDocument, store},
    Listed,
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        cx::Cx,
        input,
        page::{Order, Page, Paging},
        requester::Role,
    },
};

/// The comments of an author, by default of the caller, newest first. Only moderators may list those of others.
pub async fn comments_by(
    cx: Cx<'_>,
    author: Option<&str>,
    paging: Paging,
) -> Result<Listed, Error> {
    let author = match author {
        Some(author) => author,
        None => cx.requester.subject()?,
    };
    let author = input::verbatim("author", author, 1..=128)?;
    if !cx.requester.is(&author) && !cx.requester.has(Role::Moderator) {
        return Err(Error::Forbidden(Role::Moderator.name()));
    }
    let order =
        Order { list: format!("comments by {author:?}"), keys: vec![("at", -1), ("id", -1)] };
    let page = Page::new(&cx, order, paging)?;
    let mut listed = Vec::new();
    let mut part = page.clone();
    loop {
        let written = written(&cx, &author, &part).await?;
        let is_end = written.len() < part.wanted();
        let last = written.last().map(position);
        // Those whose discussed document the caller can see.
        let parents: HashSet<_> = written.iter().map(|comment| &comment.parent).collect();
        let seen = store::list_seen(cx, &parents).await?;
        listed.extend(written.into_iter().filter(|comment| seen.contains(&comment.parent)));
        match last {
            // Invisible comments were left out: read on until the page is full.
            Some(last) if !is_end && listed.len() < page.wanted() => part = page.further(last),
            _ => break,
        }
    }
    listed.truncate(page.wanted());
    Ok((page, listed.into_iter().map(|comment| (position(&comment), comment)).collect()))
}

fn position(comment: &CommentDocument) -> Vec<Bson> {
    vec![comment.at.into(), Bson::from(&comment.id)]
}

/// A page of the author's comments and one more, without a check of visibility.
async fn written(app: &App, author: &str, page: &Page) -> Result<Vec<CommentDocument>, Error> {
    let mut found = store::list_authored(app, author, page).await?;
    // While a discussion is migrated, a comment may come from both collections; the later version is kept.
    found.sort_by(|left, right| {
        (right.at, &right.id, right.version).cmp(&(left.at, &left.id, left.version))
    });
    found.dedup_by(|later, earlier| later.id == earlier.id);
    found.truncate(page.wanted());
    Ok(found)
}
