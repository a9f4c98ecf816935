//! A log that is followed: whether another file has taken its place, or it was truncated.

use std::{
    fs::Metadata,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::super::output::identity;

/// Pause between two looks at the file.
const PAUSE: Duration = Duration::from_millis(250);
/// Time for which a server may still write to a file after another one has taken its place.
const LINGER: Duration = Duration::from_secs(1);

/// What has become of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It is the same, and may have grown.
    None,
    /// Another file has its name.
    Replaced,
    /// It has become shorter than what was read of it.
    Truncated,
    /// The import is to end.
    Stopped,
}

/// A log that is followed.
pub(super) struct Followed {
    path: PathBuf,
    stop: CancellationToken,
    /// What identifies the file that is read.
    identity: Option<(u64, u64)>,
}

impl Followed {
    pub(super) fn new(path: &Path, stop: CancellationToken) -> Self {
        Self { path: path.to_owned(), stop, identity: None }
    }

    /// Waits for the file, and notes which one it is. Returns whether it is there: otherwise the import is to end.
    ///
    /// # Errors
    /// There is no such file at the beginning.
    pub(super) fn find(&mut self) -> io::Result<bool> {
        while !self.stop.is_cancelled() {
            match std::fs::metadata(&self.path) {
                Ok(about) => {
                    self.identity = Some(identity(&about));
                    return Ok(true);
                }
                // A rotated log may be missing for a moment.
                Err(fault)
                    if fault.kind() == io::ErrorKind::NotFound && self.identity.is_some() =>
                {
                    std::thread::sleep(PAUSE);
                }
                Err(fault) => return Err(fault),
            }
        }
        Ok(false)
    }

    /// Notes which file is read: another one may have taken the place of the one that was found.
    pub(super) fn reads(&mut self, about: &Metadata) {
        self.identity = Some(identity(about));
    }

    /// Whether the import is to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits for a moment. `offset` is what was read of the file.
    pub(super) fn wait(&self, offset: u64) -> Change {
        if self.is_stopped() {
            return Change::Stopped;
        }
        std::thread::sleep(PAUSE);
        // A log that is missing is being rotated: its file is read until there is another one.
        let Ok(about) = std::fs::metadata(&self.path) else { return Change::None };
        if Some(identity(&about)) != self.identity {
            std::thread::sleep(LINGER);
            return Change::Replaced;
        }
        if about.len() < offset { Change::Truncated } else { Change::None }
    }
}
