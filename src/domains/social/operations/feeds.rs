//! Reads of feeds. A feed is read page by page, the newest first, and usually one page is enough. A page covers a time;
//! posts that news merge in are put among the copies of the page that covers their time. What the caller may see is
//! decided at each read, so a page of a list may be short.

use std::{
    cmp::Reverse,
    collections::{HashMap, HashSet, VecDeque},
    time::Duration,
};

use async_graphql::{ID, connection::Connection};
use futures_util::{
    Stream,
    future::{select_all, try_join_all},
};
use mongodb::bson::{Bson, DateTime};

use super::{
    super::{
        documents::{EdgeDocument, FeedPage, PostDocument, Shown, month_of, news_of, wall_of},
        store::{
            self,
            feeds::list_pages,
            posts::{Until, list_merged},
        },
        types::{NewsChanged, Post},
    },
    circles::{Viewer, named},
};
use crate::{
    error::Error,
    graphql::{
        cx::Cx,
        page::{Order, Page, Paging},
    },
    mongo::{Stored, watch::Changes},
};

/// Pages that a further command of a list reads.
const PAGES: i64 = 2;
/// Time after which a subscription to news looks without a message: a month has ended, or the caller follows others.
const POLL: Duration = Duration::from_secs(30);

/// The caller's news, newest first.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn news(
    cx: Cx<'_>,
    month: Option<&str>,
    paging: Paging,
) -> Result<Connection<String, Post>, Error> {
    let own = cx.requester.subject()?;
    let times = month.map(times_of).transpose()?;
    let list = format!("news {own} {}", month.unwrap_or_default());
    let feed = Feed { key: news_of(own), month, is_own_wall: false };
    let page = Feed::page(cx, list, paging)?;
    let followed = followed_celebrities(cx, own);
    let (viewer, pages, followed) =
        tokio::try_join!(Viewer::of(cx), feed.first(cx, &page), followed)?;
    let merged = merged(cx, &viewer, &followed, times, &page).await?;
    read(cx, &viewer, &feed, &page, pages, merged).await
}

/// The wall of a user, newest first. The caller's own wall shows posts of users whom the caller follows.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn wall(
    cx: Cx<'_>,
    user: Option<&ID>,
    paging: Paging,
) -> Result<Connection<String, Post>, Error> {
    let user = named(cx, user)?;
    let is_own_wall = cx.requester.is(user);
    let feed = Feed { key: wall_of(user), month: None, is_own_wall };
    let page = Feed::page(cx, format!("wall {user}"), paging)?;
    let (viewer, pages) = tokio::try_join!(Viewer::of(cx), feed.first(cx, &page))?;
    read(cx, &viewer, &feed, &page, pages, VecDeque::new()).await
}

/// Everything on the caller's own wall, newest first.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn incoming(cx: Cx<'_>, paging: Paging) -> Result<Connection<String, Post>, Error> {
    let own = cx.requester.subject()?;
    let feed = Feed { key: wall_of(own), month: None, is_own_wall: false };
    let page = Feed::page(cx, format!("incoming {own}"), paging)?;
    let (viewer, pages) = tokio::try_join!(Viewer::of(cx), feed.first(cx, &page))?;
    read(cx, &viewer, &feed, &page, pages, VecDeque::new()).await
}

/// A feed as it is read.
struct Feed<'a> {
    key: String,
    /// The only month that is read.
    month: Option<&'a str>,
    /// Whether posts of users whom the caller doesn't follow are left out.
    is_own_wall: bool,
}

impl Feed<'_> {
    fn page(cx: Cx<'_>, list: String, paging: Paging) -> Result<Page, Error> {
        let page = Page::new(
            &cx,
            Order { list, keys: vec![("from", -1), ("at", -1), ("id", -1)] },
            paging,
        )?;
        page.demand_forward()?;
        Ok(page)
    }

    /// The first page that is read, if there is one.
    async fn first(&self, cx: Cx<'_>, page: &Page) -> Result<Vec<FeedPage>, Error> {
        let from = position(page).map(|(from, _, _)| (from, true));
        list_pages(&cx, &self.key, self.month, from, 1).await
    }
}

/// The position of a cursor: the beginning of the page's time, and time and `_id` of the post.
fn position(page: &Page) -> Option<(DateTime, DateTime, String)> {
    match page.from() {
        Some([Bson::DateTime(from), Bson::DateTime(at), Bson::String(id)]) => {
            Some((*from, *at, id.clone()))
        }
        _ => None,
    }
}

