//! The rules of topics.

mod behind;
mod channel;
mod live;
mod window;

pub use channel::subscribers;
pub use live::topic;

use std::{ops::RangeInclusive, time::Duration};

use super::{
    documents::{MessageDocument, PREFIX, TopicEntry},
    store,
    types::{
        CreateTopicInput, CreateTopicResult, DeleteTopicInput, DeleteTopicResult, DeletedTopic,
        PublishInput, PublishResult, PublishedMessages, TopicLimitReached, Usage,
    },
};
use crate::graphql::prelude::*;

/// Sizes of a topic in bytes.
pub(super) const BYTES: RangeInclusive<i64> = 4_096..=1 << 40;
/// Numbers of messages to which a topic can be bounded.
pub(super) const MESSAGES: RangeInclusive<i64> = 1..=1_000_000_000;
/// Maximum number of messages of one call.
pub(super) const AT_ONCE: usize = 100;
/// Maximum size of a message in bytes.
pub(super) const PAYLOAD: usize = 65_536;
/// The kind of things that are missing.
const TOPIC: &str = "topic";
/// Maximum number of commands that insert the messages of one call, and the pause between them.
const TRIES: usize = 10;
const PAUSE: Duration = Duration::from_millis(20);

/// Checks the name of a topic.
pub(super) fn check_name(field: &str, name: &str) -> Result<(), InvalidInput> {
    input::plain_name(field, name)
}

fn is_visible(requester: &Requester, topic: &TopicEntry) -> bool {
    topic.is_public || requester.subject.is_some()
}

/// The topics that the caller may follow, in the order of their creation.
pub async fn topics(cx: Cx<'_>) -> Result<Vec<TopicEntry>> {
    let mut all = store::list(&cx).await?;
    all.retain(|topic| is_visible(cx.requester, topic));
    Ok(all)
}

/// The topic with this name. Its ring exists.
async fn ready(app: &App, name: &str) -> Result<Option<TopicEntry>> {
    let found = store::find(app, name).await?;
    if let Some(topic) = found.as_ref().filter(|topic| !topic.is_ready) {
        finish(app, topic).await?;
    }
    Ok(found)
}

/// How much a topic contains.
pub(super) async fn usage(app: &App, topic: &TopicEntry) -> Result<Usage> {
    let ring = store::ring(app, topic);
    let mark = async { ring.list::<MessageDocument>(&[&topic.ring]).await };
    let (contents, mark) = tokio::try_join!(ring.contents(), mark)?;
    let marks = i64::try_from(mark.len()).unwrap_or(0);
    Ok(Usage { messages: (contents.documents - marks).max(0), bytes: contents.bytes })
}

/// Creates a topic. Once per idempotency key.
pub async fn create_topic(cx: Cx<'_>, input: CreateTopicInput) -> Answer<CreateTopicResult> {
    let (subject, input) = (cx.requester.subject()?, &input.checked()?);
    let op = &cx.op(&[subject, "createTopic"], input);
    let bounds = (
        i64::from(cx.config().topics_most),
        i64::try_from(cx.config().topics_bytes).unwrap_or(i64::MAX),
    );
    let read = || async move {
        let attempt = cx.begin().await?;
        Ok::<_, Stop<CreateTopicResult>>((attempt, store::list(&cx).await?))
    };
    // A name that no other topic ever has: what arrives late for a deleted topic must not affect a new one.
    let ring = &format!("{PREFIX}{}", cx.ids().random());
    let topic = decide(read, |attempt: Attempt, all: Vec<TopicEntry>| async move {
        if let Some(topic) = created_before(&all, op, &input.name)? {
            return Ok(Step::Done(topic));
        }
        let used: i64 = all.iter().map(|topic| topic.bytes).sum();
        let free = (bounds.0 - i64::try_from(all.len()).unwrap_or(i64::MAX), bounds.1 - used);
        if free.0 < 1 || free.1 < input.bytes.0 {
            return Err(TopicLimitReached::new(free).into());
        }
        if all.is_empty() {
            store::begin(&cx).await?;
        }
        let topic = TopicEntry {
            name: input.name.clone(),
            ring: ring.clone(),
            bytes: input.bytes.0,
            max_messages: input.max_messages.map(|max| max.0),
            is_public: input.is_public.unwrap_or(false),
            is_ready: false,
            op: op.id.clone(),
            input: op.input.clone(),
            at: cx.clock(),
        };
        let is_added = store::add(&cx, &topic, bounds).within(&attempt).held().await?;
        Ok(Step::or_again(is_added.then_some(topic)))
    })
    .await?;
    finish(&cx, &topic).await?;
    Ok(topic)
}

