//! The progress of an import, and the lines that it skipped.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    faults::Fault,
    kinds::Kind,
    lines::Line,
    output::{Output, identity},
};
use crate::cli::{
    failure::{Failure, failed},
    private_files, terminal,
};

/// Counts of the processed lines.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) imported: u64,
    /// Lines that are imported but for a part.
    #[serde(default)]
    pub(super) in_part: u64,
    /// Receipts that were booked before.
    #[serde(default)]
    pub(super) booked_before: u64,
    pub(super) skipped: u64,
}

impl Counts {
    /// The counts as a sentence.
    pub(super) fn summary(self, kind: Kind, is_dry: bool) -> String {
        let Self { imported, in_part, booked_before, skipped } = self;
        let done = if is_dry { "would be imported" } else { "imported" };
        let mut text = format!("{} {done}", kind.counted(imported));
        if in_part > 0 {
            text = format!("{text}, {in_part} in part");
        }
        if booked_before > 0 {
            text = format!("{text}, {booked_before} booked before");
        }
        format!("{text}, {} skipped", terminal::counted(skipped, "line", "lines"))
    }
}

/// The content of the progress file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    /// The kind and the database of the import. Another import can't resume from the file.
    kind: String,
    database: String,
    /// The last completed line, counted from 1.
    line: u64,
    /// Digest of the uncompressed file up to the end of that line.
    digest: String,
    counts: Counts,
}

/// Records each completed batch. The file is written after the batch was acknowledged. An interruption
/// between the two imports one batch again, which changes nothing.
pub(super) struct Journal {
    path: Option<PathBuf>,
    state: State,
    /// Held as long as the progress file is in use.
    _lock: Option<Lock>,
}

/// The lock of a progress file. It is that of a file beside it, because the progress file is replaced with each batch. The
/// lock of a process that was killed is free.
struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Locks the progress file, if the file system has locks.
    fn of(progress: &Path) -> Result<Self, Failure> {
        let mut path = progress.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        let hint = "--progress names another file";
        loop {
            let file = File::create(&path)
                .map_err(|fault| failed("write", &path, &fault).with_hint(hint))?;
            if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                let message = format!("another import is using {}", progress.display());
                return Err(Failure::trouble(message)
                    .with_hint("import the file when that has ended, or name another progress file with --progress"));
            }
            // Another import may have removed the file at its end, after this one had opened it.
            if is_at(&file, &path) {
                return Ok(Self { path, _file: file });
            }
        }
    }
}

/// Whether an open file is the one at this path.
fn is_at(file: &File, path: &Path) -> bool {
    let [open, there] =
        [file.metadata(), fs::metadata(path)].map(|of| of.ok().map(|of| identity(&of)));
    open == there
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A file that stays is free for the next import.
        let _removed = fs::remove_file(&self.path);
    }
}

impl Journal {
    /// Opens the progress file. With `resume` the import continues from its state.
    pub(super) fn open(
        path: Option<PathBuf>,
        kind: &str,
        database: &str,
        resume: bool,
    ) -> Result<Self, Failure> {
        let state = State {
            kind: kind.to_owned(),
            database: database.to_owned(),
            line: 0,
            digest: String::new(),
            counts: Counts::default(),
        };
        let lock = path.as_deref().map(Lock::of).transpose()?;
        let earlier = path.as_deref().map(read).transpose()?.flatten();
        let state = match (resume, earlier, &path) {
            (true, Some(earlier), Some(path)) => {
                if (&earlier.kind, &earlier.database) != (&state.kind, &state.database) {
                    let State { kind, database, .. } = earlier;
                    return Err(Failure::usage(format!(
                        "{} belongs to an import of {kind} into {database}",
                        path.display()
                    )));
                }
                earlier
            }
            (true, None, Some(path)) => {
                return Err(Failure::usage(format!(
                    "there is no {}: nothing was cut, so import it without --resume",
                    path.display()
                )));
            }
            (true, _, None) => {
                return Err(Failure::usage(
                    "--resume needs to know how far it was: name the file with --progress",
                ));
            }
            (false, Some(earlier), _) if earlier.line > 0 => {
                let line = earlier.line;
                terminal::remark(format_args!(
                    "An earlier import was cut after line {line}; beginning anew (--resume would go on)."
                ));
                state
            }
            (false, ..) => state,
        };
        Ok(Self { path, state, _lock: lock })
    }

