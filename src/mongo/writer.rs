//! Guarded writes, batched over all requests in flight; see `super::batcher`.
//!
//! A write can be part of a batch if its filter selects the document by an `_id` that is a string, doesn't name the
//! field `v`, and has `$expr` only as a conjunct, and if its update is a pipeline. Any other write is sent by itself. A
//! command has a number if one of its writes has; see [`Guarded::numbered`](super::guarded::Guarded::numbered).
//!
//! A single write whose caller wants the document is sent as `findAndModify`. Other writes are sent as one unordered
//! `update`, each as a *statement*, an element of the command. MongoDB's reply counts the documents that matched, but
//! doesn't tell which of the statements they belong to. So a statement fails if its condition doesn't hold, and the
//! reply names the statements that failed:
//!
//! ```text
//!   by itself    {q: {_id, fields, $expr: conditions}, u: [{$set: change}]}
//!   a statement  {q: {_id, fields}, u: [{$set: {_id: conditions and `v` exists ? _id : fail, change}}], upsert: true}
//! ```
//!
//! A filter of `_id` alone needs no query plan, so a single write is a statement too.
//!
//! If the filter matches no document, the upsert applies the pipeline to a new document that consists of `_id` and the
//! values that the filter demands. The field `v`, which every stored document has, is missing there, so the first stage
//! fails and nothing is inserted. `$expr` isn't permitted in the filter of an upsert; its conditions are part of the
//! first stage. The `maxTimeMS` of a batch is the shortest of its writes.
//!
//! The error code of a refused statement is that of a failed conversion, and its text contains [`REFUSED`]. A duplicate
//! key counts as a refusal. A transient failure has an unknown outcome. If the command was sent twice, `applied_if`
//! decides each failed statement. Any other failed statement is sent again by itself, so that its own reply tells the
//! reason.
//!
//! Writes of one document whose guards consist of `$expr` are combined into one statement, up to `MAX_COMBINED`. So
//! MongoDB writes a document that many callers change only once for all of them. The stages of the writes follow each
//! other, so each condition sees the changes before it; writes that don't depend on each other share one stage
//! (`super::merging`). If one condition fails, none of the changes is applied, and each write is sent again as its own
//! statement. After a command that was sent twice, `applied_if` decides each of the writes instead.
//!
//! A write that is made [of each](super::guarded::Guarded::of_each) of several documents is one statement, whose filter
//! selects all of them. It fails at the first document that refuses it, and leaves out a document that isn't there. In both
//! cases each of the writes is sent again as its own statement. Documents that other writes of the batch concern aren't part
//! of it: their writes are combined instead.
//!
//! Writes of different documents that are [alike](super::guarded::Guarded::alike) are combined into one statement as well. Its
//! filter selects all of their documents, and MongoDB parses it once. Some of these statements fail in the same way. The others
//! don't tell which of the guards held, so each of the writes counts as applied. If such a statement fails, each write is sent
//! again as its own statement.
//!
//! A command with a number has no statement of several documents: MongoDB doesn't permit that.

mod groups;

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Instant,
};

use mongodb::bson::{Document, RawDocumentBuf};
use tracing::Span;

use self::groups::{Group, combined, documents, leaves_out, statement};
use super::{
    batcher::{Batcher, Item, Source},
    driver::{DUPLICATE_KEY, Raw},
    faults::FailedWrite,
    guarded::{Outcome, Sends, Write},
    observe::{self, SharedCommand},
    raw_writes::update,
    scheduling::is_unhurried,
    shared_writes::{MAX_BYTES, WriteBatchers, parts},
    statement::{REFUSED, Selected, selected},
    write_command::Reply,
};
use crate::{
    config::Concern,
    error::Error,
    join::join_all,
    metrics::histogram::Histogram,
    traces::{self, ItemSpan},
};

/// Command of a batch.
const UPDATE: &str = "update";
/// Command of a write that is sent by itself and returns the document.
const FIND_AND_MODIFY: &str = "findAndModify";
/// The server's error code for a failed conversion.
const CONVERSION_FAILURE: i32 = 241;

