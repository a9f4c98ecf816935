//! Posts comments and reviews.

use mongodb::bson::Document;

use super::{
    super::{
        documents::{CommentDocument, Layout},
        store::{CAP, CommentKey, CommentStore, DiscussionHandle, Inserted},
        types::{
            CommentRemoved, DiscussionFull, NotServedByLayout, PostCommentInput, PostCommentResult,
            ReviewProductInput, ReviewProductResult,
        },
    },
    begin, begin_or_open, comment_of, demand_depth, demand_room,
    discussions::carry,
    finish::{Finished, Refused, finish},
    no_comment, no_parent, parent_of,
};
use crate::graphql::prelude::*;

/// Posts a comment, once per idempotency key.
pub async fn post_comment(cx: Cx<'_>, input: PostCommentInput) -> Answer<PostCommentResult> {
    let author = cx.requester.subject()?;
    let input = input.checked()?;
    let parent = parent_of(&input.subject_id)?;
    let (attempt, discussed) = begin(cx, &parent).await?;
    let op = cx.op(&[author, "postComment", &discussed.id], &input);
    let above = match &input.reply_to_id {
        None => None,
        Some(id) => Some(replied_to(&discussed, id, &op.id).await?),
    };
    let draft = CommentDocument {
        origin: op.input,
        text_version: cx.ids().random(),
        text: input.text.clone(),
        author_name: cx.requester.name.clone(),
        ..CommentDocument::draft(op.id, &parent, author, above.as_ref())
    };
    let (aborted, other) = (Conflict::aborted().into(), Conflict::other_input().into());
    post(cx, attempt, discussed, draft, aborted, other).await
}

/// Reviews a product, once per author; a repeat of the same call returns the review. The first review of a
/// product opens its discussion.
pub async fn review_product(cx: Cx<'_>, input: ReviewProductInput) -> Answer<ReviewProductResult> {
    let author = cx.requester.subject()?;
    let input = input.checked()?;
    let parent = parent_of(&NodeKind::PRODUCT.id(&input.sku))?;
    let (attempt, discussed) =
        begin_or_open(cx, &parent, cx.config().discussion_layout.into()).await?;
    let id = review_id(&cx, &discussed.id, author);
    // The digest is stored: a repeat at any later time is recognised by it.
    let draft = CommentDocument {
        origin: Op::digest(&(&input.stars, &input.text)),
        text_version: cx.ids().random(),
        text: input.text.clone(),
        stars: Some(input.stars),
        author_name: cx.requester.name.clone(),
        ..CommentDocument::draft(id, &parent, author, None)
    };
    let aborted = Error::unavailable("this review was aborted a moment ago").into();
    let other = AlreadyExists::new("review of yours for", &*input.sku).into();
    post(cx, attempt, discussed, draft, aborted, other).await
}

/// Posts a comment for its author. If it was aborted, or exists with another input, the call ends in the given way.
async fn post<U: From<DiscussionFull> + From<NotFound>>(
    cx: Cx<'_>,
    attempt: Attempt,
    discussed: DiscussionHandle<'_>,
    draft: CommentDocument,
    aborted: Stop<U>,
    other: Stop<U>,
) -> Result<CommentDocument, Stop<U>> {
    let seen = draft.parent.kind.seen_by(cx.requester);
    post_draft(&attempt, discussed, &draft, seen).await.map_err(|refused| match refused {
        Refused::Full(total) => DiscussionFull::new(total).into(),
        Refused::Gone => no_parent(&draft.parent).into(),
        Refused::Aborted => aborted,
        Refused::OtherInput => other,
        Refused::Failed(error) => error.into(),
    })
}

/// The id of an author's only review in a discussion.
pub(in super::super) fn review_id(app: &App, discussion: &str, author: &str) -> String {
    app.ids().derived(&["review", discussion, author])
}

/// The comment to reply to. A reply that is already stored keeps its place, whatever has
/// become of the parent and of the layout since.
async fn replied_to(
    discussed: &DiscussionHandle<'_>,
    global_id: &ID,
    reply: &str,
) -> Answer<PostCommentResult> {
    let (parent, id) = comment_of(global_id)?;
    let is_flat = discussed.layout == Layout::Paged;
    let is_here = parent == discussed.parent;
    let found = if is_here { discussed.find(CommentKey::Id(&id)).await? } else { None };
    let comment = found.ok_or_else(|| no_comment(global_id))?;
    if (is_flat || comment.removed.is_some())
        && discussed.find(CommentKey::Id(reply)).await?.is_none()
    {
        return Err(if is_flat {
            let message = "the comments are stored in pages, which have no threads";
            NotServedByLayout::because(message, discussed.layout).into()
        } else {
            CommentRemoved::new(comment.slug).into()
        });
    }
    demand_depth(&comment, "replyToId")?;
    Ok(comment)
}

