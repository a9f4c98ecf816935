//! What the import tells: its progress, skipped lines, and the summary.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    time::Instant,
};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::{
    super::super::{failure::Failure, terminal},
    batch::{Batch, Skipped},
    sinks::Sink,
};

/// Maximum number of skipped lines that are printed if they aren't written to a file.
const MAX_SHOWN: u64 = 20;

/// The report of an import.
pub(super) struct Report {
    bar: ProgressBar,
    since: Instant,
    errors: Option<(PathBuf, BufWriter<File>)>,
    imported: u64,
    skipped: u64,
    uncounted: u64,
    /// Name and last line of the log that is imported, if one is.
    last: Option<(String, i64)>,
}

impl Report {
    pub(super) fn open(
        errors: Option<&Path>,
        files: &[PathBuf],
        follows: bool,
    ) -> Result<Self, Failure> {
        let open = |path: &Path| {
            let file = File::options().create(true).append(true).open(path);
            let file = file.map_err(|fault| cannot_write(path, &fault))?;
            Ok::<_, Failure>((path.to_owned(), BufWriter::new(file)))
        };
        let errors = errors.map(open).transpose()?;
        let (bar, since) = (bar(files, follows), Instant::now());
        Ok(Self { bar, since, errors, imported: 0, skipped: 0, uncounted: 0, last: None })
    }

    /// Tells that a log is continued.
    pub(super) fn continued(&self, name: &str, lines: i64) {
        let say = || {
            terminal::remark(format_args!(
                "{name}: the first {lines} lines are imported already; continuing after them"
            ));
        };
        self.bar.suspend(say);
        self.bar.reset_eta();
    }

    /// Tells of an imported batch. `bytes` is how far the logs are read.
    pub(super) fn imported(&mut self, batch: &Batch, bytes: u64) -> Result<(), Failure> {
        let name = &*batch.log.name;
        self.imported += batch.imported;
        if batch.is_for(Sink::Reports) {
            self.uncounted += batch.uncounted;
        }
        self.last = Some((name.to_owned(), batch.lines));
        for line in &batch.skipped {
            self.skipped += 1;
            self.note(name, line)?;
        }
        if let Some((path, file)) = &mut self.errors {
            file.flush().map_err(|fault| cannot_write(path, &fault))?;
        }
        self.bar.set_position(bytes);
        let seconds = self.since.elapsed().as_secs().max(1);
        self.bar.set_message(format!("{} lines/s", (self.imported + self.skipped) / seconds));
        Ok(())
    }

    fn note(
        &mut self,
        name: &str,
        Skipped { number, fault, text }: &Skipped,
    ) -> Result<(), Failure> {
        if let Some((path, file)) = &mut self.errors {
            let (field, reason) = (&fault.field, &fault.reason);
            let entry = json!({ "file": name, "line": number, "field": field, "reason": reason, "text": text });
            return writeln!(file, "{entry}").map_err(|fault| cannot_write(path, &fault));
        }
        if self.skipped <= MAX_SHOWN {
            self.bar.suspend(|| terminal::remark(format_args!("{name}, line {number}: {fault}")));
        }
        Ok(())
    }

    /// The failure of an import that ends early.
    pub(super) fn interrupted(&self, reason: &str) -> Failure {
        self.bar.abandon();
        let done = match &self.last {
            Some((name, lines)) => format!("The first {lines} lines of {name} are done. "),
            None => String::new(),
        };
        Failure::trouble(format!("{reason}. {done}Call it again to continue"))
    }

    /// Prints the summary. Returns the number of skipped lines.
    pub(super) fn finish(&self) -> u64 {
        self.bar.finish_and_clear();
        if self.errors.is_none() && self.skipped > MAX_SHOWN {
            let more = self.skipped - MAX_SHOWN;
            terminal::remark(format_args!(
                "… and {more} more lines (--errors FILE lists all of them)"
            ));
        }
        if self.uncounted > 0 {
            let uncounted = self.uncounted;
            terminal::remark(format_args!(
                "{uncounted} requests aren't in the reports: their paths are longer than 1,000 characters or no \
                 names of pages"
            ));
        }
        let (imported, skipped) = (self.imported, self.skipped);
        terminal::say(format_args!("{imported} requests imported, {skipped} lines skipped"));
        skipped
    }
}

fn cannot_write(path: &Path, fault: &std::io::Error) -> Failure {
    Failure::trouble(format!("can't write {}: {fault}", path.display()))
}

/// A progress bar of the bytes read from the files, for a terminal.
fn bar(files: &[PathBuf], follows: bool) -> ProgressBar {
    let length = |file: &PathBuf| std::fs::metadata(file).map(|file| file.len()).ok();
    let total: Option<u64> = files.iter().map(length).sum();
    let (bar, template) = match total.filter(|_| !follows) {
        Some(total) => {
            (ProgressBar::new(total), "{bar:30} {bytes} of {total_bytes}, {msg}, {eta} left")
        }
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}, {msg}"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
