//! The comments of one author, of those that the caller may see: a comment is seen by who may see what it is on.

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
        input,
        page::{Order, Page},
        requester::{Requester, Role},
    },
};

/// The comments of an author, newest first. Own comments only, but for moderators.
///
/// # Errors
/// `BadInput` naming the argument, `Forbidden`, or trouble.
pub async fn comments_by(
    app: &App,
    requester: &Requester,
    author: &str,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Listed, Error> {
    let author = input::verbatim("author", author, 1..=128)?;
    if !requester.is(&author) && !requester.has(Role::Moderator) {
        return Err(Error::Forbidden(Role::Moderator.name()));
    }
    let order =
        Order { list: format!("comments by {author:?}"), keys: vec![("at", -1), ("id", -1)] };
    let page = Page::new(app, order, first, after)?;
    let mut listed = Vec::new();
    let mut part = page.clone();
    loop {
        let written = written(app, &author, &part).await?;
        let is_end = written.len() < part.wanted();
        let last = written.last().map(position);
        listed.extend(seen(app, requester, written).await?);
        match last {
            // What was left out makes room for what comes behind it.
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

/// A page of what the author wrote, and one comment more, whoever may see it.
async fn written(app: &App, author: &str, page: &Page) -> Result<Vec<CommentDocument>, Error> {
    let mut found = store::list_authored(app, author, page).await?;
    // While a discussion moves a comment may come from both; what was changed last is right.
    found.sort_by(|left, right| {
        (right.at, &right.id, right.version).cmp(&(left.at, &left.id, left.version))
    });
    found.dedup_by(|later, earlier| later.id == earlier.id);
    found.truncate(page.wanted());
    Ok(found)
}

/// Those on something that the caller may see.
async fn seen(
    app: &App,
    requester: &Requester,
    mut comments: Vec<CommentDocument>,
) -> Result<Vec<CommentDocument>, Error> {
    let parents: HashSet<_> = comments.iter().map(|comment| &comment.parent).collect();
    let seen = store::list_seen(app, requester, &parents).await?;
    comments.retain(|comment| seen.contains(&comment.parent));
    Ok(comments)
}
