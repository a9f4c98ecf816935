//! Sending and delivery. The call delivers to the first recipients, jobs deliver to the others in batches
//! ([`crate::domains::delivery`]).

use serde::{Deserialize, Serialize};

use super::{
    super::{
        documents::{ConversationEntry, InboxBucket, MessageCopy, MessageDocument},
        store::{self, entries, messages},
        types::{SendMessageInput, SendMessageResult, UnknownRecipients},
    },
    senders,
};
use crate::{
    domains::{
        delivery::{self, Batch},
        social::operations::{Recipients, no_user, recipients, user_by_subject},
    },
    graphql::prelude::*,
    mongo::Version,
};

/// Number of recipients to whom a message is delivered before the reply.
const FIRST: usize = 100;
/// Number of recipients of one job.
const BATCH: usize = 500;

/// Sends a message. Once for each idempotency key.
pub async fn send_message(cx: Cx<'_>, input: SendMessageInput) -> Answer<SendMessageResult> {
    let (by, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[by, "sendMessage"], &input);
    if input.to_user_ids.iter().any(|user| user.0 == by) {
        return Err(InvalidInput::new("toUserIds", "names you, the sender").into());
    }
    // A repeat needs no look at the recipients. Without a key there is none.
    let before = match input.idempotency_key {
        Some(_) => messages(&cx).get_settled(&op.id).await?,
        None => None,
    };
    let sent = match before {
        Some(sent) => sent,
        None => store_message(cx, by, &input, &op).await?,
    };
    op.demand_same(&sent.input)?;
    if sent.delivering.is_some() {
        begin(&cx, &sent).await?;
    }
    Ok(sent.shown)
}

/// Stores a message that may be sent. Returns the message of this op.
async fn store_message(
    cx: Cx<'_>,
    by: &str,
    input: &SendMessageInput,
    op: &Op,
) -> Result<MessageDocument, Stop<SendMessageResult>> {
    let to: Vec<String> = input.to_user_ids.iter().map(|user| user.0.clone()).collect();
    senders::demand_few(&cx, &to)?;
    if user_by_subject(cx, by).await?.is_none() {
        return Err(no_user(cx.requester, by).into());
    }
    let Recipients { unknown, blocking } = recipients(&cx, by, &to).await?;
    if !unknown.is_empty() {
        return Err(UnknownRecipients::new(unknown).into());
    }
    let now = cx.begin().await?.now();
    senders::count(&cx, by, op, to.len(), now).await?;
    let shown =
        MessageCopy { id: op.id.clone(), by: by.to_owned(), text: input.text.clone(), at: now };
    let message = MessageDocument {
        id: op.id.clone(),
        shown,
        to,
        withheld: blocking,
        input: op.input.clone(),
        delivering: Some(now),
        v: Version,
    };
    Ok(messages(&cx).insert_once(message).await?)
}

/// Delivers to the first recipients, and adds the job that delivers to the others.
async fn begin(app: &App, message: &MessageDocument) -> Result<()> {
    match deliver(app, message, 0, FIRST).await? {
        Some(next) => delivery::add(app, &next).await,
        None => Ok(()),
    }
}

/// Begins a delivery that was cut. For the sweep. Returns whether it has ended.
pub(in super::super) async fn deliver_again(app: &App, message: &MessageDocument) -> Result<bool> {
    begin(app, message).await?;
    Ok(message.to.len() <= FIRST)
}

/// The batch of a message's recipients from a position on.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct Task {
    /// `_id` of the message.
    message: String,
    /// Position in the list of recipients.
    from: usize,
}

impl Batch for Task {
    const QUEUE: &'static str = "messages";

    async fn run(self, app: &App) -> Result<Option<Self>> {
        match messages(app).get_settled(&self.message).await? {
            Some(message) if message.delivering.is_some() => {
                deliver(app, &message, self.from, BATCH).await
            }
            _ => Ok(None),
        }
    }
}

/// Delivers to one batch of recipients. Returns the next batch, or notes that the delivery has ended.
async fn deliver(
    app: &App,
    message: &MessageDocument,
    from: usize,
    count: usize,
) -> Result<Option<Task>> {
    let end = from.saturating_add(count).min(message.to.len());
    let to = message.to.get(from..end).unwrap_or_default();
    let new: Vec<_> = to.iter().map(|user| ConversationEntry::new(message, user)).collect();
    entries(app).insert_missing(&new).await?;
    let owners = to.iter().filter(|user| !message.is_withheld(user)).cloned().collect();
    delivery::put::<InboxBucket>(app, owners, &message.shown).await?;
    if end < message.to.len() {
        return Ok(Some(Task { message: message.id.clone(), from: end }));
    }
    // A refusal means that it was noted before.
    store::delivered(app, &message.id).held().await.map(|_was_set| None)
}