/// Posts a comment, even if the discussion moves to another layout meanwhile.
async fn post_draft(
    attempt: &Attempt,
    mut discussed: DiscussionHandle<'_>,
    draft: &CommentDocument,
    seen: Document,
) -> Result<CommentDocument, Refused> {
    // A longer name is used if another comment has the shorter one.
    let mut length = 8;
    // The store that it was inserted into before the discussion moved.
    let mut left: Option<CommentStore<'_>> = None;
    loop {
        demand_room(&discussed, Some(&draft.author))?;
        // A repeat during a migration: committed comments are copied before the comment is posted anew.
        if let Some((migration, before)) = discussed.uncopied_store()
            && let Some(old) = before.find(CommentKey::Id(&draft.id)).await?
        {
            if old.is_committed(&migration.committed) {
                discussed = carry(attempt, discussed).await?;
            } else {
                left = Some(before);
            }
        }
        let now = discussed.store();
        let name = CommentDocument::short(&draft.id, length);
        let comment = now.as_posted(draft, &name, attempt.now(), attempt.now());
        let inserted = if is_named_before(&discussed, &comment).await? {
            Inserted::SlugTaken
        } else {
            now.insert(&mut discussed, comment, seen.clone(), attempt).await?
        };
        let comment = match inserted {
            Inserted::New(comment) => comment,
            Inserted::Exists(there) if there.origin == draft.origin => there,
            Inserted::Exists(_) => return Err(Refused::OtherInput),
            Inserted::SlugTaken if name.len() < length => {
                return Err(Error::internal("two comments have one id").into());
            }
            Inserted::SlugTaken => {
                length *= 2;
                continue;
            }
            Inserted::Refused => {
                let moved = moved(attempt, &discussed, &draft.id).await;
                if let (Err(Refused::Full(_)), Some(left)) = (&moved, &left) {
                    left.withdraw(&draft.id, attempt).await?;
                }
                discussed = moved?;
                continue;
            }
        };
        match finish(attempt, &discussed, comment, seen.clone()).await? {
            Finished::Done(comment) => {
                if let Some(left) = left {
                    left.withdraw(&draft.id, attempt).await?;
                }
                return Ok(comment);
            }
            Finished::Moved(moved) => {
                left = Some(now);
                discussed = moved;
            }
        }
        if attempt.is_over() {
            return Err(attempt.overdue().into());
        }
    }
}

/// The discussion after its move, which is why the store refused the comment with that id; or another reason.
async fn moved<'a>(
    attempt: &Attempt,
    discussed: &DiscussionHandle<'a>,
    id: &str,
) -> Result<DiscussionHandle<'a>, Refused> {
    match discussed.now().await? {
        Some(moved) if moved.epoch != discussed.epoch => Ok(moved),
        Some(full) if full.layout == Layout::Embedded && full.total >= CAP => {
            Err(Refused::Full(full.total))
        }
        Some(aborted) if aborted.mark(id).is_some() => Err(Refused::Aborted),
        _ if attempt.is_over() => Err(attempt.overdue().into()),
        _ => Err(Refused::Gone),
    }
}

/// Whether another comment that isn't copied to this store yet has its slug.
async fn is_named_before(
    discussed: &DiscussionHandle<'_>,
    comment: &CommentDocument,
) -> Result<bool> {
    let Some((migration, before)) = discussed.uncopied_store() else { return Ok(false) };
    let there = before.find(CommentKey::Slug(&comment.slug)).await?;
    Ok(there
        .is_some_and(|there| there.id != comment.id && there.is_committed(&migration.committed)))
}

/// Posts a comment to the current store that was left uncommitted in an old one.
pub(super) async fn repost(
    attempt: &Attempt,
    discussed: DiscussionHandle<'_>,
    found: &CommentDocument,
) -> Result<()> {
    Refused::failure(post_draft(attempt, discussed, found, Document::new()).await)
}
