//! Comments and reviews.

mod documents;
pub mod import;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::{
    AuthoredComment, CommentDocument, CommentExcerpt, DiscussionSummary, Layout, PageDocument,
    Rating, TOUCHED,
};
pub use types::Discussion;