/// The guarded writes of one collection.
pub(super) struct Writer {
    collection: Raw,
    /// Number of writes per command.
    statements: Histogram,
}

/// The writers of one database, by collection.
pub(super) type Writers = WriteBatchers<&'static str, Writer>;

impl Writers {
    /// The writer of a write's collection, and what the write selects, or `None` if the write is sent by itself.
    pub(super) fn of(&self, write: &Write) -> Option<(Arc<Batcher<Writer>>, Selected)> {
        if !self.coalesce {
            return None;
        }
        let selected = selected(write)?;
        let collection = &write.collection;
        let name = collection.name;
        let writer = |statements| Writer { collection: collection.clone(), statements };
        Some((self.get(name, name, writer), selected))
    }
}

/// Sends a write, which may share its command. With `wants_after`, a write that is sent by itself returns the document
/// after it.
pub(super) async fn submit(
    writer: Arc<Batcher<Writer>>,
    (write, selected): (Write, Selected),
    wants_after: bool,
) -> Outcome<After> {
    let since = Instant::now();
    let name = writer.source().collection.name;
    let span = ItemSpan::new(name, UPDATE);
    let queued = QueuedWrite { write, selected, wants_after };
    let answer = if is_unhurried() {
        writer.submit_late(queued, &span).await
    } else {
        writer.submit(queued, &span).await
    };
    let Sent { outcome, command, shared } = answer.unwrap_or_else(|error| Sent {
        outcome: Outcome::Unknown(error),
        command: UPDATE,
        shared: SharedCommand::now(1),
    });
    observe::record_shared(name, command, since, shared);
    outcome
}

/// The document after a write.
pub(super) enum After {
    /// The write was sent by itself, and returned it.
    Exact(RawDocumentBuf, Sends),
    /// It has to be read.
    Unread(Sends),
}

/// The answer to a write.
pub(super) struct Sent {
    outcome: Outcome<After>,
    command: &'static str,
    shared: SharedCommand,
}

/// A queued write.
pub(super) struct QueuedWrite {
    write: Write,
    selected: Selected,
    /// Whether the caller wants the document after the write.
    wants_after: bool,
}

impl QueuedWrite {
    /// Whether it is sent as a statement if it is alone. The reply to a statement has no document, and its command no number.
    fn is_statement(&self) -> bool {
        !self.wants_after && !self.write.is_numbered
    }

    /// Sends the write by itself.
    async fn send(self) -> Sent {
        let shared = SharedCommand::now(1);
        if !self.wants_after {
            let outcome = Outcome::of(self.write.update().await).map(After::Unread);
            return Sent { outcome, command: UPDATE, shared };
        }
        let modified = Outcome::of(self.write.find_and_modify().await);
        let outcome = modified.map(|(after, sends)| After::Exact(after, sends));
        Sent { outcome, command: FIND_AND_MODIFY, shared }
    }
}

impl Source for Writer {
    type Value = QueuedWrite;
    type Answer = Sent;
    // While a command waits for the disks of a majority, another command can use the processor.
    const THRESHOLD: usize = 32;
    const MAX_BATCH: usize = 200;
    const MAX_QUEUE: usize = 8_192;

    async fn answer(&self, batch: Vec<Item<Self>>) {
        let mut alone = batch;
        if alone.len() > 1 || alone.iter().all(|item| item.value.is_statement()) {
            let failed = self.send_all(combined(alone)).await;
            let (several, single): (Vec<_>, Vec<_>) =
                failed.into_iter().partition(|group| group.len() > 1);
            alone = single.into_iter().flatten().collect();
            let each = several.into_iter().flatten().map(|item| vec![item]).collect();
            alone.extend(self.send_all(each).await.into_iter().flatten());
        }
        for Item { value, answer, .. } in alone {
            answer.send(value.send().await);
        }
    }