/// The beginning of a month, and that of the next one.
fn times_of(month: &str) -> Result<(DateTime, DateTime), Error> {
    let invalid = || Error::bad_input("month", "takes a month such as 2026-11");
    let begin = |year: u32, month: u32| {
        DateTime::parse_rfc3339_str(format!("{year:04}-{month:02}-01T00:00:00Z"))
            .map_err(|_fault| invalid())
    };
    let (year, number) = month.split_once('-').ok_or_else(invalid)?;
    let is_number =
        |text: &str, length| text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(year, 4) || !is_number(number, 2) {
        return Err(invalid());
    }
    let (year, number): (u32, u32) =
        (year.parse().map_err(|_fault| invalid())?, number.parse().map_err(|_fault| invalid())?);
    let next = if number == 12 { begin(year + 1, 1)? } else { begin(year, number + 1)? };
    Ok((begin(year, number)?, next))
}

/// The users whom the caller follows and whose posts aren't delivered.
async fn followed_celebrities(cx: Cx<'_>, own: &str) -> Result<Vec<EdgeDocument>, Error> {
    let celebrities = store::list_celebrities(&cx).await?;
    let edges = celebrities.iter().map(|of| store::edge(&cx, own, of));
    Ok(try_join_all(edges).await?.into_iter().flatten().collect())
}

/// The posts of the followed authors that the caller may see after the position of the page, the newest first. Posts from
/// before the caller followed the author are left out.
async fn merged(
    cx: Cx<'_>,
    viewer: &Viewer,
    followed: &[EdgeDocument],
    times: Option<(DateTime, DateTime)>,
    page: &Page,
) -> Result<VecDeque<Shown>, Error> {
    let (begin, end) = times.unwrap_or((DateTime::from_millis(0), DateTime::MAX));
    let Some(first) = followed.iter().map(|edge| edge.at).min() else {
        return Ok(VecDeque::new());
    };
    let since = begin.max(first);
    let until = match position(page) {
        // A copy that came late is older than the time of its page. What is to be merged into that page was listed before.
        Some((from, at, _)) if at < from => Until::Before(from),
        Some((_, at, id)) => Until::Beyond(at, id),
        None => Until::Before(end),
    };
    // What isn't visible must not take the place of what is: the page ends where the last of these posts is.
    let (mut until, mut shown) = (until, VecDeque::new());
    let since_of: HashMap<&str, DateTime> =
        followed.iter().map(|edge| (edge.of.as_str(), edge.at)).collect();
    loop {
        // An author whose posts before `until` are all too old isn't read again. So a long past of an author whom the caller
        // has just followed costs one command at most.
        let is_left = |edge: &&EdgeDocument| edge.at <= until.at();
        let authors: Vec<&str> =
            followed.iter().filter(is_left).map(|edge| edge.of.as_str()).collect();
        let found = list_merged(&cx, &authors, (since, &until), page.wanted()).await?;
        let is_end = found.len() < page.wanted();
        let mut posts: Vec<Shown> =
            found.into_iter().map(|post: PostDocument| post.shown).collect();
        if let Some(last) = posts.last() {
            until = Until::Beyond(last.at, last.id.clone());
        }
        posts.retain(|post| since_of.get(post.by.as_str()).is_some_and(|at| *at <= post.at));
        shown.extend(viewer.visible(&cx, posts).await?);
        if is_end || shown.len() >= page.wanted() {
            return Ok(shown);
        }
    }
}

/// A page of a feed, with posts that are merged into it. `pages` has the first of its stored pages.
async fn read(
    cx: Cx<'_>,
    viewer: &Viewer,
    feed: &Feed<'_>,
    page: &Page,
    mut pages: Vec<FeedPage>,
    mut merged: VecDeque<Shown>,
) -> Result<Connection<String, Post>, Error> {
    let begin = position(page);
    let (mut found, mut limit) = (Vec::new(), 1);
    loop {
        let is_end = i64::try_from(pages.len()).is_ok_and(|count| count < limit);
        let last = pages.last().map(|page| (page.from, false));
        for FeedPage { from, mut posts, .. } in pages {
            if let Some((begin, at, id)) = &begin
                && *begin == from
            {
                posts.retain(|post| (post.at, &post.id) < (*at, id));
            }
            while merged.front().is_some_and(|post| post.at >= from) {
                posts.extend(merged.pop_front());
            }
            let shown = visible(cx, viewer, feed, posts).await?;
            found.extend(shown.into_iter().map(|post| (from, post)));
        }
        if is_end || found.len() >= page.wanted() {
            break;
        }
        limit = PAGES;
        pages = list_pages(&cx, &feed.key, feed.month, last, limit).await?;
    }
    if found.len() < page.wanted() {
        // They are older than all pages.
        let shown = visible(cx, viewer, feed, merged.into()).await?;
        found.extend(shown.into_iter().map(|post| (DateTime::from_millis(0), post)));
    }
    found.truncate(page.wanted());
    let keys = |(from, post): &(DateTime, Shown)| {
        vec![Bson::DateTime(*from), Bson::DateTime(post.at), Bson::from(&post.id)]
    };
    Ok(page.connection(found, keys, |(_, post)| Post::from(post)))
}

