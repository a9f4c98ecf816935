//! MongoDB access of erasures.

use super::documents::ErasureDocument;
use crate::{
    app::App,
    error::{Error, Result},
    mongo::prelude::*,
};

/// Begins the erasure of a person, or finds the one that has begun.
pub(super) async fn begin(app: &App, subject: &str) -> Result<ErasureDocument> {
    let erasures = app.collection::<ErasureDocument>();
    let id = app.ids().derived(&["erasure", subject]);
    let at = app.begin().await?.now();
    let new = ErasureDocument { id: id.clone(), pseudonym: app.ids().random(), at, v: Version };
    if erasures.insert(new.clone()).await.decided()?.is_some() {
        return Ok(new);
    }
    let begun = erasures.get_settled(&id).await?;
    begun.ok_or_else(|| Error::unavailable("another run has just finished the erasure"))
}

/// Notes that nothing is left to be erased.
pub(super) async fn end(app: &App, id: &str) -> Result<()> {
    app.collection::<ErasureDocument>().remove(doc! { "_id": id }).await.decided().map(|_| ())
}
