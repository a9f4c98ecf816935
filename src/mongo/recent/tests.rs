//! Which answers are kept, for whom and for how long.

use std::{
    pin::{Pin, pin},
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::sync::oneshot;

use super::*;
use crate::{metrics::Metrics, mongo::placement::Group};

const LONG: Duration = Duration::from_secs(3_600);

fn recent(keep: Duration) -> Arc<Recent> {
    Recent::new(keep, Metrics::default().suggestions.clone())
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
    for (keep, expected) in [(Duration::ZERO, [1, 2, 3]), (Duration::from_nanos(1), [1, 2, 3])] {
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