/// The topic that the op has created before.
fn created_before(
    all: &[TopicEntry],
    op: &Op,
    name: &str,
) -> Result<Option<TopicEntry>, Stop<CreateTopicResult>> {
    if let Some(topic) = all.iter().find(|topic| topic.op == op.id) {
        op.demand_same(&topic.input)?;
        return Ok(Some(topic.clone()));
    }
    if all.iter().any(|topic| topic.name == name) {
        return Err(AlreadyExists::new(TOPIC, name).into());
    }
    Ok(None)
}

/// Creates the ring of a topic, with the mark at its start. It can be repeated.
pub(super) async fn finish(app: &App, topic: &TopicEntry) -> Result<()> {
    if topic.is_ready {
        return Ok(());
    }
    let ring = store::ring(app, topic);
    ring.create(topic.bytes, topic.max_messages).await?;
    ring.insert(&[MessageDocument::mark(topic)]).await?;
    // It isn't held if another caller was faster, or has deleted the topic.
    store::note_ready(app, topic).held().await?;
    Ok(())
}

/// Deletes a topic with its messages.
pub async fn delete_topic(cx: Cx<'_>, input: DeleteTopicInput) -> Answer<DeleteTopicResult> {
    let input = input.checked()?.into_inner();
    let missing = || NotFound::given(TOPIC, &input.name);
    let topic = store::find(&cx, &input.name).await?.ok_or_else(missing)?;
    if !store::remove(&cx, &topic).held().await? {
        return Err(missing().into());
    }
    // If this fails, the sweep drops it.
    store::drop_ring(&cx, &topic.ring).await?;
    Ok(DeletedTopic { name: input.name })
}

/// Publishes messages. A repeat with the same idempotency key publishes those that are missing.
pub async fn publish(cx: Cx<'_>, input: PublishInput) -> Answer<PublishResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "publish"], &input);
    let input = input.into_inner();
    let Some(topic) = ready(&cx, &input.topic).await? else {
        return Err(NotFound::given(TOPIC, &input.topic).into());
    };
    let at = cx.clock();
    let message = |(number, payload)| MessageDocument {
        id: format!("{}.{number:02}", op.id),
        payload: Some(payload),
        at,
        input: op.input.clone(),
        v: crate::mongo::Version,
    };
    let messages: Vec<_> = input.messages.into_iter().enumerate().map(message).collect();
    check_room(&topic, &messages)?;
    insert(&cx, &topic, &messages).await?;
    Ok(PublishedMessages { message_ids: messages.into_iter().map(|one| one.id.into()).collect() })
}

/// Checks that the ring has room for all of these messages at once.
fn check_room(topic: &TopicEntry, messages: &[MessageDocument]) -> Result<(), InvalidInput> {
    if messages.is_empty() {
        return Err(InvalidInput::new("messages", "takes at least one"));
    }
    let count = i64::try_from(messages.len()).unwrap_or(i64::MAX);
    if topic.max_messages.is_some_and(|max| count > max) {
        return Err(InvalidInput::new("messages", "are more than the topic keeps"));
    }
    let size: usize = messages.iter().map(MessageDocument::size).sum();
    if i64::try_from(size).unwrap_or(i64::MAX) > topic.bytes {
        return Err(InvalidInput::new("messages", "are larger than the topic"));
    }
    Ok(())
}

/// Inserts messages in order, except those that are in the ring.
async fn insert(
    app: &App,
    topic: &TopicEntry,
    messages: &[MessageDocument],
) -> Result<(), Stop<PublishResult>> {
    let ring = store::ring(app, topic);
    let ids: Vec<&str> = messages.iter().map(|message| message.id.as_str()).collect();
    let mut rest = messages;
    for _ in 0..TRIES {
        if rest.is_empty() || ring.insert(rest).await? {
            return Ok(());
        }
        let there: Vec<MessageDocument> = ring.list_settled(&ids).await?;
        if there.iter().zip(messages).any(|(there, new)| there.input != new.input) {
            return Err(Conflict::other_input().into());
        }
        // The oldest ones may have been overwritten. Those before the last one that is there were published.
        let last = ids.iter().rposition(|id| there.iter().any(|message| message.id == *id));
        rest = messages.get(last.map_or(0, |last| last + 1)..).unwrap_or_default();
        // A simultaneous call with the same key may have inserted one that a majority doesn't hold yet.
        tokio::time::sleep(PAUSE).await;
    }
    Err(Error::unavailable("another call with the same idempotency key is under way").into())
}
