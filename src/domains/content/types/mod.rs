//! GraphQL types of content.

mod inputs;
mod nodes;
mod parts;
mod photo;
mod results;

pub use inputs::*;
pub use nodes::{Blog, BlogEntry, Content, ContentType, Folder, Gallery, Page, REVISIONS, Shown};
pub use parts::{ContentDraft, ContentRevision, ReaderRole};
pub use photo::Photo;
pub use results::*;
