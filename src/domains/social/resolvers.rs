//! Resolvers: they translate between GraphQL and the operations of people, posts and feeds.

use super::operations;
use crate::{
    domains::metadata::MetadataFilter,
    graphql::{prelude::*, subscription::Progress},
};

queries! {
    /// Query fields.
    pub struct SocialQuery;

    /// A user. Null if there is none.
    user(
        context,
        #[graphql(desc = "Global id of the user. Default: the caller.")] id: Option<ID>,
        #[graphql(desc = "Subject of the user's tokens, in the place of `id`.")]
        user_id: Option<ID>,
    ) by signed_in: Option<User> = {
        let (id, subject) = (id.as_ref(), user_id.as_ref());
        operations::user_named(cx(context), id, subject).await?.map(User::from)
    },

    /// Users with a pair of metadata, sorted by their subjects.
    users_with(
        context,
        #[graphql(desc = "Pair of metadata that the users have.")] metadata: MetadataFilter,
    ) by merchant: Connection<User> =
        operations::users_with(cx(context), metadata, paging(context)?).await?,

    /// Users who follow a user, that is, who have the user in a circle.
    followers(
        context,
        #[graphql(desc = "Subject of the user's tokens. Default: the caller.")] user_id: Option<ID>,
    ) by signed_in: Connection<User> =
        operations::followers(cx(context), user_id.as_ref(), paging(context)?).await?,

    /// Users whom a user follows.
    following(
        context,
        #[graphql(desc = "Subject of the user's tokens. Default: the caller.")] user_id: Option<ID>,
        #[graphql(
            desc = "Name of a circle; only users in it are listed. The list is empty for circles of other users."
        )]
        circle: Option<String>,
    ) by signed_in: Connection<FollowedUser> = {
        let (user, circle) = (user_id.as_ref(), circle.as_deref());
        operations::following(cx(context), user, circle, paging(context)?).await?
    },

    /// Users whom the caller blocks, sorted by their subjects.
    blocked_users(context) by signed_in: Connection<User> =
        operations::blocked_users(cx(context), paging(context)?).await?,

    /// A post. Null if there is none or it isn't visible to the caller.
    post(
        context,
        #[graphql(desc = "Global id of the post.")] id: ID,
    ) by signed_in: Option<Post> = operations::post(cx(context), &id).await?.map(Post::from),

    /// Posts of the users whom the caller follows, newest first, from the time of following on.
    news(
        context,
        #[graphql(desc = "Month in UTC, such as `2026-11`. Default: all.")] month: Option<String>,
    ) by signed_in: BoundedConnection<Post> =
        operations::news(cx(context), month.as_deref(), paging(context)?).await?,

    /// Posts on a user's wall, newest first: those of the user, and those that others wrote there. On the caller's own
    /// wall, posts of users whom the caller doesn't follow are left out.
    wall(
        context,
        #[graphql(desc = "Subject of the user's tokens. Default: the caller.")] user_id: Option<ID>,
    ) by signed_in: BoundedConnection<Post> =
        operations::wall(cx(context), user_id.as_ref(), paging(context)?).await?,

    /// All posts on the caller's wall, newest first, except for those of users whom the caller blocks.
    incoming(context) by signed_in: BoundedConnection<Post> =
        operations::incoming(cx(context), paging(context)?).await?,
}

mutations! {
    /// Mutation fields.
    pub struct SocialMutation;

    /// Creates the caller's user, with a profile that everyone who is signed in can see. Repeatable: the same call
    /// returns the user.
    create_user(CreateUserInput) -> CreateUserResult by signed_in;

    /// Replaces the caller's whole profile: a field that is left out gets its default. So `about` and `pictureId` have to be sent
    /// again, or they are removed. Repeatable: the same call with the same `version` returns the new profile.
    update_profile(UpdateProfileInput) -> UpdateProfileResult by signed_in;

    /// Puts a user into a circle of the caller. The caller then follows the user, and the user sees the caller's posts to
    /// that circle. Repeatable.
    circle_user(CircleUserInput) -> CircleUserResult by signed_in;

    /// Takes a user from a circle of the caller. The user then no longer sees the caller's posts to that circle, not even
    /// old ones. Repeatable.
    uncircle_user(UncircleUserInput) -> UncircleUserResult by signed_in;

    /// Hides all posts and comments of a user from the caller. The user isn't told. Repeatable.
    block_user(BlockUserInput) -> BlockUserResult by signed_in;

    /// Ends the block of a user. Repeatable.
    unblock_user(UnblockUserInput) -> UnblockUserResult by signed_in;

    /// Creates a post. It reaches the walls and the news of the author's followers soon after.
    create_post(CreatePostInput) -> CreatePostResult by signed_in;

    /// Replaces the text of a post of the caller. Repeatable: the same call with the same `version` returns the post.
    edit_post(EditPostInput) -> EditPostResult by signed_in;

    /// Deletes a post of the caller, with its comments. Repeatable for some time.
    delete_post(DeletePostInput) -> DeletePostResult by signed_in;

    /// Adds a comment to a post.
    comment_on_post(CommentOnPostInput) -> CommentOnPostResult by signed_in;

    /// Votes in a poll, once. Repeatable: a vote for the same choice returns the post.
    vote_poll(VotePollInput) -> VotePollResult by signed_in;
}

subscriptions! {
    /// Subscription fields.
    pub struct SocialSubscription;

    /// The newest post in the caller's news: the one at the time of the subscription, and then each one that the client
    /// is in time for.
    news_changed(context) by signed_in: NewsChanged =
        operations::news_changed(cx(context), Progress::of(context))?,
}
