//! Parts of documents that are read together by their `_id`s, such as the stock of all products of a list.

use std::marker::PhantomData;

use mongodb::error::Result as DriverResult;

use super::{Stored, reader::Read};
use crate::error::Error;

/// What was read of some documents. A part is decoded when it is needed, so one that can't be decoded fails only itself.
#[derive(Debug)]
pub struct Parts<T> {
    /// The `_id`s, sorted.
    ids: Vec<String>,
    /// What was read of each.
    reads: Vec<DriverResult<Read>>,
    holds: PhantomData<fn() -> T>,
}

impl<T: Stored> Parts<T> {
    /// The answers to the reads of these `_id`s, which are sorted.
    pub(super) fn new(ids: Vec<String>, reads: Vec<DriverResult<Read>>) -> Self {
        Self { ids, reads, holds: PhantomData }
    }

    /// What was read of the document with this `_id`, which may not exist. `None` if it isn't one of those that were read.
    pub fn get(&self, id: &str) -> Option<Result<Option<T>, Error>> {
        let at = self.ids.binary_search_by(|own| own.as_str().cmp(id)).ok()?;
        Some(match self.reads.get(at)? {
            Ok(read) => read.found.first().cloned().map(T::read).transpose(),
            Err(fault) => Err(Error::of_read(fault.clone())),
        })
    }
}
