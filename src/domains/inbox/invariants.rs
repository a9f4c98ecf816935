//! Invariants of messages, for `docgate check`.

use std::collections::{HashMap, HashSet};

use super::documents::{ConversationEntry, InboxBucket, MessageDocument, ReadDocument, bucket_id};
use crate::{app::App, error::Result, invariants::Report};

/// Checks inboxes, conversations and what is read.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let mut messages = HashMap::new();
    let each = |message: MessageDocument| {
        messages.insert(message.id.clone(), message);
    };
    app.collection().for_each(each).await?;
    let (copies, arrived) = check_buckets(app, &messages, report).await?;
    let entries = check_entries(app, &messages, report).await?;
    let mut faults = Vec::new();
    for message in messages.values().filter(|message| message.delivering.is_none()) {
        for user in &message.to {
            let key = (message.id.clone(), user.clone());
            if copies.contains(&key) == message.is_withheld(user) || !entries.contains(&key) {
                faults.push(format!("message {} to {user}", message.id));
            }
        }
    }
    report
        .add("inbox: a delivered message is in each inbox and conversation that it names", faults);
    report.rule("inbox: nobody has read more messages than have arrived");
    let each = |read: ReadDocument| {
        if read.read_to > arrived.get(&read.id).copied().unwrap_or_default() {
            report.broken(format!("{}: {}", read.id, read.read_to));
        }
    };
    app.collection().for_each(each).await
}

/// Pairs of a message and a user.
type Pairs = HashSet<(String, String)>;

/// Checks the buckets. Returns the copies in them, and how many messages have arrived at each user.
async fn check_buckets(
    app: &App,
    messages: &HashMap<String, MessageDocument>,
    report: &mut Report,
) -> Result<(Pairs, HashMap<String, i64>)> {
    let (mut copies, mut sizes, mut faults) = (HashSet::new(), HashMap::new(), Vec::new());
    report.rule("inbox: each copy is of a message that names the owner, and there is one");
    let each = |bucket: InboxBucket| {
        let InboxBucket { id, owner, n, open, .. } = &bucket;
        let size = bucket.messages.len();
        let takes_more = size < InboxBucket::CAP;
        let is_sound = *id == bucket_id(owner, *n)
            && (1..=InboxBucket::CAP).contains(&size)
            && open.as_ref() == takes_more.then_some(owner);
        if !is_sound {
            faults.push(format!("bucket {id} of {size}"));
        }
        for copy in &bucket.messages {
            let is_due = messages.get(&copy.id).is_some_and(|message| {
                message.shown == *copy && message.is_to(owner) && !message.is_withheld(owner)
            });
            if !is_due || !copies.insert((copy.id.clone(), owner.clone())) {
                report.broken(format!("{} in {id}", copy.id));
            }
        }
        let of_owner: &mut Vec<(i64, i64)> = sizes.entry(owner.clone()).or_default();
        of_owner.push((*n, bucket.arrived()));
    };
    app.collection().for_each(each).await?;
    let mut arrived = HashMap::new();
    for (owner, mut sizes) in sizes {
        sizes.sort_unstable();
        let is_full = |(n, last): &(i64, i64)| *last == (n + 1) * InboxBucket::SIZE;
        let is_gapless = sizes.iter().zip(0..).all(|((n, _), expected)| *n == expected)
            && sizes.iter().rev().skip(1).all(is_full);
        if !is_gapless {
            faults.push(format!("the buckets of {owner}"));
        }
        arrived.insert(owner, sizes.last().map_or(0, |(_, last)| *last));
    }
    report.add("inbox: buckets are numbered without a gap, and all but the last are full", faults);
    Ok((copies, arrived))
}

/// Checks the entries of conversations, and returns them.
async fn check_entries(
    app: &App,
    messages: &HashMap<String, MessageDocument>,
    report: &mut Report,
) -> Result<Pairs> {
    let mut entries = HashSet::new();
    report.rule("inbox: each entry of a conversation is of a message and one of its recipients");
    let each = |entry: ConversationEntry| {
        let found = messages.get(&entry.message.id).and_then(|message| {
            let to = entry.id.split_once(' ')?.1;
            let due = ConversationEntry::new(message, to);
            let is_due = message.is_to(to)
                && (&due.id, &due.views, &due.message) == (&entry.id, &entry.views, &entry.message);
            is_due.then(|| (message.id.clone(), to.to_owned()))
        });
        match found {
            Some(pair) => {
                entries.insert(pair);
            }
            None => report.broken(entry.id),
        }
    };
    app.collection().for_each(each).await?;
    Ok(entries)
}
