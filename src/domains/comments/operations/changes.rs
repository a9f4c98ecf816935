//! Edits and removes comments. The comment is the decider. Its outbox holds one entry for the discussed
//! document; an entry that is still there is applied before the next change.

use mongodb::bson::Document;

use super::{
    super::{
        documents::{CommentDocument, Removed, Remover},
        store::{CommentKey, DiscussionHandle, Opened, editable_after, open},
        types::{
            CommentConflict, CommentRemoved, EditCommentInput, EditCommentResult, EditWindowOver,
            RemoveCommentInput, RemoveCommentResult,
        },
    },
    begin, comment_of, demand_room,
    discussions::carry,
    finish::{Finished, Refused, finish},
    no_comment, no_parent,
};
use crate::graphql::{prelude::*, refusals::CHANGED};

/// Changes the text, and the stars of a review. Only the author may do so, and only within the edit window.
pub async fn edit_comment(cx: Cx<'_>, input: EditCommentInput) -> Answer<EditCommentResult> {
    let author = cx.requester.subject()?;
    let input = input.checked()?;
    // The next version is derived from this one and the content, so that a repeat is recognised by it.
    let digest = Op::digest(&(&input.text, input.stars));
    let next = cx.ids().derived(&["nonce", &input.comment_id, author, &input.version, &digest]);
    let may = |old: &CommentDocument| old.author == author;
    change(cx, &input.comment_id, Some(author), may, |attempt, old| {
        if old.text_version == next {
            return Ok(None);
        }
        if old.removed.is_some() {
            return Err(CommentRemoved::new(old.slug.clone()).into());
        }
        if old.text_version != *input.version {
            return Err(CommentConflict::because(CHANGED, old.clone().into()).into());
        }
        if input.stars.is_some() && old.stars.is_none() {
            return Err(InvalidInput::new("stars", "are for reviews only").into());
        }
        if old.at <= editable_after(&cx, attempt) {
            let seconds = cx.config().comment_edit_seconds;
            let message = format!("a comment can be edited for {seconds} seconds");
            let seconds = i32::try_from(seconds).unwrap_or(i32::MAX);
            return Err(EditWindowOver::because(message, seconds).into());
        }
        Ok(Some(CommentDocument {
            text: input.text.clone(),
            stars: input.stars.or(old.stars),
            text_version: next.clone(),
            edited_at: Some(attempt.now()),
            ..old.clone()
        }))
    })
    .await
}

/// Removes a comment; its place in the thread stays. The author or a moderator may do so.
pub async fn remove_comment(cx: Cx<'_>, input: RemoveCommentInput) -> Answer<RemoveCommentResult> {
    let subject = cx.requester.subject()?;
    let input = input.checked()?;
    let may = |old: &CommentDocument| old.author == subject || cx.requester.has(Role::Moderator);
    // Each comment is removed once, so removals need no share.
    change(cx, &input.comment_id, None, may, |attempt, old| {
        if old.removed.is_some() {
            return Ok(None);
        }
        let by = if old.author == subject { Remover::Author } else { Remover::Moderator };
        Ok(Some(CommentDocument {
            text: String::new(),
            stars: None,
            text_version: cx.ids().random(),
            removed: Some(Removed { at: attempt.now(), by }),
            ..old.clone()
        }))
    })
    .await
}

/// Drives the change of a comment for which `may` is true, in the store where it can be changed. It takes its mark from the
/// share of `author`, if that is given. `changed` returns the comment after the change, or `None` if it was changed before.
async fn change<U: From<NotFound>>(
    cx: Cx<'_>,
    comment_id: &ID,
    author: Option<&str>,
    may: impl Fn(&CommentDocument) -> bool,
    changed: impl Fn(&Attempt, &CommentDocument) -> Result<Option<CommentDocument>, Stop<U>>,
) -> Result<CommentDocument, Stop<U>> {
    let (may, changed) = (&may, &changed);
    let (parent, id) = &comment_of(comment_id)?;
    let mut is_first = true;
    let read = || {
        let is_first = std::mem::take(&mut is_first);
        async move {
            if is_first {
                return begin(cx, parent).await;
            }
            // The change may be written by now: whether the caller still sees the document doesn't matter.
            let Opened { attempt, discussed, .. } = open(cx, parent).await?;
            Ok((attempt, discussed.ok_or_else(|| no_parent(parent))?))
        }
    };
    decide(read, |attempt: Attempt, discussed: DiscussionHandle<'_>| async move {
        let discussed = carry(&attempt, discussed).await?;
        let store = discussed.store();
        let found = store.find(CommentKey::Id(id)).await?;
        let old = found.filter(|comment| !comment.is_unposted() && may(comment));
        let old = old.ok_or_else(|| no_comment(comment_id))?;
        if old.due.is_some() {
            // An earlier change is finished first.
            finished(&attempt, &discussed, old).await?;
            return Ok(Step::Again);
        }
        let Some(new) = changed(&attempt, &old)? else { return Ok(Step::Done(old)) };
        demand_room(&discussed, author)?;
        let Some(changed) = store.rewrite(&old, new, &attempt).await? else {
            return Ok(Step::Again);
        };
        Ok(Step::or_again(finished(&attempt, &discussed, changed).await?))
    })
    .await
}

/// Carries out the outbox; `None` if the discussion, and the comment with it, moved meanwhile.
async fn finished(
    attempt: &Attempt,
    discussed: &DiscussionHandle<'_>,
    comment: CommentDocument,
) -> Result<Option<CommentDocument>> {
    match finish(attempt, discussed, comment, Document::new()).await {
        Ok(Finished::Done(comment)) => Ok(Some(comment)),
        Ok(Finished::Moved(_)) => Ok(None),
        Err(Refused::Failed(error)) => Err(error),
        Err(_) => Err(Error::internal("a posted comment was withdrawn")),
    }
}
