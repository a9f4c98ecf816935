//! Resolvers: they translate between GraphQL and the operations of content.

use super::operations;
use crate::graphql::prelude::*;

queries! {
    /// Query fields.
    pub struct ContentQuery;

    /// Content by path or id. Null if it doesn't exist or isn't visible to the caller. Readers get what is
    /// published for one of their roles. Editors also get unpublished content.
    ///
    /// Who: everyone.
    content(
        context,
        #[graphql(desc = "Global id or path of the content.")] by: ContentBy,
        #[graphql(desc = "Language of titles and texts. Default: the content's own.")]
        locale: Option<LocaleTag>,
    ) with consistency: Option<Content> = {
        let found = operations::content(cx(context), &by).await?;
        found.map(|content| content.in_language(locale.as_ref()))
    },

    /// Published content that the caller may read, by one of the filters that are served by an index. The
    /// filter also determines the order.
    ///
    /// Who: everyone.
    contents(
        context,
        #[graphql(desc = "Filter; it also determines the order.")] by: ContentsBy,
        #[graphql(desc = "Language of titles and texts. Default: the content's own.")]
        locale: Option<LocaleTag>,
    ) with consistency: Connection<Content> = {
        let needed = (has_texts(context), locale.as_ref());
        operations::contents(cx(context), &by, needed, paging(context)?).await?
    },

    /// Direct children of some content, or the roots, published or not; sorted by slug.
    content_below(
        context,
        #[graphql(desc = "Global id of the parent. Default: the roots are listed.")]
        parent_id: Option<ID>,
        #[graphql(desc = "Language of titles and texts. Default: the content's own.")]
        locale: Option<LocaleTag>,
    ) by editor: Connection<Content> = {
        let (parent, needed) = (parent_id.as_ref(), (has_texts(context), locale.as_ref()));
        operations::below(cx(context), parent, needed, paging(context)?).await?
    },
}

mutations! {
    /// Mutation fields.
    pub struct ContentMutation;

    /// Creates content, as a root or below a parent. Readers see it once it is published.
    create_content(CreateContentInput) -> CreateContentResult by editor;

    /// Replaces the draft of content and keeps the previous version. Readers see the new draft once it is
    /// published. It is refused with `ContentConflict` if the draft changed since the client read it.
    /// Repeatable: the same call with the same `version` returns the edited content.
    edit_content(EditContentInput) -> EditContentResult by editor;

    /// Makes a former version the new draft and keeps the previous version. It is refused with
    /// `ContentConflict` if the draft changed since the client read it.
    restore_content(RestoreContentInput) -> RestoreContentResult by editor;

    /// Adds tags to content. The change is visible at once, also to readers.
    tag_content(TagContentInput) -> TagContentResult by editor;

    /// Removes tags from content. The change is visible at once, also to readers.
    untag_content(UntagContentInput) -> UntagContentResult by editor;

    /// Sets the roles that may read content. The change applies at once, also to published versions. It applies to this
    /// content alone: what is below it keeps its own access.
    set_content_access(SetContentAccessInput) -> SetContentAccessResult by editor;

    /// Publishes the draft, now or at a later time. Repeatable: the same call returns the content.
    publish_content(PublishContentInput) -> PublishContentResult by editor;

    /// Withdraws the published version of content and the scheduled one. Its children stay published.
    unpublish_content(UnpublishContentInput) -> UnpublishContentResult by editor;

    /// Moves content with all its descendants below another parent, or changes its slug. Former paths are
    /// redirected to the new ones. The answer is sent when all descendants have their new paths, or after a
    /// few seconds if there are very many; the remaining ones then follow.
    move_content(MoveContentInput) -> MoveContentResult by editor;

    /// Deletes content with its former versions. It is refused with `InUse` while there is content or an
    /// asset in it.
    delete_content(DeleteContentInput) -> DeleteContentResult by editor;
}
