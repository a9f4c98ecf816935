//! Sweeps, which finish interrupted flows.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use mongodb::bson::DateTime;

use super::{Attempt, Bounds, earlier};
use crate::error::Error;

/// Time after which a gateway's pass begins no further item of a list, because other rooms wait for this one.
const PASS: Duration = Duration::from_secs(5);

/// Where the next pass goes on with the lists that a pass didn't read to the end. Each gateway keeps its own in memory: after
/// its start a list begins at the front.
#[derive(Debug, Default)]
pub struct Places {
    times: Noted<DateTime>,
    names: Noted<String>,
}

/// Times or names of items, by the names of their lists.
#[derive(Debug)]
struct Noted<T>(Mutex<HashMap<String, T>>);

impl<T> Default for Noted<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Noted<T> {
    /// Returns where the list goes on, and forgets it.
    fn take(&self, list: &str) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(list)
    }

    fn note(&self, list: String, place: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(list, place);
    }
}

/// One pass of a room's sweep: its time on the server's clock, and its result so far. After a failed item the pass
/// continues with the others.
#[derive(Debug)]
pub struct Sweep {
    now: DateTime,
    bounds: Bounds,
    finished: u64,
    failed: Option<Error>,
    /// Beginning of the names of its lists in `places`.
    room: &'static str,
    places: Arc<Places>,
    /// Time after which a list that isn't read at once begins no further item; see [`PASS`].
    time: Duration,
}

impl Sweep {
    /// A sweep that begins with this attempt.
    pub fn begin(attempt: &Attempt, bounds: Bounds) -> Self {
        Self::at(attempt.now(), bounds)
    }

    fn at(now: DateTime, bounds: Bounds) -> Self {
        let (room, places, time) = ("", Arc::default(), Duration::MAX);
        Self { now, bounds, finished: 0, failed: None, room, places, time }
    }

    /// The same pass with limited time for each list that isn't read at once. The room's lists go on where an earlier pass has
    /// noted it in `places`.
    #[must_use]
    pub fn limited(self, room: &'static str, places: Arc<Places>) -> Self {
        Self { room, places, time: PASS, ..self }
    }

    /// The server's time at the beginning of the pass.
    pub fn now(&self) -> DateTime {
        self.now
    }

    /// Time before which the last change of a document must lie, so that the pass may act on it; see
    /// [`Bounds::two_grace_periods`].
    pub fn unchanged_before(&self) -> DateTime {
        self.earlier(self.bounds.two_grace_periods())
    }

    /// Time before which the deadline of an attempt must lie, so that none of its writes can still be applied.
    pub fn deadline_before(&self) -> DateTime {
        self.earlier(self.bounds.slack())
    }

    /// Time before which idempotency keys need not be remembered any more.
    pub fn ops_expired_before(&self) -> DateTime {
        self.earlier(self.bounds.ops)
    }

    /// The time this long before the pass.
    pub fn earlier(&self, ago: Duration) -> DateTime {
        earlier(self.now, ago)
    }

    /// Finishes each item of a list. `name` returns the item's name for the log. `finish` returns whether it
    /// finished the item.
    pub async fn each<T, F>(
        &mut self,
        found: Result<Vec<T>, Error>,
        name: impl Fn(&T) -> String,
        mut finish: impl FnMut(T) -> F,
    ) where
        F: Future<Output = Result<bool, Error>>,
    {
        match found {
            Ok(items) => {
                for item in items {
                    let name = name(&item);
                    let done = finish(item).await;
                    self.add(&name, done);
                }
            }
            Err(error) => self.note("list", Err(error)),
        }
    }

