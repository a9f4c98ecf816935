//! Lists that several callers request at once, such as the first page of a shop. Callers of the same list share commands.
//!
//! If no command reads a list, it is read at once. Callers that request it while a command reads it get the answer of the next
//! command, which is sent when the one before has ended. A caller never joins a command that was already sent, so an answer is
//! never older than its call. Behind a command that takes long, another one is sent for those who wait: see
//! [`SharedLists::send_overdue`].
//!
//! Two lists are the same if all their parts are: collection, filter, order, limit, projection, index, bounds in the index, time limit
//! and consistency.

use std::{
    collections::HashMap,
    iter, mem,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use mongodb::{bson::RawDocumentBuf, error::Result as DriverResult};
use tokio::time::timeout;
use tracing::Instrument as _;

use super::{
    answers::{Receiver, Sender, channel, send_all},
    batchers::CHECK_INTERVAL,
    driver::{REPLY_TIMEOUT, Raw, encode, record_batched},
    lists::{List, find},
    lookup::FIND,
    observe::SharedCommand,
    placement::Reads,
};
use crate::{
    error::Error,
    locks::lock,
    metrics::database::Batches,
    traces::{self, ItemSpan},
};

/// What a caller of a list is answered: the documents, and with how many callers it shared the command.
pub(super) type Answer = (DriverResult<Vec<Arc<RawDocumentBuf>>>, SharedCommand);

/// The lists that are being read.
pub(super) struct SharedLists {
    /// The longest `maxTimeMS` of a command.
    limit: Duration,
    metrics: Batches,
    all: Mutex<HashMap<Key, Reading>>,
}

/// What makes two lists the same.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    reads: Reads,
    /// The name of the collection, and the parts of the list.
    range: Vec<u8>,
}

/// A list that is being read.
struct Reading {
    /// Number of commands that read it.
    commands: usize,
    /// When the last of them was sent; `None` if one has ended since. Callers don't wait for the others, which may never end.
    since: Option<Instant>,
    /// The next command, if somebody waits for it.
    next: Option<Next>,
}

/// A command that is to be sent.
struct Next {
    raw: Raw,
    list: List,
    callers: Vec<Caller>,
}

struct Caller {
    answer: Sender<Answer>,
    span: ItemSpan,
}

impl Key {
    fn of(raw: &Raw, list: &List) -> Result<Self, Error> {
        let List { filter, sort, limit, projection, hint, between, time } = list;
        let [first, end] = match between {
            Some((first, end)) => [Some(first), Some(end)],
            None => [None, None],
        };
        let mut range = Vec::with_capacity(256);
        range.extend(raw.name().as_bytes());
        range.push(0);
        for document in [Some(filter), Some(sort), projection.as_ref(), first, end] {
            range.push(u8::from(document.is_some()));
            if let Some(document) = document {
                // It begins with its length.
                range.extend(encode(document)?.as_bytes());
            }
        }
        range.extend(limit.to_le_bytes());
        range.extend(time.map_or(0, |time| time.as_nanos()).to_le_bytes());
        range.extend(hint.unwrap_or_default().as_bytes());
        Ok(Self { reads: raw.reads, range })
    }
}

impl SharedLists {
    /// None yet. `limit` is the longest `maxTimeMS` of a command.
    pub(super) fn new(limit: Duration, metrics: Batches) -> Arc<Self> {
        Arc::new(Self { limit, metrics, all: Mutex::default() })
    }

    /// Reads a list for a caller, whose span is `span`.
    ///
    /// # Errors
    /// `Internal` if the list can't be encoded.
    pub(super) fn read(
        self: &Arc<Self>,
        raw: Raw,
        list: List,
        span: ItemSpan,
    ) -> Result<Receiver<Answer>, Error> {
        let key = Key::of(&raw, &list)?;
        let (answer, receiver) = channel();
        let caller = Caller { answer, span };
        let mut all = lock(&self.all);
        let first = if let Some(reading) = all.get_mut(&key) {
            let next = || Next { raw, list, callers: Vec::new() };
            reading.next.get_or_insert_with(next).callers.push(caller);
            reading.overdue()
        } else {
            let reading = Reading { commands: 1, since: Some(Instant::now()), next: None };
            all.insert(key.clone(), reading);
            Some(Next { raw, list, callers: vec![caller] })
        };
        drop(all);
        if let Some(first) = first {
            self.start(key, first);
        }
        Ok(receiver)
    }

