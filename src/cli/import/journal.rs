//! How far an import came, and which lines it skipped.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{faults::Fault, lines::Line};
use crate::cli::{failure::Failure, terminal};

/// What became of the lines so far.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) imported: u64,
    pub(super) skipped: u64,
}

/// What the progress file holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    /// What is imported, and into which database: another import can't go on with it.
    kind: String,
    database: String,
    /// The last line that is done, counted from 1.
    line: u64,
    /// Digest of the file up to the end of that line, unpacked.
    digest: String,
    counts: Counts,
}

/// Notes after each batch that it is done. It is written after the batch was acknowledged, so a cut
/// between the two brings one batch in again, which changes nothing.
pub(super) struct Journal {
    path: Option<PathBuf>,
    state: State,
}

impl Journal {
    /// Opens the progress file; with `resume` it goes on with what is noted there.
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
        let journal = Self { path, state };
        journal.write()?;
        Ok(journal)
    }

    /// The last line that is done.
    pub(super) fn line(&self) -> u64 {
        self.state.line
    }

    /// Digest of the file up to that line.
    pub(super) fn digest(&self) -> &str {
        &self.state.digest
    }

    /// What became of the lines so far.
    pub(super) fn counts(&self) -> Counts {
        self.state.counts
    }

    /// To count further.
    pub(super) fn counts_mut(&mut self) -> &mut Counts {
        &mut self.state.counts
    }

    /// Whether it can be gone on with.
    pub(super) fn is_kept(&self) -> bool {
        self.path.is_some()
    }

    /// Everything up to `line` is done.
    pub(super) fn note(&mut self, line: u64, digest: String) -> Result<(), Failure> {
        (self.state.line, self.state.digest) = (line, digest);
        self.write()
    }

    /// The whole file is done.
    pub(super) fn close(&mut self) -> Result<(), Failure> {
        match &self.path {
            Some(path) => fs::remove_file(path).map_err(|fault| cant("remove", path, &fault)),
            None => Ok(()),
        }
    }

    /// Replaces the file as a whole, so that a cut leaves the old one or the new one.
    fn write(&self) -> Result<(), Failure> {
        let Some(path) = &self.path else { return Ok(()) };
        let mut next = path.clone().into_os_string();
        next.push(".new");
        let text = serde_json::to_vec(&self.state).unwrap_or_default();
        fs::write(&next, text)
            .and_then(|()| fs::rename(&next, path))
            .map_err(|fault| cant("write", path, &fault).and("--progress names another file"))
    }
}

fn cant(act: &str, path: &Path, fault: &io::Error) -> Failure {
    Failure::trouble(format!("can't {act} {}: {fault}", path.display()))
}

fn read(path: &Path) -> Result<Option<State>, Failure> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(fault) => return Err(cant("read", path, &fault)),
    };
    serde_json::from_slice(&text).map(Some).map_err(|_| {
        let path = path.display();
        Failure::usage(format!(
            "{path} is no progress file of docgate: name another with --progress"
        ))
    })
}

/// Skipped lines that are shown where no file takes them.
const SHOWN: u64 = 20;

/// Where skipped lines are told.
pub(super) struct Errors {
    file: Option<(PathBuf, BufWriter<File>)>,
    told: u64,
}

impl Errors {
    /// Tells them to a file, which is added to with `resume`, or else to stderr.
    pub(super) fn open(path: Option<&Path>, resume: bool) -> Result<Self, Failure> {
        let open = |path: &Path| -> Result<_, Failure> {
            let mut options = File::options();
            options.create(true).write(true).append(resume).truncate(!resume);
            let file = options.open(path).map_err(|fault| cant("write", path, &fault))?;
            Ok((path.to_owned(), BufWriter::new(file)))
        };
        Ok(Self { file: path.map(open).transpose()?, told: 0 })
    }

    /// One line was skipped.
    pub(super) fn note(&mut self, number: u64, fault: &Fault, line: &Line) -> Result<(), Failure> {
        self.told += 1;
        if let Some((path, file)) = &mut self.file {
            let text = match line {
                Line::Text(text) => Some(text),
                Line::Bad(_) => None,
            };
            let Fault { field, reason } = fault;
            let entry = json!({ "line": number, "field": field, "reason": reason, "text": text });
            return writeln!(file, "{entry}").map_err(|fault| cant("write", path, &fault));
        }
        if self.told <= SHOWN {
            terminal::remark(format_args!("line {number}: {fault}"));
        }
        Ok(())
    }

    /// What was noted is in the file.
    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        match &mut self.file {
            Some((path, file)) => file.flush().map_err(|fault| cant("write", path, &fault)),
            None => Ok(()),
        }
    }

    /// How many weren't shown.
    pub(super) fn tell_rest(&self) {
        if self.file.is_none() && self.told > SHOWN {
            let more = self.told - SHOWN;
            terminal::remark(format_args!(
                "… and {more} more lines (--errors FILE takes them all)"
            ));
        }
    }
}
