//! `docgate import`.

mod access_log;
mod arguments;
mod commands;
mod csv;
mod faults;
mod journal;
mod kinds;
mod lines;
mod misfit;
mod output;
mod reader;
mod restore;

use std::{
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use indicatif::ProgressBar;

use self::csv::{CsvRows, Unusable};
use super::{
    columns::{Column, Rows, of_field},
    export::csv::separator,
    failure::Failure,
    gateway, logging,
    options::on_database,
    preconditions,
    progress::{self, BYTES_PER_SECOND},
    terminal,
};
use crate::{app::App, config::Config, domains::catalog::import::Earlier};
use arguments::Options;
pub(super) use commands::Import;
use commands::{Csv, What, World};
use faults::Fault;
use journal::{Errors, Journal};
use kinds::{Kind, LineResult};
use lines::Line;
use output::Output;
use reader::Batch;

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
            Some(What::World(World { ids, options })) => (Kind::World, Options { ids, ..options }),
            Some(What::Csv(csv)) => return csv.run().await,
        };
        let config = options.source.database()?;
        kind.demand_rooms(&config)?;
        if kind == Kind::Discussions && config.secret.is_empty() {
            return Err(Failure::usage(
                "discussions are imported with the secret of the gateways, by which a review is known \
                 to be its author's: set DOCGATE_SECRET",
            ));
        }
        if kind == Kind::World && options.dry_run {
            return Err(Failure::usage(
                "lines of a world are checked by what the lines before them have stored: --dry-run isn't possible",
            ));
        }
        logging::begin(config.log_format, logging::TOOL)?;
        let journal = options.journal(kind.name(), &config.database)?;
        let mut lines = options.lines()?;
        let bytes_read = lines.bytes_read();
        options.skip(&journal, |line, digest| lines.skip(line, digest))?;
        options.import(&config, kind, None, journal, (lines, bytes_read)).await
    }
}

impl Csv {
    async fn run(self) -> Result<ExitCode, Failure> {
        let Self { rows, options, .. } = &self;
        let config = options.source.database()?;
        logging::begin(config.log_format, logging::TOOL)?;
        let separator = self.separator.map(separator).transpose()?;
        let kind = match rows {
            Rows::Products => Kind::Products,
            Rows::Stock => Kind::Stock,
            Rows::People => Kind::People,
        };
        kind.demand_rooms(&config)?;
        let lines = options.lines()?;
        let bytes_read = lines.bytes_read();
        let mut lines = CsvRows::open(lines, *rows, separator).map_err(|fault| match fault {
            Unusable::Unread(fault) => options.unread(&fault),
            Unusable::Header(why) => Failure::usage(format!("{}: {why}", options.file.display())),
        })?;
        let journal = options.journal(&format!("{} from CSV", kind.name()), &config.database)?;
        options.skip(&journal, |line, digest| lines.skip(line, digest))?;
        options.import(&config, kind, Some(rows.columns()), journal, (lines, bytes_read)).await
    }
}

impl Options {
    /// Imports the lines of a source. Rows of CSV have columns.
    async fn import(
        &self,
        config: &Config,
        kind: Kind,
        columns: Option<&'static [Column]>,
        journal: Journal,
        (lines, bytes_read): (impl reader::Source, Arc<AtomicU64>),
    ) -> Result<ExitCode, Failure> {
        let imported = on_database(config, async |database| {
            let app = App::new(config.clone(), database);
            preconditions::indexes_exist(&app, kind.rooms()).await?;
            // An import that can't begin leaves the files of an earlier one as they are.
            let errors = Errors::open(self.errors.as_deref(), self.resume)?;
            let ids =
                self.ids.as_deref().map(|path| Output::open(path, self.resume)).transpose()?;
            journal.begin()?;
            let length = std::fs::metadata(&self.file).map(|file| file.len()).ok();
            let bar = progress::bytes(length, BYTES_PER_SECOND);
            app.refresh_versions().await?;
            let is_dry = self.dry_run;
            let (earlier, hint) = (Earlier::default(), None);
            let mut work = RunningImport {
                app,
                kind,
                columns,
                is_dry,
                earlier,
                journal,
                errors,
                ids,
                bar,
                hint,
            };
            work.run(lines, &bytes_read).await?;
            work.print_summary();
            let counts = work.journal.counts();
            Ok(counts.skipped + counts.in_part)
        });
        let incomplete = imported.await?;
        let complaint = incomplete > 0 && !self.allow_errors;
        Ok(if complaint { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// A running import.
struct RunningImport {
    app: App,
    kind: Kind,
    columns: Option<&'static [Column]>,
    /// Whether lines are only checked.
    is_dry: bool,
    /// What the lines that were checked would have claimed.
    earlier: Earlier,
    journal: Journal,
    errors: Errors,
    /// The ids of what is imported.
    ids: Option<Output>,
    bar: ProgressBar,
    /// How a file is imported that isn't what it should be.
    hint: Option<String>,
}

/// Maximum number of tries of a batch while MongoDB doesn't answer, and the pause between them.
const MAX_TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_secs(2);

impl RunningImport {
    async fn run(
        &mut self,
        lines: impl reader::Source,
        bytes_read: &AtomicU64,
    ) -> Result<(), Failure> {
        let stop = gateway::stop_on_signals()?;
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
        let (mut tries, mut first_try) = (1, None);
        let results = loop {
            let results = if self.is_dry {
                self.kind.check(&self.app, &lines, &mut self.earlier).await
            } else {
                self.kind.import(&self.app, &lines, &mut first_try).await
            };
            match results {
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
                LineResult::Imported => {
                    counts.imported += 1;
                    self.ids.as_mut().map_or(Ok(()), |ids| ids.write_id(line))?;
                }
                LineResult::BookedBefore => counts.booked_before += 1,
                LineResult::Blank => {}
                LineResult::InPart(fault) => {
                    counts.in_part += 1;
                    self.note(*number, line, fault, true)?;
                }
                LineResult::Skipped(fault) => {
                    counts.skipped += 1;
                    if *number == 1 && self.columns.is_none() {
                        self.hint = self.kind.hint(line);
                    }
                    self.note(*number, line, fault, false)?;
                }
            }
        }
        self.errors.flush()?;
        self.ids.as_mut().map_or(Ok(()), Output::flush)?;
        self.journal.note(last, digest)
    }

    /// Reports a line that is skipped, or imported in part.
    fn note(
        &mut self,
        number: u64,
        line: &Line,
        mut fault: Fault,
        is_in_part: bool,
    ) -> Result<(), Failure> {
        let row = fault.field.as_deref().and_then(|field| line.row_of(field));
        if let (Some(columns), Some(field)) = (self.columns, &mut fault.field) {
            *field = of_field(columns, field);
        }
        let number = row.unwrap_or(number);
        self.bar.suspend(|| self.errors.note(number, &fault, is_in_part, line))
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
        if let Some(hint) = &self.hint {
            terminal::remark(hint);
        }
        terminal::say(self.journal.counts().summary(self.kind, self.is_dry));
    }
}
