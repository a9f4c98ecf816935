//! Results of the mutations of content, and their refusals.

use async_graphql::SimpleObject;

use super::{
    super::documents,
    nodes::{Blog, BlogEntry, Content, Folder, Gallery, Page, Shown, from_shown},
};
use crate::{
    domains::images::NotAnImage,
    graphql::{prelude::*, refusals::CHANGED},
};

result! {
    /// Result of `createContent`: the content, or a refusal. `NotFound`: there is no such parent.
    /// `AlreadyExists`: the parent has content with this slug. `Conflict`: this `idempotencyKey` was used with another
    /// input, or its content was deleted. `NotFound`: also, there is no such asset that the caller can see.
    pub enum CreateContentResult of Shown:
        Page + BlogEntry + Folder + Blog + Gallery | NotFound | AlreadyExists | NotAnImage | Conflict | InvalidInput;

    /// Result of `editContent`: the content with the new draft, or a refusal. `NotFound`: there is no such content, or
    /// no such asset that the caller can see.
    pub enum EditContentResult of Shown:
        Page + BlogEntry + Folder + Blog + Gallery | NotFound | ContentConflict | NotAnImage | InvalidInput;

    /// Result of `restoreContent`: the content with the restored draft, or a refusal. `NotFound`: there is no
    /// such content or version.
    pub enum RestoreContentResult of Shown:
        Page + BlogEntry + Folder + Blog + Gallery | NotFound | ContentConflict | InvalidInput;

    /// Result of `tagContent`: the content with its tags, or a refusal. `InvalidInput`: among others, it
    /// would have more than 30 tags.
    pub enum TagContentResult of Shown:
        Page + BlogEntry + Folder + Blog + Gallery | NotFound | InvalidInput;

    /// Result of `untagContent`: the content with its remaining tags, or a refusal.
    pub enum UntagContentResult of Shown:
        Page + BlogEntry + Folder + Blog + Gallery | NotFound | InvalidInput;

    /// Result of `setContentAccess`: the content with its new access, or a refusal.
    pub enum SetContentAccessResult of Shown:
        Page + BlogEntry + Folder + Blog + Gallery | NotFound | InvalidInput;

    /// Result of `publishContent`: the content, or a refusal.
    pub enum PublishContentResult of Shown:
        Page + BlogEntry + Folder + Blog + Gallery | NotFound | ContentConflict | InvalidInput;

    /// Result of `unpublishContent`: the content, or a refusal.
    pub enum UnpublishContentResult of Shown:
        Page + BlogEntry + Folder + Blog + Gallery | NotFound | InvalidInput;

    /// Result of `moveContent`: the content at its new path, or a refusal. `NotFound`: there is no such
    /// content or parent. `AlreadyExists`: the new parent has content with this slug.
    pub enum MoveContentResult of Shown:
        Page + BlogEntry + Folder + Blog + Gallery | NotFound | AlreadyExists | WouldContainItself | InvalidInput;

    /// Result of `deleteContent`: the id of the deleted content, or a refusal. `InUse`: there is content or an
    /// asset in it.
    pub enum DeleteContentResult:
        DeletedContent | NotFound | InUse | InvalidInput;
}

from_shown! {
    CreateContentResult, EditContentResult, RestoreContentResult, TagContentResult, UntagContentResult,
    SetContentAccessResult, PublishContentResult, UnpublishContentResult, MoveContentResult,
}

/// Result of a successful `deleteContent`.
#[derive(Debug, SimpleObject)]
pub struct DeletedContent {
    /// Global id of the deleted content.
    pub id: ID,
}

refusal! {
    /// The draft changed since it was read. Merge the edit with the current draft and send it with the new version.
    struct ContentConflict as "CONFLICT" {
        /// The content as it is now, with its draft and version.
        pub current: Content,
    }

    /// The move would put content into itself or into one of its descendants.
    struct WouldContainItself as "WOULD_CREATE_CYCLE" {
        /// Global id of the content that was to be moved.
        pub content_id: ID,
        /// Global id of the new parent. It is the content itself or one of its descendants.
        pub new_parent_id: ID,
    }
}

impl ContentConflict {
    /// The version of the edit isn't the current one.
    pub fn with(current: Shown) -> Self {
        Self::because(CHANGED, current.into())
    }
}
