//! Posts and comments. A post is the decider of its own changes: each is one guarded update, which also notes in `due`
//! that the copies are behind. Then a job brings them up to date.

use mongodb::bson::Bson;

use super::{
    super::{
        documents::{Audience, Choice, CommentEntry, Detail, PostDocument, Shown},
        store::posts::{self as post_store, posts},
        types::{
            CommentOnPostInput, CommentOnPostResult, CreatePostInput, CreatePostResult,
            DeletePostInput, DeletePostResult, DeletedPost, EditPostInput, EditPostResult,
            PostComment, PostDetailInput,
        },
    },
    circles::{Viewer, demand_circles},
    delivery, demand_assets, demand_user,
};
use crate::{graphql::prelude::*, mongo::Version};

/// Maximum number of comments on a post, and of one author on it. A comment can't be removed, so an author without a bound
/// could keep all others from commenting for good.
const COMMENTS: usize = 500;
const COMMENTS_OF_ONE: usize = 100;

/// Creates a post. Its copies are delivered by jobs.
pub async fn create_post(cx: Cx<'_>, input: CreatePostInput) -> Answer<CreatePostResult> {
    let (by, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[by, "createPost"], &input);
    let to = input.to_user_id.as_ref().map(|to| to.0.clone()).filter(|to| to != by);
    let circles = input.circles.clone().unwrap_or_default();
    if (input.audience == Audience::Named) == circles.is_empty() {
        let reason = "takes at least one circle with the audience NAMED, and none with others";
        return Err(InvalidInput::new("circles", reason).into());
    }
    let text = input.text.clone().unwrap_or_default();
    let detail = input.detail.clone().map(Detail::from);
    if text.is_empty() && detail.is_none() {
        return Err(InvalidInput::new("text", "a post without a detail needs a text").into());
    }
    // A repeat is answered even if an asset or a circle is gone.
    if let Some(post) = posts(&cx).get_part(&op.id, PostDocument::PART).await? {
        return created(cx, post, &op).await;
    }
    if let Some(Detail::Photo { assets }) = &detail {
        demand_assets::<CreatePostResult>(cx, assets.iter().map(String::as_str).collect()).await?;
    }
    let author = demand_user::<CreatePostResult>(cx, by).await?;
    if let Some(to) = &to {
        demand_user::<CreatePostResult>(cx, to).await?;
    }
    demand_circles::<CreatePostResult>(cx, by, &circles).await?;
    let now = cx.begin().await?.now();
    let shown = Shown {
        id: op.id.clone(),
        by: by.to_owned(),
        to,
        audience: input.audience,
        circles,
        text,
        detail,
        at: now,
        edits: 0,
        version: 0,
        comment_count: 0,
        latest: Vec::new(),
        is_unblocked: false,
    };
    let post = PostDocument {
        id: op.id.clone(),
        shown,
        comments: Vec::new(),
        input: op.input.clone(),
        delivering: Some(now),
        due: None,
        merged: author.merged_at.is_some().then(|| by.to_owned()),
        deleted_at: None,
        v: Version,
    };
    if posts(&cx).insert(&post).await.decided()?.is_none() {
        let found = posts(&cx).get_part_settled(&op.id, PostDocument::PART).await?;
        let found = found.ok_or_else(|| Error::unavailable("the post isn't settled yet"))?;
        return created(cx, found, &op).await;
    }
    created(cx, post, &op).await
}

/// The answer to the creation of a post that exists. Adds the job that delivers it, unless that was done.
async fn created(cx: Cx<'_>, post: PostDocument, op: &Op) -> Answer<CreatePostResult> {
    op.demand_same(&post.input)?;
    if post.deleted_at.is_some() {
        return Err(Conflict::because("the post was deleted", None).into());
    }
    if post.delivering.is_some() {
        delivery::begin(&cx, &post.id).await?;
    }
    Ok(post.shown)
}

impl From<PostDetailInput> for Detail {
    fn from(input: PostDetailInput) -> Self {
        match input {
            PostDetailInput::Photo(of) => {
                Self::Photo { assets: of.asset_ids.into_iter().map(|id| id.0).collect() }
            }
            PostDetailInput::Link(of) => {
                Self::Link { url: of.url, title: of.title.unwrap_or_default() }
            }
            PostDetailInput::CheckIn(of) => Self::CheckIn { place: of.place },
            PostDetailInput::Poll(of) => Self::Poll {
                choices: of.choices.into_iter().map(|text| Choice { text, votes: 0 }).collect(),
            },
        }
    }
}

/// A post, if it is visible to the caller.
pub async fn post(cx: Cx<'_>, id: &ID) -> Result<Option<Shown>> {
    let Ok(id) = input::id(NodeKind::POST, id) else { return Ok(None) };
    if cx.requester.subject.is_none() {
        return Ok(None);
    }
    let all = posts(&cx);
    let read = all.get_part(&id, PostDocument::PART);
    let (viewer, found) = tokio::try_join!(Viewer::of(cx), read)?;
    let Some(post) = found.filter(|post| post.deleted_at.is_none()) else { return Ok(None) };
    Ok(viewer.visible(&cx, vec![post.shown]).await?.pop())
}

