//! Category tree: `categories`.

mod documents;
pub mod operations;

pub use documents::CategoryCopy;
