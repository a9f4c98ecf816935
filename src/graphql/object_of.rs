//! Object types of the schema that show a stored document.

/// The object type for the stored document `D`. A room declares `pub type Order = ObjectOf<OrderDocument>`, and the
/// fields in an `#[Object] impl Order`. The document is boxed, because the results of mutations hold the object.
#[derive(Debug, Clone)]
pub struct ObjectOf<D>(pub Box<D>);

impl<D> From<D> for ObjectOf<D> {
    fn from(document: D) -> Self {
        Self(Box::new(document))
    }
}
