//! Translates between GraphQL and the operations of comments.

use async_graphql::{Context, ID, Object, Result, Subscription, connection::Connection};
use futures_util::{Stream, StreamExt};

use super::{
    operations::{self, Listed},
    types::{
        Comment, CommentOrder, Discussion, EditCommentInput, EditCommentResult, LatestComment,
        MigrateDiscussionInput, MigrateDiscussionResult, OpenDiscussionInput, OpenDiscussionResult,
        PostCommentInput, PostCommentResult, RemoveCommentInput, RemoveCommentResult,
        ReviewProductInput, ReviewProductResult,
    },
};
use crate::graphql::{
    app,
    refusals::answer,
    requester,
    requester::{Role, Who},
    subscription::follow,
};

/// Reads.
#[derive(Default)]
pub struct CommentsQuery;

type Page = Option<Connection<String, Comment>>;

fn connection((page, found): Listed) -> Connection<String, Comment> {
    page.connection(found, |(position, _)| position.clone(), |(_, comment)| comment.into())
}

#[Object]
impl CommentsQuery {
    /// All comments on something, oldest first or by threads; null where there is no discussion, or none for
    /// you to see. Removed comments keep their place. Threads are refused where comments are stored in
    /// pages.
    ///
    /// Who: everyone.
    async fn comments(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of what is discussed.")] on: ID,
        #[graphql(desc = "In which order.")] order: CommentOrder,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor behind which the page begins.")] after: Option<String>,
    ) -> Result<Page> {
        let (app, requester) = (app(context), requester(context));
        let found =
            operations::comments(app, requester, &on, order, first, after.as_deref()).await?;
        Ok(found.map(connection))
    }

    /// What was replied to a comment, or without one the comments that reply to none, oldest first; null
    /// where there is no discussion, or none for you to see.
    ///
    /// Who: everyone.
    async fn replies(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of what is discussed.")] on: ID,
        #[graphql(desc = "The comment.")] slug: Option<String>,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor behind which the page begins.")] after: Option<String>,
    ) -> Result<Page> {
        let (app, requester) = (app(context), requester(context));
        let (slug, after) = (slug.as_deref(), after.as_deref());
        let found = operations::replies(app, requester, &on, slug, first, after).await?;
        Ok(found.map(connection))
    }

    /// A comment and everything below it, by threads; null where there is no such comment, or not for you
    /// to see.
    ///
    /// Who: everyone.
    async fn subthread(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of what is discussed.")] on: ID,
        #[graphql(desc = "The comment.")] slug: String,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor behind which the page begins.")] after: Option<String>,
    ) -> Result<Page> {
        let (app, requester) = (app(context), requester(context));
        let after = after.as_deref();
        let found = operations::subthread(app, requester, &on, &slug, first, after).await?;
        Ok(found.map(connection))
    }

    /// One comment; null where there is none, or not for you to see.
    ///
    /// Who: everyone.
    async fn comment(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of what is discussed.")] on: ID,
        #[graphql(desc = "The comment.")] slug: String,
    ) -> Result<Option<Comment>> {
        let (app, requester) = (app(context), requester(context));
        Ok(operations::comment(app, requester, &on, &slug).await?.map(Comment::from))
    }

    /// Someone's comments on everything that you may see, newest first. Own comments only, but for
    /// moderators.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn comments_by(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Subject of who wrote them; you when left out.")] author: Option<ID>,
        #[graphql(desc = "How many, 1 to 100; 20 when left out.")] first: Option<i32>,
        #[graphql(desc = "Cursor behind which the page begins.")] after: Option<String>,
    ) -> Result<Connection<String, Comment>> {
        let (app, requester) = (app(context), requester(context));
        let author = match author {
            Some(author) => author.0,
            None => requester.subject()?.to_owned(),
        };
        let after = after.as_deref();
        Ok(connection(operations::comments_by(app, requester, &author, first, after).await?))
    }
}

/// Writes.
#[derive(Default)]
pub struct CommentsMutation;

