//! Comments and reviews.

mod documents;
pub mod types;

pub use documents::{CommentExcerpt, DiscussionSummary, Layout, Rating};
pub use types::Discussion;
