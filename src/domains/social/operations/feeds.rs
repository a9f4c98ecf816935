//! Reads feeds. A feed is read page by page, the newest first, and one or two pages are enough for most lists. Reads of
//! several callers share their commands.
//!
//! A page covers a time. Posts that are merged into news are put among the copies of the page that covers their time.
//! Each read decides which posts the caller may see.

use std::{cmp::Reverse, collections::HashSet};

use mongodb::bson::{Bson, DateTime};

use super::{
    super::{
        documents::{CopyView, FeedPage, ReadPage, Shown, news_of, wall_of},
        store::{
            self,
            feeds::{list_pages, newest_pages, pages_before},
        },
        types::Post,
    },
    celebrities::{Merged, followed, merged},
    circles::{Viewer, named},
};
use crate::{graphql::prelude::*, join::try_join_all};

/// Pages that a command reads which looks for the pages of a feed by time. The second one costs the server almost nothing.
const PAGES: i64 = 2;
/// Least number of posts that a request examines before it ends a page early.
const EXAMINED: usize = 500;
/// A stored page counts as this many posts in addition to its own posts, because all of these may have been deleted.
const PAGE: usize = 5;

/// Number of posts that a request examines for a page before it ends the page early. It holds for the posts in the feed, and again
/// for the posts that are merged in.
pub(super) fn examined(page: &Page) -> usize {
    page.wanted().saturating_mul(10).max(EXAMINED)
}

/// The caller's news, newest first.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn news(
    cx: Cx<'_>,
    month: Option<&str>,
    paging: Paging,
) -> Result<BoundedConnection<Post>> {
    let own = cx.requester.subject()?;
    let times = month.map(times_of).transpose()?;
    let list = format!("news {own} {}", month.unwrap_or_default());
    let feed = Feed { key: news_of(own), month, is_own_wall: false, owner: None };
    let page = Feed::page(cx, list, paging)?;
    let (viewer, pages, followed) =
        tokio::try_join!(Viewer::of(cx), feed.first(cx, &page), followed(cx, own))?;
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
) -> Result<BoundedConnection<Post>> {
    let user = named(cx, user)?;
    let is_own_wall = cx.requester.is(user);
    let mut feed = Feed { key: wall_of(user), month: None, is_own_wall, owner: None };
    let page = Feed::page(cx, format!("wall {user}"), paging)?;
    let owner =
        async { if is_own_wall { Ok(None) } else { Viewer::with(cx, user).await.map(Some) } };
    let (viewer, owner, pages) = tokio::try_join!(Viewer::of(cx), owner, feed.first(cx, &page))?;
    feed.owner = owner;
    read(cx, &viewer, &feed, &page, pages, Merged::default()).await
}

/// Everything on the caller's own wall, newest first.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn incoming(cx: Cx<'_>, paging: Paging) -> Result<BoundedConnection<Post>> {
    let own = cx.requester.subject()?;
    let feed = Feed { key: wall_of(own), month: None, is_own_wall: false, owner: None };
    let page = Feed::page(cx, format!("incoming {own}"), paging)?;
    let (viewer, pages) = tokio::try_join!(Viewer::of(cx), feed.first(cx, &page))?;
    read(cx, &viewer, &feed, &page, pages, Merged::default()).await
}

/// A feed as it is read.
struct Feed<'a> {
    key: String,
    /// The only month that is read.
    month: Option<&'a str>,
    /// Whether posts of users whom the caller doesn't follow are left out.
    is_own_wall: bool,
    /// Owner of the wall, unless it is the caller. Only their authors see the posts of users whom the owner blocks.
    owner: Option<Viewer>,
}

impl Feed<'_> {
    fn page(cx: Cx<'_>, list: String, paging: Paging) -> Result<Page> {
        let page = Page::new(
            &cx,
            Order { list, keys: vec![("from", -1), ("at", -1), ("id", -1)] },
            paging,
        )?;
        page.demand_forward()?;
        Ok(page)
    }

    /// The first pages that are read.
    async fn first(&self, cx: Cx<'_>, page: &Page) -> Result<Pages> {
        match position(page) {
            None if self.month.is_none() => newest_pages(&cx, &self.key).await,
            begin => self.list(cx, begin.map(|(from, _, _)| (from, true))).await,
        }
    }

    /// The pages before the last one that was read, enough for this number of posts if all of them are visible.
    async fn next(&self, cx: Cx<'_>, last: Option<&ReadPage>, wanted: usize) -> Result<Pages> {
        let Some(last) = last.map(ReadPage::get) else { return Ok((Vec::new(), true)) };
        let limit = wanted.div_ceil(FeedPage::CAP);
        let found = pages_before(&cx, &self.key, last.month, last.n, limit).await?;
        match (found.is_empty(), self.month) {
            (false, _) => Ok((found, false)),
            // It was the first page of the only month.
            (true, Some(_)) if last.n == 0 => Ok((found, true)),
            _ => self.list(cx, Some((last.from, false))).await,
        }
    }

    async fn list(&self, cx: Cx<'_>, from: Option<(DateTime, bool)>) -> Result<Pages> {
        let found = list_pages(&cx, &self.key, self.month, from, PAGES).await?;
        let is_end = i64::try_from(found.len()).is_ok_and(|count| count < PAGES);
        Ok((found, is_end))
    }
}

/// Pages of a feed, newest first, and whether these are known to be its last ones.
type Pages = (Vec<ReadPage>, bool);

