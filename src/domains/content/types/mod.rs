//! GraphQL types of content.

mod inputs;
mod nodes;
mod parts;
mod photo;
mod results;

pub use inputs::{
    ContentBy, ContentTextInput, ContentsBy, CreateContentInput, DeleteContentInput,
    EditContentInput, MoveContentInput, PublishContentInput, RestoreContentInput,
    SetContentAccessInput, TagContentInput, TextInContent, UnpublishContentInput,
    UntagContentInput,
};
pub use nodes::{Blog, BlogEntry, Content, ContentType, Folder, Gallery, Page, Shown};
pub use parts::{ContentRevision, ReaderRole};
pub use photo::Photo;
pub use results::{
    ContentConflict, CreateContentResult, DeleteContentResult, DeletedContent, EditContentResult,
    MoveContentResult, PublishContentResult, RestoreContentResult, SetContentAccessResult,
    TagContentResult, UnpublishContentResult, UntagContentResult, WouldContainItself,
};
