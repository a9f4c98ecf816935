//! Sending and delivery. The call delivers to the first recipients, jobs deliver to the others in batches. Before a job
//! ends it adds the job of the next batch, whose id follows from the message and the batch. So a repeated job adds nothing.

use std::sync::Arc;

use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};

use super::super::{
    documents::{ConversationEntry, InboxBucket, MessageCopy, MessageDocument},
    store::{self, buckets, entries, messages},
    types::{SendMessageInput, SendMessageResult, UnknownRecipients},
};
use crate::{
    app::App,
    domains::{
        queue::operations::{self as queue, NewJob, Work},
        social::operations::{Recipients, recipients, user_by_subject},
    },
    error::Error,
    flow::Op,
    graphql::{
        cx::Cx,
        declared::Input,
        refusals::{Conflict, InvalidInput, NotFound, Stop},
    },
    mongo::Version,
};

/// Name of the queue, behind `docgate.`.
const QUEUE: &str = "messages";
/// Number of recipients to whom a message is delivered before the reply.
const FIRST: usize = 100;
/// Number of recipients of one job.
const BATCH: usize = 500;
/// Number of attempts of a job.
const ATTEMPTS: i32 = 100;
/// Maximum number of times that open buckets are looked for.
const ROUNDS: usize = 50;

/// Sends a message. Once for each idempotency key.
pub async fn send_message(
    cx: Cx<'_>,
    input: SendMessageInput,
) -> Result<MessageCopy, Stop<SendMessageResult>> {
    let (by, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[by, "sendMessage"], input.idempotency_key.as_ref(), &*input);
    let to: Vec<String> = input.to.iter().map(|user| user.0.clone()).collect();
    if to.iter().any(|user| user == by) {
        return Err(InvalidInput::new("to", "names you, the sender").into());
    }
    if user_by_subject(cx, by).await?.is_none() {
        return Err(NotFound::given("user", by).into());
    }
    let Recipients { unknown, blocking } = recipients(&cx, by, &to).await?;
    if !unknown.is_empty() {
        return Err(UnknownRecipients::new(unknown).into());
    }
    let now = cx.begin().await?.now();
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
    let sent = if messages(&cx).insert(message.clone()).await.decided()?.is_some() {
        message
    } else {
        let found = messages(&cx).get_settled(&op.id).await?;
        found.ok_or_else(|| Error::unavailable("the message isn't settled yet"))?
    };
    if sent.input != op.input {
        return Err(Conflict::other_input().into());
    }
    if sent.delivering.is_some() {
        begin(&cx, &sent).await?;
    }
    Ok(sent.shown)
}

/// Delivers to the first recipients, and adds the job that delivers to the others.
async fn begin(app: &App, message: &MessageDocument) -> Result<(), Error> {
    deliver(app, message, 0, FIRST).await
}

/// Begins a delivery that was cut. For the sweep. Returns whether it has ended.
pub(in super::super) async fn deliver_again(
    app: &App,
    message: &MessageDocument,
) -> Result<bool, Error> {
    begin(app, message).await?;
    Ok(message.to.len() <= FIRST)
}

/// What a job does: it delivers a message to the batch of recipients from a position on.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    /// `_id` of the message.
    message: String,
    /// Position in the list of recipients.
    from: usize,
}

/// The queue of the room's jobs, and their handler.
pub fn work() -> Vec<Work> {
    let handler = |app: App, job: crate::domains::queue::JobDocument| {
        let done = async move { run(&app, &job.payload).await.map_err(|error| error.to_string()) };
        Box::pin(done) as queue::Handled
    };
    vec![Work::own(QUEUE, Arc::new(handler))]
}

async fn run(app: &App, payload: &str) -> Result<(), Error> {
    let Task { message, from } = serde_json::from_str(payload).map_err(Error::internal)?;
    match messages(app).get_settled(&message).await? {
        Some(message) if message.delivering.is_some() => deliver(app, &message, from, BATCH).await,
        _ => Ok(()),
    }
}

/// Delivers to one batch of recipients, and then adds the job of the next one or notes that the delivery has ended.
async fn deliver(
    app: &App,
    message: &MessageDocument,
    from: usize,
    count: usize,
) -> Result<(), Error> {
    let end = from.saturating_add(count).min(message.to.len());
    let to = message.to.get(from..end).unwrap_or_default();
    // A refused entry is there.
    let new = to.iter().map(|user| ConversationEntry::new(message, user)).collect();
    let _there = entries(app).insert_many(new).await?;
    let owners = to.iter().filter(|user| !message.is_withheld(user)).cloned().collect();
    put(app, owners, &message.shown).await?;
    if end == message.to.len() {
        // A refusal means that it was noted before.
        return store::delivered(app, &message.id).held().await.map(|_was_set| ());
    }
    let task = Task { message: message.id.clone(), from: end };
    let payload = serde_json::to_string(&task).map_err(Error::internal)?;
    let id = app.ids().derived(&["message", &message.id, &end.to_string()]);
    let new = NewJob { max_attempts: ATTEMPTS, ..NewJob::own(QUEUE, payload) };
    queue::add(app, Op { id, input: String::new() }, new).await.map(|_added| ())
}

/// Puts a copy of the message into each of the inboxes that has none.
async fn put(app: &App, mut to: Vec<String>, message: &MessageCopy) -> Result<(), Error> {
    for _ in 0..ROUNDS {
        if to.is_empty() || store::push_each(app, &to, message).await? {
            return Ok(());
        }
        let there = store::owners_with(app, &to, &message.id).await?;
        to.retain(|owner| !there.contains(owner));
        let last = try_join_all(to.iter().map(|owner| store::last(app, owner))).await?;
        let (mut left, mut new) = (Vec::new(), Vec::new());
        for (owner, last) in to.into_iter().zip(last) {
            match last {
                Some(InboxBucket { open: Some(_), .. }) => left.push(owner),
                last => {
                    let n = last.map_or(0, |last| last.n + 1);
                    new.push(InboxBucket::new(&owner, n, message));
                }
            }
        }
        // A refused bucket exists, or the inbox has a copy by now.
        let owners: Vec<String> = new.iter().map(|bucket| bucket.owner.clone()).collect();
        let refused = buckets(app).insert_many(new).await?;
        left.extend(refused.into_iter().filter_map(|at| owners.get(at).cloned()));
        to = left;
    }
    Err(Error::unavailable("the inboxes keep changing"))
}
