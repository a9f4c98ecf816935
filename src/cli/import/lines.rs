//! The lines of a file or of stdin, plain, gzipped or compressed by zstd, one at a time and with a maximum length.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
    sync::{Arc, atomic::AtomicU64},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use sha2::{Digest, Sha256};

use super::faults::Fault;
use crate::cli::{
    columns::Places,
    export::packing::Compression,
    input::{Counted, Extent, read_line},
};

/// Maximum length of a line in bytes; a product with all fields is far below it.
pub(super) const MAX_LENGTH: usize = 1 << 20;

/// One line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// The text, without the line terminator.
    Text(String),
    /// The text of a product with variants or images, and the rows that have them.
    Rows(String, Places),
    /// The line can't be read, with the reason.
    Bad(String),
    /// A field of the line can't be used.
    Unfit(Fault),
}

impl Line {
    /// The text, if it can be read.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Rows(text, _) => Some(text),
            Self::Bad(_) | Self::Unfit(_) => None,
        }
    }

    /// The number of the row that a field is in, if it isn't the first one of the line.
    pub(super) fn row_of(&self, field: &str) -> Option<u64> {
        match self {
            Self::Rows(_, places) => places.row_of(field),
            Self::Text(_) | Self::Bad(_) | Self::Unfit(_) => None,
        }
    }
}

/// A place between two lines.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// Number of lines before it.
    pub(super) count: u64,
    digest: Sha256,
}

impl Place {
    /// Digest of all bytes before it.
    pub(super) fn digest(&self) -> String {
        BASE64.encode(self.digest.clone().finalize())
    }
}

/// Reads lines and computes the digest of all bytes read.
pub(super) struct Lines {
    input: Box<dyn BufRead + Send>,
    /// Bytes read from the file itself, compressed or not.
    bytes_read: Arc<AtomicU64>,
    /// Number of lines read.
    count: u64,
    /// Terminator of the last line read.
    end: String,
    /// The last line read with replacements, if it isn't UTF-8.
    lossy: Option<String>,
    digest: Sha256,
}

impl Lines {
    /// The lines of a file.
    pub(super) fn of_file(path: &Path) -> io::Result<Self> {
        Self::of(File::open(path)?)
    }

    /// The lines of an input, decompressed if it begins as a gzip stream or a zstd frame.
    pub(super) fn of(input: impl Read + Send + 'static) -> io::Result<Self> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let mut input = BufReader::with_capacity(1 << 16, Counted::new(input, &bytes_read));
        let input = Compression::of(input.fill_buf()?).unpacked(input)?;
        let (end, digest) = (String::new(), Sha256::new());
        Ok(Self { input, bytes_read, count: 0, end, lossy: None, digest })
    }

    /// Number of the last line read, counted from 1.
    pub(super) fn number(&self) -> u64 {
        self.count
    }

    /// Terminator of the last line read, if that is a text.
    pub(super) fn end(&self) -> &str {
        &self.end
    }

    /// The last line read, with replacements for what isn't UTF-8, if that is why it can't be read.
    pub(super) fn lossy(&self) -> Option<&str> {
        self.lossy.as_deref()
    }

    /// The end of the last line read.
    pub(super) fn place(&self) -> Place {
        Place { count: self.count, digest: self.digest.clone() }
    }

