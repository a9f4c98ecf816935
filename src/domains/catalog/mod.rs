//! Product catalog: one polymorphic collection, `products`.

mod documents;
pub mod operations;
mod store;

pub use documents::ProductDocument;
