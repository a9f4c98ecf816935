//! Rewrites the values of a discussed document that are derived from its comments.

use mongodb::bson::doc;

use super::{
    super::{
        derived::Derived,
        documents::{OpenDiscussion, Parent, Rating},
    },
    parents::write,
};
use crate::{
    app::App,
    flow::Attempt,
    mongo::{Outcome, expression::stored},
};

/// Rewrites the derived values, if no post, edit, removal or migration was committed since the discussion was
/// read.
pub(in super::super) async fn rebuild(
    app: &App,
    parent: &Parent,
    discussion: &OpenDiscussion,
    derived: &Derived,
    attempt: &Attempt,
) -> Outcome<OpenDiscussion> {
    let guard = doc! {
        "discussion.id": &discussion.id,
        "discussion.epoch": discussion.epoch,
        "discussion.version": discussion.version,
        "discussion.total": discussion.total,
    };
    let mut set = doc! {
        "discussion.count": derived.count,
        "discussion.total": derived.total,
        "discussion.latest": stored(&derived.latest),
    };
    let mut update = doc! { "$inc": { "discussion.version": 1_i64 } };
    if derived.rating == Rating::default() {
        update.insert("$unset", doc! { "discussion.rating": 1 });
    } else {
        set.insert("discussion.rating", stored(&derived.rating));
    }
    update.insert("$set", set);
    write(app, parent, guard, update, attempt).await
}
