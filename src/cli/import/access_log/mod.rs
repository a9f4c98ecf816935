//! `docgate import access-log`.

mod batch;
mod follow;
mod input;
mod line;
mod position;
mod reader;
mod report;
mod sinks;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use futures_util::{StreamExt, stream::FuturesOrdered};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        failure::{Failure, sentence},
        gateway, logging,
        options::{Source, on_database},
    },
    output::demand_distinct,
};
use crate::{
    app::App,
    config::Config,
    domains::events::{
        import::{ImportDocument, plan, remember},
        types::check_site,
    },
    error::Error,
};
use batch::Batch;
use input::Progress;
use position::Origin;
use reader::{Message, Reader};
use report::Report;
use sinks::{Sink, count_hits, count_views, insert_events};

/// Import access logs of Apache and nginx, as events, into reports, and into series
///
/// Reads the common and the combined format, plain, gzipped or compressed by zstd; `-` reads stdin.
/// Name rotated logs in one call, oldest first. docs/IMPORT.md describes the fields. A line that can't
/// be used is skipped and reported with its number, the field and the reason.
///
/// A log is known by its content, so it may be renamed and compressed. What is imported of it is
/// remembered in the database: the next import of the log continues after that, also if this one is
/// interrupted. No line becomes two events.
///
/// Examples:
///     docgate import access-log --site shop.example access.log.2.gz access.log.1 access.log
///     docgate import access-log --site shop.example --dry-run access.log
///     docgate import access-log --site shop.example --into events,reports,series access.log
///     docgate import access-log --site shop.example --follow /var/log/nginx/access.log
///
/// Exit codes: 0 if every line was imported, 1 if lines were skipped (0 with --allow-errors), 3 if the
/// import was interrupted. --follow ends with SIGTERM or Ctrl-C, and then with 0 or 1.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(in super::super) struct AccessLog {
    /// The logs, oldest first; `-` is stdin.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Name of the site whose server wrote the logs, such as shop.example.
    #[arg(long, value_name = "NAME")]
    site: String,
    /// Name of the server, if several servers of the site write logs.
    #[arg(long, value_name = "NAME", default_value = "")]
    source_name: String,
    /// What the lines are imported into.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "events")]
    into: Vec<Sink>,
    /// Import what is added to the last log until SIGTERM or Ctrl-C, also after it is rotated.
    #[arg(long)]
    follow: bool,
    /// Append skipped lines to this file, one JSON object each with file, line, field, reason and text.
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,
    /// Exit with 0 even if lines were skipped.
    #[arg(long)]
    allow_errors: bool,
    /// Check every line that isn't imported yet as the import would, and change nothing.
    #[arg(long, conflicts_with = "follow")]
    dry_run: bool,
    #[command(flatten)]
    source: Source,
}

