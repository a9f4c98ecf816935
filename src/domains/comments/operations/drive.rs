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
    let Some(place) = Place::of(app, &found, layout) else {
        return Err(Error::internal("a comment whose store has no epoch"));
    };
    let attempt = app.begin().await?;
    let discussed = store::settled(app, &found.parent).await?;
    let Some(discussed) = discussed.filter(|discussed| discussed.id == place.discussion) else {
        // The discussion is gone: nothing can commit the comment any more.
        return place.withdraw(&found.id).await;
    };
    if (place.epoch, place.layout) == (discussed.epoch, discussed.layout) {
        let found = place.find(By::Id(&found.id)).await?;
        let Some(comment) = found.filter(|comment| comment.due.is_some()) else {
            return Ok(false);
        };
        finish(&attempt, &discussed, comment, Document::new()).await?;
        return Ok(true);
    }
    if let Some(migration) = &discussed.migration {
        carry(&attempt, discussed.clone()).await?;
        // Comments that were committed before the migration are copied with their outbox.
        if found.is_taken(&migration.taken) {
            return Ok(false);
        }
    }
    repost(&attempt, discussed, &found).await?;
    place.withdraw(&found.id).await
}