/// Those of the posts that the caller may see in the feed, newest first, each once.
async fn visible(
    cx: Cx<'_>,
    viewer: &Viewer,
    feed: &Feed<'_>,
    mut posts: Vec<Shown>,
) -> Result<Vec<Shown>, Error> {
    posts.sort_by_cached_key(|post| Reverse((post.at, post.id.clone())));
    posts.dedup_by(|one, other| one.id == other.id);
    let shown = viewer.visible(&cx, posts).await?;
    if !feed.is_own_wall {
        return Ok(shown);
    }
    let own = viewer.id();
    let authors: HashSet<&str> = shown.iter().map(|post| post.by.as_str()).collect();
    let authors = authors.into_iter().filter(|by| *by != own);
    let followed = try_join_all(authors.map(|by| store::edge(&cx, own, by))).await?;
    let followed: HashSet<String> = followed.into_iter().flatten().map(|edge| edge.of).collect();
    Ok(shown.into_iter().filter(|post| post.by == own || followed.contains(&post.by)).collect())
}

/// Follows the caller's news: the newest post now, and after each change.
///
/// # Errors
/// The caller isn't signed in.
pub fn news_changed(
    cx: Cx<'_>,
) -> Result<impl Stream<Item = async_graphql::Result<NewsChanged>> + use<>, Error> {
    let (app, requester) = (cx.app.clone(), cx.requester.clone());
    let own = cx.requester.subject()?.to_owned();
    Ok(async_stream::stream! {
        let cx = Cx { app: &app, requester: &requester };
        let (mut watched, mut changes) = (Vec::new(), Vec::new());
        let mut sent = None;
        loop {
            let read = async {
                let wanted = to_watch(cx, &own).await?;
                // A subscription begins before the read, so that no change is missed.
                if wanted != watched {
                    changes = wanted.iter().map(|one| one.watch(cx)).collect();
                    watched = wanted;
                }
                let first = Paging { first: Some(1), ..Paging::default() };
                Ok::<_, Error>(news(cx, None, first).await?.edges.pop().map(|edge| edge.node))
            };
            match read.await {
                Ok(latest) => {
                    let now = Some(latest.as_ref().map(|post| post.0.id.clone()));
                    if now != sent {
                        sent = now;
                        yield Ok(NewsChanged { latest });
                    }
                }
                Err(error) => {
                    yield Err(error.into());
                    return;
                }
            }
            let woken = select_all(changes.iter_mut().map(|one: &mut Changes| Box::pin(one.changed())));
            tokio::select! {
                (is_open, _, _) = woken => if !is_open { return },
                () = tokio::time::sleep(POLL) => {}
            }
        }
    })
}

/// What changes with the news of a user.
#[derive(Debug, PartialEq, Eq)]
enum Watched {
    /// A page of the news.
    Page(String),
    /// The posts of a celebrity.
    Posts(String),
}

impl Watched {
    fn watch(&self, cx: Cx<'_>) -> Changes {
        match self {
            Self::Page(id) => cx.hub().watch(FeedPage::COLLECTION, id.clone()),
            Self::Posts(by) => cx.hub().watch_topic(PostDocument::COLLECTION, "merged", by.clone()),
        }
    }
}

/// The newest page of the news, the page after it, the first page of this month, and the celebrities.
async fn to_watch(cx: Cx<'_>, own: &str) -> Result<Vec<Watched>, Error> {
    let key = news_of(own);
    let newest = list_pages(&cx, &key, None, None, 1);
    let (newest, celebrities) = tokio::try_join!(newest, followed_celebrities(cx, own))?;
    let mut pages = vec![format!("{key} {} 0", month_of(cx.clock()))];
    for page in newest {
        pages.push(format!("{key} {} {}", page.month, page.n + 1));
        pages.push(page.id);
    }
    pages.sort();
    pages.dedup();
    Ok(pages
        .into_iter()
        .map(Watched::Page)
        .chain(celebrities.into_iter().map(|edge| Watched::Posts(edge.of)))
        .collect())
}
