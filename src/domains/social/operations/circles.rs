//! Circles, followers and blocks. One document, the edge, has the circles into which one user has put another. Lists of both
//! users read it. So each change is one guarded update, and the lists agree at any time.

use std::collections::{HashMap, HashSet};

use mongodb::bson::{Bson, Document};

use super::{
    super::{
        documents::{Audience, EdgeDocument, Shown, UserDocument, edge_id},
        store::{self, edges, posts::seen_by, users},
        types::{
            BlockUserInput, BlockUserResult, CircleUserInput, CircleUserResult, FollowedUser,
            UnblockUserInput, UnblockUserResult, UncircleUserInput, UncircleUserResult, User,
        },
    },
    celebrities, demand_user, no_user, user_by_subject,
};
use crate::{graphql::prelude::*, join::try_join_all};

/// Maximum number of circles that one user has another one in.
const CIRCLES: usize = 20;
/// Maximum number of users whom a user blocks.
const BLOCKED: usize = 1_000;
/// The largest number of followers that is counted.
const COUNTED: u64 = 10_000;
/// Maximum number of tries of a change against concurrent ones.
const TRIES: usize = 20;

/// Puts a user into a circle of the caller. A repeat changes nothing.
pub async fn circle_user(cx: Cx<'_>, input: CircleUserInput) -> Answer<CircleUserResult> {
    let (by, input) = (cx.requester.subject()?, input.checked()?);
    let CircleUserInput { user_id, circle } = &*input;
    demand_other(by, user_id)?;
    let own = demand_user::<CircleUserResult>(cx, by);
    let (_own, other) = tokio::try_join!(own, demand_user::<CircleUserResult>(cx, user_id))?;
    for _ in 0..TRIES {
        // The read only chooses what to try.
        match edges(&cx).get_settled(&edge_id(by, user_id)).await? {
            Some(edge) if edge.circles.contains(circle) => {
                if edge.due.is_some() {
                    celebrities::decide(&cx, &edge).await?;
                }
                return Ok(other);
            }
            Some(edge) if edge.circles.len() >= CIRCLES => {
                let reason = format!("the user is in {CIRCLES} of your circles, the maximum");
                return Err(InvalidInput::new("circle", reason).into());
            }
            Some(_) => {
                if store::add_circle(&cx, by, user_id, circle, CIRCLES).held().await? {
                    return Ok(other);
                }
            }
            None => {
                let at = cx.begin().await?.now();
                let is_open = other.merged_at.is_none();
                let edge = EdgeDocument::new(by, user_id, circle, at).marked(is_open);
                if edges(&cx).insert_numbered(&edge).await.decided()?.is_some() {
                    if is_open {
                        celebrities::decide(&cx, &edge).await?;
                    }
                    return Ok(other);
                }
            }
        }
    }
    Err(Error::unavailable("the user's circles keep changing").into())
}

/// Takes a user from a circle of the caller. A repeat changes nothing.
pub async fn uncircle_user(cx: Cx<'_>, input: UncircleUserInput) -> Answer<UncircleUserResult> {
    let (by, input) = (cx.requester.subject()?, input.checked()?);
    let UncircleUserInput { user_id, circle } = &*input;
    let other = demand_user::<UncircleUserResult>(cx, user_id).await?;
    for _ in 0..TRIES {
        if store::remove_circle(&cx, by, user_id, circle).held().await?
            || store::remove_edge(&cx, by, user_id, circle).await?
        {
            return Ok(other);
        }
        let edge = edges(&cx).get_settled(&edge_id(by, user_id)).await?;
        if edge.is_none_or(|edge| !edge.circles.contains(circle)) {
            return Ok(other);
        }
    }
    Err(Error::unavailable("the user's circles keep changing").into())
}

/// Checks that the caller has users in each of these circles. A misspelt name has none.
pub(super) async fn demand_circles<U>(
    cx: Cx<'_>,
    by: &str,
    circles: &[String],
) -> Result<(), Stop<U>>
where
    U: From<InvalidInput>,
{
    let read = circles.iter().map(|circle| store::has_circle(&cx, by, circle));
    let are_there = try_join_all(read).await?;
    let empty = circles.iter().zip(are_there).find(|(_, is_there)| !is_there);
    match empty {
        Some((circle, _)) => {
            let reason = format!("you have nobody in the circle {circle:?}");
            Err(InvalidInput::new("circles", reason).into())
        }
        None => Ok(()),
    }
}

