//! `docgate import --restore`.

mod files;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use futures_util::{StreamExt, TryStreamExt, stream};
use indicatif::ProgressBar;
use mongodb::bson::{Document, RawDocumentBuf};
use tokio::sync::oneshot;

use super::super::{
    export::{
        ext_json::Unconverted,
        manifest::{Entry, Manifest},
        parts,
    },
    failure::{Failure, sentence},
    gateway, logging,
    options::{Source, on_database_until},
    progress::{self, BYTES_PER_SECOND},
    terminal,
};
use crate::{
    config::Config,
    domains::collections,
    error::Error,
    mongo::{
        Group, Placement, indexes,
        restoring::{Begun, Clash, RENEWAL, Restoring, Wanted},
        snapshot::CollectionKind,
    },
};
use files::Part;

/// The arguments of a restore. Its help is that of `docgate import`.
#[derive(Debug, Args)]
pub(super) struct Restore {
    /// Folder of an export, which is restored into an empty database.
    #[arg(long = "restore", value_name = "DIR")]
    folder: Option<PathBuf>,
    #[command(flatten)]
    source: Source,
}

/// Maximum number of inserts in flight.
const INSERTS: usize = 4;
/// Maximum number of tries of an insert while MongoDB doesn't answer, and the pause between them.
const MAX_TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_secs(2);

impl Restore {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let Some(folder) = self.folder else {
            return Err(Failure::usage(
                "import what? Name one of categories, people, products, stock, csv, discussions, world and \
                 access-log, or restore an export by --restore DIR",
            )
            .with_hint("`docgate import --help` describes them"));
        };
        let config = self.source.database()?;
        logging::begin(config.log_format, logging::TOOL)?;
        let (manifest, digest) = Manifest::read(&folder)?;
        let stop = gateway::stop_on_signals()?;
        let (bar, verifying) = (bar(&manifest), folder.clone());
        let (send, verified) = oneshot::channel();
        // A thread of its own: the process doesn't wait for its end after an interruption.
        std::thread::spawn(move || {
            let verified = files::verify(&verifying, &manifest.collections, &bar);
            // Sending fails after an interruption.
            let _unsent = send.send(verified.map(|()| manifest));
        });
        let manifest = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(Failure::trouble("interrupted; nothing was written")),
            verified = verified => verified.map_err(Error::internal)??,
        };
        let interrupted = async {
            stop.cancelled().await;
            Err(Failure::trouble("interrupted; nothing was written"))
        };
        let restored = on_database_until(&config, interrupted, async |database| {
            let placement = Placement::new(&config, &database);
            let (restoring, done) = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(Failure::trouble("interrupted")),
                begun = begin(&placement, &manifest, &digest) => begun?,
            };
            let work = Work::new(&folder, &manifest, restoring, done);
            let restored = tokio::select! {
                biased;
                () = stop.cancelled() => Err(Failure::trouble("interrupted")),
                restored = work.run(&config, &placement) => restored,
                lost = work.keep() => Err(lost),
            };
            let ended = match restored {
                Ok(()) => work.end(&config).await,
                Err(failure) => Err(failure),
            };
            if ended.is_err() {
                // If this fails, the next restore waits for the deadline.
                let _kept = work.restoring.release().await;
            }
            ended.map_err(|failure| {
                failure.with_hint("the same command continues the restore; start no gateway before")
            })
        });
        restored.await?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Begins, unless a database has something else. Returns the names of the files that are restored already.
async fn begin(
    placement: &Placement,
    manifest: &Manifest,
    digest: &str,
) -> Result<(Restoring, Vec<String>), Failure> {
    let (name, parts) = (placement.database(Group::Core).name(), parts(placement));
    let known: BTreeSet<&str> = parts.iter().map(|part| part.name).collect();
    if !manifest.databases.keys().map(String::as_str).eq(known) {
        let exported = manifest.databases.keys().map(String::as_str).collect::<Vec<_>>();
        let configured = parts.iter().map(|part| part.name).collect::<Vec<_>>();
        return Err(Failure::usage(format!(
            "the export has databases for {}, and the configuration for {}: configure the same",
            exported.join(", "),
            configured.join(", ")
        )));
    }
    match Restoring::begin(parts, digest, &wanted(manifest)?).await? {
        Begun::Ready(restoring, done) => Ok((restoring, done)),
        Begun::NotEmpty(name, collection) => Err(Failure::usage(format!(
            "the database {name} isn't empty: {collection} has documents. An export is only restored into an empty \
             database"
        ))),
        Begun::OtherIndex(clash) => Err(other_index(&clash)),
        Begun::OfAnother => Err(Failure::usage(format!(
            "the database {name} is half restored from another export: continue with that one, or drop the database"
        ))),
        Begun::Running(process) => Err(Failure::trouble(format!(
            "another restore of the database {name} is running (process {process})"
        ))
        .with_hint("let it end; if it is interrupted, the same command continues it")),
    }
}

/// The indexes of the collections that a restore keeps if they exist.
fn wanted(manifest: &Manifest) -> Result<Vec<Wanted<'_>>, Failure> {
    let mut wanted = Vec::new();
    for entry in &manifest.collections {
        let unusable = |fault: Unconverted| unusable(entry, &fault);
        if !is_made_anew(entry, &entry.options().map_err(unusable)?) {
            let indexes = entry.indexes().map_err(unusable)?;
            wanted.push(Wanted { place: entry.place(), indexes });
        }
    }
    Ok(wanted)
}