    fn takes_late(&self, batch: &VecDeque<Item<Self>>) -> bool {
        // A write that is sent by itself can return its document. With others it would need another read.
        batch.len() != 1 || batch.front().is_some_and(|item| !item.value.wants_after)
    }

    fn span(&self, traced: &[ItemSpan], count: usize) -> Span {
        let database = || self.collection.database_name();
        traces::shared_command(database, self.collection.name, UPDATE, traced, count)
    }
}

impl Writer {
    /// Sends each group as a statement, with as few commands as possible, and answers their callers. Returns the groups
    /// that weren't applied and have to be sent otherwise.
    async fn send_all(&self, groups: Vec<Group>) -> Vec<Group> {
        let (mut all, mut failed) = (Vec::new(), Vec::new());
        for group in groups {
            match statement(&group) {
                Some(element) => all.push((group, element)),
                None => failed.push(group),
            }
        }
        for part in parts(all, MAX_BYTES, |(_, element)| element.as_bytes().len()) {
            failed.extend(self.send(part).await);
        }
        failed
    }

    /// Sends the statements in one command; see [`Self::send_all`].
    async fn send(&self, part: Vec<(Group, RawDocumentBuf)>) -> Vec<Group> {
        let items = || part.iter().flat_map(|(group, _)| group);
        let count = items().count();
        if count == 0 {
            return Vec::new();
        }
        if count > 1 {
            self.statements.observe_count(count);
        } else if !items().all(|item| item.value.is_statement()) {
            return part.into_iter().map(|(group, _)| group).collect();
        }
        let shared = SharedCommand::now(count);
        let limit = items().map(|item| item.value.write.limit()).min().unwrap_or_default();
        let is_numbered = items().any(|item| item.value.write.is_numbered);
        let (groups, elements): (Vec<_>, Vec<_>) = part.into_iter().unzip();
        let numbered = is_numbered.then(|| filters(&groups));
        // Callers decide by the outcome.
        let concern = Concern::Majority;
        let reply = update(&self.collection, elements, numbered, concern, limit).await;
        let mut outcomes = reply.and_then(|reply| Outcomes::of(&reply, &groups));
        let (mut failed, mut uncertain) = (Vec::new(), Vec::new());
        for (position, group) in groups.into_iter().enumerate() {
            let outcome = match &mut outcomes {
                Ok(outcomes) => outcomes.take(position, &group),
                Err(Error::Unavailable(source)) => {
                    Some(Fate::Known(Outcome::Unknown(Error::unavailable(source.to_string()))))
                }
                // One statement has spoilt the command, and none was applied.
                Err(_) => None,
            };
            match outcome {
                Some(Fate::Known(Outcome::Refused)) | None if group.len() > 1 => failed.push(group),
                Some(Fate::Known(outcome)) => {
                    for item in group {
                        answer(item, same(&outcome), shared);
                    }
                }
                Some(Fate::Uncertain(error)) => {
                    let error = error.to_string();
                    uncertain.extend(group.into_iter().map(|item| (item, error.clone())));
                }
                None => failed.push(group),
            }
        }
        join_all(uncertain.into_iter().map(|(item, error)| async move {
            let outcome = match item.value.write.if_applied(Error::unavailable(error)).await {
                Ok(_after) => Outcome::Applied(After::Unread(Sends::Once)),
                Err(error) => Outcome::Unknown(error),
            };
            answer(item, outcome, shared);
        }))
        .await;
        failed
    }
}

/// Filters of the documents that the groups change.
fn filters(groups: &[Group]) -> Vec<Document> {
    let first = groups.iter().filter_map(|group| group.first());
    first.map(|item| item.value.write.whole_filter()).collect()
}

/// Answers the caller of a write of a shared command.
fn answer(item: Item<Writer>, outcome: Outcome<After>, shared: SharedCommand) {
    item.answer.send(Sent { outcome, command: UPDATE, shared });
}

