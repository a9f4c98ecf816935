//! GraphQL types of comments.

pub(super) mod comment;
mod discussion;
mod inputs;
mod results;

pub use comment::{Comment, CommentBy, CommentOrder};
pub use discussion::{AverageRating, Discussion, LatestComment};
pub use inputs::*;
pub use results::*;
