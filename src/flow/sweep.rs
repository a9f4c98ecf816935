//! Sweeps, which finish interrupted flows.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use mongodb::bson::DateTime;

use super::{Attempt, Bounds, earlier};
use crate::{
    error::Error,
    locks::lock,
    mongo::{
        expression::count,
        swept::{Swept, SweptPage},
    },
};

/// Time after which a gateway's pass begins no further item of a list, because other rooms wait for this one.
const PASS: Duration = Duration::from_secs(5);
/// Number of items of one time that stay from which a pass goes on behind that time: each page has all of them once more.
const OF_ONE_TIME: usize = 1_000;

/// Where the next pass goes on with the lists that a pass didn't read to the end. Each gateway keeps its own in memory: after
/// its start a list begins at the front.
#[derive(Debug, Default)]
pub struct Places {
    times: Noted<Place>,
    names: Noted<String>,
}

/// A place in a list that is ordered by time.
#[derive(Debug)]
struct Place {
    from: DateTime,
    /// The `_id`s of the items of this time that were tried.
    tried: HashSet<String>,
}

impl Place {
    /// The front of a list.
    fn front() -> Self {
        Self { from: DateTime::from_millis(0), tried: HashSet::new() }
    }

    /// The place of a time, in a pass that has read a page with this time and tried these items.
    fn at(from: DateTime, read: &[Read], tried: &HashSet<String>) -> Self {
        let again = read.iter().filter(|one| one.at == Some(from) && tried.contains(&one.id));
        Self { from, tried: again.map(|one| one.id.clone()).collect() }
    }
}

/// `_id` and time of an item of a page.
struct Read {
    id: String,
    at: Option<DateTime>,
}

/// How many items of a list a pass reads at once, and how many of them it finishes side by side.
#[derive(Debug, Clone, Copy)]
pub struct Pages {
    /// Number of items that one command reads.
    pub limit: i64,
    /// Number of items that are finished at the same time.
    pub side_by_side: usize,
}

impl From<i64> for Pages {
    /// Pages of up to this many items, which are finished one after the other.
    fn from(limit: i64) -> Self {
        Self { limit, side_by_side: 1 }
    }
}

/// Places or names of items, by the names of their lists.
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
        lock(&self.0).remove(list)
    }

    fn note(&self, list: String, place: T) {
        lock(&self.0).insert(list, place);
    }
}

/// One pass of a room's sweep: its time on the server's clock, and its result so far. After a failed item the pass
/// continues with the others.
#[derive(Debug)]
pub struct Sweep {
    now: DateTime,
    bounds: Bounds,
    finished: u64,
    unreadable: u64,
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
        Self { now, bounds, finished: 0, unreadable: 0, failed: None, room, places, time }
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

    /// Finishes each item of a list that is complete; another list needs [`each_page`](Self::each_page). `name` returns the
    /// item's name for the log. `finish` returns whether it finished the item.
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

    /// Finishes the items of a list page by page. Some can stay at the front of the list, such as a refund that can't be paid
    /// now, or one that fails each time: those behind them don't wait for them. `what` is the name of the list, which no other
    /// list of the room has. `page` reads a page of items from a time on, oldest first: up to its second argument, which is the
    /// limit of `pages` or more. The time of an item isn't before the first argument. A pass tries an item once.
    ///
    /// The next page begins at the last time of the one before. So it has the items of this time that stay once more, and it is
    /// that much longer. After a thousand of them the pass goes on behind this time; a later pass reads the rest, once those before
    /// are finished.
    ///
    /// In a [`limited`](Self::limited) pass no further item begins after five seconds. The next pass goes on there, and after the
    /// end of the list one begins at the front again. So items that stay don't hold up those behind them for ever, even if each
    /// takes as long as a call of a service that doesn't answer.
    ///
    /// A document that can't be decoded is logged, counted and passed over. The pass succeeds nevertheless.
    ///
    /// If the time is in elements of an array, no sort by it can use an index
    /// ([`list_elements_between`](crate::mongo::Collection::list_elements_between)). Behind a router a page then isn't the oldest
    /// one of all shards, and this pass can leave out items of other shards that are older than its last one. They aren't lost:
    /// a later pass that begins at the front reads them, at the latest when there are fewer items before them.
    pub async fn each_page<T, L, F>(
        &mut self,
        what: &str,
        pages: impl Into<Pages>,
        page: impl FnMut(DateTime, i64) -> L,
        mut finish: impl FnMut(T) -> F,
    ) where
        L: Future<Output = Result<SweptPage<T>, Error>>,
        F: Future<Output = Result<bool, Error>>,
    {
        let finish = |items: Vec<T>| {
            let mut running = Vec::new();
            for item in items {
                running.push(Box::pin(finish(item)));
            }
            join_all(running)
        };
        self.each_batch(what, pages, page, finish).await;
    }