    /// Records that the import begins. The state of an earlier one is gone then.
    pub(super) fn begin(&self) -> Result<(), Failure> {
        self.write()
    }

    /// The last completed line.
    pub(super) fn line(&self) -> u64 {
        self.state.line
    }

    /// Digest of the file up to that line.
    pub(super) fn digest(&self) -> &str {
        &self.state.digest
    }

    /// Counts of the processed lines.
    pub(super) fn counts(&self) -> Counts {
        self.state.counts
    }

    /// The counts, to be updated.
    pub(super) fn counts_mut(&mut self) -> &mut Counts {
        &mut self.state.counts
    }

    /// Whether the import can be resumed.
    pub(super) fn is_kept(&self) -> bool {
        self.path.is_some()
    }

    /// Records that everything up to `line` is completed.
    pub(super) fn note(&mut self, line: u64, digest: String) -> Result<(), Failure> {
        (self.state.line, self.state.digest) = (line, digest);
        self.write()
    }

    /// Removes the progress file, as the import is completed.
    pub(super) fn close(&mut self) -> Result<(), Failure> {
        match &self.path {
            Some(path) => fs::remove_file(path).map_err(|fault| failed("remove", path, &fault)),
            None => Ok(()),
        }
    }

    /// Replaces the file atomically.
    fn write(&self) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        let text = serde_json::to_vec(&self.state).unwrap_or_default();
        private_files::replace(path, &text).map_err(|fault| {
            failed("write", path, &fault).with_hint("--progress names another file")
        })
    }
}

fn read(path: &Path) -> Result<Option<State>, Failure> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(fault) => return Err(failed("read", path, &fault)),
    };
    serde_json::from_slice(&text).map(Some).map_err(|_| {
        let path = path.display();
        Failure::usage(format!(
            "{path} is no progress file of docgate: name another with --progress"
        ))
    })
}

/// Maximum number of such lines that are printed if they aren't written to a file.
const MAX_SHOWN: u64 = 20;

/// Output of lines that are skipped or imported in part.
pub(super) struct Errors {
    file: Option<Output>,
    noted: u64,
}

impl Errors {
    /// Writes the lines to a file, to which `resume` appends, or otherwise to stderr.
    pub(super) fn open(path: Option<&Path>, resume: bool) -> Result<Self, Failure> {
        let file = path.map(|path| Output::open(path, resume)).transpose()?;
        Ok(Self { file, noted: 0 })
    }

    /// Reports a line that is skipped, or imported in part.
    pub(super) fn note(
        &mut self,
        number: u64,
        fault: &Fault,
        is_in_part: bool,
        line: &Line,
    ) -> Result<(), Failure> {
        self.noted += 1;
        if let Some(file) = &mut self.file {
            let text = line.text();
            let Fault { field, reason } = fault;
            let entry = json!({
                "line": number, "field": field, "reason": reason, "inPart": is_in_part, "text": text,
            });
            return file.write(&entry);
        }
        if self.noted <= MAX_SHOWN {
            let rest = if is_in_part { " (the rest of the line is imported)" } else { "" };
            terminal::remark(format_args!("line {number}: {fault}{rest}"));
        }
        Ok(())
    }

    /// Flushes the reports to the file.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        self.file.as_mut().map_or(Ok(()), Output::flush)
    }

    /// Prints the number of lines that weren't printed.
    pub(super) fn print_rest(&self) {
        if self.file.is_none() && self.noted > MAX_SHOWN {
            let more = terminal::counted(self.noted - MAX_SHOWN, "more line", "more lines");
            terminal::remark(format_args!("… and {more} (--errors FILE lists all of them)"));
        }
    }
}