    /// Finishes the items of a list page by page, for items that can stay at the front of the list, such as a refund that
    /// can't be paid now. `what` is the name of the list, which no other list of the room has. `page` reads a page of up to
    /// `limit` items from a time on, oldest first, and `at` returns the time of an item. The next page begins at the last time of the
    /// one before.
    ///
    /// In a [`limited`](Self::limited) pass no further item begins after five seconds, except those of the same time. The next pass
    /// goes on there, and after the end of the list one begins at the front again. So items that stay don't hold up those behind
    /// them for ever, even if each takes as long as a call of a service that doesn't answer.
    ///
    /// If the time is in elements of an array, no sort by it can use an index
    /// ([`list_elements_between`](crate::mongo::Collection::list_elements_between)). Behind a router a page then isn't the oldest
    /// one of all shards, and this pass can leave out items of other shards that are older than its last one. They aren't lost:
    /// a later pass that begins at the front reads them, at the latest when there are fewer items before them.
    pub async fn each_page<T, L, F>(
        &mut self,
        what: &str,
        limit: i64,
        mut page: impl FnMut(DateTime) -> L,
        at: impl Fn(&T, DateTime) -> Option<DateTime>,
        name: impl Fn(&T) -> String,
        mut finish: impl FnMut(T) -> F,
    ) where
        L: Future<Output = Result<Vec<T>, Error>>,
        F: Future<Output = Result<bool, Error>>,
    {
        let list = format!("{}: {what}", self.room);
        let since = Instant::now();
        let mut from = self.places.times.take(&list).unwrap_or(DateTime::from_millis(0));
        loop {
            let found = match page(from).await {
                Ok(found) => found,
                Err(error) => return self.note(what, Err(error)),
            };
            let is_full = i64::try_from(found.len()) == Ok(limit);
            let times: Vec<_> = found.iter().map(|item| at(item, from)).collect();
            let end = times.iter().flatten().max().copied();
            for (position, item) in found.into_iter().enumerate() {
                // Items of one time are tried together, because the next pass can't begin between them.
                if let Some(last) = position.checked_sub(1)
                    && let (Some(last), Some(next)) = (times[last], times[position])
                    && next > last
                    && since.elapsed() >= self.time
                {
                    return self.places.times.note(list, next);
                }
                let name = name(&item);
                let done = finish(item).await;
                self.add(&name, done);
            }
            match end {
                Some(end) if is_full && end > from => from = end,
                // A page whose items all have one time would be read again for ever. If more items have this time, a later pass
                // reads them, once those before them are finished. Those behind them don't wait for that.
                Some(end) if is_full => from = DateTime::from_millis(end.timestamp_millis() + 1),
                _ => return,
            }
            if since.elapsed() >= self.time {
                return self.places.times.note(list, from);
            }
        }
    }

    /// Works on the items of a list one by one, in the order of their names. `what` is the name of the list, which no other list
    /// of the room has. `next` returns the first name behind another one, or the first of all. `work` returns how many flows it
    /// has finished.
    ///
    /// In a [`limited`](Self::limited) pass no further item begins after five seconds. The next pass goes on there, and after the
    /// end of the list one begins at the front again.
    pub async fn each_name<L, F>(
        &mut self,
        what: &str,
        mut next: impl FnMut(Option<String>) -> L,
        mut work: impl FnMut(String) -> F,
    ) where
        L: Future<Output = Result<Option<String>, Error>>,
        F: Future<Output = Result<u64, Error>>,
    {
        let list = format!("{}: {what}", self.room);
        let since = Instant::now();
        let mut before = self.places.names.take(&list);
        loop {
            let name = match next(before).await {
                Ok(Some(name)) => name,
                Ok(None) => return,
                Err(error) => return self.note(what, Err(error)),
            };
            let done = work(name.clone()).await;
            self.count(&name, done);
            if since.elapsed() >= self.time {
                return self.places.names.note(list, name);
            }
            before = Some(name);
        }
    }

    /// Adds the result of one item: whether it was finished.
    pub fn add(&mut self, what: &str, done: Result<bool, Error>) {
        self.count(what, done.map(u64::from));
    }

    /// Adds the number of items that a part of the pass finished.
    pub fn count(&mut self, what: &str, done: Result<u64, Error>) {
        match done {
            Ok(finished) => self.finished += finished,
            Err(error) => self.note(what, Err(error)),
        }
    }

    /// Adds the result of work that isn't counted.
    pub fn note(&mut self, what: &str, done: Result<(), Error>) {
        if let Err(error) = done {
            tracing::warn!(
                event = "sweep_item_failed",
                what,
                ?error,
                "sweep item failed; the next sweep retries it"
            );
            self.failed.get_or_insert(error);
        }
    }

