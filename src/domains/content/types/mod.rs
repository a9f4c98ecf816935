//! GraphQL types of content.

mod inputs;
mod languages;
mod nodes;
mod parts;
mod photo;
mod results;

pub use inputs::*;
pub use languages::ContentTranslationInput;
pub(super) use nodes::has_texts;
pub use nodes::{
    Blog, BlogEntry, Content, ContentType, DESCRIPTIONS, Folder, Gallery, Page, Shown,
};
pub use parts::{ContentDraft, ContentRevision, ReaderRole};
pub use photo::{Photo, Video};
pub use results::*;
