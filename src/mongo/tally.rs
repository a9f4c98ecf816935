//! What a pass of a sweep did.

use crate::error::Error;

/// How many things were finished, and the first trouble that there was. One thing that fails doesn't
/// keep the others from being done.
#[derive(Debug, Default)]
pub struct Tally {
    finished: u64,
    failed: Option<Error>,
}

impl Tally {
    /// What became of one thing: whether it was finished.
    pub fn add(&mut self, what: &str, done: Result<bool, Error>) {
        self.finished += u64::from(*done.as_ref().unwrap_or(&false));
        self.note(what, done.map(|_| ()));
    }

    /// What became of one thing that isn't counted.
    pub fn note(&mut self, what: &str, done: Result<(), Error>) {
        if let Err(error) = done {
            tracing::warn!(what, ?error, "left to the next sweep");
            self.failed.get_or_insert(error);
        }
    }

    /// How many things were finished.
    ///
    /// # Errors
    /// The first trouble that there was.
    pub fn finished(self) -> Result<u64, Error> {
        self.failed.map_or(Ok(self.finished), Err)
    }
}
