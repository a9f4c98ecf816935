//! `docgate migrate`.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Args;
use indicatif::ProgressBar;
use tokio_util::sync::CancellationToken;

use super::{
    failure::Failure,
    gateway, logging,
    options::{Source, on_database},
    preconditions,
    progress::{Lines, styled},
    terminal,
};
use crate::{
    app::App,
    config::Config,
    domains::{self, Documented, shards},
    error::Error,
    mongo::{
        Walk,
        migrations::{SchemaVersionDocument, Step},
    },
};

/// Upgrade stored documents to the newest version of their shape
///
/// Run it when all gateways have this version of docgate: gateways of an earlier version refuse documents
/// of the newest version. Gateways may keep running, and so may other migrations. The command may be
/// interrupted and repeated; a repeat continues, since upgraded documents are left alone.
///
/// From its start on, gateways also store new documents in the newest version. Until then, you can go back
/// to the earlier version of docgate.
///
/// Examples:
///     docgate migrate --dry-run              # counts the documents of each version
///     docgate migrate
///     docgate migrate inventory --per-second 500
///     docgate migrate --unlimited            # while few requests come
///
/// Exit codes: 0 if no document is left behind, 1 if some are of a version that this docgate doesn't know, 3 if the database has
/// none of docgate's collections.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Migrate {
    /// Collections whose documents are upgraded; by default all that have several versions.
    #[arg(value_name = "COLLECTION")]
    collections: Vec<String>,
    /// Only count the documents by collection and version.
    #[arg(long)]
    dry_run: bool,
    /// Maximum number of documents that are upgraded in a second.
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 2_000,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    per_second: u32,
    /// Upgrade as many documents in a second as MongoDB can. Requests of the same time take longer then.
    #[arg(long, conflicts_with = "per_second")]
    unlimited: bool,
    #[command(flatten)]
    source: Source,
}

/// Documents that are read by one command.
const WINDOW: u32 = 1_000;
/// The most with a rate limit, so that the load is even.
const EVEN_WINDOW: u32 = 100;
/// Commands in a second with a rate limit that makes windows small.
const EVEN_COMMANDS: u32 = 40;
/// Maximum number of passes through a collection. The second one finds documents that gateways stored during the first,
/// before they knew that the newest version is in force.
const PASSES: u32 = 2;
/// Maximum number of tries while MongoDB doesn't answer, and the pause between them.
const MAX_TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_secs(2);

impl Migrate {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let config = self.source.database()?;
        logging::begin(config.log_format, logging::TOOL)?;
        let all = self.chosen(&config)?;
        let migrated = on_database(&config, async |database| {
            let app = App::new(config.clone(), database);
            preconditions::database_is_in_use(&app).await?;
            if self.dry_run {
                return count(&app, &all).await;
            }
            let stop = gateway::stop_on_signals()?;
            let (mut newer, mut pace) = (0, Pace::new(self.limit()));
            for documents in &all {
                let run = Run { app: &app, documents, stop: &stop };
                newer += run.migrate(&mut pace).await?;
            }
            Ok(newer)
        });
        let newer = migrated.await?;
        Ok(if newer > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Documents in a second, if they are limited.
    fn limit(&self) -> Option<u32> {
        (!self.unlimited).then_some(self.per_second)
    }

    /// The collections that are named, or all with several versions.
    fn chosen(&self, config: &Config) -> Result<Vec<Documented>, Failure> {
        let all: Vec<_> =
            domains::documents(config).into_iter().map(|(_, documents)| documents).collect();
        if self.collections.is_empty() {
            return Ok(all.into_iter().filter(|documents| documents.newest() > 1).collect());
        }
        let named = self.collections.iter().map(|name| {
            let found = all.iter().find(|documents| documents.collection == name);
            found.copied().ok_or_else(|| {
                let mut names: Vec<_> = all.iter().map(|documents| documents.collection).collect();
                names.sort_unstable();
                names.dedup();
                let names = names.join(", ");
                Failure::usage(format!(
                    "there is no collection {name:?}; the collections are {names}"
                ))
            })
        });
        named.collect()
    }
}

/// Whether the database has none of docgate's collections, also none of rooms that are switched off: then no earlier
/// docgate has stored anything in it.
pub(super) async fn is_new(app: &App) -> Result<bool, Failure> {
    let placed = shards::collections();
    let there = app.placement().collections().await?;
    Ok(!there
        .iter()
        .any(|(group, name)| placed.iter().any(|placed| placed.group == *group && placed.is(name))))
}

/// Puts the newest version of every kind of documents in force, for a database of which no earlier docgate knows.
pub(super) async fn put_in_force(app: &App) -> Result<(), Failure> {
    let versions = app.collection::<SchemaVersionDocument>();
    // A room that is switched on later has new documents, too.
    for (_, documents) in domains::all_documents() {
        if documents.newest() > 1 {
            versions.put_in_force(documents.collection, documents.newest()).await?;
        }
    }
    Ok(app.refresh_versions().await?)
}

/// Prints the number of documents by collection and version. Returns how many are of a version that isn't known.
async fn count(app: &App, all: &[Documented]) -> Result<u64, Failure> {
    let mut rows = vec![["COLLECTION", "VERSION", "DOCUMENTS", "STATE"].map(str::to_owned)];
    let mut unknown = 0;
    for documents in all {
        let newest = documents.newest();
        for (version, count) in (documents.count_versions)(app).await? {
            let state = match version {
                version if version < newest => format!("to be upgraded to version {newest}"),
                version if version > newest => {
                    unknown += count;
                    "NOT KNOWN to this docgate".to_owned()
                }
                _ => "newest".to_owned(),
            };
            rows.push([
                documents.collection.to_owned(),
                version.to_string(),
                count.to_string(),
                state,
            ]);
        }
    }
    terminal::print(terminal::table(&rows));
    Ok(unknown)
}

/// The migration of one collection.
struct Run<'a> {
    app: &'a App,
    documents: &'a Documented,
    stop: &'a CancellationToken,
}