    /// Like [`each_page`](Self::each_page) with items that are finished together, as many as `pages` says side by side. `finish`
    /// returns of each item, in their order, whether it finished it.
    pub async fn each_batch<T, L, F>(
        &mut self,
        what: &str,
        pages: impl Into<Pages>,
        mut page: impl FnMut(DateTime, i64) -> L,
        mut finish: impl FnMut(Vec<T>) -> F,
    ) where
        L: Future<Output = Result<SweptPage<T>, Error>>,
        F: Future<Output = Vec<Result<bool, Error>>>,
    {
        let Pages { limit, side_by_side } = pages.into();
        let list = format!("{}: {what}", self.room);
        let since = Instant::now();
        let place = self.places.times.take(&list).unwrap_or_else(Place::front);
        let (mut from, mut tried, mut has_begun) = (place.from, place.tried, false);
        // Number of items that the next page has once more.
        let mut again = tried.len();
        loop {
            let wanted = limit.saturating_add(count(again));
            let found = match Box::pin(page(from, wanted)).await {
                Ok(found) => found,
                Err(error) => return self.note(what, Err(error)),
            };
            let passed_before = self.unreadable;
            let (mut items, mut read) = (Vec::new(), Vec::with_capacity(found.len()));
            for Swept { id, at, document } in found {
                match document {
                    None => self.unreadable += u64::from(tried.insert(id.clone())),
                    Some(item) if !tried.contains(&id) => items.push((item, read.len())),
                    Some(_) => {}
                }
                read.push(Read { id, at });
            }
            let mut untried = items.into_iter();
            let is_new = !untried.as_slice().is_empty() || self.unreadable > passed_before;
            let mut finished = HashSet::new();
            let time = |one: &Read| one.at.unwrap_or(from);
            while let Some(next) = untried.as_slice().iter().map(|(_, at)| time(&read[*at])).min() {
                if has_begun && since.elapsed() >= self.time {
                    return self.places.times.note(list, Place::at(next, &read, &tried));
                }
                has_begun = true;
                let next = untried.by_ref().take(side_by_side.max(1));
                let (items, places): (Vec<T>, Vec<usize>) = next.unzip();
                let done = Box::pin(finish(items)).await;
                for (id, done) in places.into_iter().map(|at| &read[at].id).zip(done) {
                    if matches!(done, Ok(true)) {
                        finished.insert(id);
                    }
                    self.add(&format!("{what} {id}"), done);
                    tried.insert(id.clone());
                }
            }
            let newest = read.iter().filter_map(|one| one.at).max();
            let is_full = count(read.len()) >= wanted;
            let Some(end) = newest.filter(|end| is_full && *end >= from) else { return };
            let stays = |one: &&Read| one.at == Some(end) && !finished.contains(&one.id);
            let stay = read.iter().filter(stays).count();
            // The time rises, or a page has new items, or it is longer than the one before: the pass comes to an end.
            (from, again) = if end > from || (stay < OF_ONE_TIME && (is_new || stay > again)) {
                (end, stay)
            } else {
                (DateTime::from_millis(end.timestamp_millis().saturating_add(1)), 0)
            };
            if since.elapsed() >= self.time {
                return self.places.times.note(list, Place::at(from, &read, &tried));
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

    /// The items of a page that can be read, and the newest time of the others, which are counted.
    pub fn readable<T>(&mut self, page: SweptPage<T>) -> (Vec<T>, Option<DateTime>) {
        let (mut items, mut unreadable_until) = (Vec::new(), None);
        for Swept { at, document, .. } in page {
            if let Some(item) = document {
                items.push(item);
            } else {
                self.unreadable += 1;
                unreadable_until = unreadable_until.max(at);
            }
        }
        (items, unreadable_until)
    }

    /// Number of documents that the pass couldn't read.
    pub fn unreadable(&self) -> u64 {
        self.unreadable
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
mod tests;
