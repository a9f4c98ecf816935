//! Resolvers: they translate between GraphQL and the operations of messages.

use super::operations;
use crate::graphql::{prelude::*, subscription::Progress};

queries! {
    /// Query fields.
    pub struct InboxQuery;

    /// Messages that have arrived at the caller, the last one first.
    inbox(context) by signed_in: Connection<Message> =
        operations::inbox(cx(context), paging(context)?).await?,

    /// Messages between the caller and another user in both directions, newest first.
    conversation(
        context,
        #[graphql(desc = "Subject of the other user's tokens.")] user_id: ID,
    ) by signed_in: Connection<Message> =
        operations::conversation(cx(context), &user_id, paging(context)?).await?,
}

mutations! {
    /// Mutation fields.
    pub struct InboxMutation;

    /// Sends a message to users. It arrives at the first hundred at once, and at the others soon after. It doesn't arrive
    /// at users who block the caller, and the caller isn't told.
    send_message(SendMessageInput) -> SendMessageResult by signed_in;

    /// Marks a message in the caller's inbox as read, with all that arrived before it. Repeatable.
    mark_read(MarkReadInput) -> MarkReadResult by signed_in;
}

subscriptions! {
    /// Subscription fields.
    pub struct InboxSubscription;

    /// Each message that arrives at the caller from the time of the subscription on, in the order of arrival.
    message_arrived(context) by signed_in: Message =
        operations::message_arrived(cx(context), Progress::of(context))?,
}
