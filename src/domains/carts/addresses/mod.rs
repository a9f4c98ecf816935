//! Saved addresses: each person has one document with at most [`MAX_ADDRESSES`] addresses, each under a label of theirs.
//!
//! An address is saved and removed by one guarded update of the document, which records the op. A checkout takes the
//! address itself, and the order keeps it. So a saved address that is changed or removed later changes no order.

mod documents;
pub mod operations;
mod store;
pub mod types;

pub use documents::AddressBookDocument;

/// Maximum number of addresses of a person.
pub const MAX_ADDRESSES: usize = 20;
