//! GraphQL types of topics.

use std::sync::Arc;

use async_graphql::SimpleObject;
use tokio::sync::OnceCell;

use super::{
    documents::{MessageDocument, TopicEntry},
    operations::{self, AT_ONCE, BYTES, MESSAGES, PAYLOAD},
};
use crate::{
    engine::caching::cache_control,
    graphql::{prelude::*, scalars::DateTime},
};

object! {
    /// A topic: services publish messages, and every subscriber gets every message in order.
    pub type Topic = TopicEntry as topic {
        /// Name of the topic.
        name: &str = &topic.name,
        /// Maximum size of the kept messages in bytes. New messages overwrite the oldest ones.
        bytes: Long = Long(topic.bytes),
        /// Maximum number of kept messages; null if only their size is bounded.
        max_messages: Option<Long> = topic.max_messages.map(Long),
        /// Whether callers without a token may follow it.
        is_public: bool = topic.is_public,
        /// Time at which it was created.
        created_at: DateTime = topic.at.into(),
        /// How much it contains.
        usage: TopicUsage = TopicUsage::of(topic),
    }
}

/// How much a topic contains. Nothing is read before a field of it is shown, and then once for all of them.
pub struct TopicUsage {
    topic: TopicEntry,
    read: OnceCell<Usage>,
}

/// What was read of it.
pub(super) struct Usage {
    pub(super) messages: i64,
    pub(super) bytes: i64,
}

impl TopicUsage {
    fn of(topic: &TopicEntry) -> Self {
        Self { topic: topic.clone(), read: OnceCell::new() }
    }

    async fn read(&self, app: &App) -> Result<&Usage> {
        self.read.get_or_try_init(|| operations::usage(app, &self.topic)).await
    }
}

object! {
    /// How much a topic contains.
    impl TopicUsage as usage {
        /// Number of kept messages.
        #[graphql(directive = cache_control::apply(0))]
        messages(context)?: Long = Long(usage.read(app(context)).await?.messages),
        /// Size of the kept messages in bytes.
        #[graphql(directive = cache_control::apply(0))]
        bytes(context)?: Long = Long(usage.read(app(context)).await?.bytes),
    }
}

/// A message that was published, as its readers get it.
pub struct TopicMessage(Arc<MessageDocument>);

object! {
    /// A message that was published, as its readers get it.
    impl TopicMessage as message {
        /// Id of the message, which is unique. It is also the position after the message, for `since`.
        id: ID = ID(message.0.id.clone()),
        /// Text of the message, such as JSON.
        payload: &str = message.0.payload.as_deref().unwrap_or_default(),
        /// Time at which it was published, by the clock of the publisher's gateway.
        published_at: DateTime = message.0.at.into(),
    }
}

/// The next messages of a topic, for one subscriber.
#[derive(SimpleObject)]
pub struct TopicMessages {
    /// The messages in order, at most 100. The first response has none if none were published since the position.
    pub messages: Vec<TopicMessage>,
    /// Position after these messages. A subscription with this `since` continues with the next one.
    pub position: String,
    /// Number of messages before these that the subscriber has missed: 0 unless it was too slow. Null if messages may have
    /// been missed whose number isn't known.
    pub missed: Option<Long>,
}

impl TopicMessages {
    /// The response with these messages; `None` if there are none. Marks aren't shown.
    pub(super) fn after(messages: Vec<Arc<MessageDocument>>, missed: Option<u64>) -> Option<Self> {
        let position = messages.last()?.id.clone();
        let shown = messages.into_iter().filter(|message| message.payload.is_some());
        Some(Self { messages: shown.map(TopicMessage).collect(), ..Self::none(position, missed) })
    }

    /// The response without messages.
    pub(super) fn none(position: String, missed: Option<u64>) -> Self {
        let missed = missed.map(|missed| Long(i64::try_from(missed).unwrap_or(i64::MAX)));
        Self { messages: Vec::new(), position, missed }
    }
}

/// Result of a successful `publish`.
#[derive(Debug, SimpleObject)]
pub struct PublishedMessages {
    /// Ids of the messages in their order.
    pub message_ids: Vec<ID>,
}

/// Result of a successful `deleteTopic`.
#[derive(Debug, SimpleObject)]
pub struct DeletedTopic {
    /// Name of the topic.
    pub name: String,
}

/// Checks the name of a topic.
fn name(field: &str, name: &mut str) -> Result<(), InvalidInput> {
    operations::check_name(field, name)
}

/// Checks a number in a range.
fn long_within(
    range: std::ops::RangeInclusive<i64>,
) -> impl Fn(&str, &mut Long) -> Result<(), InvalidInput> {
    move |field, value| crate::graphql::input::within(field, value.0, range.clone()).map(|_| ())
}

input! {
    /// Input of `createTopic`.
    pub struct CreateTopicInput {
        /// Name of the topic, 1 to 64 characters: lower-case letters, digits, `-`, `_` and `.`, beginning with a letter or
        /// a digit.
        pub name: String where name,
        /// Maximum size of the kept messages in bytes, at least 4,096.
        pub bytes: Long where long_within(BYTES),
        /// Maximum number of kept messages. Default: only their size is bounded.
        pub max_messages: Option<Long> where optional(long_within(MESSAGES)),
        /// Whether callers without a token may follow it. Default: false.
        pub is_public: Option<bool>,
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the topic of the first call.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `publish`.
    pub struct PublishInput {
        /// Name of the topic.
        pub topic: String where name,
        /// Texts of the messages, such as JSON, 1 to 100, each of at most 65,536 bytes in UTF-8. Together they mustn't be
        /// larger than the topic.
        pub messages: Vec<String> where each(AT_ONCE, bytes(PAYLOAD)),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key publishes no message again that the topic still
        /// keeps.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `deleteTopic`.
    pub struct DeleteTopicInput {
        /// Name of the topic.
        pub name: String where name,
    }
}

result! {
    /// Result of `createTopic`: the topic, or a refusal. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum CreateTopicResult:
        TopicEntry => Topic | AlreadyExists | TopicLimitReached | Conflict | InvalidInput;

    /// Result of `publish`: the ids of the messages, or a refusal. `Conflict`: this `idempotencyKey` was used with another
    /// input.
    pub enum PublishResult:
        PublishedMessages | NotFound | Conflict | InvalidInput;

    /// Result of `deleteTopic`: the name of the topic, or a refusal.
    pub enum DeleteTopicResult:
        DeletedTopic | NotFound | InvalidInput;
}

refusal! {
    /// There are too many topics, or they would take up too much space.
    struct TopicLimitReached as "TOPIC_LIMIT_REACHED" {
        /// Number of topics that can still be created.
        pub topics_left: i32,
        /// Sum of the sizes that they can have, in bytes.
        pub bytes_left: Long,
    }
}

impl TopicLimitReached {
    /// The refusal with the number and the size that are left.
    pub(super) fn new((topics, bytes): (i64, i64)) -> Self {
        let message = "there are too many topics, or this one is too large; delete one first";
        let topics = i32::try_from(topics.max(0)).unwrap_or(i32::MAX);
        Self::because(message, topics, Long(bytes.max(0)))
    }
}
