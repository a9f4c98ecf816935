//! Delivery: jobs put copies of a post on walls and into the news of followers, and bring copies up to date.
//!
//! A job delivers to one batch of followers. Before it ends it adds the job of the next batch, whose id follows from the
//! post and the batch; so a repeated job adds nothing. A unique index refuses a second copy of a post in a feed, whichever
//! page it is on; so a repeated job doubles nothing.
//!
//! A job may put a copy of an old version after the post has changed. So it looks at the post again afterwards. A copy is
//! only overwritten by a later version.

use std::sync::Arc;

use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        documents::{
            Audience, EdgeDocument, FeedPage, PostDocument, Shown, month_of, news_of, wall_of,
        },
        store::{
            self,
            feeds::{self, feeds_with, newest, push_each},
            posts::{self as post_store, posts},
            users,
        },
    },
    circles::may_see,
};
use crate::{
    app::App,
    domains::queue::operations::{self as queue, NewJob, Work},
    error::Error,
    flow::Op,
};

/// Name of the queue, behind `docgate.`.
const QUEUE: &str = "posts";
/// Maximum number of followers of one job.
const BATCH: usize = 500;
/// Number of attempts of a job.
const ATTEMPTS: i32 = 100;
/// Maximum number of times that open pages are looked for.
const ROUNDS: usize = 20;

/// What a job does.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "task")]
enum Task {
    /// Delivers a post to the followers after the given edge; without one, also to the walls.
    Deliver {
        /// `_id` of the post.
        post: String,
        /// `_id` of an edge.
        after: Option<String>,
    },
    /// Brings the copies of a post up to date.
    Refresh {
        /// `_id` of the post.
        post: String,
    },
}

/// The queue of the room's jobs, and their handler.
pub fn work() -> Vec<Work> {
    let handler = |app: App, job: crate::domains::queue::JobDocument| {
        let done = async move { run(&app, &job.payload).await.map_err(|error| error.to_string()) };
        Box::pin(done) as queue::Handled
    };
    vec![Work::own(QUEUE, Arc::new(handler))]
}

async fn run(app: &App, payload: &str) -> Result<(), Error> {
    match serde_json::from_str(payload).map_err(Error::internal)? {
        Task::Deliver { post, after } => deliver(app, &post, after.as_deref()).await,
        Task::Refresh { post } => bring_up_to_date(app, &post).await,
    }
}

async fn add(app: &App, parts: &[&str], task: &Task) -> Result<(), Error> {
    let payload = serde_json::to_string(task).map_err(Error::internal)?;
    let op = Op { id: app.ids().derived(parts), input: String::new() };
    let new = NewJob { max_attempts: ATTEMPTS, ..NewJob::own(QUEUE, payload) };
    queue::add(app, op, new).await.map(|_added| ())
}

/// Adds the job that begins the delivery of a post, unless it was added.
pub(super) async fn begin(app: &App, post: &str) -> Result<(), Error> {
    next(app, post, None).await
}

async fn next(app: &App, post: &str, after: Option<String>) -> Result<(), Error> {
    let key = after.clone().unwrap_or_default();
    let task = Task::Deliver { post: post.to_owned(), after };
    add(app, &["deliver", post, &key], &task).await
}

/// Adds the job that begins a delivery that was cut. For the sweep.
pub(in super::super) async fn deliver_again(app: &App, post: &str) -> Result<bool, Error> {
    begin(app, post).await?;
    Ok(false)
}

/// Adds the job that brings the copies of a post to this version, unless it was added.
pub(super) async fn refresh(app: &App, post: &Shown) -> Result<(), Error> {
    let task = Task::Refresh { post: post.id.clone() };
    add(app, &["refresh", &post.id, &post.version.to_string()], &task).await
}

/// Whether a user has more followers than posts are delivered to. The news of the followers then merge the posts in.
pub(super) async fn is_celebrity(app: &App, user: &str) -> Result<bool, Error> {
    let bound = app.config().post_delivery_followers;
    if store::count_followers(app, user, bound.saturating_add(1)).await? <= bound {
        return Ok(false);
    }
    // A refusal means that it was noted before.
    store::celebrate(app, user).held().await?;
    Ok(true)
}

