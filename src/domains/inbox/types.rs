//! GraphQL types of messages.

use async_graphql::SimpleObject;

use super::documents::MessageCopy;
use crate::{
    domains::social::{self, User},
    graphql::{
        declared::{each, verbatim},
        prelude::*,
        scalars::DateTime,
    },
};

/// Maximum number of recipients of a message.
const RECIPIENTS: usize = 10_000;

/// Checks the recipients of a message, and puts them into their stored order. The order has no meaning.
fn recipients(field: &str, to: &mut Vec<ID>) -> Result<(), InvalidInput> {
    if to.is_empty() {
        return Err(InvalidInput::new(field, "takes at least one recipient"));
    }
    each(RECIPIENTS, verbatim(1..=256))(field, to)?;
    to.sort_by(|left, right| left.0.cmp(&right.0));
    to.dedup();
    Ok(())
}

object! {
    /// A message between users. Only its sender and the recipients at whom it has arrived see it.
    pub type Message = MessageCopy as message {
        /// Global id of the message.
        pub id: ID = NodeKind::MESSAGE.id(&message.id),
        /// Subject of the sender.
        sender_id: ID = ID(message.by.clone()),
        /// Sender of the message.
        sender(context)?: Option<User> = {
            let found = social::operations::user_by_subject(cx(context), &message.by).await?;
            found.map(User::from)
        },
        /// What the sender wrote, 1 to 5,000 characters of plain text.
        text: &str = &message.text,
        /// Time at which the message was sent.
        sent_at: DateTime = message.at.into(),
    }
}

/// Result of a successful `markRead`.
#[derive(Debug, SimpleObject)]
pub struct ReadMark {
    /// Number of messages in the caller's inbox that aren't read.
    pub unread_message_count: i32,
}

refusal! {
    /// Some recipients don't exist. Nothing was sent.
    struct UnknownRecipients as "UNKNOWN_RECIPIENTS" {
        /// The recipients that don't exist, as they were given.
        pub user_ids: Vec<ID>,
    }
}

impl UnknownRecipients {
    /// These recipients don't exist.
    pub fn new(user_ids: Vec<String>) -> Self {
        let message = format!("{} of the recipients don't exist; nothing was sent", user_ids.len());
        Self::because(message, user_ids.into_iter().map(ID).collect())
    }
}

input! {
    /// Input of `sendMessage`: the recipients and the text.
    pub struct SendMessageInput {
        /// Recipients, 1 to 10,000: the subjects of their tokens. Each gets the message once.
        pub to_user_ids: Vec<ID> where recipients,
        /// Text, 1 to 5,000 characters.
        pub text: String where text(1..=5_000),
        /// Idempotency key, 1 to 128 characters. Without one, a repeated call sends another message.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `markRead`: the last message that was read.
    pub struct MarkReadInput {
        /// Global id of a message in the caller's inbox. It and all messages that arrived before it are read.
        pub message_id: ID where id(NodeKind::MESSAGE),
    }
}

result! {
    /// Result of `sendMessage`: the message, or a refusal. `NotFound`: the caller has no profile yet.
    pub enum SendMessageResult:
        MessageCopy => Message | UnknownRecipients | NotFound | Conflict | InvalidInput;

    /// Result of `markRead`: the number of unread messages, or a refusal.
    pub enum MarkReadResult:
        ReadMark | NotFound | InvalidInput;
}
