//! Messages before the window, which a subscriber reads from the ring by itself.

use std::{mem, sync::Arc};

use super::super::documents::MessageDocument;
use crate::{
    error::Error,
    mongo::rings::{Ring, Scan},
};

/// A read of messages before the window.
pub(super) struct Older {
    scan: Scan,
    found: Vec<MessageDocument>,
    /// The message after which it begins, until that was met.
    skip_to: Option<String>,
    end: String,
    next: u64,
    is_after_gap: bool,
}

impl Older {
    /// Reads the ring after the message `skip_to`, or from its start, up to the message `end`. The window continues with
    /// the message of the number `next`.
    pub(super) async fn read(
        ring: &Ring,
        skip_to: Option<String>,
        end: String,
        next: u64,
    ) -> Result<Self, Error> {
        let (scan, found) = ring.scan().await?;
        let is_after_gap = skip_to.is_none();
        Ok(Self { scan, found, skip_to, end, next, is_after_gap })
    }

    /// Number of the message with which the window continues.
    pub(super) fn continues(&self) -> u64 {
        self.next
    }

    /// Skips the messages up to the position. Returns whether it was met before the end of the window.
    pub(super) async fn skip(&mut self) -> Result<bool, Error> {
        let Some(since) = self.skip_to.take() else { return Ok(true) };
        loop {
            if let Some(at) = self.found.iter().position(|message| message.id == since) {
                self.found.drain(..=at);
                return Ok(true);
            }
            if self.found.iter().any(|message| message.id == self.end) {
                return Ok(false);
            }
            match self.scan.next().await {
                Ok(Some(next)) => self.found = next,
                // It was overwritten meanwhile.
                Ok(None) | Err(Error::Internal(_)) => {
                    self.found.clear();
                    self.is_after_gap = true;
                    return Ok(true);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The next messages, with whether some before them were missed. There are none at the end of the window.
    pub(super) async fn next(&mut self) -> Result<(Vec<Arc<MessageDocument>>, bool), Error> {
        let is_after_gap = mem::take(&mut self.is_after_gap);
        while self.found.is_empty() && !self.end.is_empty() {
            match self.scan.next().await {
                Ok(Some(next)) => self.found = next,
                Ok(None) | Err(Error::Internal(_)) => return Ok((Vec::new(), true)),
                Err(error) => return Err(error),
            }
        }
        let mut found = mem::take(&mut self.found);
        if let Some(at) = found.iter().position(|message| message.id == self.end) {
            found.truncate(at + 1);
            self.end.clear();
        }
        Ok((found.into_iter().map(Arc::new).collect(), is_after_gap))
    }
}
