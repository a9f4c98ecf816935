//! Reads ahead of the import, a bounded way: a thread of its own, since files are read blockingly.

use std::io;

use tokio::sync::mpsc;

use super::lines::{Line, Lines};

/// Lines that are brought in together.
pub(super) struct Batch {
    /// Each with its number.
    pub(super) lines: Vec<(u64, Line)>,
    /// Number of the last one.
    pub(super) last: u64,
    /// Digest of the file up to its end.
    pub(super) digest: String,
}

/// A batch ends when it has so many lines …
const LINES: usize = 500;
/// … or so many bytes: far below the 48 MB that one command may have.
const BYTES: usize = 4 << 20;
/// Batches that wait for their turn.
const AHEAD: usize = 2;

/// Begins to read. The channel closes at the end of the file, or after a fault.
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
                    // Nobody listens any more when the import has ended by itself.
                    let _unheard = send.blocking_send(Err(fault));
                    return;
                }
            }
        }
    });
    receive
}

/// The next lines; none at the end. Those before a fault come first, the fault with the next call.
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
