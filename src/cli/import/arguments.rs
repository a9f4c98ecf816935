//! The options that imports of lines share, and the files that they name.

use std::{
    io,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{journal::Journal, lines::Lines, output::demand_distinct};
use crate::cli::{failure::Failure, options::Source};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The file, plain, gzipped or compressed by zstd; `-` is stdin.
    pub(super) file: PathBuf,
    /// Continue after the last line that an interrupted import of this file completed.
    #[arg(long)]
    pub(super) resume: bool,
    /// File that records the progress until the import is completed [default: FILE.progress; none for stdin]. One import at
    /// a time can use it.
    #[arg(long, value_name = "FILE")]
    pub(super) progress: Option<PathBuf>,
    /// Write lines that are skipped or imported in part to this file, one JSON object each with line, field, reason, inPart
    /// and text.
    #[arg(long, value_name = "FILE")]
    pub(super) errors: Option<PathBuf>,
    /// Exit with 0 even if lines were skipped or imported in part.
    #[arg(long)]
    pub(super) allow_errors: bool,
    /// Check every line as the import would, by itself, and change nothing. Of what a line needs of earlier lines or has
    /// in common with them, only slugs are looked at. Worlds can't be checked.
    #[arg(long, conflicts_with_all = ["resume", "progress"])]
    pub(super) dry_run: bool,
    /// File for the ids of what is imported, of an import that has one.
    #[arg(skip)]
    pub(super) ids: Option<PathBuf>,
    #[command(flatten)]
    pub(super) source: Source,
}

impl Options {
    /// The journal of the progress. None is kept if nothing changes.
    pub(super) fn journal(&self, kind: &str, database: &str) -> Result<Journal, Failure> {
        let is_stdin = self.is_stdin();
        let beside = || {
            let mut name = self.file.clone().into_os_string();
            name.push(".progress");
            PathBuf::from(name)
        };
        let path = self.progress.clone().or_else(|| (!is_stdin).then(beside));
        let path = path.filter(|_| !self.dry_run);
        let file = Some(&self.file).filter(|_| !is_stdin);
        let named = [
            ("FILE", file),
            ("--progress", path.as_ref()),
            ("--errors", self.errors.as_ref()),
            ("--ids", self.ids.as_ref()),
        ];
        let named = named.into_iter().filter_map(|(name, path)| Some((name, path?.as_path())));
        demand_distinct(&named.collect::<Vec<_>>())?;
        Journal::open(path, kind, database, self.resume)
    }

    fn is_stdin(&self) -> bool {
        self.file == Path::new("-")
    }

    /// The lines of the file.
    pub(super) fn lines(&self) -> Result<Lines, Failure> {
        let lines =
            if self.is_stdin() { Lines::of(std::io::stdin()) } else { Lines::of_file(&self.file) };
        lines.map_err(|fault| self.unread(&fault))
    }

    pub(super) fn unread(&self, fault: &io::Error) -> Failure {
        Failure::trouble(format!("can't read {}: {fault}", self.file.display()))
    }

    /// Skips what an earlier import has completed.
    pub(super) fn skip(
        &self,
        journal: &Journal,
        skip: impl FnOnce(u64, &str) -> io::Result<bool>,
    ) -> Result<(), Failure> {
        if journal.line() == 0 {
            return Ok(());
        }
        if skip(journal.line(), journal.digest()).map_err(|fault| self.unread(&fault))? {
            return Ok(());
        }
        Err(Failure::trouble(format!(
            "{} isn't what it was when its import was cut: import it again without --resume",
            self.file.display()
        )))
    }
}
