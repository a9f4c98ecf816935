//! Resolvers: they translate between GraphQL and the operations of content.

use async_graphql::{Context, ID, Object, Result, connection::Connection};

use super::{
    operations,
    types::{
        Content, ContentBy, ContentRevision, ContentsBy, CreateContentInput, CreateContentResult,
        DeleteContentInput, DeleteContentResult, EditContentInput, EditContentResult,
        MoveContentInput, MoveContentResult, PublishContentInput, PublishContentResult,
        RestoreContentInput, RestoreContentResult, SetContentAccessInput, SetContentAccessResult,
        TagContentInput, TagContentResult, UnpublishContentInput, UnpublishContentResult,
        UntagContentInput, UntagContentResult,
    },
};
use crate::graphql::{
    app,
    cx::cx,
    is_selected,
    refusals::answer,
    requester::{Role, Who},
};

/// Fields for which the text has to be read.
const TEXTS: &[&str] = &["body", "html"];

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
        #[graphql(desc = "Key of the content.")] by: ContentBy,
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
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "`endCursor` of the previous page. Default: the first page.")]
        after: Option<String>,
    ) -> Result<Connection<String, Content>> {
        let texts = is_selected(context, TEXTS);
        Ok(operations::contents(cx(context), &by, texts, first, after.as_deref()).await?)
    }

    /// Direct children of some content, or the roots, published or not; sorted by slug.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn content_below(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of the parent. Default: the roots are listed.")] parent: Option<
            ID,
        >,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "`endCursor` of the previous page. Default: the first page.")]
        after: Option<String>,
    ) -> Result<Connection<String, Content>> {
        let (texts, after) = (is_selected(context, TEXTS), after.as_deref());
        Ok(operations::below(cx(context), parent.as_ref(), texts, first, after).await?)
    }

    /// Former versions of content, newest first. The last 50 are kept.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn content_revisions(
        &self,
        context: &Context<'_>,
        #[graphql(name = "content", desc = "Global id of the content.")] id: ID,
        #[graphql(desc = "Page size, 1 to 100. Default: 20.")] first: Option<i32>,
        #[graphql(desc = "`endCursor` of the previous page. Default: the first page.")]
        after: Option<String>,
    ) -> Result<Connection<String, ContentRevision>> {
        Ok(operations::revisions(app(context), &id, first, after.as_deref()).await?)
    }
}

/// Mutation fields.
#[derive(Default)]
pub struct ContentMutation;

#[Object]
impl ContentMutation {
    /// Creates content, as a root or below a parent. Readers see it once it is published.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn create_content(
        &self,
        context: &Context<'_>,
        input: CreateContentInput,
    ) -> Result<CreateContentResult> {
        answer(operations::create_content(cx(context), input).await)
    }

    /// Replaces the draft of content and keeps the previous version. Readers see the new draft once it is
    /// published. It is refused with `ContentConflict` if the draft changed since the client read it.
    /// Repeatable: the same call with the same `version` returns the edited content.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn edit_content(
        &self,
        context: &Context<'_>,
        input: EditContentInput,
    ) -> Result<EditContentResult> {
        answer(operations::edit_content(cx(context), input).await)
    }

    /// Makes a former version the new draft and keeps the previous version. It is refused with
    /// `ContentConflict` if the draft changed since the client read it.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn restore_content(
        &self,
        context: &Context<'_>,
        input: RestoreContentInput,
    ) -> Result<RestoreContentResult> {
        answer(operations::restore_content(cx(context), input).await)
    }

    /// Adds tags to content. The change is visible at once, also to readers.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn tag_content(
        &self,
        context: &Context<'_>,
        input: TagContentInput,
    ) -> Result<TagContentResult> {
        answer(operations::tag_content(cx(context), input).await)
    }

    /// Removes tags from content. The change is visible at once, also to readers.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn untag_content(
        &self,
        context: &Context<'_>,
        input: UntagContentInput,
    ) -> Result<UntagContentResult> {
        answer(operations::untag_content(cx(context), input).await)
    }

    /// Sets the roles that may read content. The change applies at once, also to published versions.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn set_content_access(
        &self,
        context: &Context<'_>,
        input: SetContentAccessInput,
    ) -> Result<SetContentAccessResult> {
        answer(operations::set_content_access(cx(context), input).await)
    }

    /// Publishes the draft, now or at a later time. Repeatable: the same call returns the content.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn publish_content(
        &self,
        context: &Context<'_>,
        input: PublishContentInput,
    ) -> Result<PublishContentResult> {
        answer(operations::publish_content(cx(context), input).await)
    }

    /// Withdraws the published version of content and the scheduled one. Its children stay published.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn unpublish_content(
        &self,
        context: &Context<'_>,
        input: UnpublishContentInput,
    ) -> Result<UnpublishContentResult> {
        answer(operations::unpublish_content(cx(context), input).await)
    }

    /// Moves content with all its descendants below another parent, or changes its slug. Former paths are
    /// redirected to the new ones. The answer is sent when all descendants have their new paths, or after a
    /// few seconds if there are very many; the remaining ones then follow.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn move_content(
        &self,
        context: &Context<'_>,
        input: MoveContentInput,
    ) -> Result<MoveContentResult> {
        answer(operations::move_content(cx(context), input).await)
    }

    /// Deletes content with its former versions. It is refused with `InUse` while there is content or an
    /// asset in it.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn delete_content(
        &self,
        context: &Context<'_>,
        input: DeleteContentInput,
    ) -> Result<DeleteContentResult> {
        answer(operations::delete_content(cx(context), input).await)
    }
}
