//! Files that an import writes beside the database.

use std::{
    fs::{self, File, Metadata},
    io::{BufWriter, Write},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::lines::Line;
use crate::{
    cli::{
        failure::{Failure, failed},
        private_files,
    },
    domains::game::import::ImportWorld,
};

/// A file with one JSON object per line.
pub(super) struct Output {
    path: PathBuf,
    file: BufWriter<File>,
}

impl Output {
    /// Opens the file, which is appended to or otherwise replaced.
    pub(super) fn open(path: &Path, appends: bool) -> Result<Self, Failure> {
        let file = private_files::open(path, appends);
        let file = file.map_err(|fault| failed("write", path, &fault))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file) })
    }

    /// Adds an object.
    pub(super) fn write(&mut self, entry: &Value) -> Result<(), Failure> {
        writeln!(self.file, "{entry}").map_err(|fault| failed("write", &self.path, &fault))
    }

    /// Flushes the objects to the file.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.file.flush().map_err(|fault| failed("write", &self.path, &fault))
    }

    /// Adds the global id of what a line of a world is stored as, if it has one.
    pub(super) fn write_id(&mut self, line: &Line) -> Result<(), Failure> {
        let line = line.text().and_then(|text| serde_json::from_str::<ImportWorld>(text).ok());
        match line.as_ref().and_then(ImportWorld::id) {
            Some((kind, key, id)) => self.write(&serde_json::json!({ (kind): key, "id": id.0 })),
            None => Ok(()),
        }
    }
}

/// What identifies a file, whatever its path.
pub(super) fn identity(of: &Metadata) -> (u64, u64) {
    (of.dev(), of.ino())
}

fn is_same(one: &Path, other: &Path) -> bool {
    let [of_one, of_other] =
        [one, other].map(|path| fs::metadata(path).ok().map(|of| identity(&of)));
    one == other || (of_one.is_some() && of_one == of_other)
}

/// Checks that files, each with the name of its argument, are different ones: an import would overwrite what it reads, or mix
/// what it writes.
///
/// # Errors
/// Two of them are the same file.
pub(super) fn demand_distinct(files: &[(&str, &Path)]) -> Result<(), Failure> {
    for (nth, (name, path)) in files.iter().enumerate() {
        let before = files.iter().take(nth).find(|(_, other)| is_same(path, other));
        if let Some((before, _)) = before {
            let message = format!("{name} is the same file as {before}: {}", path.display());
            return Err(Failure::usage(message).with_hint("name another file"));
        }
    }
    Ok(())
}
