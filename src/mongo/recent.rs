//! Keeps recent suggestions in the memory of one gateway. Many visitors type the same texts, and each letter would be a
//! read.
//!
//! Callers that ask for the same [`Key`] share one read, and its answer is kept. The setting `suggestion_cache_seconds`
//! limits the age of an answer, counted from the beginning of its read. If it is 0, each caller has a read of its own.
//! If a read fails, all callers that share it get the error, and the error isn't kept. If a caller hangs up, the others
//! go on with the read. If all of them hang up, the next caller begins another one.
//!
//! The memory is bounded by [`BYTES`] and [`ENTRIES`]. Beyond these, the answers that are requested least are dropped.

use std::{
    any::{Any, TypeId},
    fmt,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use quick_cache::{
    Weighter,
    sync::{Cache, EntryAction, EntryResult},
};

use super::{placement::Reads, terms::Typed};
use crate::{error::Error, metrics::database::Suggestions};

/// Maximum number of answers.
const ENTRIES: usize = 4_096;
/// Maximum size of the answers and their keys, in bytes; it is an estimate.
const BYTES: u64 = 8 << 20;
/// What the smallest answer counts as: [`ENTRIES`] of these are [`BYTES`].
const LEAST: u64 = 2 << 10;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// The type of the documents, from which their collection, fields and condition follow.
    pub(super) of: TypeId,
    /// Whether a secondary may answer. Others never get such an answer.
    pub(super) reads: Reads,
    /// The words.
    pub(super) typed: Typed,
    /// Maximum number of documents.
    pub(super) limit: i64,
}

/// What was found. Callers know the type from that of the key.
#[derive(Clone)]
pub(super) struct Answer {
    pub(super) found: Arc<dyn Any + Send + Sync>,
    /// Its size in bytes, as an estimate.
    pub(super) bytes: usize,
}

/// A read that callers share.
type Read = Shared<BoxFuture<'static, Result<Answer, Arc<Error>>>>;
type WeakRead = WeakShared<BoxFuture<'static, Result<Answer, Arc<Error>>>>;

/// What is known of a key, and when its read began.
#[derive(Clone)]
struct Entry {
    since: Instant,
    state: State,
}

#[derive(Clone)]
enum State {
    /// Callers wait for the read. It ends when none of them is left.
    Pending(WeakRead),
    Kept(Answer),
}

/// What a caller is given.
enum Found {
    Kept(Answer),
    Pending(Read),
}

#[derive(Debug, Clone)]
struct ByBytes;

impl Weighter<Key, Entry> for ByBytes {
    fn weight(&self, key: &Key, entry: &Entry) -> u64 {
        let answer = match &entry.state {
            State::Pending(_) => 0,
            State::Kept(answer) => answer.bytes,
        };
        let bytes = answer.saturating_add(key.typed.bytes());
        u64::try_from(bytes).unwrap_or(u64::MAX).max(LEAST)
    }
}

/// The recent suggestions of one gateway.
pub(super) struct Recent {
    entries: Cache<Key, Entry, ByBytes>,
    keep: Duration,
    counted: Suggestions,
}

impl fmt::Debug for Recent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Recent").field("keep", &self.keep).finish_non_exhaustive()
    }
}

impl Recent {
    /// A memory that hands out answers for this time.
    pub(super) fn new(keep: Duration, counted: Suggestions) -> Arc<Self> {
        let entries = Cache::with_weighter(ENTRIES, BYTES, ByBytes);
        Arc::new(Self { entries, keep, counted })
    }

    /// The answer for a key: one that is kept, that of a read under way, or that of a new `read` of this collection.
    ///
    /// # Errors
    /// Those of the read.
    pub(super) async fn answer<F>(
        self: &Arc<Self>,
        collection: &'static str,
        key: Key,
        read: impl FnOnce() -> F,
    ) -> Result<Answer, Error>
    where
        F: Future<Output = Result<Answer, Error>> + Send + 'static,
    {
        if self.keep.is_zero() {
            self.counted.read(collection);
            return read().await;
        }
        match self.find(collection, key, read) {
            Found::Kept(answer) => Ok(answer),
            Found::Pending(read) => read.await.map_err(|error| told(&error)),
        }
    }

    fn find<F>(
        self: &Arc<Self>,
        collection: &'static str,
        key: Key,
        read: impl FnOnce() -> F,
    ) -> Found
    where
        F: Future<Output = Result<Answer, Error>> + Send + 'static,
    {
        let current = |_: &Key, entry: &mut Entry| match entry.current(self.keep) {
            Some(found) => EntryAction::Retain(found),
            None => EntryAction::ReplaceWithGuard,
        };
        let place = match self.entries.entry(&key, None, current) {
            EntryResult::Retained(found) => {
                match found {
                    Found::Kept(_) => self.counted.kept(collection),
                    Found::Pending(_) => self.counted.shared(collection),
                }
                return found;
            }
            EntryResult::Vacant(place) | EntryResult::Replaced(place, _) => Some(place),
            // Neither was asked for.
            EntryResult::Removed(..) | EntryResult::Timeout => None,
        };
        self.counted.read(collection);
        let since = Instant::now();
        let (recent, found) = (Arc::clone(self), read());
        let read = found
            .map(move |found| {
                recent.remember(key, since, found.as_ref().ok());
                found.map_err(Arc::new)
            })
            .boxed()
            .shared();
        if let (Some(place), Some(weak)) = (place, read.downgrade()) {
            // It fails if the entry was removed in the meantime: then nobody joins the read.
            let _removed = place.insert(Entry { since, state: State::Pending(weak) });
        }
        Found::Pending(read)
    }

    /// Keeps the answer of the read that began at `since`. Without an answer the read is forgotten.
    fn remember(&self, key: Key, since: Instant, answer: Option<&Answer>) {
        match answer {
            // A caller that came since has begun another read.
            Some(_) if since.elapsed() >= self.keep => {}
            Some(answer) => {
                let entry = Entry { since, state: State::Kept(answer.clone()) };
                // That it was read says nothing of how often it is asked for. It fails if the entry gave way to others.
                let _gave_way = self.entries.replace(key, entry, true);
            }
            None => {
                self.entries.remove_if(&key, |entry| entry.since == since);
            }
        }
    }
}

impl Entry {
    /// What a caller may have of it now.
    fn current(&self, keep: Duration) -> Option<Found> {
        if self.since.elapsed() >= keep {
            return None;
        }
        match &self.state {
            State::Pending(read) => read.upgrade().map(Found::Pending),
            State::Kept(answer) => Some(Found::Kept(answer.clone())),
        }
    }
}

/// The failure of a shared read, for one of its callers.
fn told(error: &Arc<Error>) -> Error {
    let source = Arc::clone(error).into();
    match &**error {
        Error::Timeout(_) => Error::Timeout(source),
        Error::Unread(_) | Error::Unavailable(_) => Error::Unread(source),
        Error::NewerVersion(_) => Error::NewerVersion(source),
        _ => Error::Internal(source),
    }
}

#[cfg(test)]
mod tests;