    /// Returns the number of finished items.
    ///
    /// # Errors
    /// The first error.
    pub fn finished(self) -> Result<u64, Error> {
        self.failed.map_or(Ok(self.finished), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn a_sweep() -> Sweep {
        let second = Duration::from_secs(1);
        let bounds =
            Bounds { attempt: second, command: second, skew: second, ops: second, most_ops: 1 };
        Sweep::at(DateTime::from_millis(1_000), bounds)
    }

    fn of_millis(millis: &[i64]) -> Vec<DateTime> {
        millis.iter().copied().map(DateTime::from_millis).collect()
    }

    /// The items that a pass reads, in pages of two. None of them is ever finished.
    async fn pass(places: &Arc<Places>, time: Duration, all: &[i64]) -> Vec<DateTime> {
        let mut seen = Vec::new();
        let mut sweep = Sweep { time, ..a_sweep().limited("room", Arc::clone(places)) };
        let page = |from: DateTime| {
            let rest = of_millis(all).into_iter().filter(move |at| *at >= from);
            std::future::ready(Ok(rest.take(2).collect()))
        };
        let finish = |at: DateTime| {
            seen.push(at);
            std::future::ready(Ok(false))
        };
        sweep.each_page("items", 2, page, |at, _| Some(*at), ToString::to_string, finish).await;
        seen
    }

    #[tokio::test]
    async fn a_pass_without_time_tries_one_item_and_the_next_goes_on() {
        let places = Arc::default();
        let all = [1, 2, 3, 4];
        for expected in [1, 2, 3, 4, 1] {
            assert_eq!(pass(&places, Duration::ZERO, &all).await, of_millis(&[expected]));
        }
        // With time it goes on to the end, and the next pass begins at the front.
        for expected in [[2, 3, 3, 4, 4].as_slice(), &[1, 2, 2, 3, 3, 4, 4]] {
            assert_eq!(pass(&places, Duration::MAX, &all).await, of_millis(expected));
        }
        // Another list has a place of its own.
        assert_eq!(places.times.take("room: others"), None);
        // Items of one time are tried together. If they fill a page, it is read once more: there may be more of this time.
        for expected in [[1, 1].as_slice(), &[1, 1], &[2], &[1, 1]] {
            assert_eq!(pass(&places, Duration::ZERO, &[1, 1, 2]).await, of_millis(expected));
        }
    }

    /// The names that a pass works on.
    async fn named(places: &Arc<Places>, time: Duration) -> Vec<String> {
        let mut seen = Vec::new();
        let mut sweep = Sweep { time, ..a_sweep().limited("room", Arc::clone(places)) };
        let next = |last: Option<String>| {
            let mut all = ["a", "b", "c"].into_iter();
            let next = all.find(|name| last.as_deref().is_none_or(|last| *name > last));
            std::future::ready(Ok(next.map(str::to_owned)))
        };
        let work = |name: String| {
            // What fails doesn't hold up the rest.
            let done = if name == "a" { Err(Error::internal("failed")) } else { Ok(1) };
            seen.push(name);
            std::future::ready(done)
        };
        sweep.each_name("names", next, work).await;
        seen
    }

    #[tokio::test]
    async fn a_pass_without_time_works_on_one_name_and_the_next_goes_on() {
        let places = Arc::default();
        for expected in [["a"].as_slice(), &["b"], &["c"], &[], &["a"]] {
            assert_eq!(named(&places, Duration::ZERO).await, expected);
        }
        assert_eq!(named(&places, Duration::MAX).await, ["b", "c"]);
        assert_eq!(named(&places, Duration::MAX).await, ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn items_of_one_time_that_stay_dont_hold_up_those_behind() {
        let seen = pass(&Arc::default(), Duration::MAX, &[1, 1, 1, 2, 3]).await;
        assert_eq!(seen, of_millis(&[1, 1, 1, 1, 2, 3, 3]));
    }

    #[tokio::test]
    async fn a_page_that_cant_be_read_is_no_place_to_go_on() {
        let places = Arc::new(Places::default());
        places.times.note("room: items".to_owned(), DateTime::from_millis(3));
        let mut sweep = a_sweep().limited("room", Arc::clone(&places));
        let page = |_| std::future::ready(Err(Error::internal("unread")));
        let finish = |_: DateTime| std::future::ready(Ok(true));
        sweep.each_page("items", 2, page, |at, _| Some(*at), ToString::to_string, finish).await;
        assert!(sweep.finished().is_err());
        assert_eq!(places.times.take("room: items"), None);
    }
}
