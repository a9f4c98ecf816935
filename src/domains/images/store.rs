//! Writes the images of a document.

use super::{
    Illustrated,
    documents::{IllustratedDocument, ImageRef},
};
use crate::{graphql::prelude::*, mongo::prelude::*};

/// Replaces the images of the document with this `_id`. Returns `false` if it doesn't exist.
///
/// # Errors
/// The outcome is unknown: the call can be repeated.
pub async fn set(app: &App, of: &Illustrated, key: &str, images: &[ImageRef]) -> Result<bool> {
    let documents = app.collection::<IllustratedDocument>().named(of.collection);
    let guard = both(doc! { "_id": key }, (of.exists)().guard());
    let images = if images.is_empty() { "$$REMOVE".into() } else { literal(stored(&images)) };
    documents.set(guard, doc! { "images": images }).numbered().held().await
}
