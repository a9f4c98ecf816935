//! MongoDB access of votes whose user is erased.
//!
//! The `_id` of a vote names its user, so the vote is inserted anew under the pseudonym. In between it belongs to no post: a
//! post that counts its votes meanwhile finds one less, which changes nothing, because numbers of votes only rise.

use mongodb::bson::doc;

use super::{
    super::documents::{VoteDocument, vote_id},
    posts::votes,
};
use crate::{app::App, error::Result, mongo::expression::literal};

/// Gives a vote to another user. It can be repeated after a cut, and then [`give`] finishes it.
pub(in super::super) async fn pass_on(app: &App, id: &str, to: &str) -> Result<()> {
    let Some(vote) = votes(app).get_settled(id).await? else { return Ok(()) };
    let new = vote_id(&vote.post, to);
    let hidden = VoteDocument { id: new.clone(), post: String::new(), due: None, ..vote };
    // A refusal means that it was inserted before.
    votes(app).insert(&hidden).await.decided()?;
    votes(app).remove(doc! { "_id": id }).await.decided()?;
    give(app, &new).await
}

/// Gives a vote that belongs to no post to the one that its `_id` names. The post counts it again.
pub(in super::super) async fn give(app: &App, id: &str) -> Result<()> {
    let Some((post, _)) = id.split_once(' ') else { return Ok(()) };
    let set = doc! { "post": literal(post), "due": "$$NOW" };
    votes(app).set(doc! { "_id": id, "post": "" }, set).held().await.map(|_| ())
}
