//! Guarded writes, batched over all requests in flight; see `super::batcher`.
//!
//! A write can be part of a batch if its filter selects the document by an `_id` that is a string, doesn't name the
//! field `v`, and has `$expr` only as a conjunct, and if its update is a pipeline. Any other write is sent by itself. A
//! command has a number if one of its writes has; see [`Guarded::numbered`](super::guarded::Guarded::numbered).
//!
//! A single write is sent as `update`, or as `findAndModify` if its caller wants the document. Several writes are sent
//! as one unordered `update`, each as a *statement*, an element of the command. MongoDB's reply counts the documents
//! that matched, but doesn't tell which of the statements they belong to. So a statement fails if its condition doesn't
//! hold, and the reply names the statements that failed:
//!
//! ```text
//!   alone     {q: {_id, fields, $expr: conditions}, u: [{$set: change}]}
//!   in batch  {q: {_id, fields}, u: [{$set: {_id: conditions and `v` exists ? _id : fail, change}}], upsert: true}
//! ```
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
//! Writes of one document whose guards consist of `$expr` are combined into one statement, up to [`MAX_COMBINED`]. So
//! MongoDB writes a document that many callers change only once for all of them. The stages of the writes follow each
//! other, so each condition sees the changes before it; writes that don't depend on each other share one stage
//! (`super::merging`). If one condition fails, none of the changes is applied, and each write is sent again as its own
//! statement. After a command that was sent twice, `applied_if` decides each of the writes instead.
//!
//! Writes of different documents that are [alike](super::guarded::Guarded::alike) are combined into one statement as well. Its
//! filter selects all of their documents, and MongoDB parses it once. It doesn't tell which of the guards held, so each of the
//! writes counts as applied. If the statement fails, each write is sent again as its own statement. A command with a number
//! has no such statement: MongoDB doesn't permit that.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Instant,
};

use mongodb::bson::{Document, RawDocumentBuf};
use tracing::Span;

use super::{
    batcher::{Batcher, Item, Source},
    driver::{DUPLICATE_KEY, Raw},
    faults::FailedWrite,
    guarded::{Alike, Outcome, Sends, Write},
    observe::{self, SharedCommand},
    raw_writes::update,
    scheduling::is_unhurried,
    shared_writes::{MAX_BYTES, WriteBatchers, parts},
    statement::{REFUSED, Selected, element, element_of_alike, selected},
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
/// Maximum number of writes that are combined into one statement.
const MAX_COMBINED: usize = 32;
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

/// Writes that are one statement of a batch.
type Group = Vec<Item<Writer>>;

/// What writes that are combined into one statement have in common.
#[derive(PartialEq, Eq, Hash)]
enum Common {
    /// The `_id` of their document.
    Document(String),
    /// The name of what they are alike in.
    Alike(&'static str),
}

/// Groups the writes that are combined into one statement.
fn combined(batch: Vec<Item<Writer>>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::with_capacity(batch.len());
    let mut open: HashMap<Common, usize> = HashMap::new();
    let is_numbered = batch.iter().any(|item| item.value.write.is_numbered);
    for mut item in batch {
        let QueuedWrite { write, selected, .. } = &mut item.value;
        if is_numbered {
            write.alike = None;
        }
        let common = match &write.alike {
            Some((alike, _)) => Some(Common::Alike(alike.name)),
            None => selected.is_combinable.then(|| Common::Document(selected.id.clone())),
        };
        let last = common.as_ref().and_then(|common| open.get(common)).copied();
        match last.and_then(|position| groups.get_mut(position)) {
            Some(group) if group.len() < MAX_COMBINED => group.push(item),
            _ => {
                if let Some(common) = common {
                    open.insert(common, groups.len());
                }
                groups.push(vec![item]);
            }
        }
    }
    groups
}

/// What the writes of a group are alike in, if they are of several documents.
fn alike(group: &[Item<Writer>]) -> Option<&'static Alike> {
    match group {
        [first, _, ..] => first.value.write.alike.as_ref().map(|(alike, _)| *alike),
        _ => None,
    }
}

/// The statement of a group, or `None` if it can't be part of a command with others.
fn statement(group: &[Item<Writer>]) -> Option<RawDocumentBuf> {
    let (Some(alike), [first, ..]) = (alike(group), group) else {
        return element(group.iter().map(|item| &item.value.write));
    };
    let writes = group.iter().filter_map(|item| {
        let (_, key) = item.value.write.alike.as_ref()?;
        Some((&*item.value.selected.id, &**key))
    });
    element_of_alike(alike, first.value.write.newest, writes)
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
        if alone.len() > 1 {
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
        let count = part.iter().map(|(group, _)| group.len()).sum::<usize>();
        if count < 2 {
            return part.into_iter().map(|(group, _)| group).collect();
        }
        self.statements.observe_count(count);
        let shared = SharedCommand::now(count);
        let items = part.iter().flat_map(|(group, _)| group);
        let limit = items.clone().map(|item| item.value.write.limit()).min().unwrap_or_default();
        let is_numbered = items.clone().any(|item| item.value.write.is_numbered);
        let (groups, elements): (Vec<_>, Vec<_>) = part.into_iter().unzip();
        let numbered = is_numbered.then(|| filters(&groups));
        // Callers decide by the outcome.
        let concern = Concern::Majority;
        let reply = update(&self.collection, elements, numbered, concern, limit).await;
        let mut outcomes = reply.and_then(|reply| Outcomes::of(&reply, &groups));
        let (mut failed, mut uncertain) = (Vec::new(), Vec::new());
        for (position, group) in groups.into_iter().enumerate() {
            let outcome = match &mut outcomes {
                Ok(outcomes) => outcomes.take(position),
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
    first.map(|item| item.value.write.filter.clone()).collect()
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

/// The outcomes of the statements of a batch.
struct Outcomes {
    /// The statements that weren't applied, by position.
    failed: HashMap<usize, FailedWrite>,
    /// The error after which the command was sent again: a statement that failed may have been applied before.
    uncertain: Option<String>,
    sends: Sends,
}

impl Outcomes {
    /// Reads the reply to a batch of the statements of these groups.
    fn of(reply: &Reply, groups: &[Group]) -> Result<Self, Error> {
        let failed = reply.failed()?;
        // A statement for several documents matches any number of them.
        let is_single =
            |position: &usize| groups.get(*position).is_some_and(|all| alike(all).is_none());
        let single = (0..groups.len()).filter(is_single).count();
        let answered =
            reply.matched()? + failed.iter().filter(|one| is_single(&one.position)).count();
        let is_complete =
            if single == groups.len() { answered == single } else { answered >= single };
        if reply.upserted() > 0 || !is_complete {
            return Err(Error::unavailable("the reply doesn't account for every statement"));
        }
        let failed = failed.into_iter().map(|failed| (failed.position, failed)).collect();
        let uncertain = reply.uncertainty().map(|first| format!("{first:?}"));
        Ok(Self { failed, uncertain, sends: reply.sends() })
    }

    /// The fate of a statement, or `None` if it has to be sent by itself.
    fn take(&mut self, position: usize) -> Option<Fate> {
        let Some(FailedWrite { code, text, error, .. }) = self.failed.remove(&position) else {
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