#[Object]
impl CommentsMutation {
    /// Opens the discussion of something. The same call sent again is answered with the discussion; one that
    /// is open in another layout is refused. Products are a merchant's to open, everything else is an
    /// editor's. A product's first review opens its discussion, too.
    ///
    /// Who: editor or merchant.
    #[graphql(guard = "Who::Either(Role::Editor, Role::Merchant)")]
    async fn open_discussion(
        &self,
        context: &Context<'_>,
        input: OpenDiscussionInput,
    ) -> Result<OpenDiscussionResult> {
        let (app, requester) = (app(context), requester(context));
        Ok(answer(operations::open(app, requester, &input.on, input.layout).await)?)
    }

    /// Moves a discussion to another layout while comments arrive. Nothing is lost on the way, and the same
    /// call sent again goes on with it. Products are a merchant's to move, everything else is an editor's.
    ///
    /// Who: editor or merchant.
    #[graphql(guard = "Who::Either(Role::Editor, Role::Merchant)")]
    async fn migrate_discussion(
        &self,
        context: &Context<'_>,
        input: MigrateDiscussionInput,
    ) -> Result<MigrateDiscussionResult> {
        let (app, requester) = (app(context), requester(context));
        Ok(answer(operations::migrate(app, requester, &input.on, input.to).await)?)
    }

    /// Says something about something, or replies to what someone said.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn post_comment(
        &self,
        context: &Context<'_>,
        input: PostCommentInput,
    ) -> Result<PostCommentResult> {
        Ok(answer(operations::post(app(context), requester(context), &input).await)?)
    }

    /// Gives a comment of yours another text, for a while after it was posted and unless it changed since
    /// you read it.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn edit_comment(
        &self,
        context: &Context<'_>,
        input: EditCommentInput,
    ) -> Result<EditCommentResult> {
        Ok(answer(operations::edit(app(context), requester(context), &input).await)?)
    }

    /// Removes what a comment says; its place and the replies to it stay. Own comments only, but for
    /// moderators.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn remove_comment(
        &self,
        context: &Context<'_>,
        input: RemoveCommentInput,
    ) -> Result<RemoveCommentResult> {
        let (app, requester) = (app(context), requester(context));
        Ok(answer(operations::remove(app, requester, &input.on, &input.slug).await)?)
    }

    /// Reviews a product: a comment with stars, one from each author, which `editComment` and `removeComment`
    /// take as well. One that was removed can't be written again. The first review of a product opens its
    /// discussion.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn review_product(
        &self,
        context: &Context<'_>,
        input: ReviewProductInput,
    ) -> Result<ReviewProductResult> {
        Ok(answer(operations::review(app(context), requester(context), &input).await)?)
    }
}

/// What happens.
#[derive(Default)]
pub struct CommentsSubscription;

#[Subscription]
impl CommentsSubscription {
    /// Comments on something, as they are posted from now on. Of more than ten that come faster than they
    /// are taken, the newest ten. Where there is no discussion, or none for you to see, the stream ends at
    /// once.
    ///
    /// Who: everyone.
    async fn comment_added(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of what is discussed.")] on: ID,
    ) -> Result<impl Stream<Item = Result<LatestComment>> + use<>> {
        let (app, requester) = (app(context).clone(), requester(context).clone());
        let (collection, key) = operations::followed(&on);
        let read = move || {
            let (app, requester, on) = (app.clone(), requester.clone(), on.clone());
            async move {
                let found = operations::discussion(&app, &requester, &on).await?;
                Ok(found.map(Discussion::from))
            }
        };
        let discussions = follow(context, collection, key, read, Discussion::newest);
        let mut before: Option<Discussion> = None;
        Ok(discussions.flat_map(move |discussion| {
            let added: Vec<_> = match discussion {
                Ok(now) => {
                    let added = before.as_ref().map(|before| now.added_since(before));
                    before = Some(now);
                    added.into_iter().flatten().map(Ok).collect()
                }
                Err(error) => vec![Err(error)],
            };
            futures_util::stream::iter(added)
        }))
    }
}
