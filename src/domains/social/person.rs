//! The personal data in the collections of this room. An erasure also deletes the person's posts, gives the votes to the
//! pseudonym, and removes the profile.

use super::{
    operations::delete_post,
    store::{remove_user, votes},
    types::DeletePostInput,
};
use crate::{
    domains::persons::{self, Erasing},
    graphql::prelude::*,
    mongo::personal::{BEHIND_A_SPACE, Blank, Field, Find, Personal},
};

/// The text beside an author.
const TEXT: &[(&str, Blank)] = &[("text", Blank::Empty)];

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::of("circles", Find::Index("by", "by"), &[Field::removes("by")]),
    // Names of circles are visible only to the user whose circles they are.
    Personal::of("circles", Find::Index("of", "of"), &[Field::removes("of")]).without(&["circles"]),
    Personal::of("users", Find::Walk, &[Field::pulls("blocked[]")]),
    // Mostly it is gone by then; see `erase`.
    Personal::of("users", Find::Id, &[Field::removes("_id")]),
    Personal::of(
        "posts",
        Find::Walk,
        &[
            Field::blanks("shown.by", &[("text", Blank::Empty), ("detail", Blank::Nothing)]),
            Field::replaces("shown.to"),
            Field::ends("merged", "goes with the deletion of the post"),
            Field::blanks("shown.latest[].by", TEXT).copied(),
            Field::blanks("comments[].by", TEXT),
        ],
    )
    // A post of the person is deleted first, by its operation. What is being copied would be written to feeds again.
    .unless(&["delivering", "due", "deletedAt"], |post, subject| {
        let by = post.get_document("shown").and_then(|shown| shown.get_str("by"));
        let is_being_copied = post.contains_key("due") || by.is_ok_and(|by| by == subject);
        post.contains_key("delivering") || !post.contains_key("deletedAt") && is_being_copied
    }),
    Personal::copies(
        "feedPages",
        Find::Walk,
        &[
            Field::removes("feed").within(BEHIND_A_SPACE),
            Field::replaces("posts[].to"),
            Field::blanks("posts[].latest[].by", TEXT),
            Field::pulls("posts[].by"),
        ],
    ),
    Personal::of(
        "votes",
        Find::Walk,
        &[Field::ends("_id", "the vote counts on, under the pseudonym").within(BEHIND_A_SPACE)],
    ),
];

/// Deletes the person's posts, gives the votes to the pseudonym, and removes the profile.
pub(super) async fn erase(app: &App, erasing: &mut Erasing) -> Result<()> {
    let requester = erasing.requester.clone();
    for id in persons::ids(app, "posts", "shown.by", &erasing.subject).await? {
        let cx = Cx { app, requester: &requester };
        match delete_post(cx, DeletePostInput { post_id: NodeKind::POST.id(&id) }).await {
            Ok(_) => erasing.ends("posts"),
            Err(Stop::Failed(error)) => return Err(error),
            // It is gone.
            Err(Stop::Refused(_)) => {}
        }
    }
    for id in persons::ids(app, "votes", "_id", &erasing.subject).await? {
        votes::pass_on(app, &id, &erasing.pseudonym).await?;
        erasing.ends("votes");
    }
    // Votes that a run that was cut has given to nobody yet. The person's own ones are removed by now: if a post counted both,
    // its number would stay too high.
    for id in persons::ids(app, "votes", "_id", &erasing.pseudonym).await? {
        votes::give(app, &id).await?;
    }
    // From now on nobody can follow, block or write to the person. Otherwise they could name the subject where the search of
    // the fields has been already.
    if remove_user(app, &erasing.subject).await? {
        erasing.ends("profiles");
    }
    Ok(())
}
