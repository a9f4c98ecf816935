//! Reads comments. The discussed document determines who can see the discussion and how it is stored; then
//! one range is read. Embedded comments need no further read.

use std::time::Instant;

use async_graphql::ID;
use mongodb::bson::Bson;

use super::{
    super::{
        documents::{CommentDocument, Layout, OpenDiscussion, Parent, ParentKind},
        store::{self, By, Place, Way},
        types::CommentOrder,
    },
    checked_slug, find, parent_of,
};
use crate::{
    app::App,
    error::Error,
    graphql::{page::Page, requester::Requester},
};

/// A slug that no comment has: the names between slashes aren't empty.
const NO_SLUG: &str = "/";

/// A page of a list, and its comments, each with its position in the order.
pub type Listed = (Page, Vec<(Vec<Bson>, CommentDocument)>);

/// The discussion of a document that the caller can see.
pub async fn discussion(
    app: &App,
    requester: &Requester,
    on: &ID,
) -> Result<Option<OpenDiscussion>, Error> {
    let Ok(parent) = parent_of(on) else { return Ok(None) };
    Ok(store::find(app, &parent, requester).await?.flatten())
}

/// All comments of a discussion.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn comments(
    app: &App,
    requester: &Requester,
    on: &ID,
    order: CommentOrder,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Option<Listed>, Error> {
    let way = match order {
        CommentOrder::Chronological => Way::Chronological,
        CommentOrder::Threaded => Way::Threaded,
    };
    list(app, requester, on, "order", &Asked::For(way), first, after).await
}

/// The replies to a comment; without `slug` the comments at the top level.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn replies(
    app: &App,
    requester: &Requester,
    on: &ID,
    slug: Option<&str>,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Option<Listed>, Error> {
    let to = slug.map(|slug| checked_slug(slug).unwrap_or_else(|_| NO_SLUG.to_owned()));
    let to = to.unwrap_or_default();
    list(app, requester, on, "on", &Asked::For(Way::Replies(to)), first, after).await
}

/// A comment and everything below it.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn subthread(
    app: &App,
    requester: &Requester,
    on: &ID,
    slug: &str,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Option<Listed>, Error> {
    let Ok(slug) = checked_slug(slug) else { return Ok(None) };
    list(app, requester, on, "on", &Asked::Below(slug), first, after).await
}

/// One comment.
pub async fn comment(
    app: &App,
    requester: &Requester,
    on: &ID,
    slug: &str,
) -> Result<Option<CommentDocument>, Error> {
    let (Ok(parent), Ok(slug)) = (parent_of(on), checked_slug(slug)) else { return Ok(None) };
    loop {
        let since = Instant::now();
        let Some(discussion) = store::find(app, &parent, requester).await?.flatten() else {
            return Ok(None);
        };
        let found = one(app, &parent, &discussion, &slug).await?;
        if found.is_some() || since.elapsed() < app.bounds().grace_period() {
            return Ok(found);
        }
    }
}

/// Finds a comment by its slug in a discussion that was just read.
async fn one(
    app: &App,
    parent: &Parent,
    discussion: &OpenDiscussion,
    slug: &str,
) -> Result<Option<CommentDocument>, Error> {
    if discussion.layout == Layout::Embedded && discussion.migration.is_none() {
        let mut entries = discussion.entries.iter();
        let found = entries.find(|comment| comment.slug == slug && !comment.is_unposted());
        return Ok(found.cloned());
    }
    find(app, parent, discussion, By::Slug(slug)).await
}

/// Collection and key of the document that subscribers of a discussion watch. If `on` is no valid id, the key
/// is empty, which no document has.
pub fn followed(on: &ID) -> (&'static str, String) {
    let nothing = || (ParentKind::Product.collection(), String::new());
    parent_of(on).map_or_else(|_| nothing(), |parent| (parent.kind.collection(), parent.key))
}

/// The requested list.
enum Asked {
    /// A list that needs no further read.
    For(Way),
    /// The comment with that slug and everything below it.
    Below(String),
}

/// A page of one discussion's list. `field` is the argument that the error names if the layout can't serve
/// the list.
async fn list(
    app: &App,
    requester: &Requester,
    on: &ID,
    field: &'static str,
    asked: &Asked,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Option<Listed>, Error> {
    let Ok(parent) = parent_of(on) else { return Ok(None) };
    loop {
        let since = Instant::now();
        let Some(discussion) = store::find(app, &parent, requester).await?.flatten() else {
            return Ok(None);
        };
        let now = Place::now(&parent, &discussion);
        let before = discussion.uncopied().and_then(|_| Place::before(&parent, &discussion));
        let way = match asked {
            Asked::For(way) => way.clone(),
            Asked::Below(slug) => match one(app, &parent, &discussion, slug).await? {
                Some(top) => Way::Subthread(top.sort_key),
                None => return Ok(None),
            },
        };
        for place in [Some(&now), before.as_ref()].into_iter().flatten() {
            if !place.storage().serves(&way) {
                let reason =
                    "asks for threads, which the discussion's layout PAGED has no index for";
                return Err(Error::bad_input(field, reason));
            }
        }
        let page = Page::new(app, way.order(&discussion.id), first, after)?;
        let found = match &before {
            None => now.storage().list(app, &now, &discussion, &way, &page).await?,
            Some(before) => {
                let (now, before) = tokio::try_join!(
                    now.storage().list(app, &now, &discussion, &way, &page),
                    before.storage().list(app, before, &discussion, &way, &page),
                )?;
                merged(&way, &page, now, before)
            }
        };
        // An old store is removed two grace periods after it was left: a read that took longer may have
        // missed it.
        if since.elapsed() < app.bounds().grace_period() {
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
pub(super) async fn newest(
    app: &App,
    parent: &Parent,
    discussion: &OpenDiscussion,
) -> Result<Vec<CommentDocument>, Error> {
    /// The number that the discussed document carries, and one for the removed comment.
    const NEWEST: i64 = 11;
    let now = Place::now(parent, discussion);
    let mut newest = now.storage().newest(app, &now, &discussion.taken_ids(), NEWEST).await?;
    if let Some(migration) = discussion.uncopied()
        && let Some(before) = Place::before(parent, discussion)
    {
        // Comments that were committed since are in the new store. The old store may hold an uncommitted copy
        // of one, with another time, until it is withdrawn.
        let taken: Vec<_> = migration.taken.iter().map(String::as_str).collect();
        for comment in before.storage().newest(app, &before, &taken, NEWEST).await? {
            if !newest.iter().any(|other| other.id == comment.id) {
                newest.push(comment);
            }
        }
        newest.sort_by(|left, right| (right.at, &right.id).cmp(&(left.at, &left.id)));
    }
    Ok(newest)
}