fn demand_other(own: &str, other: &str) -> Result<(), InvalidInput> {
    if own == other {
        return Err(InvalidInput::new("userId", "is you"));
    }
    Ok(())
}

/// Blocks a user for the caller. A repeat changes nothing.
pub async fn block_user(cx: Cx<'_>, input: BlockUserInput) -> Answer<BlockUserResult> {
    let (own, input) = (cx.requester.subject()?, input.checked()?);
    demand_other(own, &input.user_id)?;
    let other = demand_user::<BlockUserResult>(cx, &input.user_id).await?;
    if store::block(&cx, own, &input.user_id, BLOCKED).held().await? {
        return Ok(other);
    }
    let user = demand_settled::<BlockUserResult>(cx, own).await?;
    if user.blocked.contains(&input.user_id.0) {
        return Ok(other);
    }
    if user.blocked.len() < BLOCKED {
        return Err(Error::unavailable("the blocked users keep changing").into());
    }
    let reason = format!("you block {BLOCKED} users, the maximum");
    Err(InvalidInput::new("userId", reason).into())
}

async fn demand_settled<U>(cx: Cx<'_>, subject: &str) -> Result<UserDocument, Stop<U>>
where
    U: From<NotFound>,
{
    let found = users(&cx).get_settled(subject).await?;
    Ok(found.ok_or_else(|| no_user(cx.requester, subject))?)
}

/// Ends the block of a user by the caller. A repeat changes nothing.
pub async fn unblock_user(cx: Cx<'_>, input: UnblockUserInput) -> Answer<UnblockUserResult> {
    let (own, input) = (cx.requester.subject()?, input.checked()?);
    let other = demand_user::<UnblockUserResult>(cx, &input.user_id).await?;
    // A refusal means that the caller doesn't block the user.
    store::unblock(&cx, own, &input.user_id).held().await?;
    Ok(other)
}

/// The followers of a user.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn followers(cx: Cx<'_>, user: Option<&ID>, paging: Paging) -> Result<Connection<User>> {
    let of = named(cx, user)?;
    let order = Order { list: format!("followers {of}"), keys: vec![("_id", 1)] };
    let page = Page::new(&cx, order, paging)?;
    let (mut part, mut found) = (page.clone(), Vec::new());
    loop {
        let edges = store::list_followers(&cx, &part, of).await?;
        let is_end = edges.len() < part.wanted();
        let last = edges.last().map(|edge| Bson::from(&edge.id));
        let read = edges.into_iter().map(|edge| async move {
            Ok::<_, Error>((user_by_subject(cx, &edge.by).await?, edge.id))
        });
        let read: Vec<_> = try_join_all(read).await?;
        // A user whose erasure isn't finished may be gone already.
        found.extend(read.into_iter().filter_map(|(user, id)| Some((user?, id))));
        match last {
            Some(last) if !is_end && found.len() < page.wanted() => part = page.further(vec![last]),
            _ => break,
        }
    }
    Ok(page.connection(found, |(_, id)| vec![Bson::from(id)], |(user, _)| User::from(user)))
}

/// The users whom a user follows, or those in one of the caller's circles. Nobody sees the circles of others.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn following(
    cx: Cx<'_>,
    user: Option<&ID>,
    circle: Option<&str>,
    paging: Paging,
) -> Result<Connection<FollowedUser>> {
    let by = named(cx, user)?;
    let list = format!("following {by} {}", circle.unwrap_or_default());
    let page = Page::new(&cx, Order { list, keys: vec![("_id", 1)] }, paging)?;
    let found = match circle {
        Some(_) if !cx.requester.is(by) => Vec::new(),
        circle => store::list_following(&cx, &page, by, circle).await?,
    };
    Ok(page.connection(found, |edge| vec![Bson::from(&edge.id)], FollowedUser))
}

/// The subject of the user that an argument names, or else of the caller.
pub(super) fn named<'a>(cx: Cx<'a>, user: Option<&'a ID>) -> Result<&'a str> {
    match user {
        Some(user) => {
            input::verbatim("userId", user, 1..=256)?;
            Ok(user)
        }
        None => cx.requester.subject(),
    }
}

