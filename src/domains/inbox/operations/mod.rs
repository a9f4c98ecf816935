//! The rules of messages.

mod delivery;
mod senders;

pub use delivery::send_message;
pub(super) use delivery::{Task, deliver_again};

use std::sync::Arc;

use futures_util::Stream;
use mongodb::bson::Bson;

use super::{
    documents::{
        ConversationEntry, InboxBucket, MessageCopy, MessageDocument, bucket_id, entry_id, view,
    },
    store::{self, entries, messages, reads},
    types::{MarkReadInput, MarkReadResult, Message, ReadMark},
};
use crate::graphql::{prelude::*, scalars::int, subscription::Progress};

/// Maximum number of tries of a change against concurrent ones.
const TRIES: usize = 20;
/// Number of buckets that one command of a subscription reads.
const BUCKETS: usize = 2;

/// A message, if the caller has sent it or if it has arrived at the caller.
pub async fn message(cx: Cx<'_>, id: &ID) -> Result<Option<MessageCopy>> {
    let Ok(id) = input::id(NodeKind::MESSAGE, id) else { return Ok(None) };
    let Some(own) = &cx.requester.subject else { return Ok(None) };
    let (entries, messages) = (entries(&cx), messages(&cx));
    let received = entry_id(&id, own);
    let received = entries.get(&received);
    let sent = messages.get_part(&id, MessageDocument::PART);
    let (received, sent) = tokio::try_join!(received, sent)?;
    let is_theirs = |entry: &ConversationEntry| entry.views.contains(&view(own, &entry.message.by));
    let received = received.filter(is_theirs).map(|entry| entry.message);
    let sent = sent.map(|message| message.shown).filter(|message| message.by == *own);
    Ok(received.or(sent))
}

/// The caller's inbox, the last message first. A page of up to 50 messages is read from two buckets by one command, in
/// either direction.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn inbox(cx: Cx<'_>, paging: Paging) -> Result<Connection<Message>> {
    let own = cx.requester.subject()?;
    let order = Order { list: format!("inbox {own}"), keys: vec![("number", -1)] };
    let page = Page::new(&cx, order, paging)?;
    let cursor = match page.from() {
        Some([Bson::Int64(number)]) => Some(*number),
        _ => None,
    };
    let limit = (page.wanted() - 1).div_ceil(InboxBucket::CAP) + 1;
    let found: Vec<_> = if page.is_backward() {
        let after = cursor.unwrap_or_default();
        let from = InboxBucket::of_number(after.saturating_add(1));
        let found = store::list_up(&cx, own, from, limit).await?;
        let found = found.into_iter().flat_map(InboxBucket::numbered);
        found.filter(|(number, _)| *number > after).take(page.wanted()).collect()
    } else {
        let from = cursor.map(|number| InboxBucket::of_number(number.saturating_sub(1)));
        let found = store::list_down(&cx, own, from, limit).await?;
        let found = found.into_iter().flat_map(|bucket| bucket.numbered().rev());
        let found = found.filter(|(number, _)| cursor.is_none_or(|before| *number < before));
        found.take(page.wanted()).collect()
    };
    let keys = |(number, _): &(i64, MessageCopy)| vec![Bson::Int64(*number)];
    Ok(page.connection(found, keys, |(_, message)| Message::from(message)))
}

/// The messages between the caller and another user, newest first.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn conversation(cx: Cx<'_>, with: &ID, paging: Paging) -> Result<Connection<Message>> {
    let own = cx.requester.subject()?;
    input::verbatim("userId", with, 1..=256)?;
    let keys = vec![("message.at", -1), ("message.id", -1)];
    let order = Order { list: format!("conversation {}", view(own, with)), keys };
    let page = Page::new(&cx, order, paging)?;
    let found = store::list_conversation(&cx, &page, (own, with)).await?;
    let keys = |ConversationEntry { message, .. }: &ConversationEntry| {
        vec![Bson::DateTime(message.at), Bson::from(&message.id)]
    };
    Ok(page.connection(found, keys, |entry| Message::from(entry.message)))
}

/// Number of unread messages of a user, for the user alone.
pub async fn unread_count(cx: Cx<'_>, user: &str) -> Result<Option<i64>> {
    if !cx.requester.is(user) {
        return Ok(None);
    }
    unread(&cx, user).await.map(Some)
}

async fn unread(app: &App, user: &str) -> Result<i64> {
    // How far the user has read is read first: what arrives meanwhile is unread.
    let read = reads(app).get(user).await?.map_or(0, |read| read.read_to);
    let arrived = store::last(app, user).await?.map_or(0, |last| last.arrived());
    Ok(arrived.saturating_sub(read).max(0))
}

/// Marks a message as read, with all before it. A repeat changes nothing.
pub async fn mark_read(cx: Cx<'_>, input: MarkReadInput) -> Answer<MarkReadResult> {
    let (own, input) = (cx.requester.subject()?, input.checked()?);
    let id = &*input.message_id;
    let found = store::bucket_with(&cx, own, id).await?;
    let number = found.and_then(|bucket| bucket.numbered().find(|(_, message)| message.id == *id));
    let (number, _) = number.ok_or_else(|| NotFound::of(NodeKind::MESSAGE, id))?;
    for _ in 0..TRIES {
        let is_read = store::raise_read(&cx, own, number).await?
            // Two first calls at once: the other one may have marked an earlier message.
            || reads(&cx).get_settled(own).await?.is_some_and(|read| read.read_to >= number);
        if is_read {
            let unread_message_count = int(unread(&cx, own).await?);
            return Ok(ReadMark { unread_message_count });
        }
    }
    Err(Error::unavailable("what is read keeps changing").into())
}

/// Follows the caller's inbox: each message that arrives.
///
/// # Errors
/// The caller isn't signed in.
pub fn message_arrived(
    cx: Cx<'_>,
    progress: Arc<Progress>,
) -> Result<impl Stream<Item = async_graphql::Result<Message>> + use<>> {
    let app = cx.app.clone();
    let own = cx.requester.subject()?.to_owned();
    Ok(async_stream::stream! {
        let mut next = match store::last(&app, &own).await {
            Ok(last) => last.map_or(0, |last| last.arrived()) + 1,
            Err(error) => {
                yield Err(error.into());
                return;
            }
        };
        loop {
            // The bucket that takes the next message is watched before it is read.
            let n = InboxBucket::of_number(next);
            let mut changes = app.hub().watch::<InboxBucket>(bucket_id(&own, n));
            while InboxBucket::of_number(next) == n {
                match store::list_up(&app, &own, n, BUCKETS).await {
                    Ok(found) => {
                        for (number, message) in found.into_iter().flat_map(InboxBucket::numbered) {
                            if number >= next {
                                next = number + 1;
                                yield Ok(Message::from(message));
                            }
                        }
                    }
                    Err(error) => {
                        yield Err(error.into());
                        return;
                    }
                }
                if InboxBucket::of_number(next) == n {
                    progress.wait();
                    if !changes.changed().await {
                        return;
                    }
                }
            }
        }
    })
}
