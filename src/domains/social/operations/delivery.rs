//! Delivery of posts: jobs put copies on walls and into the news of followers, and bring copies up to date
//! ([`crate::domains::delivery`]).
//!
//! A job may put a copy of an old version after the post has changed. So it looks at the post again afterwards. A copy is
//! only overwritten by a later version.

use mongodb::bson::DateTime;
use serde::{Deserialize, Serialize};

use super::{
    super::{
        documents::{
            Audience, EdgeDocument, FeedPage, PostDocument, Shown, UserDocument, news_of, wall_of,
        },
        store::{
            self, feeds,
            posts::{self as post_store, posts},
            users,
        },
    },
    celebrities,
    circles::may_see,
};
use crate::{
    app::App,
    domains::delivery::{self, Batch},
    error::{Error, Result},
    join::try_join_all,
};

/// Maximum number of followers of one job.
pub(super) const BATCH: usize = 500;

/// What a job does.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "task")]
pub(in super::super) enum Task {
    /// Delivers a post to the followers after the given edge; without one, also to the walls.
    Deliver {
        /// `_id` of the post.
        post: String,
        /// `_id` of an edge.
        after: Option<String>,
        /// Number of the author's followers up to that edge.
        #[serde(default)]
        seen: usize,
    },
    /// Marks the edges to a user, after the given edge.
    Mark {
        /// Subject of the user.
        user: String,
        /// Server time at which the marking began, in milliseconds since 1970.
        began: i64,
        /// `_id` of an edge.
        after: Option<String>,
    },
    /// Brings the copies of a post up to date.
    Refresh {
        /// `_id` of the post.
        post: String,
        /// Its version when the job was added: each version has a job.
        version: i64,
    },
}

impl Batch for Task {
    const QUEUE: &'static str = "posts";

    async fn run(self, app: &App) -> Result<Option<Self>> {
        match self {
            Self::Deliver { post, after, seen } => {
                let last = deliver(app, &post, after.as_deref(), seen).await?;
                let seen = seen + BATCH;
                Ok(last.map(|last| Self::Deliver { post, after: Some(last), seen }))
            }
            Self::Mark { user, began, after } => {
                let at = DateTime::from_millis(began);
                let last = celebrities::mark(app, &user, at, after.as_deref()).await?;
                Ok(last.map(|last| Self::Mark { user, began, after: Some(last) }))
            }
            Self::Refresh { post, .. } => {
                let found = posts(app).get_part_settled(&post, PostDocument::PART).await?;
                // If no version is due, the job of another one has written this one too. Otherwise each of many changes of a post
                // would write to all of its copies.
                if found.as_ref().is_none_or(|post| post.due.is_some()) {
                    write_copies(app, &post, found).await?;
                }
                Ok(None)
            }
        }
    }
}

/// Adds the job that begins the delivery of a post, unless it was added.
pub(in super::super) async fn begin(app: &App, post: &str) -> Result<()> {
    delivery::add(app, &Task::Deliver { post: post.to_owned(), after: None, seen: 0 }).await
}

/// Adds the job that brings the copies of a post to this version, unless it was added.
pub(super) async fn refresh(app: &App, post: &Shown) -> Result<()> {
    delivery::add(app, &Task::Refresh { post: post.id.clone(), version: post.version }).await
}

/// Delivers a post to one batch, before which there are `seen` followers. Returns the `_id` of its last edge if another
/// batch follows. If the author has too many followers, later posts are merged into their news.
async fn deliver(app: &App, id: &str, after: Option<&str>, seen: usize) -> Result<Option<String>> {
    let all = posts(app);
    let read = || all.get_part_settled(id, PostDocument::PART);
    let Some(post) = read().await? else { return Ok(None) };
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
            let bound = usize::try_from(app.config().post_delivery_followers).unwrap_or(usize::MAX);
            if seen <= bound && bound < seen + followers.len() {
                celebrities::begin(app, &shown.by).await?;
            }
            to.extend(entitled(app, shown, followers).await?.iter().map(|user| news_of(user)));
        }
        delivery::put::<FeedPage>(app, to, shown).await?;
    }
    // It may have changed before the copies were there, also in an earlier run of this job.
    if read().await?.is_none_or(|now| now.shown.version > 0) {
        bring_up_to_date(app, id).await?;
    }
    if last.is_none() {
        // A refusal means that it was noted before.
        post_store::delivered(app, id).held().await?;
    }
    Ok(last)
}

/// The walls on which a post belongs. Reads of a wall leave out posts of those whom its owner blocks.
async fn walls(app: &App, post: &Shown) -> Result<Vec<String>> {
    let mut walls = vec![wall_of(&post.by)];
    if let Some(to) = &post.to
        && users(app).get_part_settled(to, UserDocument::PART).await?.is_some()
    {
        walls.push(wall_of(to));
    }
    Ok(walls)
}

/// Those of the followers who may see a post.
async fn entitled(app: &App, post: &Shown, followers: Vec<EdgeDocument>) -> Result<Vec<String>> {
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

/// Writes the post to its copies, or removes them if it was deleted.
pub(in super::super) async fn bring_up_to_date(app: &App, id: &str) -> Result<()> {
    let post = posts(app).get_part_settled(id, PostDocument::PART).await?;
    write_copies(app, id, post).await
}

/// Brings the copies of a post to the version that was read; `None` if there is no such post any more.
async fn write_copies(app: &App, id: &str, post: Option<PostDocument>) -> Result<()> {
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
