//! Users as clients see them.

use super::{
    super::{
        documents::{EdgeDocument, UserDocument},
        operations,
    },
    Post,
};
use crate::{
    domains::{
        assets::{Asset, operations::asset_by_id},
        inbox,
        metadata::Metadata,
    },
    engine::caching::cache_control,
    graphql::{
        prelude::*,
        scalars::{DateTime, int},
    },
};

object! {
    /// A user with a profile. Users follow each other by putting each other into circles.
    pub type User = UserDocument as user {
        /// Global id of the user.
        pub id: ID = NodeKind::USER.id(&user.id),
        /// Subject of the user's tokens, for arguments that take a `userId`.
        user_id: ID = ID(user.id.clone()),
        /// Name for display.
        name: &str = &user.profile.name,
        /// What the user says about themselves; may be empty.
        about: &str = &user.profile.about,
        /// Global id of the asset that is the user's picture; null without one.
        picture_id: Option<ID> = user.profile.picture.as_ref().map(|id| NodeKind::ASSET.id(id)),
        /// The user's picture; null without one, and if the caller can't see it.
        picture(context)?: Option<Asset> = {
            let Some(id) = &user.profile.picture else { return Ok(None) };
            asset_by_id(cx(context), id).await?.map(Asset::from)
        },
        /// Metadata of the user: pairs that the site adds to it.
        metadata(context): Metadata = Metadata::of(cx(context), user.meta.as_deref()),
        /// Version of the profile, for `updateProfile`.
        version: ID = ID(user.version.to_string()),
        /// Time at which the user was created.
        created_at: DateTime = user.at.into(),
        /// Number of followers, counted up to 10,000.
        #[graphql(directive = cache_control::apply(0))]
        follower_count(context)?: i32 = int(operations::follower_count(cx(context), &user.id).await?),
        /// Users who follow the user, that is, who have the user in a circle.
        followers(context)?: Connection<User> = {
            let subject = ID(user.id.clone());
            operations::followers(cx(context), Some(&subject), paging(context)?).await?
        },
        /// Users whom the user follows.
        following(context)?: Connection<FollowedUser> = {
            let subject = ID(user.id.clone());
            operations::following(cx(context), Some(&subject), None, paging(context)?).await?
        },
        /// Posts on the user's wall, newest first, as `wall` lists them.
        wall(context)?: BoundedConnection<Post> = {
            let subject = ID(user.id.clone());
            operations::wall(cx(context), Some(&subject), paging(context)?).await?
        },
        /// Circles of the caller that the user is in. Empty if the caller doesn't follow the user.
        circles(context)?: Vec<String> = operations::own_circles(cx(context), &user.id).await?,
        /// Number of messages in the user's inbox that aren't read. Null for everyone but the user.
        unread_message_count(context)?: Option<i32> = {
            let count = inbox::operations::unread_count(cx(context), &user.id).await?;
            count.map(int)
        },
        /// Whether the caller blocks the user.
        is_blocked(context)?: bool = operations::is_blocked(cx(context), &user.id).await?,
    }
}

/// A user whom another one follows.
#[derive(Debug)]
pub struct FollowedUser(pub(in super::super) EdgeDocument);

object! {
    /// A user whom another one follows.
    impl FollowedUser as followed {
        /// Subject of the user's tokens.
        user_id: ID = ID(followed.0.of.clone()),
        /// Profile of the user whom the other one follows. Null if there is none any more.
        user(context)?: Option<User> =
            operations::user_by_subject(cx(context), &followed.0.of).await?.map(User::from),
        /// Names of the follower's circles that the user is in. Only the follower sees them; for others the list is empty.
        circles(context): &[String] =
            if cx(context).requester.is(&followed.0.by) { &followed.0.circles } else { &[] },
    }
}
