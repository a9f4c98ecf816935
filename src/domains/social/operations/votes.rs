//! Votes in polls. A vote is a document that exists once for each user and poll. The number of votes on the post is
//! raised to the number of these documents, and is never lowered. So a count can be repeated, and a late count changes
//! nothing.

use super::{
    super::{
        documents::{Detail, PostDocument, VoteDocument, vote_id},
        store::posts::{count_votes, counted, posts, raise_votes, votes},
        types::{AlreadyVoted, VotePollInput, VotePollResult},
    },
    delivery, demand_user,
    posts::demand_post,
};
use crate::{graphql::prelude::*, mongo::Version};

/// Votes in a poll, once for each user.
pub async fn vote_poll(cx: Cx<'_>, input: VotePollInput) -> Answer<VotePollResult> {
    let (by, input) = (cx.requester.subject()?, input.checked()?);
    let (id, choice) = (&*input.post_id, input.choice);
    let post = demand_post::<VotePollResult>(cx, id).await?;
    demand_user::<VotePollResult>(cx, by).await?;
    let Some(Detail::Poll { choices }) = &post.detail else {
        return Err(InvalidInput::new("postId", "isn't a poll").into());
    };
    if !usize::try_from(choice).is_ok_and(|at| at < choices.len()) {
        let reason = format!("must be between 0 and {}", choices.len() - 1);
        return Err(InvalidInput::new("choice", reason).into());
    }
    let vote = VoteDocument {
        id: vote_id(id, by),
        post: id.to_owned(),
        choice,
        at: cx.clock(),
        due: Some(cx.clock()),
        v: Version,
    };
    let found = votes(&cx).insert_once(vote.clone()).await?;
    if found.choice != choice {
        return Err(AlreadyVoted::new(found.choice).into());
    }
    count(&cx, &vote).await?;
    let found = posts(&cx).get_part_settled(id, PostDocument::PART).await?;
    let found = found.filter(|post| post.deleted_at.is_none());
    Ok(found.ok_or_else(|| NotFound::of(NodeKind::POST, id))?.shown)
}

/// Lets the post count a vote.
pub(in super::super) async fn count(app: &App, vote: &VoteDocument) -> Result<()> {
    let VoteDocument { id, post, choice, .. } = vote;
    let number = i64::try_from(count_votes(app, post, *choice).await?).unwrap_or(i64::MAX);
    // A refusal means that the post has this number or a higher one, or was deleted.
    if let Some(post) = raise_votes(app, post, *choice, number).after().await? {
        delivery::refresh(app, &post.shown).await?;
    }
    counted(app, id).held().await?;
    Ok(())
}

/// The choice for which the caller has voted.
pub async fn own_choice(cx: Cx<'_>, post: &str) -> Result<Option<i32>> {
    let Some(own) = &cx.requester.subject else { return Ok(None) };
    Ok(votes(&cx).get(&vote_id(post, own)).await?.map(|vote| vote.choice))
}