/// The position of a cursor: the beginning of the page's time, and time and `_id` of the post.
pub(super) fn position(page: &Page) -> Option<(DateTime, DateTime, String)> {
    match page.from() {
        Some([Bson::DateTime(from), Bson::DateTime(at), Bson::String(id)]) => {
            Some((*from, *at, id.clone()))
        }
        _ => None,
    }
}

/// The beginning of a month, and that of the next one.
fn times_of(month: &str) -> Result<(DateTime, DateTime)> {
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

/// A post on a page of a feed.
enum Entry<'a> {
    Copy(CopyView<'a>),
    Merged(Shown),
}

impl Entry<'_> {
    fn place(&self) -> (DateTime, &str) {
        match self {
            Self::Copy(copy) => (copy.at, copy.id),
            Self::Merged(post) => (post.at, &post.id),
        }
    }

    fn shown(self) -> Result<Shown> {
        match self {
            Self::Copy(copy) => copy.shown(),
            Self::Merged(post) => Ok(post),
        }
    }
}

/// A page of a list of posts. `pages` are the first ones of the feed; `merged` are put among their copies.
///
/// If the caller may see few of many posts, the page ends early: after so many posts, or after stored pages of so many bytes. Its
/// end is then a time, not a post: all posts from that time on were examined, or all posts of a stored page.
async fn read(
    cx: Cx<'_>,
    viewer: &Viewer,
    feed: &Feed<'_>,
    page: &Page,
    (mut pages, mut is_end): Pages,
    mut merged: Merged,
) -> Result<BoundedConnection<Post>> {
    let (begin, wanted) = (position(page), page.wanted());
    let (mut found, mut left, mut end) = (Vec::new(), examined(page), None);
    // Beyond three quarters the operation fails, and so would each of its repeats.
    let mut bytes_left = cx.config().max_read_bytes / 4;
    'pages: loop {
        for document in &pages {
            let stored = document.get();
            let from = stored.from;
            let mut entries: Vec<_> = stored.posts.iter().copied().map(Entry::Copy).collect();
            if let Some((begin, at, id)) = &begin
                && *begin == from
            {
                entries.retain(|entry| entry.place() < (*at, id));
            }
            while merged.posts.front().is_some_and(|post| post.at >= from) {
                entries.extend(merged.posts.pop_front().map(Entry::Merged));
            }
            // Older posts are left to the next page, because others may be merged in among them.
            let since = merged.since.filter(|since| *since >= from);
            if let Some(since) = since {
                entries.retain(|entry| entry.place().0 >= since);
            }
            entries
                .sort_unstable_by(|one, other| Reverse(one.place()).cmp(&Reverse(other.place())));
            entries.dedup_by(|one, other| one.place().1 == other.place().1);
            left = left.saturating_sub(PAGE + entries.len());
            bytes_left = bytes_left.saturating_sub(document.size());
            // A cursor at the end of a stored page reads that page again. However large it is, the next one is examined too.
            let is_empty = entries.is_empty();
            let mut entries = entries.into_iter();
            while found.len() < wanted && entries.len() > 0 {
                let some = entries.by_ref().take(wanted - found.len()).map(Entry::shown);
                let some = some.collect::<Result<_, _>>()?;
                let shown = visible(cx, viewer, feed, some).await?;
                found.extend(shown.into_iter().map(|post| (from, post)));
            }
            let is_over = since.is_some() || left == 0 || (bytes_left == 0 && !is_empty);
            if found.len() < wanted && is_over {
                end = Some((from, since.unwrap_or(DateTime::MIN)));
                break 'pages;
            }
        }
        if is_end || found.len() >= wanted {
            break;
        }
        let next = feed.next(cx, pages.last(), wanted - found.len()).await?;
        (pages, is_end) = next;
    }
    if found.len() < wanted && end.is_none() {
        // They are older than all pages.
        let from = DateTime::from_millis(0);
        let shown = visible(cx, viewer, feed, merged.posts.into()).await?;
        found.extend(shown.into_iter().map(|post| (from, post)));
        end = merged.since.filter(|_| found.len() < wanted).map(|since| (from, since));
    }
    found.truncate(wanted);
    let keys = |(from, post): &(DateTime, Shown)| {
        vec![Bson::DateTime(*from), Bson::DateTime(post.at), Bson::from(&post.id)]
    };
    let end = end.map(|(from, at)| vec![Bson::DateTime(from), Bson::DateTime(at), Bson::from("")]);
    Ok(page.bounded(&cx, found, keys, |(_, post)| Post::from(post), end))
}

/// Those of the posts that the caller may see in the feed, in their order.
async fn visible(
    cx: Cx<'_>,
    viewer: &Viewer,
    feed: &Feed<'_>,
    posts: Vec<Shown>,
) -> Result<Vec<Shown>> {
    let mut shown = viewer.visible(&cx, posts).await?;
    let own = viewer.id();
    if let Some(owner) = &feed.owner {
        // An author who is blocked isn't told.
        shown.retain(|post| post.by == own || !owner.blocks(&post.by));
    }
    if !feed.is_own_wall {
        return Ok(shown);
    }
    let authors: HashSet<&str> = shown.iter().map(|post| post.by.as_str()).collect();
    let authors = authors.into_iter().filter(|by| *by != own);
    let followed = try_join_all(authors.map(|by| store::edge(&cx, own, by))).await?;
    let followed: HashSet<String> = followed.into_iter().flatten().map(|edge| edge.of).collect();
    Ok(shown.into_iter().filter(|post| post.by == own || followed.contains(&post.by)).collect())
}
