//! What the import tells: its progress, skipped lines, and the summary.

use std::{
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use indicatif::{HumanBytes, HumanDuration, ProgressBar};
use serde_json::json;

use super::{
    super::super::{
        failure::{Failure, failed},
        private_files,
        progress::{self, Lines},
        terminal,
    },
    batch::{Batch, Skipped},
    sinks::Sink,
};

/// Maximum number of skipped lines that are printed if they aren't written to a file.
const MAX_SHOWN: u64 = 20;

/// The report of an import.
pub(super) struct Report {
    bar: ProgressBar,
    /// None for a log that is followed: it has no end to come near to.
    lines: Option<Lines>,
    since: Instant,
    /// Whether lines are only checked.
    is_dry: bool,
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
            let file = private_files::open(path, true);
            let file = file.map_err(|fault| failed("write", path, &fault))?;
            Ok::<_, Failure>((path.to_owned(), BufWriter::new(file)))
        };
        let errors = errors.map(open).transpose()?;
        let (bar, since) = (bar(files, follows), Instant::now());
        let lines = (!follows).then(Lines::new);
        let (is_dry, last) = (false, None);
        Ok(Self { bar, lines, since, is_dry, errors, imported: 0, skipped: 0, uncounted: 0, last })
    }

    /// The same of an import that only checks the lines, if it `is_dry`.
    pub(super) fn dry(self, is_dry: bool) -> Self {
        Self { is_dry, ..self }
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
        if batch.is_for(Sink::Reports) || batch.is_for(Sink::Series) {
            self.uncounted += batch.uncounted;
        }
        self.last = Some((name.to_owned(), batch.lines));
        for line in &batch.skipped {
            self.skipped += 1;
            self.note(name, line)?;
        }
        if let Some((path, file)) = &mut self.errors {
            file.flush().map_err(|fault| failed("write", path, &fault))?;
        }
        self.bar.set_position(bytes);
        let seconds = self.since.elapsed().as_secs().max(1);
        let done = self.imported + self.skipped;
        self.bar.set_message(format!("{} lines/s", done / seconds));
        let (bar, eta) = (&self.bar, self.bar.eta());
        if let Some(lines) = &mut self.lines {
            lines.print(bar, || progress(bytes, bar.length(), [done, seconds], eta));
        }
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
            return writeln!(file, "{entry}").map_err(|fault| failed("write", path, &fault));
        }
        if self.skipped <= MAX_SHOWN {
            self.bar.suspend(|| terminal::remark(format_args!("{name}, line {number}: {fault}")));
        }
        Ok(())
    }

    /// The failure of an import that ends early.
    pub(super) fn interrupted(&self, reason: &str) -> Failure {
        self.bar.abandon();
        if self.is_dry {
            return Failure::trouble(reason.to_owned());
        }
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
            let more = terminal::counted(self.skipped - MAX_SHOWN, "more line", "more lines");
            terminal::remark(format_args!("… and {more} (--errors FILE lists all of them)"));
        }
        if self.uncounted > 0 {
            let uncounted = terminal::counted(self.uncounted, "request is", "requests are");
            terminal::remark(format_args!(
                "{uncounted} counted in neither reports nor series: not of HTTP, or with a path that can't be the name of a \
                 page"
            ));
        }
        let imported = terminal::counted(self.imported, "request", "requests");
        let skipped = terminal::counted(self.skipped, "line", "lines");
        let done = if self.is_dry { "would be imported" } else { "imported" };
        terminal::say(format_args!("{imported} {done}, {skipped} skipped"));
        self.skipped
    }
}

/// A line that says how far the import is: the bytes that are read, of how many, the lines in so many seconds, and the time
/// that is left.
fn progress(bytes: u64, total: Option<u64>, [lines, seconds]: [u64; 2], left: Duration) -> String {
    let (read, rate) = (HumanBytes(bytes), lines / seconds.max(1));
    match total {
        Some(total) => {
            let (total, left) = (HumanBytes(total), HumanDuration(left));
            format!("{read} of {total}, {lines} lines, {rate} lines/s, {left} left")
        }
        None => format!("{read}, {lines} lines, {rate} lines/s"),
    }
}

/// A progress bar of the bytes read from the files, for a terminal.
fn bar(files: &[PathBuf], follows: bool) -> ProgressBar {
    let length = |file: &PathBuf| std::fs::metadata(file).map(|file| file.len()).ok();
    let total: Option<u64> = files.iter().map(length).sum();
    progress::bytes(total.filter(|_| !follows), "{msg}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_rate_and_the_time_left() {
        let left = Duration::from_secs(30);
        assert_eq!(
            progress(3 << 20, Some(12 << 20), [60_000, 20], left),
            "3.00 MiB of 12.00 MiB, 60000 lines, 3000 lines/s, 30 seconds left"
        );
        // stdin
        assert_eq!(progress(512, None, [7, 0], left), "512 B, 7 lines, 7 lines/s");
    }
}
