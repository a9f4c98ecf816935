//! What became of mutations of content.

use async_graphql::{ID, SimpleObject, Union};

use super::super::documents::ContentType;
use super::nodes::{Blog, BlogEntry, Content, Folder, Gallery, Page, Shown};
use crate::graphql::{
    node_id::NodeKind,
    refusals::{AlreadyExists, Conflict, ErrorCode, InUse, InvalidInput, NotFound, Refusal},
};

/// A result: the types of content, and the refusals that can happen.
macro_rules! content_result {
    ($(#[doc = $about:literal])+ $name:ident { $($refusal:ident),+ }) => {
        $(#[doc = $about])+
        #[derive(Debug, Union)]
        pub enum $name {
            Page(Page),
            BlogEntry(BlogEntry),
            Folder(Folder),
            Blog(Blog),
            Gallery(Gallery),
            $($refusal($refusal),)+
        }

        impl From<Shown> for $name {
            fn from(shown: Shown) -> Self {
                match shown.node().metadata.kind {
                    ContentType::Page => Self::Page(Page(shown)),
                    ContentType::BlogEntry => Self::BlogEntry(BlogEntry(shown)),
                    ContentType::Folder => Self::Folder(Folder(shown)),
                    ContentType::Blog => Self::Blog(Blog(shown)),
                    ContentType::Gallery => Self::Gallery(Gallery(shown)),
                }
            }
        }
    };
}

content_result! {
    /// What became of new content.
    CreateContentResult { NotFound, AlreadyExists, Conflict, InvalidInput }
}

content_result! {
    /// What became of an edit.
    EditContentResult { NotFound, ContentConflict, InvalidInput }
}

content_result! {
    /// What became of a former version that was to come back.
    RestoreContentResult { NotFound, ContentConflict, InvalidInput }
}

content_result! {
    /// What became of new tags.
    TagContentResult { NotFound, InvalidInput }
}

content_result! {
    /// What became of tags that were removed.
    UntagContentResult { NotFound, InvalidInput }
}

content_result! {
    /// What became of other readers.
    SetContentAccessResult { NotFound, InvalidInput }
}

content_result! {
    /// What became of a version to be published.
    PublishContentResult { NotFound, ContentConflict, InvalidInput }
}

content_result! {
    /// What became of content that readers are no longer to see.
    UnpublishContentResult { NotFound, InvalidInput }
}

content_result! {
    /// What became of a move.
    MoveContentResult { NotFound, AlreadyExists, WouldContainItself, InvalidInput }
}

/// What became of a deletion.
#[derive(Debug, Union)]
pub enum DeleteContentResult {
    DeletedContent(DeletedContent),
    NotFound(NotFound),
    InUse(InUse),
    InvalidInput(InvalidInput),
}

/// Content that is gone.
#[derive(Debug, SimpleObject)]
pub struct DeletedContent {
    /// Its global id.
    pub id: ID,
}

impl From<String> for DeleteContentResult {
    fn from(id: String) -> Self {
        Self::DeletedContent(DeletedContent { id: NodeKind::Content.id(&id) })
    }
}

/// The draft was changed since you read it: merge with the current one and send again.
#[derive(Debug, SimpleObject)]
pub struct ContentConflict {
    /// `CONFLICT`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The content as it is now, with its draft and nonce.
    pub current: Content,
}

impl ContentConflict {
    /// The nonce isn't the current one.
    pub fn with(current: Shown) -> Self {
        Self {
            code: ErrorCode::Conflict,
            message: "it was changed since you read it; merge and send again".into(),
            current: current.into(),
        }
    }
}

/// The move would put content into itself.
#[derive(Debug, Clone, SimpleObject)]
pub struct WouldContainItself {
    /// `WOULD_MAKE_CIRCLE`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// Global id of the content that was to be moved.
    pub content: ID,
    /// Global id of what it was to go into, and which lies in it.
    pub parent: ID,
}

impl WouldContainItself {
    /// `parent` is the content itself, or lies in it.
    pub fn new(content: &str, parent: &str) -> Self {
        Self {
            code: ErrorCode::WouldMakeCircle,
            message: "content can't go into itself or what lies in it".into(),
            content: NodeKind::Content.id(content),
            parent: NodeKind::Content.id(parent),
        }
    }
}

impl Refusal for ContentConflict {}
impl Refusal for WouldContainItself {}
