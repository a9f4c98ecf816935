//! Stored documents of messages.

use crate::mongo::prelude::*;

document! {
    /// A message as its sender and its recipients see it.
    #[derive(PartialEq, Eq)]
    pub struct MessageCopy {
        /// `_id` of the message.
        pub id: String,
        /// Subject of the sender.
        pub by: String,
        /// Text. Some reads leave it out.
        #[serde(default)]
        pub text: String,
        /// Time at which it was sent.
        pub at: DateTime,
    }

    /// A message: the decider of its delivery.
    pub struct MessageDocument {
        /// Derived from the idempotency key, or random.
        pub id as "_id": String,
        /// What is copied; its `id` is that of the message.
        pub shown: MessageCopy,
        /// Subjects of the recipients, sorted, each once.
        #[serde(default)]
        pub to: Vec<String>,
        /// Subjects of the recipients who blocked the sender when it was sent, sorted.
        #[serde(default)]
        pub withheld: Vec<String>,
        /// Digest of the input.
        pub input: String,
        /// Set as long as it has to be delivered: the time at which it was sent.
        pub delivering?: DateTime,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "messages" {
        of_field("delivering", "delivering", "the sweep of deliveries that were cut"),
    }
}

impl MessageDocument {
    /// Fields of a message without its recipients.
    pub(super) const PART: &'static [&'static str] = &["_id", "shown", "input", "delivering", "v"];

    /// Whether this user is a recipient.
    pub(super) fn is_to(&self, user: &str) -> bool {
        has(&self.to, user)
    }

    /// Whether it doesn't arrive at this recipient.
    pub(super) fn is_withheld(&self, from: &str) -> bool {
        has(&self.withheld, from)
    }
}

/// Whether a sorted list has the value.
fn has(sorted: &[String], value: &str) -> bool {
    sorted.binary_search_by(|one| one.as_str().cmp(value)).is_ok()
}

document! {
    /// A part of an inbox: up to [`InboxBucket::CAP`] messages in the order of arrival.
    pub struct InboxBucket {
        /// See [`bucket_id`].
        pub id as "_id": String,
        /// Subject of the user whose inbox it is.
        pub owner: String,
        /// Number of the bucket within the inbox, from 0.
        pub n: i64,
        /// The owner, as long as the bucket takes messages.
        pub open?: String,
        /// The messages.
        pub messages: Vec<MessageCopy>,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "inboxBuckets" by unsharded(
        "its three unique indexes begin with three different fields, one of them in an array"
    ) {
        unique("owner", "owner n", "inboxes"),
        unique_of("open", "open", "the bucket that takes the next message"),
        unique("copies", "messages.id owner", "the one copy of a message in an inbox"),
    }
}

/// The `_id` of a bucket. The number is behind the last space, so that no two buckets have the same id.
pub(super) fn bucket_id(owner: &str, n: i64) -> String {
    format!("{owner} {n}")
}

impl InboxBucket {
    /// Maximum number of messages in a bucket.
    pub(super) const CAP: usize = 50;
    /// The same, for numbers of messages.
    pub(super) const SIZE: i64 = 50;

    /// The bucket number `n` of an inbox, with its first message.
    pub(super) fn new(owner: &str, n: i64, first: &MessageCopy) -> Self {
        Self {
            id: bucket_id(owner, n),
            owner: owner.to_owned(),
            n,
            open: Some(owner.to_owned()),
            messages: vec![first.clone()],
            v: Version,
        }
    }

    /// The number of the bucket that has the message with this number, which counts from 1.
    pub(super) fn of_number(number: i64) -> i64 {
        number.saturating_sub(1).div_euclid(Self::SIZE)
    }

    /// The messages with their numbers.
    pub(super) fn numbered(self) -> impl DoubleEndedIterator<Item = (i64, MessageCopy)> {
        let first = self.n * Self::SIZE + 1;
        let messages = self.messages.into_iter().enumerate();
        messages.map(move |(at, message)| (first + i64::try_from(at).unwrap_or_default(), message))
    }

    /// Number of messages that have arrived, if this is the last bucket.
    pub(super) fn arrived(&self) -> i64 {
        self.n * Self::SIZE + i64::try_from(self.messages.len()).unwrap_or_default()
    }
}

document! {
    /// A message in the conversation of its sender with one recipient.
    pub struct ConversationEntry {
        /// See [`entry_id`].
        pub id as "_id": String,
        /// The [`view`]s in which it is: the sender's, and the recipient's unless it is withheld.
        pub views: Vec<String>,
        /// The message.
        pub message: MessageCopy,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "conversationEntries" {
        plain("view", "views message.at message.id", "conversations"),
    }
}

/// The `_id` of the entry of a message and a recipient. No `_id` of a message has a space.
pub(super) fn entry_id(message: &str, to: &str) -> String {
    format!("{message} {to}")
}

/// Key of the conversation with a user, as its reader sees it. The length keeps two pairs of subjects from having the
/// same key.
pub(super) fn view(reader: &str, with: &str) -> String {
    format!("{} {reader} {with}", reader.len())
}

impl ConversationEntry {
    /// The entry of a message and one of its recipients.
    pub(super) fn new(message: &MessageDocument, to: &str) -> Self {
        let by = &message.shown.by;
        let mut views = vec![view(by, to)];
        if !message.is_withheld(to) {
            views.push(view(to, by));
        }
        Self { id: entry_id(&message.id, to), views, message: message.shown.clone(), v: Version }
    }
}

document! {
    /// How far a user has read.
    pub struct ReadDocument {
        /// Subject of the user.
        pub id as "_id": String,
        /// Number of the last message that is read.
        pub read_to: i64,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "inboxReads" {}

    /// How much a user has sent lately.
    pub struct SenderDocument {
        /// Subject of the user.
        pub id as "_id": String,
        /// Server time at which nothing of it counts any more. Each recipient has moved it ahead by a part of an hour.
        pub until: DateTime,
        /// The last ops that are counted, the newest first.
        pub counted: Vec<String>,
        /// Version of the document's shape.
        pub v: Version<1>,
    } in "messageSenders" {}
}