/// Delivers a post to one batch.
async fn deliver(app: &App, id: &str, after: Option<&str>) -> Result<(), Error> {
    let all = posts(app);
    let read = || all.get_part_settled(id, PostDocument::PART);
    let Some(post) = read().await? else { return Ok(()) };
    let (shown, mut last) = (&post.shown, None);
    if post.deleted_at.is_none() {
        let mut to = Vec::new();
        if after.is_none() {
            to.extend(walls(app, shown).await?);
        }
        if post.merged.is_none() {
            let followers = store::next_followers(app, &shown.by, after, BATCH).await?;
            if followers.len() >= BATCH {
                last = followers.last().map(|edge| edge.id.clone());
            }
            to.extend(entitled(app, shown, followers).await?.iter().map(|user| news_of(user)));
        }
        put(app, to, shown).await?;
    }
    // It may have changed before the copies were there, also in an earlier run of this job.
    if read().await?.is_none_or(|now| now.shown.version > 0) {
        bring_up_to_date(app, id).await?;
    }
    match last {
        Some(last) => next(app, id, Some(last)).await,
        None => post_store::delivered(app, id).held().await.map(|_was_due| ()),
    }
}

/// The walls on which a post belongs. It isn't put on the wall of a user who blocks the author.
async fn walls(app: &App, post: &Shown) -> Result<Vec<String>, Error> {
    let mut walls = vec![wall_of(&post.by)];
    if let Some(to) = &post.to
        && let Some(user) = users(app).get_settled(to).await?
        && !user.blocked.contains(&post.by)
    {
        walls.push(wall_of(to));
    }
    Ok(walls)
}

/// Those of the followers who may see a post.
async fn entitled(
    app: &App,
    post: &Shown,
    followers: Vec<EdgeDocument>,
) -> Result<Vec<String>, Error> {
    if post.audience == Audience::Public {
        return Ok(followers.into_iter().map(|edge| edge.by).collect());
    }
    let check = |edge: EdgeDocument| async move {
        let own = store::edge(app, &post.by, &edge.by).await?;
        Ok::<_, Error>(may_see(&edge.by, post, own.as_ref()).then_some(edge.by))
    };
    let checked = crate::mongo::batched(try_join_all(followers.into_iter().map(check))).await?;
    Ok(checked.into_iter().flatten().collect())
}

/// Puts a copy of the post into each of the feeds that has none. The reads only choose what to try: a unique index refuses
/// a second copy, so that a repeat, or a worker that has lost its lease, adds none to any page.
async fn put(app: &App, mut to: Vec<String>, post: &Shown) -> Result<(), Error> {
    let month = month_of(post.at);
    for _ in 0..ROUNDS {
        if to.is_empty() || push_each(app, &to, post).await? {
            return Ok(());
        }
        let there = feeds_with(app, &to, &post.id).await?;
        to.retain(|feed| !there.contains(feed));
        let last = try_join_all(to.iter().map(|feed| newest(app, feed, &month))).await?;
        let (mut left, mut new) = (Vec::new(), Vec::new());
        for (feed, last) in to.into_iter().zip(last) {
            if last.as_ref().is_none_or(|page| page.full) {
                new.push(FeedPage::after(last.as_ref(), &feed, post));
            } else {
                left.push(feed);
            }
        }
        let names: Vec<String> = new.iter().map(|page| page.feed.clone()).collect();
        let refused = feeds::pages(app).insert_many(new).await?;
        left.extend(refused.into_iter().filter_map(|at| names.get(at).cloned()));
        to = left;
    }
    Err(Error::unavailable("the pages of the feeds keep changing"))
}

/// Writes the post to its copies, or removes them if it was deleted.
pub(in super::super) async fn bring_up_to_date(app: &App, id: &str) -> Result<(), Error> {
    let post = posts(app).get_part_settled(id, PostDocument::PART).await?;
    let Some(post) = post.filter(|post| post.deleted_at.is_none() || post.due.is_some()) else {
        return feeds::withdraw(app, id).await.map(|_removed| ());
    };
    if post.deleted_at.is_some() {
        feeds::withdraw(app, id).await?;
    } else {
        feeds::overwrite(app, &post.shown).await?;
    }
    // A refusal means that it has changed again, or that another call was first.
    post_store::spread(app, id, post.shown.version).held().await?;
    Ok(())
}
