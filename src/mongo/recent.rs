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
mod tests {
    use std::{
        pin::{Pin, pin},
        sync::atomic::{AtomicUsize, Ordering},
    };

    use tokio::sync::oneshot;

    use super::*;
    use crate::{metrics::Metrics, mongo::placement::Group};

    const LONG: Duration = Duration::from_secs(3_600);

    fn recent(keep: Duration) -> Arc<Recent> {
        Recent::new(keep, Metrics::default().suggestions().clone())
    }

    fn key(text: &str) -> Key {
        let reads = Reads { group: Group::Core, is_eventual: false };
        Key { of: TypeId::of::<usize>(), reads, typed: Typed::of(text), limit: 10 }
    }

    fn number(answer: &Answer) -> usize {
        *answer.found.downcast_ref::<usize>().expect("a number")
    }

    /// Reads that are numbered, each with this many bytes.
    #[derive(Default)]
    struct Numbered(AtomicUsize);

    impl Numbered {
        fn next(&self, bytes: usize) -> impl Future<Output = Result<Answer, Error>> + use<> {
            let found = Arc::new(self.0.fetch_add(1, Ordering::Relaxed) + 1);
            async move { Ok(Answer { found, bytes }) }
        }

        async fn ask(&self, recent: &Arc<Recent>, key: Key) -> usize {
            number(&recent.answer("things", key, || self.next(10)).await.expect("an answer"))
        }
    }

    /// Polls it once. It doesn't end.
    fn begin<F: Future>(ask: Pin<&mut F>) {
        assert!(ask.now_or_never().is_none());
    }

    #[tokio::test]
    async fn an_answer_is_kept_for_its_text() {
        let (recent, reads) = (recent(LONG), Numbered::default());
        assert_eq!(reads.ask(&recent, key("Love sup")).await, 1);
        for text in ["love sup", "LÓVE, súp", " love  sup"] {
            assert_eq!(reads.ask(&recent, key(text)).await, 1, "{text}");
        }
        // Other words, a last word that is complete, another limit, another type, and a secondary.
        assert_eq!(reads.ask(&recent, key("love")).await, 2);
        assert_eq!(reads.ask(&recent, key("love sup ")).await, 3);
        let others = [
            Key { limit: 9, ..key("love") },
            Key { of: TypeId::of::<u8>(), ..key("love") },
            Key { reads: Reads { group: Group::Core, is_eventual: true }, ..key("love") },
        ];
        for (other, expected) in others.into_iter().zip(4..) {
            assert_eq!(reads.ask(&recent, other).await, expected);
        }
        assert_eq!(reads.ask(&recent, key("love")).await, 2);
    }

    #[tokio::test]
    async fn an_answer_is_only_handed_out_for_its_time() {
        for (keep, expected) in [(Duration::ZERO, [1, 2, 3]), (Duration::from_nanos(1), [1, 2, 3])]
        {
            let (recent, reads) = (recent(keep), Numbered::default());
            for expected in expected {
                assert_eq!(reads.ask(&recent, key("love")).await, expected, "{keep:?}");
            }
        }
    }

    #[tokio::test]
    async fn the_age_of_an_answer_counts_from_the_beginning_of_its_read() {
        let (recent, reads) = (recent(Duration::from_millis(50)), Numbered::default());
        let slow = || {
            let read = reads.next(10);
            async move {
                tokio::time::sleep(Duration::from_millis(60)).await;
                read.await
            }
        };
        recent.answer("things", key("love"), slow).await.expect("an answer");
        assert_eq!(reads.ask(&recent, key("love")).await, 2);
    }

    #[tokio::test]
    async fn callers_of_one_moment_share_a_read_whoever_hangs_up() {
        let (recent, reads) = (recent(LONG), Numbered::default());
        let (send, receive) = oneshot::channel();
        let slow = || async move {
            let found: usize = receive.await.expect("a number");
            Ok(Answer { found: Arc::new(found), bytes: 10 })
        };
        let mut first = Box::pin(recent.answer("things", key("love"), slow));
        begin(first.as_mut());
        let mut second = pin!(reads.ask(&recent, key("LOVE")));
        let mut third = pin!(reads.ask(&recent, key("love")));
        begin(second.as_mut());
        begin(third.as_mut());
        drop(first);
        send.send(77).expect("somebody waits");
        assert_eq!((second.await, third.await), (77, 77));
        assert_eq!(reads.ask(&recent, key("love")).await, 77);
    }

    #[tokio::test]
    async fn a_read_that_everybody_left_is_begun_again() {
        let (recent, reads) = (recent(LONG), Numbered::default());
        let never = std::future::pending::<Result<Answer, Error>>;
        let mut left = Box::pin(recent.answer("things", key("love"), never));
        begin(left.as_mut());
        drop(left);
        assert_eq!(reads.ask(&recent, key("love")).await, 1);
        assert_eq!(reads.ask(&recent, key("love")).await, 1);
    }

    #[tokio::test]
    async fn a_failure_is_told_to_all_and_not_kept() {
        let (recent, reads) = (recent(LONG), Numbered::default());
        let (send, receive) = oneshot::channel::<()>();
        let fails = || async move {
            receive.await.expect("a signal");
            Err(Error::Timeout("too long".into()))
        };
        let mut first = pin!(recent.answer("things", key("love"), fails));
        begin(first.as_mut());
        let mut second = pin!(recent.answer("things", key("love"), || reads.next(10)));
        begin(second.as_mut());
        send.send(()).expect("somebody waits");
        for failed in [first.await, second.await] {
            assert!(matches!(failed, Err(Error::Timeout(_))));
        }
        assert_eq!(reads.ask(&recent, key("love")).await, 1);
    }

    #[tokio::test]
    async fn the_memory_is_bounded() {
        let (recent, reads) = (recent(LONG), Numbered::default());
        for number in 0..2 * ENTRIES {
            reads.ask(&recent, key(&format!("word {number}"))).await;
        }
        let entries = recent.entries.len();
        assert!((ENTRIES / 2..=ENTRIES).contains(&entries), "{entries}");
        for number in 0..1_000 {
            let large = || reads.next(20 << 10);
            let key = key(&format!("large {number}"));
            recent.answer("things", key, large).await.expect("an answer");
        }
        let bytes = recent.entries.iter().map(|(key, entry)| ByBytes.weight(&key, &entry));
        assert!(bytes.sum::<u64>() <= BYTES);
        // What is larger than the memory is answered all the same.
        let huge = recent.answer("things", key("huge"), || reads.next(16 << 20)).await;
        assert!(huge.is_ok());
    }
}
