//! `docgate import`.

mod faults;
mod journal;
mod kinds;
mod lines;
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
use journal::{Errors, Journal};
use kinds::{Brought, Kind};
use lines::Lines;
use reader::Batch;

/// Bring categories, people, products, stock and discussions in from files, in this order
///
/// One JSON object per line, plain or gzipped; `-` reads stdin. docs/IMPORT.md describes every field.
/// A line that can't be used is told by its number, its field and the reason, and skipped. A file may be
/// imported again: what is in already isn't added a second time.
///
/// Examples:
///     docgate import categories categories.jsonl
///     docgate import people people.jsonl
///     docgate import products products.jsonl.gz --errors bad.jsonl
///     docgate import products products.jsonl.gz --resume
///     docgate import stock stock.jsonl
///     docgate import discussions discussions.jsonl
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub(super) enum Import {
    Categories(Categories),
    People(People),
    Products(Products),
    Stock(Stock),
    Discussions(Discussions),
}

/// Bring people in, some hundreds at a time
///
/// `key` is your own key of the person, by which products name who made them and by which a line is known
/// again. A person who is there takes the name of the line, also in products, and the address where the
/// line has one.
///
/// Example of a line:
///     {"key": "miles-davis", "name": "Miles Davis",
///      "address": {"street": "312 West 77th Street", "city": "New York, NY 10024", "country": "US"}}
///
/// Example:
///     docgate import people people.jsonl
///
/// Exit codes: 0 when every line was brought in, 1 when lines were skipped (0 with --allow-errors),
/// 3 when it was cut; then --resume goes on.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct People {
    #[command(flatten)]
    options: Options,
}

/// Bring stock in: what came in of a product
///
/// A line adds its quantity to the stock of the SKU once for each `receipt`, whatever the file is called
/// and however often it is imported. Without one the receipt is called `import`; give later deliveries a
/// name of their own.
///
/// Example of a line:
///     {"sku": "ALB-1", "quantity": 12, "receipt": "2026-11-24"}
///
/// Example:
///     docgate import stock stock.jsonl
///
/// Exit codes: 0 when every line was brought in, 1 when lines were skipped (0 with --allow-errors),
/// 3 when it was cut; then --resume goes on.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Stock {
    #[command(flatten)]
    options: Options,
}

/// Bring comments and reviews of products in
///
/// A line with `stars` is a review, which an author writes once for a product. Any other is a comment, with
/// a `key` of your own by which it is known again. The discussion of a product is opened where there is
/// none. Comments come before the replies to them. It needs the gateways' DOCGATE_SECRET.
///
/// Examples of lines:
///     {"sku": "ALB-1", "key": "c-1", "author": "ann", "at": "2024-05-01T12:00:00Z", "text": "Which pressing?"}
///     {"sku": "ALB-1", "key": "c-2", "author": "bob", "at": "2024-05-02T08:30:00Z", "text": "The first.",
///      "replyTo": {"key": "c-1"}}
///     {"sku": "ALB-1", "author": "eve", "at": "2024-06-01T10:00:00Z", "text": "A wonder.", "stars": 5}
///
/// Example:
///     docgate import discussions discussions.jsonl
///
/// Exit codes: 0 when every line was brought in, 1 when lines were skipped (0 with --allow-errors),
/// 3 when it was cut; then --resume goes on.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Discussions {
    #[command(flatten)]
    options: Options,
}

/// Bring products in, some hundreds at a time
///
/// A line is what `createProduct` takes, with categories by path, which must be there. A product that
/// is there already gets the line's content, prices and categories, and those who made it where the line
/// has `contributors`: [{"personKey": "miles-davis", "role": "artist"}].
///
/// Example of a line (here on several):
///     {"sku": "ALB-1", "categories": ["/music/jazz"],
///      "pricing": {"list": 1999, "retail": 1799, "currency": "EUR"},
///      "content": {"title": "Blue Lantern", "language": "en", "issueDate": "1959-08-17",
///                  "details": {"album": {"genres": ["Jazz"], "tracks": [{"title": "Rain"}]}}}}
///
/// Example:
///     docgate import products products.jsonl.gz --errors bad.jsonl
///
/// Exit codes: 0 when every line was brought in, 1 when lines were skipped (0 with --allow-errors),
/// 3 when it was cut; then --resume goes on.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Products {
    #[command(flatten)]
    options: Options,
}