impl Run<'_> {
    /// Upgrades every document. Returns how many are of a version that isn't known.
    async fn migrate(&self, pace: &mut Pace) -> Result<u64, Failure> {
        let Documented { collection, .. } = self.documents;
        let newest = self.documents.newest();
        if newest > 1 {
            let versions = self.app.collection::<SchemaVersionDocument>();
            versions.put_in_force(collection, newest).await?;
        }
        let bar = styled(ProgressBar::new_spinner(), "{spinner} {msg}, {elapsed}");
        let (mut upgraded, mut newer) = (0, 0);
        for _ in 0..PASSES {
            let pass = self.pass(pace, &bar).await?;
            newer = pass.newer;
            upgraded += pass.upgraded;
            if pass.upgraded == 0 {
                break;
            }
        }
        bar.finish_and_clear();
        terminal::say(format_args!("{collection}: {upgraded} upgraded to version {newest}"));
        if newer > 0 {
            terminal::say(format_args!(
                "{collection}: {newer} left alone, of a version that this docgate doesn't know"
            ));
        }
        Ok(newer)
    }

    /// Goes through the collection once.
    async fn pass(&self, pace: &mut Pace, bar: &ProgressBar) -> Result<Step, Failure> {
        let collection = self.documents.collection;
        let (mut sum, mut lines, since) = (Step::default(), Lines::new(), Instant::now());
        let mut rest = Some(Walk::default());
        while let Some(walk) = rest {
            if self.stop.is_cancelled() {
                return Err(Failure::trouble(format!(
                    "interrupted in {collection}: a repeat continues with the documents that are left"
                )));
            }
            let (step, next) = self.step(walk, pace.window()).await?;
            sum = Step {
                read: sum.read + step.read,
                upgraded: sum.upgraded + step.upgraded,
                newer: sum.newer + step.newer,
            };
            bar.set_message(progress(collection, &sum, since.elapsed()));
            bar.tick();
            lines.print(bar, || progress(collection, &sum, since.elapsed()));
            tokio::select! {
                () = pace.wait(step.upgraded) => {}
                () = self.stop.cancelled() => {}
            }
            rest = next;
        }
        Ok(sum)
    }

    /// Upgrades the next documents, and tries again while MongoDB doesn't answer.
    async fn step(&self, walk: Walk, window: u32) -> Result<(Step, Option<Walk>), Failure> {
        let mut tries = 1;
        loop {
            let step = (self.documents.upgrade_next)(self.app, walk.clone(), window).await;
            match step {
                Err(Error::Unavailable(_) | Error::Unread(_) | Error::Timeout(_))
                    if tries < MAX_TRIES && !self.stop.is_cancelled() =>
                {
                    tries += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                step => return Ok(step?),
            }
        }
    }
}

/// Keeps to the rate limit.
struct Pace {
    per_second: Option<u32>,
    /// Time up to which the documents that were upgraded use up the limit.
    used: Instant,
}

/// Time that a step may make up for. What isn't used up in a longer time, such as one in which there was nothing to upgrade, is
/// lost: otherwise the documents after it would be upgraded all at once.
const LATE: Duration = Duration::from_millis(100);

impl Pace {
    fn new(per_second: Option<u32>) -> Self {
        Self { per_second, used: Instant::now() }
    }

    /// Documents that are read by one command.
    fn window(&self) -> u32 {
        self.per_second.map_or(WINDOW, |limit| (limit / EVEN_COMMANDS).clamp(1, EVEN_WINDOW))
    }

    /// Waits until more documents may be upgraded.
    async fn wait(&mut self, upgraded: u64) {
        if let Some(until) = self.until(upgraded, Instant::now()) {
            tokio::time::sleep_until(until.into()).await;
        }
    }

    /// Time until which the documents that were upgraded by now use up the limit, if there is one.
    fn until(&mut self, upgraded: u64, now: Instant) -> Option<Instant> {
        let limit = self.per_second?;
        let micros = upgraded.saturating_mul(1_000_000) / u64::from(limit);
        let since = self.used.max(now.checked_sub(LATE).unwrap_or(now));
        self.used = since + Duration::from_micros(micros);
        Some(self.used)
    }
}

/// How far the pass through a collection is after so much time.
fn progress(collection: &str, sum: &Step, elapsed: Duration) -> String {
    let Step { read, upgraded, .. } = sum;
    let rate = read / elapsed.as_secs().max(1);
    format!("{collection}: {read} documents read, {upgraded} upgraded, {rate} documents/s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_limit_left_unused_is_not_made_up_for() {
        let (begin, second) = (Instant::now(), Duration::from_secs(1));
        let mut pace = Pace { per_second: Some(2_000), used: begin };
        assert_eq!(pace.until(50, begin), Some(begin + second / 40));
        // This step was late.
        assert_eq!(pace.until(50, begin + second / 20), Some(begin + second / 20));
        // There was nothing to upgrade for a minute.
        let later = begin + 60 * second;
        let until = pace.until(2_000, later).expect("a limit");
        assert_eq!(until + LATE, later + second);
        assert_eq!(Pace::new(None).until(50, later), None);
    }

    #[test]
    fn the_progress_has_the_rate() {
        let sum = Step { read: 30_000, upgraded: 12_000, newer: 0 };
        let told = progress("stocks", &sum, Duration::from_millis(10_400));
        assert_eq!(told, "stocks: 30000 documents read, 12000 upgraded, 3000 documents/s");
    }
}
