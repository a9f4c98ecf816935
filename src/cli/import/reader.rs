//! Reads the file ahead of the import, up to a limit. Because file reads block, this has a separate thread.

use std::io;

use tokio::sync::mpsc;

use super::lines::{Line, Lines};

/// Lines that are imported together.
pub(super) struct Batch {
    /// The lines with their numbers.
    pub(super) lines: Vec<(u64, Line)>,
    /// Number of the last line.
    pub(super) last: u64,
    /// Digest of the file up to the end of the batch.
    pub(super) digest: String,
}

/// Maximum number of lines of a batch.
const MAX_LINES: usize = 500;
/// A batch ends after this many bytes, so that little is kept of what is read ahead.
const MAX_BYTES: usize = 4 << 20;
/// Maximum number of batches read ahead.
const MAX_AHEAD: usize = 2;

/// What lines are read from.
pub(super) trait Source: Send + 'static {
    /// The next line with its number; none at the end.
    ///
    /// # Errors
    /// The file can't be read.
    fn next(&mut self) -> io::Result<Option<(u64, Line)>>;
    /// Number of the last line of the file that was read.
    fn number(&self) -> u64;
    /// Digest of the file up to the end of that line.
    fn digest(&self) -> String;
}

impl Source for Lines {
    fn next(&mut self) -> io::Result<Option<(u64, Line)>> {
        let line = self.next()?;
        Ok(line.map(|line| (self.number(), line)))
    }

    fn number(&self) -> u64 {
        self.number()
    }

    fn digest(&self) -> String {
        self.digest()
    }
}

/// Starts reading. The channel closes at the end of the file, or after an error.
pub(super) fn start(mut lines: impl Source) -> mpsc::Receiver<io::Result<Batch>> {
    let (send, receive) = mpsc::channel(MAX_AHEAD);
    std::thread::spawn(move || {
        loop {
            match batch(&mut lines) {
                Ok(Some(batch)) => {
                    if send.blocking_send(Ok(batch)).is_err() {
                        return;
                    }
                }
                Ok(None) => return,
                Err(fault) => {
                    // Sending fails if the import has ended. The error isn't needed then.
                    let _unsent = send.blocking_send(Err(fault));
                    return;
                }
            }
        }
    });
    receive
}

/// The next lines; `None` at the end. The lines before an error are returned first, and the error by the next call.
fn batch(lines: &mut impl Source) -> io::Result<Option<Batch>> {
    let mut found = Vec::new();
    let mut bytes = 0;
    while found.len() < MAX_LINES && bytes < MAX_BYTES {
        match lines.next() {
            Ok(Some((number, line))) => {
                bytes += line.text().map_or(0, str::len);
                found.push((number, line));
            }
            Err(fault) if found.is_empty() => return Err(fault),
            Ok(None) | Err(_) => break,
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    Ok(Some(Batch { lines: found, last: lines.number(), digest: lines.digest() }))
}
