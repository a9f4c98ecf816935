//! The bytes of logs: plain, gzipped or compressed by zstd, from a file or stdin, line by line.

use std::{
    fs::{File, Metadata},
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use sha2::{Digest as _, Sha256};

use crate::cli::{
    export::packing::{BUFFER, Compression},
    input::{Counted, Extent, read_line},
};

/// Maximum length of a line in bytes.
pub(super) const MAX_LENGTH: usize = 64 << 10;

/// A log that can be read from any offset. It is the file that was opened, whatever has its path by now.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    packing: Compression,
    progress: Arc<Progress>,
}

/// How far the logs of a call are read, in bytes as they are stored.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Of the logs before the current one.
    before: AtomicU64,
    /// Of the current one.
    current: Arc<AtomicU64>,
}

impl Progress {
    /// Bytes of all logs.
    pub(super) fn bytes(&self) -> u64 {
        self.before.load(Ordering::Relaxed) + self.current.load(Ordering::Relaxed)
    }

    /// Notes that a log was read to its end.
    pub(super) fn end_log(&self) {
        self.before.fetch_add(self.current.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

impl Log {
    /// The log in a file.
    pub(super) fn of(path: &Path, progress: &Arc<Progress>) -> io::Result<Self> {
        let (mut file, mut start) = (File::open(path)?, Vec::new());
        file.by_ref().take(4).read_to_end(&mut start)?;
        let (path, packing) = (path.to_owned(), Compression::of(&start));
        Ok(Self { path, file, packing, progress: Arc::clone(progress) })
    }

    /// What is known of its file.
    pub(super) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Whether it isn't compressed.
    pub(super) fn is_plain(&self) -> bool {
        self.packing == Compression::None
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Its lines from an offset of the uncompressed bytes; `None` if it is shorter. They can be read until it is called again.
    pub(super) fn lines_from(&self, offset: u64) -> io::Result<Option<Lines>> {
        let skipped = if self.is_plain() { offset } else { 0 };
        self.progress.current.store(skipped, Ordering::Relaxed);
        if self.is_plain() && self.file.metadata()?.len() < offset {
            return Ok(None);
        }
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(skipped))?;
        let input = BufReader::with_capacity(BUFFER, Counted::new(file, &self.progress.current));
        let mut lines = Lines { input: self.packing.unpacked(input)?, offset };
        if !self.is_plain() {
            lines.offset = 0;
            let skipped = lines.skip(offset, |_| {})?;
            return Ok((skipped == offset).then_some(lines));
        }
        Ok(Some(lines))
    }
}

/// The lines of stdin.
pub(super) fn stdin(progress: &Arc<Progress>) -> io::Result<Lines> {
    let mut input = BufReader::with_capacity(BUFFER, Counted::new(io::stdin(), &progress.current));
    let packing = Compression::of(input.fill_buf()?);
    Ok(Lines { input: packing.unpacked(input)?, offset: 0 })
}

/// Reads lines.
pub(super) struct Lines {
    input: Box<dyn BufRead + Send>,
    /// Offset of the next byte.
    offset: u64,
}

/// What was read of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// Offset of its first byte.
    pub(super) at: u64,
    /// Whether it ends with a line feed.
    pub(super) is_whole: bool,
    /// Whether it is too long, so that only its beginning was kept.
    pub(super) is_too_long: bool,
}

impl Lines {
    /// Offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Appends the next line to `line`, or what there is of it. `None` if there is nothing.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Option<Found>> {
        let at = self.offset;
        let Extent { bytes, is_whole } = read_line(&mut self.input, line, MAX_LENGTH + 1, |_| {})?;
        self.offset += bytes;
        let is_too_long = line.len() > MAX_LENGTH;
        Ok((bytes > 0).then_some(Found { at, is_whole, is_too_long }))
    }

    /// Skips bytes, and shows them to `each`. Returns their number, which is smaller at the end.
    fn skip(&mut self, count: u64, mut each: impl FnMut(&[u8])) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
                Err(fault) => return Err(fault),
            };
            let used = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            if used == 0 {
                break;
            }
            each(&buffer[..used]);
            self.input.consume(used);
            left -= used as u64;
        }
        self.offset += count - left;
        Ok(count - left)
    }

    /// Skips to an offset. Returns whether there are as many bytes.
    pub(super) fn skip_to(&mut self, offset: u64) -> io::Result<bool> {
        let count = offset.saturating_sub(self.offset);
        Ok(self.skip(count, |_| {})? == count)
    }

    /// Skips bytes; returns whether they have this digest.
    pub(super) fn has(&mut self, count: u64, digest: &str) -> io::Result<bool> {
        let mut hash = Sha256::new();
        let found = self.skip(count, |bytes| hash.update(bytes))?;
        Ok(found == count && shown(hash) == digest)
    }
}

/// The digest of bytes, as text.
pub(super) fn digest(bytes: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(bytes);
    shown(hash)
}

fn shown(hash: Sha256) -> String {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
    BASE64.encode(&hash.finalize()[..12])
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn log(bytes: &[u8]) -> (tempfile::TempDir, Log) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        std::fs::write(&path, bytes).expect("written");
        let log = Log::of(&path, &Arc::default()).expect("a log");
        (folder, log)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("written");
        encoder.finish().expect("finished")
    }

    fn all(lines: &mut Lines) -> Vec<(u64, String, bool)> {
        let (mut found, mut line) = (Vec::new(), Vec::new());
        while let Some(Found { at, is_whole, .. }) = lines.next(&mut line).expect("read") {
            found.push((at, String::from_utf8_lossy(&line).into_owned(), is_whole));
            line.clear();
        }
        found
    }

    #[test]
    fn lines_have_the_same_offsets_whatever_the_compression() {
        let plain = b"one\ntwo\r\n\nfour";
        let mut members = gzip(&plain[..6]);
        members.extend(gzip(&plain[6..]));
        let mut frames = zstd::encode_all(&plain[..6], 1).expect("packed");
        frames.extend(zstd::encode_all(&plain[6..], 1).expect("packed"));
        for bytes in [plain.to_vec(), members, frames] {
            let (_folder, log) = log(&bytes);
            let mut lines = log.lines_from(0).expect("opened").expect("lines");
            let text = |text: &str| text.to_owned();
            let expected = [
                (0, text("one\n"), true),
                (4, text("two\r\n"), true),
                (9, text("\n"), true),
                (10, text("four"), false),
            ];
            assert_eq!(all(&mut lines), expected);
            let mut lines = log.lines_from(4).expect("opened").expect("lines");
            assert!(lines.has(5, &digest(b"two\r\n")).expect("read"));
            assert_eq!(lines.offset(), 9);
            assert!(lines.skip_to(10).expect("read"));
            assert_eq!(all(&mut lines), expected[3..]);
            assert!(log.lines_from(15).expect("opened").is_none());
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_read_past() {
        let mut bytes = vec![b'x'; 10 * MAX_LENGTH];
        bytes.extend(b"\nnext\n");
        let (_folder, log) = log(&bytes);
        let (mut lines, mut line) =
            (log.lines_from(0).expect("opened").expect("lines"), Vec::new());
        let found = lines.next(&mut line).expect("read").expect("a line");
        assert!(found.is_too_long && found.is_whole && line.len() == MAX_LENGTH + 1);
        line.clear();
        let found = lines.next(&mut line).expect("read").expect("a line");
        assert_eq!((found.at, line.as_slice()), (10 * MAX_LENGTH as u64 + 1, &b"next\n"[..]));
    }
}