/// The users whom the caller blocks, by their subjects. One document has the subjects.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn blocked_users(cx: Cx<'_>, paging: Paging) -> Result<Connection<User>> {
    let own = cx.requester.subject()?;
    let order = Order { list: format!("blockedUsers {own}"), keys: vec![("subject", 1)] };
    let page = Page::new(&cx, order, paging)?;
    let mut blocked = users(&cx).get(own).await?.map(|user| user.blocked).unwrap_or_default();
    blocked.sort_unstable();
    if page.is_backward() {
        blocked.reverse();
    }
    if let Some([Bson::String(from)]) = page.from() {
        blocked.retain(|user| if page.is_backward() { user < from } else { user > from });
    }
    let mut found: Vec<UserDocument> = Vec::new();
    for subjects in blocked.chunks(page.wanted()) {
        let read = subjects.iter().map(|subject| user_by_subject(cx, subject));
        // A user whose erasure isn't finished may be gone already.
        found.extend(try_join_all(read).await?.into_iter().flatten());
        if found.len() >= page.wanted() {
            break;
        }
    }
    Ok(page.connection(found, |user| vec![Bson::from(&user.id)], User::from))
}

/// Number of followers of a user, up to [`COUNTED`].
pub async fn follower_count(cx: Cx<'_>, user: &str) -> Result<i64> {
    let count = store::count_followers(&cx, user, COUNTED).await?;
    Ok(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The circles of the caller that a user is in.
pub async fn own_circles(cx: Cx<'_>, user: &str) -> Result<Vec<String>> {
    let Some(own) = &cx.requester.subject else { return Ok(Vec::new()) };
    Ok(store::edge(&cx, own, user).await?.map(|edge| edge.circles).unwrap_or_default())
}

/// Whether the caller blocks a user.
pub async fn is_blocked(cx: Cx<'_>, user: &str) -> Result<bool> {
    Ok(Viewer::of(cx).await?.blocks(user))
}

/// The caller, or the owner of a wall, as far as it decides what is seen.
pub(in super::super) struct Viewer {
    id: String,
    blocked: HashSet<String>,
}

impl Viewer {
    /// The caller.
    pub(in super::super) async fn of(cx: Cx<'_>) -> Result<Self> {
        Self::with(cx, cx.requester.subject()?).await
    }

    /// The user with this subject.
    pub(super) async fn with(cx: Cx<'_>, subject: &str) -> Result<Self> {
        let user = users(&cx).get(subject).await?;
        let blocked = user.map(|user| user.blocked.into_iter().collect()).unwrap_or_default();
        Ok(Self { id: subject.to_owned(), blocked })
    }

    /// Whether they block a user.
    pub(in super::super) fn blocks(&self, user: &str) -> bool {
        self.blocked.contains(user)
    }

    /// Those of the posts that they may see, without the last comments of users whom they block. The circles are those of the authors, as they are now.
    pub(super) async fn visible(&self, app: &App, posts: Vec<Shown>) -> Result<Vec<Shown>> {
        let needs_edge = |post: &&Shown| {
            post.audience != Audience::Public && post.by != self.id && !self.blocks(&post.by)
        };
        let authors: HashSet<&str> =
            posts.iter().filter(needs_edge).map(|post| post.by.as_str()).collect();
        let read = authors.into_iter().map(|by| store::edge(app, by, &self.id));
        let found = try_join_all(read).await?;
        let edges: HashMap<_, _> =
            found.into_iter().flatten().map(|edge| (edge.by.clone(), edge)).collect();
        let is_visible =
            |post: &Shown| !self.blocks(&post.by) && may_see(&self.id, post, edges.get(&post.by));
        let shown = posts.into_iter().filter(is_visible).map(|mut post| {
            post.latest.retain(|comment| !self.blocks(&comment.by));
            post.is_unblocked = true;
            post
        });
        Ok(shown.collect())
    }

    /// Filter of the posts of these authors that they may see. The circles are those of the authors, as they are now.
    pub(super) async fn seeing(&self, app: &App, authors: &[&str]) -> Result<Document> {
        let read = authors.iter().copied().map(|by| store::edge(app, by, &self.id));
        let edges: Vec<_> = try_join_all(read).await?.into_iter().flatten().collect();
        Ok(seen_by(&self.id, &edges))
    }

    /// Their subject.
    pub(super) fn id(&self) -> &str {
        &self.id
    }
}

/// Whether a user may see a post; [`seen_by`] is the same as a filter. `edge` contains the author's circles that the user is
/// in.
pub(in super::super) fn may_see(user: &str, post: &Shown, edge: Option<&EdgeDocument>) -> bool {
    if post.by == user || post.to.as_deref() == Some(user) {
        return true;
    }
    match post.audience {
        Audience::Public => true,
        Audience::Circles => edge.is_some(),
        Audience::Named => {
            edge.is_some_and(|edge| edge.circles.iter().any(|name| post.circles.contains(name)))
        }
    }
}
