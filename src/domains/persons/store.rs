//! MongoDB access of erasures.

use super::documents::ErasureDocument;
use crate::{graphql::prelude::*, mongo::prelude::*};

/// Begins the erasure of a person, or finds the one that has begun.
pub(super) async fn begin(app: &App, subject: &str) -> Result<ErasureDocument> {
    let (id, at) = (id(app, subject), app.begin().await?.now());
    let new = ErasureDocument { id, pseudonym: app.ids().random(), at, v: Version };
    if app.collection().insert(&new).await.decided()?.is_some() {
        return Ok(new);
    }
    let unfinished = unfinished(app, subject).await?;
    unfinished.ok_or_else(|| Error::unavailable("another run has just finished the erasure"))
}

/// The unfinished erasure of a person.
pub(super) async fn unfinished(app: &App, subject: &str) -> Result<Option<ErasureDocument>> {
    app.collection().get_settled(&id(app, subject)).await
}

fn id(app: &App, subject: &str) -> String {
    app.ids().derived(&["erasure", subject])
}

/// Notes that nothing is left to be erased.
pub(super) async fn end(app: &App, id: &str) -> Result<()> {
    app.collection::<ErasureDocument>().remove(doc! { "_id": id }).await.decided().map(|_| ())
}
