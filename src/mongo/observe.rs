//! Records the commands that a request sent, how long each took, and the reads among them for `explain`.

use std::{
    collections::BTreeSet,
    future::Future,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use mongodb::bson::{Document, doc};

use super::{
    lists::List,
    lookup::{AGGREGATE, FIND, Keys, Lookup},
    placement::{Group, Reads},
};
use crate::{locks::lock, metrics::request};

/// A command that several callers may share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedCommand {
    /// When it was sent. Two commands of one collection hardly ever have the same instant.
    pub sent: Instant,
    /// Number of its keys, its statements or, of a list, its callers.
    pub items: usize,
}

impl SharedCommand {
    /// A command that is sent now.
    pub(super) fn now(items: usize) -> Self {
        Self { sent: Instant::now(), items }
    }
}

/// One command that was sent to MongoDB.
#[derive(Debug, Clone)]
pub struct SentCommand {
    /// Collection, or the database for commands without one.
    pub collection: String,
    /// The command's name in MongoDB, such as `find`.
    pub command: &'static str,
    /// Time from the call to the whole reply. In a command that callers may share, it includes the wait for the command before.
    pub took: Duration,
    /// The command, if callers may share it, and the number of its items that are this request's.
    pub shared: Option<(SharedCommand, usize)>,
    /// What was read, if it is a read; [`statistics`](super::explain::statistics) runs it again.
    pub read: Option<Read>,
}

/// What a command read.
#[derive(Debug, Clone)]
pub struct Read {
    what: What,
    reads: Reads,
}

#[derive(Debug, Clone)]
enum What {
    /// What this command asks for.
    Command(Document),
    /// Documents by key: the keys of this request.
    Keys(Lookup, BTreeSet<String>),
}

impl SentCommand {
    /// Number of items of other requests in the command, if callers may share it.
    pub fn others(&self) -> Option<usize> {
        self.shared.map(|(command, own)| command.items.saturating_sub(own))
    }
}

impl Read {
    /// The group of the collection.
    pub fn group(&self) -> Group {
        self.reads.group
    }

    /// Whether a secondary may have served it.
    pub fn is_eventual(&self) -> bool {
        self.reads.is_eventual
    }

    /// The command, for the items of this request alone.
    pub fn command(&self) -> Document {
        let (lookup, keys) = match &self.what {
            What::Command(command) => return command.clone(),
            What::Keys(lookup, keys) => (lookup, keys),
        };
        let condition = doc! { "$in": keys.iter().collect::<Vec<_>>() }.into();
        if let Keys::Newest(series) = lookup.keys {
            if let (Some(key), 1) = (keys.first(), keys.len()) {
                return series.newest(&key.as_str().into()).command(lookup.collection);
            }
            let pipeline = series.newest_of_each(&condition);
            return doc! {
                AGGREGATE: lookup.collection, "pipeline": pipeline, "cursor": {}, "hint": series.index,
            };
        }
        let filter = lookup.filter(condition);
        let is_unique = lookup.keys.is_unique();
        let limit = if is_unique { i64::try_from(keys.len()).unwrap_or(0) } else { 0 };
        let list =
            List { filter, limit, projection: lookup.fields.projection(), ..List::default() };
        list.command(lookup.collection)
    }
}

/// The commands of one request.
pub type Log = Arc<Mutex<Vec<SentCommand>>>;

tokio::task_local! {
    static LOG: Log;
}

/// Runs `request`, and collects its commands in `log`.
pub async fn collect<F: Future>(log: Log, request: F) -> F::Output {
    LOG.scope(log, request).await
}

/// Records one command; does nothing outside a request.
pub(super) fn record(collection: &str, command: &'static str, since: Instant) {
    request::command(None);
    add(collection, command, since, None, None);
}

/// Like [`record`], for an item of a command that callers may share. A request that has several items in it sent it
/// once.
pub(super) fn record_shared(
    collection: &str,
    command: &'static str,
    since: Instant,
    shared: SharedCommand,
) {
    request::command(Some(shared.sent));
    add(collection, command, since, Some(shared), None);
}

/// Like [`record_shared`], for the read of a key.
pub(super) fn record_key(lookup: Lookup, key: &str, since: Instant, shared: Option<SharedCommand>) {
    request::command(shared.map(|command| command.sent));
    let command = shared.map_or(FIND, |command| lookup.command(command.items));
    add(lookup.collection, command, since, shared, Some((lookup, key)));
}

/// Like [`record_shared`], for a list, which `read` reads again.
pub(super) fn record_list(
    collection: &str,
    since: Instant,
    shared: Option<SharedCommand>,
    (reads, read): (Reads, Option<Document>),
) {
    request::command(shared.map(|command| command.sent));
    if add(collection, FIND, since, shared, None) {
        record_read(reads, read);
    }
}

/// Adds a command to the log. Returns whether it wasn't there before.
fn add(
    collection: &str,
    command: &'static str,
    since: Instant,
    shared: Option<SharedCommand>,
    key: Option<(Lookup, &str)>,
) -> bool {
    // A sweep or a command of the binary has no log.
    let added = LOG.try_with(|log| {
        let mut log = lock(log);
        let is_same = |sent: &SentCommand| {
            let at = |command: Option<SharedCommand>| command.map(|command| command.sent);
            let is_there = sent.collection == collection && sent.command == command;
            is_there && at(sent.shared.map(|(command, _)| command)) == at(shared)
        };
        let known = shared.and_then(|_| log.iter().rposition(is_same));
        if let Some(sent) = known.and_then(|position| log.get_mut(position)) {
            sent.took = sent.took.max(since.elapsed());
            if let Some((_, own)) = &mut sent.shared {
                *own += 1;
            }
            if let (Some(Read { what: What::Keys(_, keys), .. }), Some((_, key))) =
                (&mut sent.read, key)
            {
                keys.insert(key.to_owned());
            }
            return false;
        }
        log.push(SentCommand {
            collection: collection.to_owned(),
            command,
            took: since.elapsed(),
            shared: shared.map(|command| (command, 1)),
            read: key.map(|(lookup, key)| Read {
                what: What::Keys(lookup, [key.to_owned()].into()),
                reads: lookup.reads,
            }),
        });
        true
    });
    added.unwrap_or_default()
}

/// Returns the read if commands are being collected.
pub(super) fn if_collecting(read: impl FnOnce() -> Document) -> Option<Document> {
    LOG.try_with(|_| read()).ok()
}

/// Adds the read to the command that was recorded last.
pub(super) fn record_read(reads: Reads, read: Option<Document>) {
    let _outside_a_request = LOG.try_with(|log| {
        if let Some(sent) = lock(log).last_mut() {
            sent.read = read.map(|command| Read { what: What::Command(command), reads });
        }
    });
}
