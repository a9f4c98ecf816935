//! What clients see of content.

mod inputs;
mod nodes;
mod photo;
mod results;

pub use inputs::{
    ContentBy, ContentTextInput, ContentsBy, CreateContentInput, DeleteContentInput,
    EditContentInput, MoveContentInput, PublishContentInput, RestoreContentInput,
    SetContentAccessInput, TagContentInput, TextInContent, UnpublishContentInput,
    UntagContentInput,
};
pub use nodes::{
    Blog, BlogEntry, Content, ContentRevision, ContentType, Folder, Gallery, Page, ReaderRole,
    Shown,
};
pub use photo::Photo;
pub use results::{
    ContentConflict, CreateContentResult, DeleteContentResult, DeletedContent, EditContentResult,
    MoveContentResult, PublishContentResult, RestoreContentResult, SetContentAccessResult,
    TagContentResult, UnpublishContentResult, UntagContentResult, WouldContainItself,
};
