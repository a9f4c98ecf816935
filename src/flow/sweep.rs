//! Sweeps, which finish interrupted flows.

use std::time::Duration;

use mongodb::bson::DateTime;

use super::{Attempt, Bounds, earlier};
use crate::error::Error;

/// One pass of a room's sweep: its time on the server's clock, and its result so far. After a failed item the pass
/// continues with the others.
#[derive(Debug)]
pub struct Sweep {
    now: DateTime,
    bounds: Bounds,
    finished: u64,
    failed: Option<Error>,
}

impl Sweep {
    /// A sweep that begins with this attempt.
    pub fn begin(attempt: &Attempt, bounds: Bounds) -> Self {
        Self { now: attempt.now(), bounds, finished: 0, failed: None }
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
    /// can't be paid now. `page` reads a page of up to `limit` items from a time on, oldest first, and `at` returns the time of an
    /// item. The next page begins at the last time of the one before.
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
        let mut from = DateTime::from_millis(0);
        loop {
            let found = match page(from).await {
                Ok(found) => found,
                Err(error) => return self.note(what, Err(error)),
            };
            let is_full = i64::try_from(found.len()) == Ok(limit);
            let last = found.iter().filter_map(|item| at(item, from)).max();
            self.each(Ok(found), &name, &mut finish).await;
            match last {
                // A page whose items all have one time would be read again for ever.
                Some(last) if is_full && last > from => from = last,
                _ => return,
            }
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
