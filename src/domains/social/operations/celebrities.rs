//! Handles users with so many followers that their posts aren't delivered. Their posts are merged into a follower's
//! news when the news are read. Marks on the reader's edges tell which of these users the reader follows.
//!
//! Delivery ends in two steps. First the user has `marking`: new edges get the mark, and jobs put it on the others. Posts
//! are still delivered. Once all edges have the mark, the user has `mergedAt`, and from then on posts are merged in. So each
//! post is either delivered to all followers, or all followers' edges were marked before it was created.
//!
//! A marking may begin while a new edge to the user is added. So the edge gets the mark and `due`, and then the user is
//! read again. Either this read finds the marking, or the edge is older than the marking, and the jobs of the marking
//! find the edge. A job removes `due` when it marks an edge, and an edge without `due` keeps its mark. A mark on an
//! edge to a user whose posts are delivered does no harm: it costs the reader one command, which finds no posts.
//!
//! `mergedAt` is never removed: the posts of a user who has fewer followers again are still merged in.

use std::{
    collections::{HashMap, VecDeque},
    sync::atomic::{AtomicBool, Ordering},
};

use mongodb::bson::{DateTime, Document};

use super::{
    super::{
        documents::{EdgeDocument, PostDocument, Shown, UserDocument},
        store::{
            self,
            posts::{Until, list_merged, time_of_merged},
            users,
        },
    },
    circles::Viewer,
    delivery::{BATCH, Task},
    feeds::{examined, position},
};
use crate::{domains::delivery, graphql::prelude::*, join::try_join_all};

/// Begins the marking of the edges to a user, unless it has begun or is done.
pub(in super::super) async fn begin(app: &App, user: &str) -> Result<()> {
    match store::begin_marking(app, user).after().await? {
        Some(user) => add(app, &user).await,
        None => Ok(()),
    }
}

/// Adds the job that marks the first edges, unless it was added or nothing is to be marked.
pub(in super::super) async fn add(app: &App, user: &UserDocument) -> Result<()> {
    let Some(began) = user.marking else { return Ok(()) };
    let (user, began) = (user.id.clone(), began.timestamp_millis());
    delivery::add(app, &Task::Mark { user, began, after: None }).await
}

/// Does one batch of a marking. Returns the `_id` of its last edge if another batch follows.
pub(super) async fn mark(
    app: &App,
    user: &str,
    began: DateTime,
    after: Option<&str>,
) -> Result<Option<String>> {
    let (last, _marked) = mark_some(app, user, after).await?;
    if last.is_none() {
        // A refusal means that it was noted before.
        store::end_marking(app, user, began).held().await?;
    }
    Ok(last)
}

/// Marks one batch of edges. Returns the `_id` of its last edge if another batch follows, and how many had no mark.
async fn mark_some(app: &App, user: &str, after: Option<&str>) -> Result<(Option<String>, u64)> {
    let found = store::next_followers(app, user, after, BATCH).await?;
    let ids: Vec<&str> = found.iter().map(|edge| edge.id.as_str()).collect();
    let marked = store::mark(app, &ids).await?;
    let last = if found.len() >= BATCH { found.into_iter().last() } else { None };
    Ok((last.map(|edge| edge.id), marked))
}

/// Marks the edges to a user that have lost their mark, and returns their number.
pub(in super::super) async fn mark_again(app: &App, user: &str) -> Result<u64> {
    let (mut after, mut marked) = mark_some(app, user, None).await?;
    while let Some(last) = after {
        let (next, more) = mark_some(app, user, Some(&last)).await?;
        (after, marked) = (next, marked + more);
    }
    Ok(marked)
}

/// Marks all edges to a user who has none of the two states.
pub(in super::super) async fn mark_all(app: &App, user: &str) -> Result<()> {
    store::begin_marking(app, user).held().await?;
    let found = users(app).get_part_settled(user, UserDocument::PART).await?;
    let Some(began) = found.and_then(|user| user.marking) else { return Ok(()) };
    let mut after = mark(app, user, began, None).await?;
    while let Some(last) = after {
        after = mark(app, user, began, Some(&last)).await?;
    }
    Ok(())
}

/// Decides whether a new edge keeps its mark.
pub(in super::super) async fn decide(app: &App, edge: &EdgeDocument) -> Result<()> {
    let user = users(app).get_part_settled(&edge.of, UserDocument::PART).await?;
    let is_kept = user.is_some_and(|user| user.has_marks());
    // A refusal means that it was decided before, or that the edge was removed.
    store::decide_mark(app, edge, is_kept).held().await?;
    Ok(())
}

/// Whether no user is left whose edges have no marks though news merge in the user's posts.
#[derive(Default)]
struct AllMarked(AtomicBool);

