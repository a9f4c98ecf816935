//! Reads the file ahead of the import, up to a limit, in a thread of its own because file reads block.

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
const LINES: usize = 500;
/// A batch ends after this many bytes, far below the limit of 48 MB for one command.
const BYTES: usize = 4 << 20;
/// Maximum number of batches read ahead.
const AHEAD: usize = 2;

/// Starts reading. The channel closes at the end of the file, or after an error.
pub(super) fn start(mut lines: Lines) -> mpsc::Receiver<io::Result<Batch>> {
    let (send, receive) = mpsc::channel(AHEAD);
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
                    // Sending fails if the import has ended; then nobody needs the error.
                    let _unheard = send.blocking_send(Err(fault));
                    return;
                }
            }
        }
    });
    receive
}

/// The next lines; none at the end. Lines before an error come first, and the error with the next call.
fn batch(lines: &mut Lines) -> io::Result<Option<Batch>> {
    let mut found = Vec::new();
    let mut bytes = 0;
    while found.len() < LINES && bytes < BYTES {
        match lines.next() {
            Ok(Some(line)) => {
                if let Line::Text(text) = &line {
                    bytes += text.len();
                }
                found.push((lines.number(), line));
            }
            Err(fault) if found.is_empty() => return Err(fault),
            Ok(None) | Err(_) => break,
        }
    }
    let Some(last) = found.last().map(|(number, _)| *number) else { return Ok(None) };
    Ok(Some(Batch { lines: found, last, digest: lines.digest() }))
}
