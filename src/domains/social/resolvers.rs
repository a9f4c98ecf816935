//! Resolvers: they translate between GraphQL and the operations of people, posts and feeds.

use async_graphql::{Context, ID, Object, Result, Subscription, connection::Connection};
use futures_util::Stream;

use super::operations;
use crate::graphql::{cx::cx, declared::mutations, page::paging, requester::Who};

/// Query fields.
#[derive(Default)]
pub struct SocialQuery;

#[Object]
impl SocialQuery {
    /// A user. Null if there is none.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn user(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of the user. Default: the caller.")] id: Option<ID>,
    ) -> Result<Option<User>> {
        Ok(operations::user(cx(context), id.as_ref()).await?.map(User::from))
    }

    /// Users who follow a user, that is, who have the user in a circle.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn followers(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Subject of the user's tokens. Default: the caller.")] user_id: Option<ID>,
    ) -> Result<Connection<String, User>> {
        Ok(operations::followers(cx(context), user_id.as_ref(), paging(context)?).await?)
    }

    /// Users whom a user follows.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn following(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Subject of the user's tokens. Default: the caller.")] user_id: Option<ID>,
        #[graphql(
            desc = "Name of a circle; only users in it are listed. The list is empty for circles of other users."
        )]
        circle: Option<String>,
    ) -> Result<Connection<String, FollowedUser>> {
        let (user, circle) = (user_id.as_ref(), circle.as_deref());
        Ok(operations::following(cx(context), user, circle, paging(context)?).await?)
    }

    /// A post. Null if there is none or it isn't visible to the caller.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn post(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Global id of the post.")] id: ID,
    ) -> Result<Option<Post>> {
        Ok(operations::post(cx(context), &id).await?.map(Post::from))
    }

    /// Posts of the users whom the caller follows, newest first, from the time of following on.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn news(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Month in UTC, such as `2026-11`. Default: all.")] month: Option<String>,
    ) -> Result<Connection<String, Post>> {
        Ok(operations::news(cx(context), month.as_deref(), paging(context)?).await?)
    }

    /// Posts on a user's wall, newest first: those of the user, and those that others wrote there. On the caller's own
    /// wall, posts of users whom the caller doesn't follow are left out.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn wall(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Subject of the user's tokens. Default: the caller.")] user_id: Option<ID>,
    ) -> Result<Connection<String, Post>> {
        Ok(operations::wall(cx(context), user_id.as_ref(), paging(context)?).await?)
    }

    /// All posts on the caller's wall, newest first, except for those of users whom the caller blocks.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn incoming(&self, context: &Context<'_>) -> Result<Connection<String, Post>> {
        Ok(operations::incoming(cx(context), paging(context)?).await?)
    }
}

mutations! {
    /// Mutation fields.
    pub struct SocialMutation;

    /// Creates the caller's user, with a profile that everyone who is signed in can see. Repeatable: the same call
    /// returns the user.
    ///
    /// Who: signed in.
    create_user(CreateUserInput) -> CreateUserResult
        for Who::SignedIn;

    /// Replaces the caller's profile. Repeatable: the same call with the same `version` returns the new profile.
    ///
    /// Who: signed in.
    update_profile(UpdateProfileInput) -> UpdateProfileResult
        for Who::SignedIn;

    /// Puts a user into a circle of the caller. The caller then follows the user, and the user sees the caller's posts to
    /// that circle. Repeatable.
    ///
    /// Who: signed in.
    circle_user(CircleUserInput) -> CircleUserResult
        for Who::SignedIn;

    /// Takes a user from a circle of the caller. The user then no longer sees the caller's posts to that circle, not even
    /// old ones. Repeatable.
    ///
    /// Who: signed in.
    uncircle_user(UncircleUserInput) -> UncircleUserResult
        for Who::SignedIn;

    /// Hides all posts and comments of a user from the caller. The user isn't told. Repeatable.
    ///
    /// Who: signed in.
    block_user(BlockUserInput) -> BlockUserResult
        for Who::SignedIn;

    /// Ends the block of a user. Repeatable.
    ///
    /// Who: signed in.
    unblock_user(UnblockUserInput) -> UnblockUserResult
        for Who::SignedIn;

    /// Creates a post. It reaches the walls and the news of the author's followers soon after.
    ///
    /// Who: signed in.
    create_post(CreatePostInput) -> CreatePostResult
        for Who::SignedIn;

    /// Replaces the text of a post of the caller. Repeatable: the same call with the same `version` returns the post.
    ///
    /// Who: signed in.
    edit_post(EditPostInput) -> EditPostResult
        for Who::SignedIn;

    /// Deletes a post of the caller, with its comments. Repeatable for some time.
    ///
    /// Who: signed in.
    delete_post(DeletePostInput) -> DeletePostResult
        for Who::SignedIn;

    /// Adds a comment to a post.
    ///
    /// Who: signed in.
    comment_on_post(CommentOnPostInput) -> CommentOnPostResult
        for Who::SignedIn;

    /// Votes in a poll, once. Repeatable: a vote for the same choice returns the post.
    ///
    /// Who: signed in.
    vote_poll(VotePollInput) -> VotePollResult
        for Who::SignedIn;
}

/// Subscription fields.
#[derive(Default)]
pub struct SocialSubscription;

#[Subscription]
impl SocialSubscription {
    /// The newest post in the caller's news: the one at the time of the subscription, and then each one that the client
    /// is in time for.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn news_changed(
        &self,
        context: &Context<'_>,
    ) -> Result<impl Stream<Item = Result<NewsChanged>> + use<>> {
        Ok(operations::news_changed(cx(context))?)
    }
}
