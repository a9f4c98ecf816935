//! Messages between users.
//!
//! - `messages`: a message with its text, its recipients, and those from whom it is withheld
//! - `inboxBuckets`: copies of up to 50 messages of one owner, in the order of arrival
//! - `conversationEntries`: a message in the conversation of its sender with one recipient
//! - `inboxReads`: how far a user has read
//! - `messageSenders`: how much a user has sent lately
//!
//! # Sending
//!
//! ```text
//!   sendMessage ──▶ message, with `delivering` ──▶ first 100 recipients ──▶ job: next 500 … ──▶ `delivering` goes
//! ```
//!
//! The insert of the message decides everything. It names the recipients who block the sender at that time, from whom it
//! is withheld. A later block or unblock doesn't change where a message arrives, so each repeat delivers to the same
//! users. The sender's conversation shows the message in either case. If a recipient doesn't exist, nothing is sent, and
//! the result names those users.
//!
//! `delivering` is the message's outbox. The call delivers to the first recipients; jobs of the work queue deliver to the
//! others, in batches. `domains::delivery` says what follows from a repeat, a cut and a dead job.
//!
//! # Numbers
//!
//! An owner has at most one open bucket, by a unique index. It is closed by the copy that fills it, and then followed by
//! the next one. No message leaves a bucket. So a message's number in an inbox is `50 n` + its position in bucket `n`,
//! from 1, and the last number is the number of messages that have arrived. The number of unread messages is the last
//! number minus `readTo`. There is no counter that could differ from the messages.
//!
//! | command | guard | if the process dies after it |
//! |---|---|---|
//! | count of the recipients for the sender | they fit into an hour, or the op is counted | a repeat isn't counted again |
//! | insert of a message | its id, derived from the op, is free | a repeat or the sweep delivers it |
//! | inserts into conversations | their ids follow from message and recipient | the batch is repeated |
//! | copy to the open bucket | it is open, and the owner has no such copy | the batch is repeated |
//! | next bucket, with its first copy | its id is free, no bucket is open, and the owner has no such copy | the batch is repeated |
//! | insert of the next batch's job | its id is free | the job that adds it is repeated |
//! | end of `delivering` | it is set | (done) |
//! | rise of `readTo` | it is lower | a repeat changes nothing |
//!
//! The unique index on message and owner refuses a second copy in another bucket; the condition of the update refuses one
//! in the same. So a worker that has lost its lease can't double a message, and none of these writes needs a deadline.
//!
//! A message that arrives while `markRead` runs has a higher number than the one that is marked: it stays unread.
//!
//! # Invariants
//!
//! Buckets of an owner are numbered without a gap, and all but the last one are full. A copy is of a message that names
//! the owner, and isn't withheld from them. A message without `delivering` has a copy in each inbox that it names, and an
//! entry in each conversation. Nobody has read more messages than have arrived.

mod documents;
pub mod invariants;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{
    Room,
    broadcasts::broadcasts,
    delivery,
    nodes::{Node, NodeType, ObjectType},
    room::{documented, unmet},
};
use crate::graphql::node_id::NodeKind;
pub use documents::{
    ConversationEntry, InboxBucket, MessageCopy, MessageDocument, ReadDocument, SenderDocument,
};
use types::Message;

impl NodeKind {
    /// A message between users.
    pub const MESSAGE: Self = Self::new("message");
}

/// The room.
pub const ROOM: Room = Room {
    needs: &["queue", "social"],
    extends: &[("User", "unreadMessageCount")],
    nodes: &[NodeType::new(NodeKind::MESSAGE, &[ObjectType::of::<Message>()], |cx, id| {
        Box::pin(
            async move { Ok(operations::message(cx, id).await?.map(Message::from).map(Node::of)) },
        )
    })],
    documents: &[
        documented::<MessageDocument>(),
        documented::<InboxBucket>(),
        documented::<ConversationEntry>(),
        documented::<ReadDocument>(),
        documented::<SenderDocument>(),
    ],
    broadcasts: broadcasts! {
        "messages" {
            find "delivering" = "sweep: deliveries that were cut",
        }
        "conversationEntries" {
            find "views" = "list: the messages of a conversation",
        }
    },
    personal: person::PERSONAL,
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    work: Some(delivery::work::<operations::Task>),
    faults: Some(|config| {
        let fault = "message_recipients_per_hour must be at least 1";
        unmet([(config.message_recipients_per_hour >= 1, fault)])
    }),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("inbox")
};
