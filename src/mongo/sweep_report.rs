//! The result of one pass of a sweep.

use crate::error::Error;

/// Number of finished items, and the first error. A failing item doesn't keep the others from being tried.
#[derive(Debug, Default)]
pub struct SweepReport {
    finished: u64,
    failed: Option<Error>,
}

impl SweepReport {
    /// Adds the result of one item: whether it was finished.
    pub fn add(&mut self, what: &str, done: Result<bool, Error>) {
        self.finished += u64::from(*done.as_ref().unwrap_or(&false));
        self.note(what, done.map(|_| ()));
    }

    /// Adds the result of an item that isn't counted.
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
