//! Reads comments. The discussed document determines who can see the discussion and how it is stored; then
//! one range is read. Embedded comments need no further read.

use std::{collections::HashSet, time::Instant};

use super::{
    super::{
        documents::{CommentDocument, Parent, ParentKind},
        store::{self, CommentKey, Listing, Range},
        types::{Comment, CommentBy, CommentOrder, Discussion, comment::Comments},
    },
    checked_slug, comment_of, parent_of,
};
use crate::graphql::prelude::*;

/// The discussion of a document that the caller can see.
pub async fn discussion(cx: Cx<'_>, subject: &ID) -> Result<Option<Discussion>> {
    let Ok(parent) = parent_of(subject) else { return Ok(None) };
    let found = store::find(cx, &parent).await?;
    Ok(found.map(|discussed| Discussion::shown(parent, discussed.discussion)))
}

/// The comments of a discussion, or those that reply to none.
pub async fn comments(
    cx: Cx<'_>,
    on: &Parent,
    order: CommentOrder,
    top_level: bool,
    paging: Paging,
) -> Result<Option<Comments>> {
    if !top_level {
        return list(cx, on, "order", &Listing(Range::All, order), paging).await;
    }
    // On one level, the order of threads is that of time.
    let is_newest = order == CommentOrder::Newest;
    let order = if is_newest { order } else { CommentOrder::Chronological };
    let listing = Listing(Range::Replies(String::new()), order);
    list(cx, on, "topLevel", &listing, paging).await
}

/// The direct replies to a comment that the caller was shown.
pub async fn replies(cx: Cx<'_>, to: &CommentDocument, paging: Paging) -> Result<Option<Comments>> {
    let listing = Listing(Range::Replies(to.slug.clone()), CommentOrder::Chronological);
    list(cx, &to.parent, "replies", &listing, paging).await
}

/// A comment that the caller was shown, and everything below it.
pub async fn subthread(
    cx: Cx<'_>,
    top: &CommentDocument,
    paging: Paging,
) -> Result<Option<Comments>> {
    let listing = Listing(Range::Subthread(top.sort_key.clone()), CommentOrder::Threaded);
    list(cx, &top.parent, "subthread", &listing, paging).await
}

/// One comment.
pub async fn comment(cx: Cx<'_>, by: &CommentBy) -> Result<Option<CommentDocument>> {
    match by {
        CommentBy::Id(id) => match comment_of(id) {
            Ok((on, id)) => one(cx, &on, CommentKey::Id(&id)).await,
            Err(_) => Ok(None),
        },
        CommentBy::Slug(by) => match (parent_of(&by.subject_id), checked_slug(&by.slug)) {
            (Ok(on), Some(slug)) => one(cx, &on, CommentKey::Slug(slug)).await,
            _ => Ok(None),
        },
    }
}

/// The comment that this one replies to.
pub async fn replied_to(cx: Cx<'_>, reply: &CommentDocument) -> Result<Option<CommentDocument>> {
    let by = match (&reply.reply_to_id, &*reply.reply_to) {
        (Some(id), _) => CommentKey::Id(id),
        (None, "") => return Ok(None),
        (None, slug) => CommentKey::Slug(slug),
    };
    one(cx, &reply.parent, by).await
}

/// A comment on a document that the caller can see.
async fn one(cx: Cx<'_>, on: &Parent, by: CommentKey<'_>) -> Result<Option<CommentDocument>> {
    loop {
        let since = Instant::now();
        let Some(discussed) = store::find(cx, on).await? else { return Ok(None) };
        let found = discussed.find(by).await?;
        if found.is_some() || is_timely(cx, since) {
            return Ok(found);
        }
    }
}

/// An old store is removed two grace periods after it was left: a read that took longer may have missed it.
fn is_timely(cx: Cx<'_>, since: Instant) -> bool {
    since.elapsed() < cx.bounds().grace_period()
}

/// Collection and key of the document that subscribers of a discussion watch. If the id isn't valid, the key is
/// empty, which no document has.
pub fn followed(subject: &ID) -> (&'static str, String) {
    let any = ParentKind::all().next().map_or("", |kind| kind.collection);
    let nothing = || (any, String::new());
    parent_of(subject).map_or_else(|_| nothing(), |on| (on.kind.collection, on.key))
}

/// A page of one discussion's list. `field` is the one that the error names if the layout can't serve the list.
async fn list(
    cx: Cx<'_>,
    on: &Parent,
    field: &'static str,
    listing: &Listing,
    paging: Paging,
) -> Result<Option<Comments>> {
    loop {
        let since = Instant::now();
        let Some(discussed) = store::find(cx, on).await? else { return Ok(None) };
        let before = discussed.uncopied().map(|migration| migration.from);
        let mut layouts = [Some(discussed.layout), before].into_iter().flatten();
        if layouts.any(|layout| !listing.is_served(layout)) {
            let reason = "asks for threads, which the discussion's layout PAGED has no index for";
            return Err(Error::bad_input(field, reason));
        }
        let page = Page::new(&cx, listing.order(&discussed.id), paging.clone())?;
        let found = discussed.list(&listing.part(&page)).await?;
        if is_timely(cx, since) {
            let place = |comment: &CommentDocument| listing.position(comment);
            return Ok(Some(page.connection(found, place, Comment::from)));
        }
    }
}

/// The comments of an author, by default of the caller, newest first: those whose discussed document the caller
/// can see. Only moderators may list those of others.
pub async fn comments_by(cx: Cx<'_>, author: Option<&str>, paging: Paging) -> Result<Comments> {
    let author = match author {
        Some(author) => author,
        None => cx.requester.subject()?,
    };
    let author = input::verbatim("authorId", author, 1..=128)?;
    if !cx.requester.is(&author) && !cx.requester.has(Role::Moderator) {
        return Err(Error::Forbidden(Role::Moderator.name()));
    }
    let order =
        Order { list: format!("comments by {author:?}"), keys: vec![("at", -1), ("id", -1)] };
    let page = Page::new(&cx, order, paging)?;
    let mut listed = Vec::new();
    let mut part = page.clone();
    loop {
        let mut written = store::list_authored(&cx, &author, &part).await?;
        // While a discussion is migrated, a comment may come from both collections; the later version is kept.
        written.sort_by(|left, right| {
            let order = right.moment().cmp(&left.moment());
            let order = if page.is_backward() { order.reverse() } else { order };
            order.then(right.version.cmp(&left.version))
        });
        written.dedup_by(|later, earlier| later.id == earlier.id);
        written.truncate(part.wanted());
        let is_end = written.len() < part.wanted();
        let last = written.last().map(CommentDocument::position);
        let parents: HashSet<_> = written.iter().map(|comment| &comment.parent).collect();
        let seen = store::list_seen(cx, &parents).await?;
        listed.extend(written.into_iter().filter(|comment| seen.contains(&comment.parent)));
        match last {
            // Invisible comments were left out: read on until the page is full.
            Some(last) if !is_end && listed.len() < page.wanted() => part = page.further(last),
            _ => break,
        }
    }
    Ok(page.connection(listed, CommentDocument::position, Comment::from))
}