    /// Sends the next command of each list whose last one was sent at least [`CHECK_INTERVAL`] ago and hasn't ended. It may never
    /// end.
    pub(super) fn send_overdue(self: &Arc<Self>) {
        let overdue =
            |(key, reading): (&Key, &mut Reading)| Some((key.clone(), reading.overdue()?));
        let overdue: Vec<_> = lock(&self.all).iter_mut().filter_map(overdue).collect();
        for (key, next) in overdue {
            self.start(key, next);
        }
    }

    fn start(self: &Arc<Self>, key: Key, first: Next) {
        tokio::spawn(Arc::clone(self).lane(key, first).boxed());
    }

    /// Sends one command after the other while somebody waits for the list.
    async fn lane(self: Arc<Self>, key: Key, first: Next) {
        let mut next = Some(first);
        while let Some(sent) = next {
            // A panic ends only the callers of its command. A command doesn't hold its connection for ever; its callers have given
            // up by then.
            let read = timeout(REPLY_TIMEOUT.saturating_mul(2), sent.read(&self));
            let _ended = AssertUnwindSafe(read).catch_unwind().await;
            next = self.next(&key);
        }
    }

    /// The next command of a lane. If nobody waits for the list, the lane ends.
    fn next(&self, key: &Key) -> Option<Next> {
        let mut all = lock(&self.all);
        let reading = all.get_mut(key)?;
        let next = reading.next.take();
        if next.is_some() {
            reading.since = Some(Instant::now());
        } else if reading.end() {
            all.remove(key);
        }
        next
    }
}

impl Reading {
    /// The next command, if it is to be sent although the one before hasn't ended.
    fn overdue(&mut self) -> Option<Next> {
        let is_overdue = self.since.is_none_or(|since| since.elapsed() >= CHECK_INTERVAL);
        let next = if is_overdue { self.next.take() } else { None };
        if next.is_some() {
            self.commands += 1;
            self.since = Some(Instant::now());
        }
        next
    }

    /// Ends one of the commands. Returns whether it was the last one.
    fn end(&mut self) -> bool {
        self.commands -= 1;
        self.since = None;
        self.commands == 0
    }
}

impl Next {
    /// Sends the command, and the answer to its callers.
    async fn read(self, lists: &SharedLists) {
        let Self { raw, list, mut callers } = self;
        // Callers that no longer wait need no answer.
        callers.retain(|caller| !caller.answer.is_closed());
        if callers.is_empty() {
            return;
        }
        let shared = SharedCommand::now(callers.len());
        lists.metrics.batch_size(raw.name).observe_count(callers.len());
        let spans = callers.iter_mut().map(|caller| mem::take(&mut caller.span));
        let traced: Vec<_> = spans.filter(ItemSpan::is_traced).collect();
        let database = || raw.database_name();
        let span = traces::shared_command(database, raw.name, FIND, &traced, callers.len());
        drop(traced);
        let sent = raw.command(FIND);
        let read = async {
            let found = find(raw, list, lists.limit).await;
            let error = found.as_ref().err().map(|error| Error::from(error.clone()));
            record_batched(&sent, shared.sent, error.as_ref());
            found
        };
        let found = read.instrument(span).await;
        let found = found.map(|found| found.into_iter().map(Arc::new).collect::<Vec<_>>());
        // The last caller takes the answer itself.
        let answers = iter::repeat_n((found, shared), callers.len());
        send_all(callers.into_iter().map(|caller| caller.answer).zip(answers));
    }
}
