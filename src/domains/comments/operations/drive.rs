//! Applies the outbox of a comment that the sweep found, even if its discussion has moved since.

use mongodb::bson::Document;

use super::{
    super::{
        documents::{CommentDocument, Layout},
        store::{self, By, Place},
    },
    copy::carry,
    finish::finish,
    post::repost,
};
use crate::{app::App, error::Error};

/// Finishes a comment that the sweep found in a store of that layout. Returns whether anything was changed.
pub(in super::super) async fn drive(
    app: &App,
    layout: Layout,
    found: CommentDocument,
) -> Result<bool, Error> {
    let Some(place) = Place::of(&found, layout) else {
        return Err(Error::internal("a comment whose store has no epoch"));
    };
    let attempt = app.begin().await?;
    let discussion = store::settled(app, &found.parent).await?;
    let Some(discussion) = discussion.filter(|discussion| discussion.id == place.discussion) else {
        // The discussion is gone: nothing can commit the comment any more.
        return withdraw(app, &place, &found.id).await;
    };
    let now = Place::now(&place.parent, &discussion);
    if place == now {
        let found = now.storage().find(app, &now, By::Id(&found.id)).await?;
        let Some(comment) = found.filter(|comment| comment.due.is_some()) else {
            return Ok(false);
        };
        let seen = Document::new();
        finish(app, &attempt, &place.parent, &discussion, comment, seen).await?;
        return Ok(true);
    }
    if let Some(migration) = &discussion.migration {
        if migration.copied_at.is_none() {
            carry(app, &attempt, &place.parent, &discussion).await?;
        }
        // Comments that were committed before the migration are copied with their outbox.
        if found.is_taken(&migration.taken) {
            return Ok(false);
        }
    }
    repost(app, &attempt, &place.parent, *discussion, &found).await?;
    withdraw(app, &place, &found.id).await
}

async fn withdraw(app: &App, place: &Place, id: &str) -> Result<bool, Error> {
    Ok(place.storage().withdraw(app, place, id).await.decided()?.is_some())
}