    /// Number of bytes read from the file.
    pub(super) fn bytes_read(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.bytes_read)
    }

    /// Digest of all bytes up to the end of the last line read.
    pub(super) fn digest(&self) -> String {
        self.place().digest()
    }

    /// The next line; none at the end. A line that is too long is skipped without being buffered.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        // The digest is that of whole lines, also if this one can't be read to its end.
        let (mut text, mut digest) = (Vec::new(), self.digest.clone());
        let Extent { bytes, .. } =
            read_line(&mut self.input, &mut text, MAX_LENGTH, |part| digest.update(part))?;
        if bytes == 0 {
            return Ok(None);
        }
        (self.count, self.digest) = (self.count + 1, digest);
        Ok(Some(self.line(text, bytes > MAX_LENGTH as u64)))
    }

    fn line(&mut self, text: Vec<u8>, is_too_long: bool) -> Line {
        self.lossy = None;
        if is_too_long {
            return Line::Bad(format!("is longer than {MAX_LENGTH} bytes"));
        }
        match String::from_utf8(text) {
            Ok(text) => {
                let whole = text.as_str();
                let text = whole.trim_end_matches(['\n', '\r']);
                whole[text.len()..].clone_into(&mut self.end);
                // Some programs begin a file with a byte order mark.
                let text = if self.count == 1 { text.trim_start_matches('\u{feff}') } else { text };
                Line::Text(text.to_owned())
            }
            Err(fault) => {
                self.lossy = Some(String::from_utf8_lossy(fault.as_bytes()).into_owned());
                Line::Bad("isn't UTF-8".to_owned())
            }
        }
    }

    /// Skips `count` lines, and returns whether their content has this `digest`.
    pub(super) fn skip(&mut self, count: u64, digest: &str) -> io::Result<bool> {
        while self.count < count {
            if self.next()?.is_none() {
                return Ok(false);
            }
        }
        Ok(self.digest() == digest)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

    use flate2::write::GzEncoder;

    use super::*;

    fn all(bytes: Vec<u8>) -> io::Result<Vec<Line>> {
        let mut lines = Lines::of(Cursor::new(bytes))?;
        let mut found = Vec::new();
        while let Some(line) = lines.next()? {
            found.push(line);
        }
        Ok(found)
    }

    fn text(text: &str) -> Line {
        Line::Text(text.to_owned())
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).expect("written");
        encoder.finish().expect("finished")
    }

    #[test]
    fn all_line_terminators_are_accepted() {
        let found = all("\u{feff}one\r\ntwo\n\nfour".into()).expect("lines");
        assert_eq!(found, [text("one"), text("two"), text(""), text("four")]);
        assert_eq!(all(Vec::new()).expect("lines"), []);
    }

    #[test]
    fn invalid_lines_are_reported_and_skipped() {
        let mut bytes = b"one\n".to_vec();
        bytes.extend(vec![b'x'; MAX_LENGTH + 10]);
        bytes.extend(b"\n\xff\xfe\nfour\n");
        let found = all(bytes).expect("lines");
        assert_eq!(found.len(), 4);
        assert!(matches!(&found[1], Line::Bad(why) if why.contains("longer")));
        assert!(matches!(&found[2], Line::Bad(why) if why.contains("UTF-8")));
        assert_eq!(found[3], text("four"));
    }

    #[test]
    fn gzip_is_known_by_its_first_bytes_also_in_several_members() {
        let mut bytes = gzip(b"one\ntw");
        bytes.extend(gzip(b"o\nthree"));
        assert_eq!(all(bytes.clone()).expect("lines"), [text("one"), text("two"), text("three")]);
        bytes.truncate(bytes.len() - 12);
        assert!(all(bytes).is_err(), "a stream that was cut is no end");
    }

    #[test]
    fn zstd_is_known_by_its_first_bytes_also_in_several_frames() {
        let frame = |text: &[u8]| zstd::encode_all(text, 1).expect("packed");
        let mut bytes = [frame(b"one\ntw"), frame(b"o\nthree")].concat();
        assert_eq!(all(bytes.clone()).expect("lines"), [text("one"), text("two"), text("three")]);
        bytes.truncate(bytes.len() - 2);
        assert!(all(bytes).is_err(), "a frame that was cut is no end");
    }

    #[test]
    fn skipping_notices_another_file() {
        let mut lines = Lines::of(Cursor::new(b"one\ntwo\nthree\n".to_vec())).expect("lines");
        lines.next().expect("a line");
        lines.next().expect("a line");
        let digest = lines.digest();
        for (bytes, same) in
            [(&b"one\ntwo\nfour\n"[..], true), (b"one\nTWO\nthree\n", false), (b"one\n", false)]
        {
            let mut lines = Lines::of(Cursor::new(bytes.to_vec())).expect("lines");
            assert_eq!(lines.skip(2, &digest).expect("skipped"), same);
        }
        let mut packed = Lines::of(Cursor::new(gzip(b"one\ntwo\n"))).expect("lines");
        assert!(packed.skip(2, &digest).expect("skipped"), "packed or not is the same");
    }
}
