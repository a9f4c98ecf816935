//! MongoDB access of messages.

use std::{collections::HashSet, time::Duration};

use super::documents::{
    ConversationEntry, InboxBucket, MessageCopy, MessageDocument, ReadDocument, SenderDocument,
    view,
};
use crate::{app::App, domains::delivery::Page, error::Result, graphql::page, mongo::prelude::*};

/// The collection of the messages.
pub(super) fn messages(app: &App) -> Collection<MessageDocument> {
    app.collection()
}

/// The collection of the buckets.
pub(super) fn buckets(app: &App) -> Collection<InboxBucket> {
    app.collection()
}

/// The collection of the entries of conversations.
pub(super) fn entries(app: &App) -> Collection<ConversationEntry> {
    app.collection()
}

/// The collection that tells how far users have read.
pub(super) fn reads(app: &App) -> Collection<ReadDocument> {
    app.collection()
}

/// The collection that counts what users send.
pub(super) fn senders(app: &App) -> Collection<SenderDocument> {
    app.collection()
}

/// The time within which the recipients of a sender's messages are bounded.
pub(super) const HOUR: Duration = Duration::from_secs(3_600);
/// Number of ops that are remembered as counted.
const COUNTED: i64 = 100;

/// Counts a message whose recipients take this many milliseconds, unless the op is counted or they reach more than an hour
/// ahead. The guard also holds if the op is counted.
pub(super) fn count_sent(app: &App, by: &str, op: &str, time: i64) -> Guarded<SenderDocument> {
    let is_counted = doc! { "$in": [literal(op), "$counted"] };
    let until = doc! { "$add": [{ "$max": ["$until", "$$NOW"] }, time] };
    let has_room = doc! { "$lte": [until.clone(), { "$add": ["$$NOW", millis(HOUR)] }] };
    let mut guard = all(vec![doc! { "$or": [is_counted.clone(), has_room] }]);
    guard.insert("_id", by);
    let newest = doc! { "$concatArrays": [[literal(op)], "$counted"] };
    let set = doc! {
        "until": choose(is_counted.clone(), "$until", until),
        "counted": choose(is_counted, "$counted", doc! { "$slice": [newest, COUNTED] }),
    };
    senders(app).set(guard, set)
}

/// Notes that a message has been delivered to all of its recipients.
pub(super) fn delivered(app: &App, id: &str) -> Guarded<MessageDocument> {
    let guard = doc! { "_id": id, "delivering": { "$exists": true } };
    messages(app).set(guard, doc! { "delivering": "$$REMOVE" })
}

/// `maxTimeMS` of the command that puts a message into many inboxes. No deadline depends on it.
const LIMIT: Duration = Duration::from_secs(10);

impl Page for InboxBucket {
    type Copy = MessageCopy;

    async fn push_each(app: &App, owners: &[String], message: &MessageCopy) -> Result<bool> {
        let copy = literal(stored(message));
        let is_full = doc! { "$gte": [{ "$size": "$messages" }, count(Self::CAP)] };
        let update = vec![
            doc! { "$set": { "messages": append("$messages", vec![copy]) } },
            doc! { "$set": { "open": choose(is_full, "$$REMOVE", "$open") } },
        ];
        let one = |owner: &String| {
            let open = doc! { "open": owner, "messages.id": { "$ne": &message.id } };
            (open, update.clone())
        };
        buckets(app).update_all(owners.iter().map(one).collect(), LIMIT).await
    }

    async fn lists_with(
        app: &App,
        owners: &[String],
        message: &MessageCopy,
    ) -> Result<HashSet<String>> {
        let list = List {
            filter: doc! { "messages.id": &message.id, "owner": { "$in": owners } },
            limit: count(owners.len()),
            projection: Some(doc! { "messages.text": 0 }),
            hint: Some("copies"),
            ..List::default()
        };
        Ok(buckets(app).list(list).await?.into_iter().map(|bucket| bucket.owner).collect())
    }

    async fn last(app: &App, owner: &str, _: &MessageCopy) -> Result<Option<Self>> {
        last(app, owner).await
    }

    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn next(last: Option<&Self>, owner: &str, message: &MessageCopy) -> Self {
        Self::new(owner, last.map_or(0, |last| last.n + 1), message)
    }
}

/// The bucket of an owner that has the message, without texts.
pub(super) async fn bucket_with(
    app: &App,
    owner: &str,
    message: &str,
) -> Result<Option<InboxBucket>> {
    let list = List {
        filter: doc! { "messages.id": message, "owner": owner },
        projection: Some(doc! { "messages.text": 0 }),
        hint: Some("copies"),
        ..List::default()
    };
    buckets(app).first(list).await
}

/// The last bucket of an owner, without texts.
pub(super) async fn last(app: &App, owner: &str) -> Result<Option<InboxBucket>> {
    let list = List {
        filter: doc! { "owner": owner },
        sort: doc! { "n": -1 },
        projection: Some(doc! { "messages.text": 0 }),
        hint: Some("owner"),
        ..List::default()
    };
    buckets(app).first(list).await
}

/// Up to `limit` buckets of an owner, the newest first, from bucket `n` or else from the last one.
pub(super) async fn list_down(
    app: &App,
    owner: &str,
    n: Option<i64>,
    limit: usize,
) -> Result<Vec<InboxBucket>> {
    let mut filter = doc! { "owner": owner };
    if let Some(n) = n {
        filter.insert("n", doc! { "$lte": n });
    }
    let (sort, limit) = (doc! { "n": -1 }, count(limit));
    buckets(app).list(List { filter, sort, limit, hint: Some("owner"), ..List::default() }).await
}

/// Up to `limit` buckets of an owner, the oldest first, from bucket `n` on.
pub(super) async fn list_up(
    app: &App,
    owner: &str,
    n: i64,
    limit: usize,
) -> Result<Vec<InboxBucket>> {
    let (filter, sort) = (doc! { "owner": owner, "n": { "$gte": n } }, doc! { "n": 1 });
    let limit = count(limit);
    buckets(app).list(List { filter, sort, limit, hint: Some("owner"), ..List::default() }).await
}

/// A page of the conversation of `reader` with a user.
pub(super) async fn list_conversation(
    app: &App,
    page: &page::Page,
    (reader, with): (&str, &str),
) -> Result<Vec<ConversationEntry>> {
    entries(app).list(page.list(doc! { "views": view(reader, with) })).await
}

/// Notes that a user has read up to this number, unless they have read further. Returns whether it did.
pub(super) async fn raise_read(app: &App, user: &str, number: i64) -> Result<bool> {
    let guard = doc! { "_id": user, "readTo": { "$lt": number } };
    let read = ReadDocument { id: user.to_owned(), read_to: number, v: Version };
    let mut fields = stored_fields(&read);
    fields.remove("_id");
    Ok(reads(app).upsert_each(vec![(guard, vec![doc! { "$set": fields }])]).await?.is_empty())
}
