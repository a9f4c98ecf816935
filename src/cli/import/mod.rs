//! `docgate import`.

mod access_log;
mod faults;
mod journal;
mod kinds;
mod lines;
mod misfit;
mod reader;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::atomic::Ordering,
    time::Duration,
};

use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};

use super::{
    failure::Failure,
    gateway, logging,
    options::{Source, on_database},
    terminal,
};
use crate::app::App;
use access_log::AccessLog;
use journal::{Errors, Journal};
use kinds::{Kind, LineResult};
use lines::Lines;
use reader::Batch;

/// Import categories, people, products, stock and discussions from files, in this order, a world, or access logs
///
/// One JSON object per line (access logs have a format of their own), plain or gzipped; `-` reads stdin. docs/IMPORT.md describes every field.
/// A line that can't be used is skipped and reported with its number, the field and the reason. A file
/// may be imported again: stored lines aren't added a second time.
///
/// Examples:
///     docgate import categories categories.jsonl
///     docgate import people people.jsonl
///     docgate import products products.jsonl.gz --errors bad.jsonl
///     docgate import products products.jsonl.gz --resume
///     docgate import stock stock.jsonl
///     docgate import discussions discussions.jsonl
///     docgate import world world.jsonl
///     docgate import access-log --site shop.example access.log
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub(super) enum Import {
    Categories(Categories),
    People(People),
    Products(Products),
    Stock(Stock),
    Discussions(Discussions),
    World(World),
    AccessLog(AccessLog),
}

/// Import people, some hundreds at a time
///
/// `key` is your own key of the person. Products name their contributors by it, and a repeated line is
/// recognised by it. An existing person gets the name of the line, also in products, and its address if
/// the line has one.
///
/// Example of a line:
///     {"key": "miles-davis", "name": "Miles Davis",
///      "address": {"street": "312 West 77th Street", "city": "New York, NY 10024", "country": "US"}}
///
/// Example:
///     docgate import people people.jsonl
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped (0 with --allow-errors), 3 if the
/// import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct People {
    #[command(flatten)]
    options: Options,
}

/// Import stock: receipts of products
///
/// A line adds its quantity to the stock of the SKU once for each `receipt`, whatever the name of the
/// file and however often it is imported. Without `receipt` its name is `import`; give later deliveries
/// names of their own.
///
/// Example of a line:
///     {"sku": "ALB-1", "quantity": 12, "receipt": "2026-11-24"}
///
/// Example:
///     docgate import stock stock.jsonl
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped (0 with --allow-errors), 3 if the
/// import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Stock {
    #[command(flatten)]
    options: Options,
}

/// Import comments and reviews of products
///
/// A line with `stars` is a review; an author has one review per product. Any other line is a comment,
/// with a `key` of your own by which a repeated line is recognised. A missing discussion is opened.
/// Comments come before their replies. The command needs the gateways' DOCGATE_SECRET.
///
/// Examples of lines:
///     {"sku": "ALB-1", "key": "c-1", "author": "ann", "at": "2024-05-01T12:00:00Z",
///      "text": "Which pressing?"}
///     {"sku": "ALB-1", "key": "c-2", "author": "bob", "at": "2024-05-02T08:30:00Z",
///      "text": "The first.", "replyTo": {"key": "c-1"}}
///     {"sku": "ALB-1", "author": "eve", "at": "2024-06-01T10:00:00Z", "text": "A wonder.", "stars": 5}
///
/// Example:
///     docgate import discussions discussions.jsonl
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped (0 with --allow-errors), 3 if the
/// import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Discussions {
    #[command(flatten)]
    options: Options,
}

/// Import a world of the game: its items, places, exits and characters
///
/// A line has one of `item`, `place`, `exit` and `character`. Places and characters bring their things. A
/// line refers by key to lines before it: items come before things, places before exits and characters. A
/// repeated line changes nothing; another line with the same key is skipped.
///
/// Examples of lines:
///     {"item": {"key": "hat", "name": "wizard's hat", "price": 40, "slots": ["HEAD"]}}
///     {"place": {"key": "hall", "title": "A hall", "things": [{"key": "1", "item": "hat", "bonus": 3}]}}
///     {"place": {"key": "garden", "title": "A garden"}}
///     {"exit": {"from": "hall", "direction": "NORTH", "to": "garden"}}
///     {"character": {"key": "ann", "owner": "subject-of-ann", "name": "Ann", "class": "wizard",
///                    "place": "hall", "gold": 10}}
///
/// Example:
///     docgate import world world.jsonl
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped (0 with --allow-errors), 3 if the
/// import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct World {
    #[command(flatten)]
    options: Options,
}

/// Import products, some hundreds at a time
///
/// A line has the input of `createProduct`, with categories by path, which must exist. An existing
/// product gets the line's content, prices and categories, and its contributors if the line has
/// `contributors`: [{"personKey": "miles-davis", "role": "artist"}].
///
/// Example of a line (wrapped here):
///     {"sku": "ALB-1", "categories": ["/music/jazz"],
///      "pricing": {"list": 1999, "retail": 1799, "currency": "EUR"},
///      "content": {"title": "Blue Lantern", "language": "en", "issueDate": "1959-08-17",
///                  "details": {"album": {"genres": ["Jazz"], "tracks": [{"title": "Rain"}]}}}}
///
/// Example:
///     docgate import products products.jsonl.gz --errors bad.jsonl
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped (0 with --allow-errors), 3 if the
/// import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Products {
    #[command(flatten)]
    options: Options,
}

/// Import categories, parents before children
///
/// A new category is created; an existing one gets the names of its line.
///
/// Example of a line:
///     {"path": "/music/jazz", "names": {"en": "Jazz", "de": "Jazz", "fr": "Jazz"}}
///
/// Example:
///     docgate import categories categories.jsonl
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped (0 with --allow-errors), 3 if the
/// import was interrupted; --resume then continues it.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Categories {
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Args)]
struct Options {
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
        let (kind, options) = match self {
            Self::Categories(categories) => (Kind::Categories, categories.options),
            Self::People(people) => (Kind::People, people.options),
            Self::Products(products) => (Kind::Products, products.options),
            Self::Stock(stock) => (Kind::Stock, stock.options),
            Self::Discussions(discussions) => (Kind::Discussions, discussions.options),
            Self::World(world) => (Kind::World, world.options),
            Self::AccessLog(logs) => return logs.run().await,
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
