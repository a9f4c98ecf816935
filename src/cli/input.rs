//! Files that commands read line by line.

use std::{
    io::{self, BufRead, Read},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use memchr::memchr;

/// Counts the bytes that are read from a file, compressed or not.
pub(super) struct Counted<R> {
    input: R,
    count: Arc<AtomicU64>,
}

impl<R> Counted<R> {
    /// Adds the number of bytes read to `count`.
    pub(super) fn new(input: R, count: &Arc<AtomicU64>) -> Self {
        Self { input, count: Arc::clone(count) }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// How much of a line was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// Number of bytes, with the line feed. It is zero only at the end of the input.
    pub(super) bytes: u64,
    /// Whether it ends with a line feed.
    pub(super) is_whole: bool,
}

/// Reads up to the next line feed, or to the end. Appends what is read to `line`, until `line` has `limit` bytes; the rest isn't
/// buffered. Shows all of it to `each`.
///
/// # Errors
/// The input can't be read.
pub(super) fn read_line(
    input: &mut impl BufRead,
    line: &mut Vec<u8>,
    limit: usize,
    mut each: impl FnMut(&[u8]),
) -> io::Result<Extent> {
    let mut bytes = 0;
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
            Err(fault) => return Err(fault),
        };
        let end = memchr(b'\n', buffer);
        let part = &buffer[..end.map_or(buffer.len(), |end| end + 1)];
        let (used, room) = (part.len(), limit.saturating_sub(line.len()));
        line.extend_from_slice(&part[..used.min(room)]);
        each(part);
        input.consume(used);
        bytes += used as u64;
        if end.is_some() || used == 0 {
            return Ok(Extent { bytes, is_whole: end.is_some() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn lines_are_read_up_to_a_limit_and_counted() {
        let (count, text) = (Arc::default(), b"one\nfour\n\nend");
        let mut input = BufReader::with_capacity(2, Counted::new(&text[..], &count));
        let (mut line, mut all) = (Vec::new(), Vec::new());
        let mut next = |line: &mut Vec<u8>| {
            let read = read_line(&mut input, line, 4, |part| all.extend_from_slice(part));
            let Extent { bytes, is_whole } = read.expect("read");
            (bytes, is_whole)
        };
        for (expected, extent) in [
            (&b"one\n"[..], (4, true)),
            (b"four", (5, true)),
            (b"\n", (1, true)),
            (b"end", (3, false)),
            (b"", (0, false)),
        ] {
            line.clear();
            assert_eq!(next(&mut line), extent);
            assert_eq!(line, expected);
        }
        assert_eq!(all, text);
        assert_eq!(count.load(Ordering::Relaxed), text.len() as u64);
    }
}
