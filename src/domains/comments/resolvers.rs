//! Resolvers: they translate between GraphQL and the operations of comments.

use futures_util::StreamExt;

use super::{operations, types::comment::Comments};
use crate::graphql::{prelude::*, subscription::follow};

queries! {
    /// Query fields.
    pub struct CommentsQuery;

    /// All comments of a discussion. Removed comments are included, without their text. Null if there is no
    /// discussion or it isn't visible to the caller. With the layout `PAGED`, the order `THREADED` and `topLevel`
    /// fail with an error.
    ///
    /// Who: everyone.
    comments(
        context,
        #[graphql(desc = "Global id of the product, content or asset that is discussed.")]
        subject_id: ID,
        #[graphql(desc = "Order of the list.", default_with = "CommentOrder::Chronological")]
        order: CommentOrder,
        #[graphql(desc = "Whether only comments that reply to none are listed.", default = false)]
        top_level: bool,
    ): Option<Comments> = {
        let Ok(on) = operations::parent_of(&subject_id) else { return Ok(None) };
        let paging = paging(context)?;
        operations::comments(cx(context), &on, order, top_level, paging).await?
    },

    /// A comment. Null if there is none or it isn't visible to the caller.
    ///
    /// Who: everyone.
    comment(
        context,
        #[graphql(desc = "Global id or slug of the comment.")] by: CommentBy,
    ): Option<Comment> = operations::comment(cx(context), &by).await?.map(Comment::from),

    /// Comments of an author on everything that is visible to the caller, newest first. Only moderators can
    /// list the comments of others.
    comments_by(
        context,
        #[graphql(desc = "Subject of the author's token. Default: the caller.")]
        author_id: Option<ID>,
    ) by signed_in: Comments = {
        let author = author_id.as_deref().map(String::as_str);
        operations::comments_by(cx(context), author, paging(context)?).await?
    },
}

mutations! {
    /// Mutation fields.
    pub struct CommentsMutation;

    /// Opens the discussion of a product, of content or of an asset. Repeatable: an open discussion with the
    /// same layout is returned, one with another layout is refused with `AlreadyExists`. Discussions of
    /// products are opened by merchants, all others by editors. The first review of a product opens its
    /// discussion too.
    open_discussion(OpenDiscussionInput) -> OpenDiscussionResult by editor_or_merchant;

    /// Moves a discussion to another layout. Comments can be posted during the migration, and none are lost.
    /// Repeatable: a repeat continues the migration. Discussions of products are migrated by merchants, all
    /// others by editors.
    migrate_discussion(MigrateDiscussionInput) -> MigrateDiscussionResult by editor_or_merchant;

    /// Posts a comment in a discussion, or a reply to a comment.
    post_comment(PostCommentInput) -> PostCommentResult by signed_in;

    /// Replaces the text of a comment of the caller. It is possible for `comment_edit_seconds` (by default
    /// 900) after posting. It is refused with `CommentConflict` if the comment changed since the client read
    /// it. Repeatable: the same call with the same `version` returns the edited comment.
    edit_comment(EditCommentInput) -> EditCommentResult by signed_in;

    /// Removes the text of a comment. The comment keeps its place, and its replies stay. Allowed for the
    /// author and for moderators.
    remove_comment(RemoveCommentInput) -> RemoveCommentResult by signed_in;

    /// Posts a review of a product: a comment with stars, one per author. `editComment` and `removeComment`
    /// apply to reviews too. A removed review can't be written again. Repeatable: the same call returns the
    /// review. The first review of a product opens its discussion.
    review_product(ReviewProductInput) -> ReviewProductResult by signed_in;
}

subscriptions! {
    /// Subscription fields.
    pub struct CommentsSubscription;

    /// Comments on a product, on content or on an asset, from the time of the subscription on. If more than
    /// ten are posted before the client reads the next one, only the newest ten are sent. If there is no
    /// discussion, or it isn't visible to the caller, the only response is the error `NOT_FOUND`.
    ///
    /// Who: everyone.
    comment_added(
        context,
        #[graphql(desc = "Global id of the product, content or asset that is discussed.")]
        subject_id: ID,
    ): LatestComment = {
        let of = operations::followed(&subject_id);
        let discussions = follow(context, "discussion", of, subject_id, Discussion::newest, |cx, id| {
            Box::pin(operations::discussion(cx, id))
        });
        let mut before: Option<Discussion> = None;
        discussions.flat_map(move |discussion| {
            let added: Vec<_> = match discussion {
                Ok(now) => {
                    let added = before.as_ref().map(|before| now.added_since(before));
                    before = Some(now);
                    added.into_iter().flatten().map(Ok).collect()
                }
                Err(error) => vec![Err(error)],
            };
            futures_util::stream::iter(added)
        })
    },
}
