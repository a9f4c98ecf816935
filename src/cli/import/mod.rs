//! `docgate import`.

mod access_log;
mod commands;
mod faults;
mod journal;
mod kinds;
mod lines;
mod misfit;
mod reader;
mod restore;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::Ordering,
    time::Duration,
};

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    failure::Failure,
    gateway, logging,
    options::{Source, on_database},
    terminal,
};
use crate::app::App;
pub(super) use commands::Import;
use commands::What;
use journal::{Errors, Journal};
use kinds::{Kind, LineResult};
use lines::Lines;
use reader::Batch;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The file, plain or gzipped; `-` is stdin.
    file: PathBuf,
    /// Continue after the last line that an interrupted import of this file completed.
    #[arg(long)]
    resume: bool,
    /// File that records the progress until the import is completed [default: FILE.progress; none for stdin].
    #[arg(long, value_name = "FILE")]
    progress: Option<PathBuf>,
    /// Write skipped lines to this file, one JSON object each with line, field, reason and text.
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,
    /// Exit with 0 even if lines were skipped.
    #[arg(long)]
    allow_errors: bool,
    #[command(flatten)]
    source: Source,
}

impl Import {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let (kind, options) = match self.what {
            None => return self.restore.run().await,
            Some(What::AccessLog(logs)) => return logs.run().await,
            Some(What::Categories(categories)) => (Kind::Categories, categories.options),
            Some(What::People(people)) => (Kind::People, people.options),
            Some(What::Products(products)) => (Kind::Products, products.options),
            Some(What::Stock(stock)) => (Kind::Stock, stock.options),
            Some(What::Discussions(discussions)) => (Kind::Discussions, discussions.options),
            Some(What::World(world)) => (Kind::World, world.options),
        };
        let config = options.source.database()?;
        if kind == Kind::Discussions && config.secret.is_empty() {
            return Err(Failure::usage(
                "discussions are imported with the secret of the gateways, by which a review is known \
                 to be its author's: set DOCGATE_SECRET",
            ));
        }
        logging::begin(config.log_format, logging::TOOL)?;
        let (lines, journal) = options.open(kind, &config.database)?;
        let errors = Errors::open(options.errors.as_deref(), options.resume)?;
        let imported = on_database(&config, async |database| {
            let (app, bar) = (App::new(config.clone(), database), bar(&options.file));
            app.refresh_versions().await?;
            let mut work = RunningImport { app, kind, journal, errors, bar };
            work.run(lines).await?;
            work.print_summary();
            Ok(work.journal.counts().skipped)
        });
        let skipped = imported.await?;
        let complaint = skipped > 0 && !options.allow_errors;
        Ok(if complaint { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

impl Options {
    /// The lines to be imported, and the journal of the progress.
    fn open(&self, kind: Kind, database: &str) -> Result<(Lines, Journal), Failure> {
        let is_stdin = self.file == Path::new("-");
        let beside = || {
            let mut name = self.file.clone().into_os_string();
            name.push(".progress");
            PathBuf::from(name)
        };
        let path = self.progress.clone().or_else(|| (!is_stdin).then(beside));
        let cant = |fault| Failure::trouble(format!("can't read {}: {fault}", self.file.display()));
        let mut lines =
            if is_stdin { Lines::of(std::io::stdin()) } else { Lines::of_file(&self.file) }
                .map_err(cant)?;
        let journal = Journal::open(path, kind.name(), database, self.resume)?;
        if journal.line() > 0 && !lines.skip(journal.line(), journal.digest()).map_err(cant)? {
            return Err(Failure::trouble(format!(
                "{} isn't what it was when its import was cut: import it again without --resume",
                self.file.display()
            )));
        }
        Ok((lines, journal))
    }
}

/// A running import.
struct RunningImport {
    app: App,
    kind: Kind,
    journal: Journal,
    errors: Errors,
    bar: ProgressBar,
}

/// Maximum number of tries of a batch while MongoDB doesn't answer, and the pause between them.
const MAX_TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_secs(2);

impl RunningImport {
    async fn run(&mut self, lines: Lines) -> Result<(), Failure> {
        let stop = gateway::stop_on_signals()?;
        let bytes_read = lines.bytes_read();
        let mut batches = reader::start(lines);
        loop {
            let batch = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(self.interrupted("interrupted")),
                batch = batches.recv() => batch,
            };
            let batch = match batch {
                None => return self.journal.close(),
                Some(Ok(batch)) => batch,
                Some(Err(fault)) => {
                    return Err(self.interrupted(&format!("the file can't be read: {fault}")));
                }
            };
            self.import_batch(batch).await?;
            self.bar.set_position(bytes_read.load(Ordering::Relaxed));
        }
    }

    async fn import_batch(&mut self, batch: Batch) -> Result<(), Failure> {
        let Batch { lines, last, digest } = batch;
        let mut tries = 1;
        let results = loop {
            match self.kind.import(&self.app, &lines).await {
                Ok(results) => break results,
                // Importing a line is idempotent.
                Err(error) if error.is_retryable() && tries < MAX_TRIES => {
                    tracing::warn!(
                        event = "import_batch_retried",
                        ?error,
                        "a batch is tried again"
                    );
                    tries += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(self.interrupted(&super::failure::sentence(&error))),
            }
        };
        for ((number, line), result) in lines.iter().zip(results) {
            let counts = self.journal.counts_mut();
            match result {
                LineResult::Imported => counts.imported += 1,
                LineResult::Blank => {}
                LineResult::Skipped(fault) => {
                    counts.skipped += 1;
                    self.bar.suspend(|| self.errors.note(*number, &fault, line))?;
                }
            }
        }
        self.errors.flush()?;
        self.journal.note(last, digest)
    }

    /// The failure of an interrupted import, with a hint on how to continue.
    fn interrupted(&self, reason: &str) -> Failure {
        self.bar.abandon();
        let line = self.journal.line();
        let how = if self.journal.is_kept() {
            "--resume goes on from there"
        } else {
            "lines that are imported again change nothing"
        };
        Failure::trouble(format!("{reason}. The first {line} lines are done; {how}"))
    }

    fn print_summary(&self) {
        self.bar.finish_and_clear();
        self.errors.print_rest();
        let counts = self.journal.counts();
        let (imported, things, skipped) = (counts.imported, self.kind.things(), counts.skipped);
        terminal::say(format_args!("{imported} {things} imported, {skipped} lines skipped"));
    }
}

/// A progress bar of the bytes read from the file, for a terminal.
fn bar(file: &Path) -> ProgressBar {
    let length = std::fs::metadata(file).map(|file| file.len()).ok();
    let (bar, template) = match length {
        Some(length) => (
            ProgressBar::new(length),
            "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        ),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}, {bytes_per_sec}"),
    };
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
