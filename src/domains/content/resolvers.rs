//! Resolvers: they translate between GraphQL and the operations of content.

use async_graphql::{Context, ID, Object, Result, connection::Connection};

use super::operations;
use crate::graphql::{
    cx::cx,
    declared::mutations,
    page::paging,
    requester::{Role, Who},
};

/// Query fields.
#[derive(Default)]
pub struct ContentQuery;

#[Object]
impl ContentQuery {
    /// Content by path or id. Null if it doesn't exist or isn't visible to the caller. Readers get what is
    /// published for one of their roles. Editors also get unpublished content.
    ///
    /// Who: everyone.
    async fn content(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id or path of the content.")] by: ContentBy,
    ) -> Result<Option<Content>> {
        Ok(operations::content(cx(context), &by).await?.map(Content::from))
    }

    /// Published content that the caller may read, by one of the filters that are served by an index. The
    /// filter also determines the order.
    ///
    /// Who: everyone.
    async fn contents(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Filter; it also determines the order.")] by: ContentsBy,
    ) -> Result<Connection<String, Content>> {
        Ok(operations::contents(cx(context), &by, has_texts(context), paging(context)?).await?)
    }

    /// Direct children of some content, or the roots, published or not; sorted by slug.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn content_below(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of the parent. Default: the roots are listed.")]
        parent_id: Option<ID>,
    ) -> Result<Connection<String, Content>> {
        let parent = parent_id.as_ref();
        Ok(operations::below(cx(context), parent, has_texts(context), paging(context)?).await?)
    }
}

mutations! {
    /// Mutation fields.
    pub struct ContentMutation;

    /// Creates content, as a root or below a parent. Readers see it once it is published.
    ///
    /// Who: editor.
    create_content(CreateContentInput) -> CreateContentResult
        for Who::Role(Role::Editor);

    /// Replaces the draft of content and keeps the previous version. Readers see the new draft once it is
    /// published. It is refused with `ContentConflict` if the draft changed since the client read it.
    /// Repeatable: the same call with the same `version` returns the edited content.
    ///
    /// Who: editor.
    edit_content(EditContentInput) -> EditContentResult
        for Who::Role(Role::Editor);

    /// Makes a former version the new draft and keeps the previous version. It is refused with
    /// `ContentConflict` if the draft changed since the client read it.
    ///
    /// Who: editor.
    restore_content(RestoreContentInput) -> RestoreContentResult
        for Who::Role(Role::Editor);

    /// Adds tags to content. The change is visible at once, also to readers.
    ///
    /// Who: editor.
    tag_content(TagContentInput) -> TagContentResult
        for Who::Role(Role::Editor);

    /// Removes tags from content. The change is visible at once, also to readers.
    ///
    /// Who: editor.
    untag_content(UntagContentInput) -> UntagContentResult
        for Who::Role(Role::Editor);

    /// Sets the roles that may read content. The change applies at once, also to published versions.
    ///
    /// Who: editor.
    set_content_access(SetContentAccessInput) -> SetContentAccessResult
        for Who::Role(Role::Editor);

    /// Publishes the draft, now or at a later time. Repeatable: the same call returns the content.
    ///
    /// Who: editor.
    publish_content(PublishContentInput) -> PublishContentResult
        for Who::Role(Role::Editor);

    /// Withdraws the published version of content and the scheduled one. Its children stay published.
    ///
    /// Who: editor.
    unpublish_content(UnpublishContentInput) -> UnpublishContentResult
        for Who::Role(Role::Editor);

    /// Moves content with all its descendants below another parent, or changes its slug. Former paths are
    /// redirected to the new ones. The answer is sent when all descendants have their new paths, or after a
    /// few seconds if there are very many; the remaining ones then follow.
    ///
    /// Who: editor.
    move_content(MoveContentInput) -> MoveContentResult
        for Who::Role(Role::Editor);

    /// Deletes content with its former versions. It is refused with `InUse` while there is content or an
    /// asset in it.
    ///
    /// Who: editor.
    delete_content(DeleteContentInput) -> DeleteContentResult
        for Who::Role(Role::Editor);
}
