//! Object types of the schema that show a stored document.

use std::ops::Deref;

/// The object type for the stored document `D`, which a room declares with [`object!`](super::fields). It dereferences to
/// the document, which is boxed, because the results of mutations hold the object.
#[derive(Debug, Clone)]
pub struct ObjectOf<D>(pub Box<D>);

impl<D> From<D> for ObjectOf<D> {
    fn from(document: D) -> Self {
        Self(Box::new(document))
    }
}

impl<D> Deref for ObjectOf<D> {
    type Target = D;

    fn deref(&self) -> &D {
        &self.0
    }
}