/// The outcome of a statement, for one of the writes that were combined into it.
fn same(outcome: &Outcome<Sends>) -> Outcome<After> {
    match outcome {
        Outcome::Applied(sends) => Outcome::Applied(After::Unread(*sends)),
        Outcome::Refused => Outcome::Refused,
        Outcome::Unknown(error) => Outcome::Unknown(error.for_another()),
    }
}

/// What the reply to a batch tells about one of its statements.
enum Fate {
    /// The outcome.
    Known(Outcome<Sends>),
    /// It failed when the command was sent again after this error; it may have been applied before.
    Uncertain(Error),
}

/// The documents that the reply to a batch counts.
#[derive(Debug, Clone, Copy)]
struct Expected {
    /// Those of the statements that didn't fail.
    all: usize,
    /// Those among them of statements that leave out documents that aren't there.
    shared: usize,
    /// Those of statements that failed. A router may count some of them, which other shards have changed.
    stray: usize,
    /// Whether no statement matches any number of documents.
    is_exact: bool,
}

impl Expected {
    /// Whether a document may have been left out; `None` if the number of matched documents doesn't account for every statement.
    fn lacks(self, matched: usize) -> Option<bool> {
        let Self { all, shared, stray, is_exact } = self;
        let most = if is_exact { all + stray } else { usize::MAX };
        // Each of a failed statement could hide one that was left out.
        let is_whole = if is_exact { matched == all && stray == 0 } else { matched >= all };
        (all - shared..=most).contains(&matched).then_some(shared > 0 && !is_whole)
    }
}

/// The outcomes of the statements of a batch.
struct Outcomes {
    /// The statements that weren't applied, by position.
    failed: HashMap<usize, FailedWrite>,
    /// Whether a statement may have left out a document that isn't there. The reply doesn't tell which one.
    lacks_document: bool,
    /// The error after which the command was sent again: a statement that failed may have been applied before.
    uncertain: Option<String>,
    sends: Sends,
}

impl Outcomes {
    /// Reads the reply to a batch of the statements of these groups.
    fn of(reply: &Reply, groups: &[Group]) -> Result<Self, Error> {
        let failed = reply.failed()?.into_iter().map(|failed| (failed.position, failed));
        let failed: HashMap<usize, FailedWrite> = failed.collect();
        let mut expected = Expected { all: 0, shared: 0, stray: 0, is_exact: true };
        for (position, group) in groups.iter().enumerate() {
            let shared = |count| if leaves_out(group) { count } else { 0 };
            match documents(group) {
                // It matches any number of them.
                None => expected.is_exact = false,
                Some(count) if !failed.contains_key(&position) => {
                    expected.all += count;
                    expected.shared += shared(count);
                }
                Some(_) if reply.is_of_member() => {}
                Some(count) => expected.stray += shared(count),
            }
        }
        let lacks_document = expected.lacks(reply.matched()?).filter(|_| reply.upserted() == 0);
        let lacks_document = lacks_document
            .ok_or_else(|| Error::unavailable("the reply doesn't account for every statement"))?;
        let uncertain = reply.uncertainty().map(|first| format!("{first:?}"));
        Ok(Self { failed, lacks_document, uncertain, sends: reply.sends() })
    }

    /// The fate of the statement of a group, or `None` if each of its writes has to be sent by itself.
    fn take(&mut self, position: usize, group: &[Item<Writer>]) -> Option<Fate> {
        let Some(FailedWrite { code, text, error, .. }) = self.failed.remove(&position) else {
            if self.lacks_document && leaves_out(group) {
                let first = self.uncertain.clone()?;
                return Some(Fate::Uncertain(Error::unavailable(first)));
            }
            return Some(Fate::Known(Outcome::Applied(self.sends)));
        };
        if let Some(first) = &self.uncertain {
            return Some(Fate::Uncertain(Error::unavailable(first.clone())));
        }
        let is_refused = code == CONVERSION_FAILURE && text.contains(REFUSED);
        match error {
            _ if is_refused || code == DUPLICATE_KEY => Some(Fate::Known(Outcome::Refused)),
            Error::Unavailable(_) => Some(Fate::Known(Outcome::Unknown(error))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