/// The post with this `_id`, if it is visible to the caller, or the refusal that there is none.
pub(super) async fn demand_post<U: From<NotFound>>(cx: Cx<'_>, id: &str) -> Result<Shown, Stop<U>> {
    let found = post(cx, &NodeKind::POST.id(id)).await?;
    Ok(found.ok_or_else(|| NotFound::of(NodeKind::POST, id))?)
}

/// Replaces the text of a post of the caller.
pub async fn edit_post(cx: Cx<'_>, input: EditPostInput) -> Answer<EditPostResult> {
    let (by, input) = (cx.requester.subject()?, input.checked()?);
    let EditPostInput { post_id, version, text } = &*input;
    let not_found = || NotFound::of(NodeKind::POST, post_id);
    let post = demand_post::<EditPostResult>(cx, post_id).await?;
    if post.by != by {
        return Err(not_found().into());
    }
    if text.is_empty() && post.detail.is_none() {
        return Err(InvalidInput::new("text", "a post without a detail needs a text").into());
    }
    let edits = version.parse::<i64>().ok();
    if let Some(edits) = edits
        && let Some(post) = post_store::edit(&cx, post_id, by, edits, text).after().await?
    {
        delivery::refresh(&cx, &post.shown).await?;
        return Ok(post.shown);
    }
    let found = posts(&cx).get_part_settled(post_id, PostDocument::PART).await?;
    let found = found.filter(|post| post.deleted_at.is_none()).ok_or_else(not_found)?.shown;
    // The same call was made before.
    if edits.and_then(|edits| edits.checked_add(1)) == Some(found.edits) && found.text == *text {
        delivery::refresh(&cx, &found).await?;
        return Ok(found);
    }
    Err(Conflict::stale_version(found.edits.to_string()).into())
}

/// Deletes a post of the caller. A repeat returns the same as long as the post is remembered.
pub async fn delete_post(cx: Cx<'_>, input: DeletePostInput) -> Answer<DeletePostResult> {
    let (by, input) = (cx.requester.subject()?, input.checked()?);
    let id = &*input.post_id;
    let deleted = post_store::delete(&cx, id, by).after().await?;
    let deleted = match deleted {
        Some(post) => Some(post),
        None => posts(&cx).get_part_settled(id, PostDocument::PART).await?,
    };
    let is_deleted = |post: &PostDocument| post.shown.by == by && post.deleted_at.is_some();
    let post = deleted.filter(is_deleted).ok_or_else(|| NotFound::of(NodeKind::POST, id))?;
    delivery::refresh(&cx, &post.shown).await?;
    Ok(DeletedPost { id: post.id })
}

/// Adds a comment to a post that the caller can see.
pub async fn comment_on_post(cx: Cx<'_>, input: CommentOnPostInput) -> Answer<CommentOnPostResult> {
    let (by, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[by, "commentOnPost"], &input);
    let id = &*input.post_id;
    demand_post::<CommentOnPostResult>(cx, id).await?;
    demand_user::<CommentOnPostResult>(cx, by).await?;
    let comment = CommentEntry {
        id: op.id.clone(),
        input: op.input.clone(),
        by: by.to_owned(),
        text: input.text.clone(),
        at: cx.clock(),
        n: 0,
    };
    let most = (COMMENTS, COMMENTS_OF_ONE);
    let added = post_store::add_comment(&cx, id, &comment, most).after().await?;
    if let Some(post) = added {
        delivery::refresh(&cx, &post.shown).await?;
        return Ok(post.shown);
    }
    let found = posts(&cx).get_settled(id).await?.filter(|post| post.deleted_at.is_none());
    let found = found.ok_or_else(|| NotFound::of(NodeKind::POST, id))?;
    match found.comments.iter().find(|comment| comment.id == op.id) {
        Some(comment) if comment.input != op.input => Err(Conflict::other_input().into()),
        Some(_) => {
            delivery::refresh(&cx, &found.shown).await?;
            Ok(found.shown)
        }
        None if found.comments.len() < COMMENTS => {
            Err(InvalidInput::new("postId", "has 100 comments of yours, the maximum").into())
        }
        None => Err(InvalidInput::new("postId", "has 500 comments, the maximum").into()),
    }
}

/// The comments without those of users whom the caller blocks.
pub async fn unblocked(cx: Cx<'_>, comments: Vec<CommentEntry>) -> Result<Vec<CommentEntry>> {
    let viewer = Viewer::of(cx).await?;
    Ok(comments.into_iter().filter(|comment| !viewer.blocks(&comment.by)).collect())
}

/// A page of the comments on a post that the caller was shown, newest first.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn comments(cx: Cx<'_>, post: &Shown, paging: Paging) -> Result<Connection<PostComment>> {
    let order = Order { list: format!("post comments {}", post.id), keys: vec![("n", -1)] };
    let page = Page::new(&cx, order, paging)?;
    let found = posts(&cx).get(&post.id).await?.map(|post| post.comments).unwrap_or_default();
    let mut found = unblocked(cx, found).await?;
    if !page.is_backward() {
        found.reverse();
    }
    if let Some([from]) = page.from() {
        let from = from.as_i64().unwrap_or_default();
        let is_beyond = |n: i64| if page.is_backward() { n > from } else { n < from };
        found.retain(|comment| is_beyond(comment.n));
    }
    found.truncate(page.wanted());
    Ok(page.connection(found, |comment| vec![Bson::Int64(comment.n)], PostComment))
}