/// The failure of a restore because of an index that isn't the one of the export.
fn other_index(clash: &Clash) -> Failure {
    let Clash { database, collection, index, differences } = clash;
    let differences = differences.join(", ");
    Failure::usage(format!(
        "{collection} in the database {database} has an index {index} that isn't as in the export. These differ: \
         {differences}. Nothing was written"
    ))
    .with_hint(
        "drop that index, or the database if it is empty, and repeat the command: it builds the indexes of the export",
    )
}

fn bar(manifest: &Manifest) -> ProgressBar {
    let bytes = manifest.collections.iter().map(|entry| entry.bytes).sum();
    progress::bytes(Some(bytes), BYTES_PER_SECOND)
}

/// A running restore.
struct Work<'a> {
    folder: &'a Path,
    manifest: &'a Manifest,
    restoring: Restoring,
    done: Vec<String>,
    bar: ProgressBar,
}

impl<'a> Work<'a> {
    fn new(
        folder: &'a Path,
        manifest: &'a Manifest,
        restoring: Restoring,
        done: Vec<String>,
    ) -> Self {
        let bar = bar(manifest);
        Self { folder, manifest, restoring, done, bar }
    }

    async fn run(&self, config: &Config, placement: &Placement) -> Result<(), Failure> {
        for entry in &self.manifest.collections {
            if self.done.contains(&entry.file) {
                self.bar.inc(entry.bytes);
                continue;
            }
            self.restore(entry).await?;
            held(self.restoring.note_done(&entry.file).await?)?;
        }
        self.bar.finish_and_clear();
        terminal::remark("Building indexes");
        for entry in &self.manifest.collections {
            let indexes = entry.indexes().map_err(|fault| unusable(entry, &fault))?;
            self.restoring.build(entry.place(), indexes).await?;
        }
        // Those that this version of docgate needs besides.
        indexes::apply(placement, &collections(config), false, |_| {}).await?;
        Ok(())
    }

    /// Tells the database that this restore is at work, until another one has taken over: then it returns that failure.
    async fn keep(&self) -> Failure {
        loop {
            tokio::time::sleep(RENEWAL).await;
            // While MongoDB doesn't answer, no other restore takes over either. The next time tells.
            if let Ok(is_held) = self.restoring.renew().await
                && let Err(lost) = held(is_held)
            {
                return lost;
            }
        }
    }

    /// Removes the marker of the restore, and says what is restored.
    async fn end(&self, config: &Config) -> Result<(), Failure> {
        held(self.restoring.end().await?)?;
        terminal::say(format_args!(
            "{} of {} restored into {}, as of {}",
            terminal::counted(self.manifest.documents, "document", "documents"),
            terminal::counted(self.manifest.collections.len(), "collection", "collections"),
            config.database,
            self.manifest.taken_at,
        ));
        Ok(())
    }

    /// Restores the documents of one collection.
    async fn restore(&self, entry: &Entry) -> Result<(), Failure> {
        let is_ordinary = entry.kind == CollectionKind::Ordinary;
        let options = entry.options().map_err(|fault| unusable(entry, &fault))?;
        let anew = is_made_anew(entry, &options);
        self.restoring.create(entry.place(), options, anew).await?;
        let mut parts = files::read(self.folder, entry, self.manifest.compression);
        let parts = stream::poll_fn(move |context| parts.poll_recv(context));
        let inserts = if is_ordinary { INSERTS } else { 1 };
        let tries = if is_ordinary { MAX_TRIES } else { 1 };
        parts
            .map(async |part| {
                let Part { documents, bytes } = part?;
                self.insert(entry.place(), documents, tries).await?;
                self.bar.inc(bytes);
                Ok(())
            })
            .buffered(inserts)
            .try_for_each(async |()| Ok(()))
            .await
    }

    async fn insert(
        &self,
        place: (&str, &str),
        documents: Vec<RawDocumentBuf>,
        tries: u32,
    ) -> Result<(), Failure> {
        let mut count = 1;
        loop {
            match self.restoring.insert(place, documents.clone()).await {
                Ok(()) => return Ok(()),
                Err(error) if error.is_retryable() && count < tries => {
                    tracing::warn!(
                        event = "restore_insert_retried",
                        collection = place.1,
                        ?error,
                        "an insert is tried again"
                    );
                    count += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => {
                    return Err(Failure::trouble(format!("{}: {}", place.1, sentence(&error))));
                }
            }
        }
    }
}

/// Whether a collection that exists is dropped first. A repeat can't tell which of its documents were inserted before, or would
/// change their order. Also an ordinary collection with options isn't one that a gateway has created.
fn is_made_anew(entry: &Entry, options: &Document) -> bool {
    entry.kind != CollectionKind::Ordinary || !options.is_empty()
}

/// The failure of a restore that no longer holds its database.
fn held(is_held: bool) -> Result<(), Failure> {
    if is_held {
        return Ok(());
    }
    Err(Failure::trouble(
        "another restore has taken over, because this one didn't answer for ten seconds",
    ))
}

fn unusable(entry: &Entry, fault: &Unconverted) -> Failure {
    Failure::trouble(format!("the manifest's entry of {} can't be used: {fault}", entry.name))
}
