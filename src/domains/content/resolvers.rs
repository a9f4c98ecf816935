//! Translates between GraphQL and the operations of content.

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
    app, is_selected,
    refusals::answer,
    requester,
    requester::{Role, Who},
};

/// Fields that show a text.
const TEXTS: &[&str] = &["body", "html"];

/// Reads.
#[derive(Default)]
pub struct ContentQuery;

#[Object]
impl ContentQuery {
    /// One piece of content; null where there is none, or none that you may read. Readers get what is
    /// published, editors also what isn't.
    ///
    /// Who: everyone.
    async fn content(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Which.")] by: ContentBy,
    ) -> Result<Option<Content>> {
        let found = operations::content(app(context), requester(context), &by).await?;
        Ok(found.map(Content::from))
    }

    /// What is published and you may read, in one of the ways that have an index.
    ///
    /// Who: everyone.
    async fn contents(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Which, and in which order.")] by: ContentsBy,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor behind which the page begins.")] after: Option<String>,
    ) -> Result<Connection<String, Content>> {
        let (app, requester) = (app(context), requester(context));
        let texts = is_selected(context, TEXTS);
        Ok(operations::contents(app, requester, &by, texts, first, after.as_deref()).await?)
    }

    /// Everything right in some content or among the roots, published or not, by slug.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn content_below(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of what it lies in; the roots when left out.")] parent: Option<
            ID,
        >,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor behind which the page begins.")] after: Option<String>,
    ) -> Result<Connection<String, Content>> {
        let (app, requester, after) = (app(context), requester(context), after.as_deref());
        let texts = is_selected(context, TEXTS);
        Ok(operations::below(app, requester, parent.as_ref(), texts, first, after).await?)
    }

    /// The versions that edits replaced, newest first; the last 50.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn content_revisions(
        &self,
        context: &Context<'_>,
        #[graphql(name = "content", desc = "Global id of the content.")] id: ID,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor behind which the page begins.")] after: Option<String>,
    ) -> Result<Connection<String, ContentRevision>> {
        Ok(operations::revisions(app(context), &id, first, after.as_deref()).await?)
    }
}

/// Writes.
#[derive(Default)]
pub struct ContentMutation;

#[Object]
impl ContentMutation {
    /// Creates content as a root or in other content. Readers see it once it is published.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn create_content(
        &self,
        context: &Context<'_>,
        input: CreateContentInput,
    ) -> Result<CreateContentResult> {
        let subject = requester(context).subject()?;
        Ok(answer(operations::create(app(context), subject, &input).await)?)
    }

    /// Replaces the draft, which readers see once it is published; the version before is kept. An edit
    /// of a draft that was changed meanwhile is answered with the current one.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn edit_content(
        &self,
        context: &Context<'_>,
        input: EditContentInput,
    ) -> Result<EditContentResult> {
        let subject = requester(context).subject()?;
        Ok(answer(operations::edit(app(context), subject, &input).await)?)
    }

    /// Makes a former version the newest draft; the version before is kept.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn restore_content(
        &self,
        context: &Context<'_>,
        input: RestoreContentInput,
    ) -> Result<RestoreContentResult> {
        let subject = requester(context).subject()?;
        Ok(answer(operations::restore(app(context), subject, &input).await)?)
    }

    /// Adds tags; they hold at once.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn tag_content(
        &self,
        context: &Context<'_>,
        input: TagContentInput,
    ) -> Result<TagContentResult> {
        Ok(answer(operations::tag(app(context), &input).await)?)
    }

    /// Removes tags; that holds at once.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn untag_content(
        &self,
        context: &Context<'_>,
        input: UntagContentInput,
    ) -> Result<UntagContentResult> {
        Ok(answer(operations::untag(app(context), &input).await)?)
    }

    /// Sets which roles may read content; that holds at once, also for what is published.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn set_content_access(
        &self,
        context: &Context<'_>,
        input: SetContentAccessInput,
    ) -> Result<SetContentAccessResult> {
        Ok(answer(operations::set_access(app(context), &input).await)?)
    }

    /// Lets readers see the draft, now or from a time on.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn publish_content(
        &self,
        context: &Context<'_>,
        input: PublishContentInput,
    ) -> Result<PublishContentResult> {
        Ok(answer(operations::publish(app(context), &input).await)?)
    }

    /// Takes back what is published, and what is to be. What lies in it stays published.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn unpublish_content(
        &self,
        context: &Context<'_>,
        input: UnpublishContentInput,
    ) -> Result<UnpublishContentResult> {
        Ok(answer(operations::unpublish(app(context), &input.content).await)?)
    }

    /// Moves content with everything in it, or changes its slug. The paths that are left lead on to the
    /// new ones. The answer comes when the paths have reached everything in it, or, where that is very
    /// much, after a few seconds; the rest then follows.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn move_content(
        &self,
        context: &Context<'_>,
        input: MoveContentInput,
    ) -> Result<MoveContentResult> {
        Ok(answer(operations::move_to(app(context), &input).await)?)
    }

    /// Deletes content in which nothing lies, with its former versions.
    ///
    /// Who: editor.
    #[graphql(guard = "Who::Role(Role::Editor)")]
    async fn delete_content(
        &self,
        context: &Context<'_>,
        input: DeleteContentInput,
    ) -> Result<DeleteContentResult> {
        Ok(answer(operations::delete(app(context), &input.content).await)?)
    }
}