/// Bring categories in, parents before children
///
/// A category that isn't there is created; one that is there takes the names of its line.
///
/// Example of a line:
///     {"path": "/music/jazz", "names": {"en": "Jazz", "de": "Jazz", "fr": "Jazz"}}
///
/// Example:
///     docgate import categories categories.jsonl
///
/// Exit codes: 0 when every line was brought in, 1 when lines were skipped (0 with --allow-errors),
/// 3 when it was cut; then --resume goes on.
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
    /// Go on behind the last line that an import of this file brought in before it was cut.
    #[arg(long)]
    resume: bool,
    /// Where it is noted how far the import came, until it is done [default: FILE.progress; none for
    /// stdin].
    #[arg(long, value_name = "FILE")]
    progress: Option<PathBuf>,
    /// Write skipped lines there: one JSON object with line, field, reason and text each.
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,
    /// Exit with 0 also when lines were skipped.
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
        let brought = on_database(&config, async |database| {
            let (app, bar) = (App::new(config.clone(), database), bar(&options.file));
            let mut work = Work { app, kind, journal, errors, bar };
            work.bring(lines).await?;
            work.tell();
            Ok(work.journal.counts().skipped)
        });
        let skipped = brought.await?;
        let complaint = skipped > 0 && !options.allow_errors;
        Ok(if complaint { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

impl Options {
    /// The lines that are still to be brought in, and where it is noted how far they are.
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

/// An import under way.
struct Work {
    app: App,
    kind: Kind,
    journal: Journal,
    errors: Errors,
    bar: ProgressBar,
}

/// Times that a batch is tried while MongoDB doesn't answer, and the pause between.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_secs(2);

impl Work {
    async fn bring(&mut self, lines: Lines) -> Result<(), Failure> {
        let stop = gateway::stop_on_signals()?;
        let taken = lines.taken();
        let mut batches = reader::start(lines);
        loop {
            let batch = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(self.cut("interrupted")),
                batch = batches.recv() => batch,
            };
            let batch = match batch {
                None => return self.journal.close(),
                Some(Ok(batch)) => batch,
                Some(Err(fault)) => {
                    return Err(self.cut(&format!("the file can't be read: {fault}")));
                }
            };
            self.bring_batch(batch).await?;
            self.bar.set_position(taken.load(Ordering::Relaxed));
        }
    }

    async fn bring_batch(&mut self, batch: Batch) -> Result<(), Failure> {
        let Batch { lines, last, digest } = batch;
        let mut tries = 1;
        let brought = loop {
            match self.kind.bring(&self.app, &lines).await {
                Ok(brought) => break brought,
                // Bringing a line in twice is the same as once.
                Err(error) if error.is_retryable() && tries < TRIES => {
                    tracing::warn!(?error, "a batch is tried again");
                    tries += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(self.cut(&super::failure::sentence(&error))),
            }
        };
        for ((number, line), brought) in lines.iter().zip(brought) {
            let counts = self.journal.counts_mut();
            match brought {
                Brought::In => counts.imported += 1,
                Brought::Blank => {}
                Brought::Skipped(fault) => {
                    counts.skipped += 1;
                    self.bar.suspend(|| self.errors.note(*number, &fault, line))?;
                }
            }
        }
        self.errors.flush()?;
        self.journal.note(last, digest)
    }

    /// Why it ends before the end, and how to go on.
    fn cut(&self, reason: &str) -> Failure {
        self.bar.abandon();
        let line = self.journal.line();
        let how = if self.journal.is_kept() {
            "--resume goes on from there"
        } else {
            "lines that are brought in again change nothing"
        };
        Failure::trouble(format!("{reason}. The first {line} lines are done; {how}"))
    }

    fn tell(&self) {
        self.bar.finish_and_clear();
        self.errors.tell_rest();
        let counts = self.journal.counts();
        let (imported, things, skipped) = (counts.imported, self.kind.things(), counts.skipped);
        terminal::say(format_args!("{imported} {things} imported, {skipped} lines skipped"));
    }
}

/// Shows how much of the file is read, to whoever looks at a terminal.
fn bar(file: &Path) -> ProgressBar {
    let whole = std::fs::metadata(file).map(|file| file.len()).ok();
    let (bar, looks) = match whole {
        Some(length) => (
            ProgressBar::new(length),
            "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        ),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}, {bytes_per_sec}"),
    };
    match ProgressStyle::with_template(looks) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
