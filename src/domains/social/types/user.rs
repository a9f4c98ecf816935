//! Users as clients see them.

use async_graphql::{Context, ID, Object, Result};

use super::super::{
    documents::{EdgeDocument, UserDocument},
    operations,
};
use crate::{
    domains::{
        assets::{Asset, operations::asset_by_id},
        inbox,
        metadata::Metadata,
    },
    graphql::{
        cx::cx,
        node_id::NodeKind,
        object_of::ObjectOf,
        scalars::{DateTime, int},
    },
};

/// A user.
pub type User = ObjectOf<UserDocument>;

/// A user with a profile. Users follow each other by putting each other into circles.
#[Object]
impl User {
    /// Global id of the user.
    pub async fn id(&self) -> ID {
        NodeKind::USER.id(&self.0.id)
    }

    /// Subject of the user's tokens, for arguments that take a `userId`.
    async fn user_id(&self) -> ID {
        ID(self.0.id.clone())
    }

    /// Name for display.
    async fn name(&self) -> &str {
        &self.0.profile.name
    }

    /// What the user says about themselves; may be empty.
    async fn about(&self) -> &str {
        &self.0.profile.about
    }

    /// Global id of the asset that is the user's picture; null without one.
    async fn picture_id(&self) -> Option<ID> {
        self.0.profile.picture.as_ref().map(|id| NodeKind::ASSET.id(id))
    }

    /// The user's picture; null without one, and if the caller can't see it.
    async fn picture(&self, context: &Context<'_>) -> Result<Option<Asset>> {
        let Some(id) = &self.0.profile.picture else { return Ok(None) };
        Ok(asset_by_id(cx(context), id).await?.map(Asset::from))
    }

    /// Metadata of the user: pairs that the site adds to it.
    async fn metadata(&self, context: &Context<'_>) -> Metadata {
        Metadata::of(cx(context), self.0.meta.as_deref())
    }

    /// Version of the profile, for `updateProfile`.
    async fn version(&self) -> ID {
        ID(self.0.version.to_string())
    }

    /// Time at which the user was created.
    async fn created_at(&self) -> DateTime {
        self.0.at.into()
    }

    /// Number of followers, counted up to 100,000.
    async fn follower_count(&self, context: &Context<'_>) -> Result<i32> {
        Ok(int(operations::follower_count(cx(context), &self.0.id).await?))
    }

    /// Circles of the caller that the user is in. Empty if the caller doesn't follow the user.
    async fn circles(&self, context: &Context<'_>) -> Result<Vec<String>> {
        Ok(operations::own_circles(cx(context), &self.0.id).await?)
    }

    /// Number of messages in the user's inbox that aren't read. Null for everyone but the user.
    async fn unread_message_count(&self, context: &Context<'_>) -> Result<Option<i32>> {
        let count = inbox::operations::unread_count(cx(context), &self.0.id).await?;
        Ok(count.map(int))
    }

    /// Whether the caller blocks the user.
    async fn is_blocked(&self, context: &Context<'_>) -> Result<bool> {
        Ok(operations::is_blocked(cx(context), &self.0.id).await?)
    }
}

/// A user whom another one follows.
#[derive(Debug)]
pub struct FollowedUser(pub(in super::super) EdgeDocument);

/// A user whom another one follows.
#[Object]
impl FollowedUser {
    /// Subject of the user's tokens.
    async fn user_id(&self) -> ID {
        ID(self.0.of.clone())
    }

    /// Profile of the user whom the other one follows. Null if there is none any more.
    async fn user(&self, context: &Context<'_>) -> Result<Option<User>> {
        Ok(operations::user_by_subject(cx(context), &self.0.of).await?.map(User::from))
    }

    /// Names of the follower's circles that the user is in. Only the follower sees them; for others the list is empty.
    async fn circles(&self, context: &Context<'_>) -> &[String] {
        if cx(context).requester.is(&self.0.by) { &self.0.circles } else { &[] }
    }
}