/// The users whom the caller follows and whose posts news merge in, or may do so.
pub(super) async fn followed(cx: Cx<'_>, own: &str) -> Result<Vec<EdgeDocument>> {
    let all = cx.app.shared::<AllMarked>();
    if all.0.load(Ordering::Relaxed) {
        return store::list_marked(&cx, own).await;
    }
    // A user who isn't among these has marks by now, so the marks are read afterwards.
    let unmarked = store::list_unmarked(&cx).await?;
    all.0.store(unmarked.is_empty(), Ordering::Relaxed);
    let mut found = store::list_marked(&cx, own).await?;
    let edges = try_join_all(unmarked.iter().map(|of| store::edge(&cx, own, of))).await?;
    for edge in edges.into_iter().flatten() {
        if found.iter().all(|other| other.id != edge.id) {
            found.push(edge);
        }
    }
    Ok(found)
}

/// Number of authors whose posts one command reads. MongoDB merges the posts of up to 200 authors in order
/// (`internalQueryMaxScansToExplode`). With more authors it reads all of their posts, and sorts them.
const AUTHORS: usize = 100;

/// The newest posts of any number of authors, as [`list_merged`] reads them.
async fn newest(
    cx: Cx<'_>,
    authors: &[&str],
    times: (DateTime, &Until),
    seen: Option<&Document>,
    limit: usize,
) -> Result<Vec<Shown>> {
    let read = authors.chunks(AUTHORS).map(|some| list_merged(&cx, some, times, seen, limit));
    let found: Vec<Vec<PostDocument>> = try_join_all(read).await?;
    let mut found: Vec<Shown> = found.into_iter().flatten().map(|post| post.shown).collect();
    if authors.len() > AUTHORS {
        found.sort_by(|one, other| (other.at, &other.id).cmp(&(one.at, &one.id)));
        found.truncate(limit);
    }
    Ok(found)
}

/// The time from which on any number of authors have about `number` posts; `None` if they have fewer.
async fn time_of(
    cx: Cx<'_>,
    authors: &[&str],
    times: (DateTime, &Until),
    number: usize,
) -> Result<Option<DateTime>> {
    // Each command takes a part of the number. From the latest of their times on, all commands have examined the posts.
    let part = number / authors.len().div_ceil(AUTHORS).max(1);
    let read = authors.chunks(AUTHORS).map(|some| time_of_merged(&cx, some, times, part));
    let found: Vec<Option<DateTime>> = try_join_all(read).await?;
    Ok(found.into_iter().flatten().max())
}

/// Posts that are merged into a page of news.
#[derive(Default)]
pub(super) struct Merged {
    /// The posts, the newest first.
    pub(super) posts: VecDeque<Shown>,
    /// The time from which on `posts` has all visible posts, if the read ended before it found enough of them.
    pub(super) since: Option<DateTime>,
}

/// The posts of the followed authors that the caller may see after the position of the page. Posts from before the caller
/// followed the author are left out.
///
/// If the first command finds posts that the caller may not see, the next ones leave them out. The server examines at most as many
/// posts as [`examined`] says, and the others of the millisecond of the last one. Then the end of the read is a time without a post.
/// So the next page begins at another millisecond, however many posts one has.
pub(super) async fn merged(
    cx: Cx<'_>,
    viewer: &Viewer,
    followed: &[EdgeDocument],
    times: Option<(DateTime, DateTime)>,
    page: &Page,
) -> Result<Merged> {
    let (begin, end) = times.unwrap_or((DateTime::from_millis(0), DateTime::MAX));
    let Some(first) = followed.iter().map(|edge| edge.at).min() else {
        return Ok(Merged::default());
    };
    let (mut since, mut reached) = (begin.max(first), None);
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
    let (mut seen, mut limit) = (None, page.wanted());
    loop {
        // An author whose posts before `until` are all too old isn't read again. So a long past of an author whom the caller
        // has just followed costs one command at most.
        let is_left = |edge: &&EdgeDocument| edge.at <= until.at() && !viewer.blocks(&edge.of);
        let authors: Vec<&str> =
            followed.iter().filter(is_left).map(|edge| edge.of.as_str()).collect();
        if authors.is_empty() {
            return Ok(Merged { posts: shown, since: None });
        }
        let mut posts = newest(cx, &authors, (since, &until), seen.as_ref(), limit).await?;
        let is_end = posts.len() < limit;
        if let Some(last) = posts.last() {
            until = Until::Beyond(last.at, last.id.clone());
        }
        posts.retain(|post| since_of.get(post.by.as_str()).is_some_and(|at| *at <= post.at));
        shown.extend(viewer.visible(&cx, posts).await?);
        if shown.len() >= page.wanted() {
            return Ok(Merged { posts: shown, since: None });
        }
        if is_end {
            return Ok(Merged { posts: shown, since: reached });
        }
        // What becomes invisible after this read is left out when it is found.
        if seen.is_none() {
            let time = time_of(cx, &authors, (since, &until), examined(page));
            let (visible, time) = tokio::try_join!(viewer.seeing(&cx, &authors), time)?;
            (seen, reached) = (Some(visible), time);
            since = time.map_or(since, |time| since.max(time));
        } else {
            // Only here are the posts left out that are older than the caller's edge to their author. The limit doubles, so few
            // commands read past them.
            limit = limit.saturating_mul(2);
        }
    }
}
