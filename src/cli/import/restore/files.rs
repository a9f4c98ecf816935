//! The files of an export: verified as a whole first, then read in parts.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use indicatif::ProgressBar;
use mongodb::bson::RawDocumentBuf;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;

use crate::cli::{
    export::{
        ext_json,
        manifest::Entry,
        packing::{BUFFER, Compression},
    },
    failure::Failure,
    input::Counted,
};

/// Documents that are inserted together.
pub(super) struct Part {
    pub(super) documents: Vec<RawDocumentBuf>,
    /// Bytes of the file that were read for them.
    pub(super) bytes: u64,
}

/// Maximum number of documents of a part.
const MAX_DOCUMENTS: usize = 1_000;
/// A part ends after this many bytes of documents.
const MAX_BYTES: usize = 4 << 20;
/// Maximum number of parts read ahead.
const MAX_AHEAD: usize = 2;
/// Maximum length of a line in bytes. The text of a document is at most about three times as long as the document, which
/// has at most 16 MiB.
const MAX_LENGTH: u64 = 64 << 20;

/// Checks that all files are there, and have the sizes and checksums of the manifest.
///
/// # Errors
/// The first file that differs, with what is wrong.
pub(super) fn verify(folder: &Path, entries: &[Entry], bar: &ProgressBar) -> Result<(), Failure> {
    for entry in entries {
        if !entry.is_within_folder() {
            let file = &entry.file;
            return Err(Failure::trouble(format!("the manifest names {file}, which is elsewhere")));
        }
        let path = folder.join(&entry.file);
        let read = digest(&path, bar);
        let (bytes, sha256) = read.map_err(|fault| unread(&path, &fault))?;
        let path = path.display();
        if bytes != entry.bytes {
            return Err(Failure::trouble(format!(
                "{path} has {bytes} bytes, and {} by the manifest: it was cut or changed",
                entry.bytes
            )));
        }
        if sha256 != entry.sha256 {
            return Err(Failure::trouble(format!(
                "{path} doesn't have the checksum of the manifest: it was changed"
            )));
        }
    }
    bar.finish_and_clear();
    Ok(())
}

fn digest(path: &Path, bar: &ProgressBar) -> io::Result<(u64, String)> {
    let (mut file, mut digest, mut length) = (File::open(path)?, Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let read = match file.read(&mut buffer) {
            Ok(0) => return Ok((length, hex::encode(digest.finalize()))),
            Ok(read) => read,
            Err(fault) if fault.kind() == io::ErrorKind::Interrupted => continue,
            Err(fault) => return Err(fault),
        };
        digest.update(&buffer[..read]);
        length += read as u64;
        bar.inc(read as u64);
    }
}

/// Reads the documents of a file. The channel closes after the last of them, or after an error.
pub(super) fn read(
    folder: &Path,
    entry: &Entry,
    compression: Compression,
) -> mpsc::Receiver<Result<Part, Failure>> {
    let (sender, receiver) = mpsc::channel(MAX_AHEAD);
    let (path, expected) = (folder.join(&entry.file), entry.documents);
    std::thread::spawn(move || {
        let sent = |part| sender.blocking_send(Ok(part)).is_ok();
        if let Err(failure) = read_all(&path, compression, expected, sent) {
            // Sending fails if the restore has ended. It doesn't need the error then.
            let _gone = sender.blocking_send(Err(failure));
        }
    });
    receiver
}

/// Calls `each` for the parts of a file, until it returns `false`.
fn read_all(
    path: &Path,
    compression: Compression,
    expected: u64,
    mut each: impl FnMut(Part) -> bool,
) -> Result<(), Failure> {
    let file = File::open(path).map_err(|fault| unread(path, &fault))?;
    let bytes_read = Arc::new(AtomicU64::new(0));
    let mut input = compression
        .unpacked(BufReader::with_capacity(BUFFER, Counted::new(file, &bytes_read)))
        .map_err(|fault| unread(path, &fault))?;
    let (mut number, mut reported) = (0_u64, 0);
    let (mut line, mut documents, mut size) = (Vec::new(), Vec::new(), 0);
    loop {
        line.clear();
        let length = (&mut input).take(MAX_LENGTH).read_until(b'\n', &mut line);
        let is_end = length.map_err(|fault| unread(path, &fault))? == 0;
        if is_end || documents.len() >= MAX_DOCUMENTS || size >= MAX_BYTES {
            let so_far = bytes_read.load(Ordering::Relaxed);
            let part = Part { documents: std::mem::take(&mut documents), bytes: so_far - reported };
            (reported, size) = (so_far, 0);
            if !part.documents.is_empty() && !each(part) {
                return Ok(());
            }
        }
        if is_end {
            break;
        }
        number += 1;
        let document = document(&line).map_err(|fault| {
            Failure::trouble(format!("line {number} of {}: {fault}", path.display()))
        })?;
        size += document.as_bytes().len();
        documents.push(document);
    }
    if number == expected {
        return Ok(());
    }
    Err(Failure::trouble(format!(
        "{} has {number} documents, and {expected} by the manifest",
        path.display()
    )))
}

fn document(line: &[u8]) -> Result<RawDocumentBuf, String> {
    let document = ext_json::parse(line).map_err(|fault| fault.to_string())?;
    RawDocumentBuf::try_from(&document).map_err(|fault| fault.to_string())
}

fn unread(path: &Path, fault: &io::Error) -> Failure {
    match fault.kind() {
        io::ErrorKind::NotFound => {
            Failure::trouble(format!("{} is missing, and the manifest names it", path.display()))
        }
        _ => Failure::trouble(format!("can't read {}: {fault}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn parts(text: &str, expected: u64) -> Result<Vec<usize>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.jsonl");
        fs::write(&path, text).expect("written");
        let mut parts = Vec::new();
        let read = read_all(&path, Compression::None, expected, |part| {
            parts.push(part.documents.len());
            true
        });
        read.map(|()| parts).map_err(|failure| failure.to_string())
    }

    #[test]
    fn lines_become_parts() {
        let line = "{\"a\":{\"$numberInt\":\"1\"}}\n";
        assert_eq!(parts("", 0), Ok(vec![]));
        assert_eq!(parts(&line.repeat(2_500), 2_500), Ok(vec![1_000, 1_000, 500]));
        assert!(parts(line, 2).expect_err("too few").contains("has 1 documents, and 2"));
        let broken = format!("{line}{{\n");
        assert!(parts(&broken, 2).expect_err("no document").starts_with("line 2 of "));
    }
}
