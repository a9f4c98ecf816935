//! Reads comments. The discussed document determines who can see the discussion and how it is stored; then
//! one range is read. Embedded comments need no further read.

use std::time::Instant;

use async_graphql::ID;
use mongodb::bson::Bson;

use super::{
    super::{
        documents::{CommentDocument, Layout, OpenDiscussion, ParentKind},
        store::{self, By, Discussed, Way},
        types::CommentOrder,
    },
    checked_slug, find, parent_of,
};
use crate::{
    error::Error,
    graphql::{
        cx::Cx,
        page::{Page, Paging},
    },
};

/// A slug that no comment has: the names between slashes aren't empty.
const NO_SLUG: &str = "/";

/// A page of a list, and its comments, each with its position in the order.
pub type Listed = (Page, Vec<(Vec<Bson>, CommentDocument)>);

/// The discussion of a document that the caller can see.
pub async fn discussion(cx: Cx<'_>, on: &ID) -> Result<Option<OpenDiscussion>, Error> {
    let Ok(parent) = parent_of(on) else { return Ok(None) };
    Ok(store::find(cx, &parent).await?.flatten().map(|discussed| discussed.discussion))
}

/// All comments of a discussion.
pub async fn comments(
    cx: Cx<'_>,
    on: &ID,
    order: CommentOrder,
    paging: Paging,
) -> Result<Option<Listed>, Error> {
    let way = match order {
        CommentOrder::Chronological => Way::Chronological,
        CommentOrder::Threaded => Way::Threaded,
    };
    list(cx, on, "order", &Wanted::List(way), paging).await
}

/// The replies to a comment; without `slug` the comments at the top level.
pub async fn replies(
    cx: Cx<'_>,
    on: &ID,
    slug: Option<&str>,
    paging: Paging,
) -> Result<Option<Listed>, Error> {
    let to = slug.map_or("", |slug| checked_slug(slug).unwrap_or(NO_SLUG)).to_owned();
    list(cx, on, "on", &Wanted::List(Way::Replies(to)), paging).await
}

/// A comment and everything below it.
pub async fn subthread(
    cx: Cx<'_>,
    on: &ID,
    slug: &str,
    paging: Paging,
) -> Result<Option<Listed>, Error> {
    let Ok(slug) = checked_slug(slug) else { return Ok(None) };
    list(cx, on, "on", &Wanted::Below(slug), paging).await
}

/// One comment.
pub async fn comment(cx: Cx<'_>, on: &ID, slug: &str) -> Result<Option<CommentDocument>, Error> {
    let (Ok(parent), Ok(slug)) = (parent_of(on), checked_slug(slug)) else { return Ok(None) };
    loop {
        let since = Instant::now();
        let Some(discussed) = store::find(cx, &parent).await?.flatten() else {
            return Ok(None);
        };
        let found = one(&discussed, slug).await?;
        if found.is_some() || since.elapsed() < cx.bounds().grace_period() {
            return Ok(found);
        }
    }
}

/// Finds a comment by its slug in a discussion that was just read.
async fn one(discussed: &Discussed<'_>, slug: &str) -> Result<Option<CommentDocument>, Error> {
    if discussed.layout == Layout::Embedded && discussed.migration.is_none() {
        let mut entries = discussed.entries.iter();
        let found = entries.find(|comment| comment.slug == slug && !comment.is_unposted());
        return Ok(found.cloned());
    }
    find(discussed, By::Slug(slug)).await
}

/// Collection and key of the document that subscribers of a discussion watch. If `on` is no valid id, the key
/// is empty, which no document has.
pub fn followed(on: &ID) -> (&'static str, String) {
    let nothing = || (ParentKind::Product.collection(), String::new());
    parent_of(on).map_or_else(|_| nothing(), |parent| (parent.kind.collection(), parent.key))
}

/// The requested list.
enum Wanted<'a> {
    /// A list that needs no further read.
    List(Way),
    /// The comment with that slug and everything below it.
    Below(&'a str),
}

/// A page of one discussion's list. `field` is the argument that the error names if the layout can't serve
/// the list.
async fn list(
    cx: Cx<'_>,
    on: &ID,
    field: &'static str,
    wanted: &Wanted<'_>,
    paging: Paging,
) -> Result<Option<Listed>, Error> {
    let Ok(parent) = parent_of(on) else { return Ok(None) };
    loop {
        let since = Instant::now();
        let Some(discussed) = store::find(cx, &parent).await?.flatten() else {
            return Ok(None);
        };
        let now = discussed.place();
        let before = discussed.uncopied_place().map(|(_, before)| before);
        let way = match wanted {
            Wanted::List(way) => way.clone(),
            Wanted::Below(slug) => match one(&discussed, slug).await? {
                Some(top) => Way::Subthread(top.sort_key),
                None => return Ok(None),
            },
        };
        for place in [Some(&now), before.as_ref()].into_iter().flatten() {
            if !place.serves(&way) {
                let reason =
                    "asks for threads, which the discussion's layout PAGED has no index for";
                return Err(Error::bad_input(field, reason));
            }
        }
        let page = Page::new(&cx, way.order(&discussed.id), paging.clone())?;
        page.demand_forward()?;
        let found = match &before {
            None => now.list(&discussed, &way, &page).await?,
            Some(before) => {
                let (now, before) = tokio::try_join!(
                    now.list(&discussed, &way, &page),
                    before.list(&discussed, &way, &page),
                )?;
                merged(&way, &page, now, before)
            }
        };
        // An old store is removed two grace periods after it was left: a read that took longer may have
        // missed it.
        if since.elapsed() < cx.bounds().grace_period() {
            let placed = found.into_iter().map(|comment| (way.position(&comment), comment));
            return Ok(Some((page, placed.collect())));
        }
    }
}

/// Merges the comments of two stores. Of a comment in both, the new store's is kept.
fn merged(
    way: &Way,
    page: &Page,
    now: Vec<CommentDocument>,
    before: Vec<CommentDocument>,
) -> Vec<CommentDocument> {
    let mut all = now;
    for comment in before {
        if !all.iter().any(|other| other.id == comment.id) {
            all.push(comment);
        }
    }
    all.sort_by(|left, right| way.compare(left, right));
    all.truncate(page.wanted());
    all
}

/// The newest comments of a discussion, also during a migration.
pub(super) async fn newest(discussed: &Discussed<'_>) -> Result<Vec<CommentDocument>, Error> {
    /// The number that the discussed document carries, and one for the removed comment.
    const NEWEST: i64 = 11;
    let mut newest = discussed.place().newest(&discussed.taken_ids(), NEWEST).await?;
    if let Some((migration, before)) = discussed.uncopied_place() {
        // Comments that were committed since are in the new store. The old store may hold an uncommitted copy
        // of one, with another time, until it is withdrawn.
        let taken: Vec<_> = migration.taken.iter().map(String::as_str).collect();
        for comment in before.newest(&taken, NEWEST).await? {
            if !newest.iter().any(|other| other.id == comment.id) {
                newest.push(comment);
            }
        }
        newest.sort_by(|left, right| (right.at, &right.id).cmp(&(left.at, &left.id)));
    }
    Ok(newest)
}