impl AccessLog {
    pub(in super::super) async fn run(self) -> Result<ExitCode, Failure> {
        let config = self.source.database()?;
        let into = self.check(&config)?;
        if let Some(errors) = &self.errors {
            for file in &self.files {
                demand_distinct(&[("FILE", file.as_path()), ("--errors", errors.as_path())])?;
            }
        }
        logging::begin(config.log_format, logging::TOOL)?;
        let report =
            Report::open(self.errors.as_deref(), &self.files, self.follow)?.dry(self.dry_run);
        let origin = Origin { site: self.site.clone(), source: self.source_name.clone(), into };
        let imported = on_database(&config, async |database| {
            let app = App::new(config.clone(), database);
            app.refresh_versions().await?;
            let (stop, progress) = (gateway::stop_on_signals()?, Arc::new(Progress::default()));
            let reader = Reader {
                app: app.clone(),
                origin,
                files: self.files.clone(),
                follows: self.follow,
                stop: stop.clone(),
                progress: Arc::clone(&progress),
            };
            let site = self.site.clone();
            let (follows, is_dry) = (self.follow, self.dry_run);
            let mut running = Running { app, site, report, progress, stop, follows, is_dry };
            running.run(reader).await?;
            Ok(running.report.finish())
        });
        let skipped = imported.await?;
        let complaint = skipped > 0 && !self.allow_errors;
        Ok(if complaint { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Checks the arguments. Returns the sinks without repetitions.
    fn check(&self, config: &Config) -> Result<Vec<Sink>, Failure> {
        check_site(&self.site).map_err(|reason| Failure::usage(format!("--site {reason}")))?;
        let is_stdin = |file: &PathBuf| file == Path::new("-");
        if self.follow && self.files.last().is_some_and(is_stdin) {
            return Err(Failure::usage("--follow needs a file; stdin is read to its end anyway"));
        }
        let mut into = self.into.clone();
        into.sort();
        into.dedup();
        match into.iter().find(|sink| !sink.is_on(config)) {
            Some(sink) => {
                let name = sink.name();
                Err(Failure::usage(format!("--into {name}: the room is switched off (rooms)")))
            }
            None => Ok(into),
        }
    }
}

/// Maximum number of batches whose events are inserted at once.
const AT_ONCE: usize = 4;
/// Maximum number of tries while MongoDB doesn't answer, and the pause between them.
const MAX_TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_secs(2);
/// Why a log isn't counted any further.
const OTHER: &str = "another import is counting lines of the same log";

/// A batch whose events are inserted.
type Inserted = Result<Box<Batch>, Error>;

/// A running import.
struct Running {
    app: App,
    site: String,
    report: Report,
    progress: Arc<Progress>,
    stop: CancellationToken,
    follows: bool,
    /// Whether lines are only checked.
    is_dry: bool,
}

impl Running {
    async fn run(&mut self, reader: Reader) -> Result<(), Failure> {
        let mut messages = reader.start();
        let mut inserting: FuturesOrdered<JoinHandle<Inserted>> = FuturesOrdered::new();
        let mut is_open = true;
        while is_open || !inserting.is_empty() {
            tokio::select! {
                biased;
                // A log that is followed is read until its reader has noticed as well.
                () = self.stop.cancelled(), if !self.follows => {
                    return Err(self.report.interrupted("interrupted"));
                }
                Some(inserted) = inserting.next() => {
                    let inserted = inserted.map_err(Error::internal).flatten();
                    let batch = inserted.map_err(|error| self.report.interrupted(&sentence(&error)))?;
                    self.finish(&batch).await?;
                }
                message = messages.recv(), if is_open && inserting.len() < AT_ONCE => match message {
                    Some(Message::Batch(batch)) => inserting.push_back(tokio::spawn(self.insert(batch))),
                    Some(Message::Continued { name, lines }) => self.report.continued(&name, lines),
                    Some(Message::Failed { name, fault }) => {
                        return Err(self.report.interrupted(&format!("{name} {fault}")));
                    }
                    None => is_open = false,
                },
            }
        }
        Ok(())
    }

    /// Inserts the events of a batch. A log that is followed waits for MongoDB for as long as it takes.
    fn insert(&self, batch: Box<Batch>) -> impl Future<Output = Inserted> + use<> {
        let (app, stop, tries) = (self.app.clone(), self.stop.clone(), self.tries());
        let is_dry = self.is_dry;
        async move {
            if batch.is_for(Sink::Events) && !is_dry {
                again_and_again(|| insert_events(&app, &batch), tries, &stop).await?;
            }
            Ok(batch)
        }
    }

    /// Maximum number of tries of a write.
    fn tries(&self) -> u32 {
        if self.follows { u32::MAX } else { MAX_TRIES }
    }

    /// Finishes a batch whose events are inserted: counts its hits and views, and remembers the position.
    async fn finish(&mut self, batch: &Batch) -> Result<(), Failure> {
        let kept: Vec<_> =
            batch.log.sinks.iter().filter(|(sink, _)| batch.is_for(*sink)).cloned().collect();
        for (sink, position) in kept.into_iter().filter(|_| !self.is_dry) {
            if sink != Sink::Events {
                // A repeat has to count the same lines at once, and so has another import. Nobody repeats a batch of stdin.
                if batch.log.run.is_none() {
                    self.plan(&position, [batch.begin, batch.end]).await?;
                }
                let counted = self.count(sink, &batch.log.counted_as(&position), batch).await;
                counted.map_err(|error| self.report.interrupted(&sentence(&error)))?;
            }
            self.remember(moved(position, batch, &self.app)).await?;
        }
        self.report.imported(batch, self.progress.bytes())
    }

    /// Counts the hits or the views of a batch.
    async fn count(&self, sink: Sink, log: &str, batch: &Batch) -> Result<(), Error> {
        let count = || async {
            match sink {
                Sink::Events => Ok(()),
                Sink::Reports => count_hits(&self.app, &self.site, log, batch).await,
                Sink::Series => count_views(&self.app, log, batch).await,
            }
        };
        again_and_again(count, self.tries(), &self.stop).await
    }

    async fn plan(&self, position: &ImportDocument, batch: [i64; 2]) -> Result<(), Failure> {
        let plan = || plan(&self.app, position, batch);
        let planned = again_and_again(plan, self.tries(), &self.stop).await;
        let is_planned = planned.map_err(|error| self.report.interrupted(&sentence(&error)))?;
        if is_planned { Ok(()) } else { Err(self.report.interrupted(OTHER)) }
    }

    async fn remember(&self, position: ImportDocument) -> Result<(), Failure> {
        let remember = || remember(&self.app, &position);
        let remembered = again_and_again(remember, self.tries(), &self.stop).await;
        remembered.map_err(|error| self.report.interrupted(&sentence(&error)))
    }
}

/// The position after a batch.
fn moved(position: ImportDocument, batch: &Batch, app: &App) -> ImportDocument {
    let (tail_at, tail_length, tail) = batch.tail.clone();
    let (done, lines, at) = (batch.end, batch.lines, app.clock());
    ImportDocument { done, lines, tail_at, tail_length, tail, planned: None, at, ..position }
}

/// Repeats a write while MongoDB doesn't answer, unless `stop` is cancelled.
async fn again_and_again<T, F: Future<Output = Result<T, Error>>>(
    write: impl Fn() -> F,
    tries: u32,
    stop: &CancellationToken,
) -> Result<T, Error> {
    let since = Instant::now();
    let mut count = 1;
    loop {
        match write().await {
            Err(error) if error.is_retryable() && count < tries && !stop.is_cancelled() => {
                let seconds = since.elapsed().as_secs();
                tracing::warn!(
                    event = "import_batch_retried",
                    seconds,
                    ?error,
                    "a batch is tried again"
                );
                count += 1;
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = tokio::time::sleep(PAUSE) => {}
                }
            }
            done => return done,
        }
    }
}
