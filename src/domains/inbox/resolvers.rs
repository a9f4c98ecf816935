//! Resolvers: they translate between GraphQL and the operations of messages.

use async_graphql::{Context, ID, Object, Result, Subscription, connection::Connection};
use futures_util::Stream;

use super::operations;
use crate::graphql::{
    cx::cx, declared::mutations, page::paging, requester::Who, subscription::Progress,
};

/// Query fields.
#[derive(Default)]
pub struct InboxQuery;

#[Object]
impl InboxQuery {
    /// Messages that have arrived at the caller, the last one first.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn inbox(&self, context: &Context<'_>) -> Result<Connection<String, Message>> {
        Ok(operations::inbox(cx(context), paging(context)?).await?)
    }

    /// Messages between the caller and another user in both directions, newest first.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn conversation(
        &self,
        context: &Context<'_>,
        #[graphql(desc = "Subject of the other user's tokens.")] with: ID,
    ) -> Result<Connection<String, Message>> {
        Ok(operations::conversation(cx(context), &with, paging(context)?).await?)
    }
}

mutations! {
    /// Mutation fields.
    pub struct InboxMutation;

    /// Sends a message to users. It arrives at the first hundred at once, and at the others soon after. It doesn't arrive
    /// at users who block the caller, and the caller isn't told.
    ///
    /// Who: signed in.
    send_message(SendMessageInput) -> SendMessageResult
        for Who::SignedIn;

    /// Marks a message in the caller's inbox as read, with all that arrived before it. Repeatable.
    ///
    /// Who: signed in.
    mark_read(MarkReadInput) -> MarkReadResult
        for Who::SignedIn;
}

/// Subscription fields.
#[derive(Default)]
pub struct InboxSubscription;

#[Subscription]
impl InboxSubscription {
    /// Each message that arrives at the caller from the time of the subscription on, in the order of arrival.
    ///
    /// Who: signed in.
    #[graphql(guard = "Who::SignedIn")]
    async fn message_arrived(
        &self,
        context: &Context<'_>,
    ) -> Result<impl Stream<Item = Result<Message>> + use<>> {
        Ok(operations::message_arrived(cx(context), Progress::of(context))?)
    }
}
