//! `docgate export`.

pub(super) mod csv;
pub(super) mod ext_json;
pub(super) mod manifest;
pub(super) mod packing;

use std::{
    cell::RefCell,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    thread::available_parallelism,
    time::Instant,
};

use clap::{Args, Subcommand};
use futures_util::{StreamExt, stream};
use indicatif::{BinaryBytes, ProgressBar};
use sha2::{Digest, Sha256};

use super::{
    failure::{Failure, failed, sentence},
    gateway, logging,
    options::{Source, on_database_until},
    private_files,
    progress::{self, BYTES_PER_SECOND},
    terminal,
};
use crate::{
    app::rfc3339,
    error::Error,
    mongo::{
        Group, Placement,
        snapshot::{Described, Part, Snapshot, SnapshotError},
    },
};
use manifest::{Entry, Manifest};
use packing::{Compression, Packed};

/// Export the whole database as it was at one moment, or products, stock and people as CSV
///
/// Writes each collection to a file of the folder, one document per line in canonical Extended JSON, and
/// a manifest with the counts and checksums of all files. All documents are those of one cluster time,
/// whatever gateways write meanwhile; only capped collections, which hold the messages of topics, are
/// read shortly after it. `docgate import --restore` restores the export.
///
/// The folder must be empty or not exist. Nobody but you can read the files, nor a folder that the command creates. The manifest is written last: an export without it is
/// incomplete. An interrupted export can't be continued.
///
/// MongoDB keeps the documents of a moment for minSnapshotHistoryWindowInSeconds, 300 by default. An
/// export that takes longer fails; docs/OPERATIONS.md says how to prepare a longer one.
///
/// Examples:
///     docgate export /backup/2026-11-26
///     docgate export /backup/2026-11-26 --compress gzip
///     docgate export csv products products.csv
///
/// Exit codes: 0 if the export is complete.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
#[command(subcommand_negates_reqs = true, arg_required_else_help = true)]
pub(super) struct Export {
    #[command(subcommand)]
    what: Option<What>,
    #[command(flatten)]
    whole: Whole,
}

/// What is exported, if it isn't the whole database.
#[derive(Debug, Subcommand)]
enum What {
    Csv(self::csv::Csv),
}

/// The export of the whole database.
#[derive(Debug, Args)]
struct Whole {
    /// Folder of the export.
    #[arg(value_name = "DIR", required = true)]
    folder: Option<PathBuf>,
    /// Compression of the files.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Compression::Zstd)]
    compress: Compression,
    #[command(flatten)]
    source: Source,
}

impl Export {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        match self.what {
            Some(What::Csv(csv)) => csv.run().await,
            None => self.whole.run().await,
        }
    }
}

impl Whole {
    async fn run(self) -> Result<ExitCode, Failure> {
        let folder = self.folder.clone().unwrap_or_default();
        let config = self.source.database()?;
        logging::begin(config.log_format, logging::TOOL)?;
        prepare(&folder)?;
        let stop = gateway::stop_on_signals()?;
        let interrupted = async {
            stop.cancelled().await;
            Err(Failure::trouble("interrupted"))
        };
        let exported = on_database_until(&config, interrupted, async |database| {
            let snapshot = Snapshot::take(parts(&Placement::new(&config, &database)))
                .await
                .map_err(|error| explained(&error))?;
            let export = Exporting::new(&self, &folder, snapshot);
            let exported = tokio::select! {
                biased;
                () = stop.cancelled() => Err(Failure::trouble("interrupted")),
                exported = export.run() => exported,
            };
            exported
                .map_err(|failure| failure.with_hint("the export is incomplete: remove its folder"))
        });
        exported.await?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The databases of a gateway, each once, under the name of the first of its groups.
pub(super) fn parts(placement: &Placement) -> Vec<Part> {
    let groups =
        [(manifest::CORE, Group::Core), ("activity", Group::Activity), ("log", Group::Log)];
    let mut parts: Vec<Part> = Vec::new();
    for (name, group) in groups {
        let database = placement.database(group);
        if parts.iter().all(|part| part.database.name() != database.name()) {
            parts.push(Part { name, database: database.clone() });
        }
    }
    parts
}

/// Creates the folder, or checks that it is empty.
fn prepare(folder: &Path) -> Result<(), Failure> {
    private_files::create_folder(folder).map_err(|fault| failed("write", folder, &fault))?;
    let first = fs::read_dir(folder).map_err(|fault| failed("write", folder, &fault))?.next();
    if first.is_some() {
        return Err(Failure::usage(format!("{} isn't empty", folder.display()))
            .with_hint("name another folder for this export"));
    }
    Ok(())
}

/// Number of times that a capped collection is read while it is overwritten.
const TRIES: usize = 3;

/// A running export.
struct Exporting<'a> {
    command: &'a Whole,
    folder: &'a Path,
    snapshot: Snapshot,
    workers: usize,
    bar: ProgressBar,
    since: Instant,
}

impl<'a> Exporting<'a> {
    fn new(command: &'a Whole, folder: &'a Path, snapshot: Snapshot) -> Self {
        // Each worker holds a batch and its compressed text. More of them don't help beside a busy MongoDB.
        let workers = available_parallelism().map_or(2, |count| count.get().clamp(2, 4));
        let bytes = snapshot.collections().iter().map(|one| one.bytes).sum();
        let bar = progress::bytes(Some(bytes), BYTES_PER_SECOND);
        Self { command, folder, snapshot, workers, bar, since: Instant::now() }
    }

    async fn run(&self) -> Result<(), Failure> {
        let folder = self.folder;
        let mut entries = Vec::new();
        for collection in self.snapshot.collections() {
            entries.push(self.export(collection).await?);
        }
        self.snapshot.confirm().await.map_err(|error| explained(&error))?;
        let at = (self.snapshot.at(), rfc3339(self.snapshot.time()));
        let named = |part: &Part| (part.name.to_owned(), part.database.name().to_owned());
        let databases = self.snapshot.parts().iter().map(named).collect();
        let manifest = Manifest::new(databases, at, self.command.compress, entries);
        manifest.write(folder).map_err(|fault| failed("write", folder, &fault))?;
        self.bar.finish_and_clear();
        self.print_summary(&manifest);
        Ok(())
    }

    /// Exports one collection; a capped one again if it was overwritten meanwhile.
    async fn export(&self, collection: &Described) -> Result<Entry, Failure> {
        let mut tries = 1;
        loop {
            match self.try_export(collection).await? {
                Ok(entry) => return Ok(entry),
                Err(SnapshotError::Overwritten(_)) if tries < TRIES => tries += 1,
                Err(error) => return Err(explained(&error)),
            }
        }
    }

    async fn try_export(&self, of: &Described) -> Result<Result<Entry, SnapshotError>, Failure> {
        let compression = self.command.compress;
        let unfit = |fault: &dyn std::fmt::Display| {
            Failure::trouble(format!("{} can't be exported: {fault}", of.name))
        };
        let mut entry = Entry::new(of, compression).map_err(|fault| unfit(&fault))?;
        let path = self.folder.join(&entry.file);
        let mut output = Output::create(&path).map_err(|fault| failed("write", &path, &fault))?;
        let mut batches = self.snapshot.read(of);
        // The places of packed batches are used again: freed ones of this size stay with the threads that made them.
        let spare = Spare::default();
        let packed =
            stream::poll_fn(move |context| batches.poll_recv(context)).map(|batch| async {
                let (batch, bytes) = (batch?, spare.take());
                let packed =
                    tokio::task::spawn_blocking(move || compression.pack(&batch, bytes)).await;
                Ok(packed.map_err(Error::internal)?)
            });
        let mut packed = std::pin::pin!(packed.buffered(self.workers));
        while let Some(part) = packed.next().await {
            match part {
                Ok(Ok(part)) => {
                    output.write(&part).map_err(|fault| failed("write", &path, &fault))?;
                    self.bar.inc(part.size);
                    spare.give(part.bytes);
                }
                Ok(Err(fault)) => return Err(unfit(&fault)),
                Err(error) => return Ok(Err(error)),
            }
        }
        if output.bytes == 0 {
            let none = compression.pack_none().map_err(|fault| unfit(&fault))?;
            output.write(&none).map_err(|fault| failed("write", &path, &fault))?;
        }
        output.finish(&mut entry).map_err(|fault| failed("write", &path, &fault))?;
        Ok(Ok(entry))
    }

    fn print_summary(&self, manifest: &Manifest) {
        let millis = self.since.elapsed().as_millis().max(1);
        let rate = u128::from(manifest.size) * 1_000 / millis;
        terminal::say(format_args!(
            "{} of {} exported as of {} ({}, {} a second)",
            terminal::counted(manifest.documents, "document", "documents"),
            terminal::counted(manifest.collections.len(), "collection", "collections"),
            manifest.taken_at,
            BinaryBytes(manifest.size),
            BinaryBytes(u64::try_from(rate).unwrap_or(u64::MAX)),
        ));
    }
}

/// Buffers for packed batches.
#[derive(Default)]
struct Spare(RefCell<Vec<Vec<u8>>>);

impl Spare {
    /// An empty buffer.
    fn take(&self) -> Vec<u8> {
        self.0.borrow_mut().pop().unwrap_or_default()
    }

    /// Gives back a buffer, whose content isn't needed any more.
    fn give(&self, mut bytes: Vec<u8>) {
        bytes.clear();
        self.0.borrow_mut().push(bytes);
    }
}

/// The file of a collection.
struct Output {
    file: File,
    digest: Sha256,
    documents: u64,
    size: u64,
    bytes: u64,
}

impl Output {
    fn create(path: &Path) -> io::Result<Self> {
        let (file, digest) = (private_files::create(path)?, Sha256::new());
        Ok(Self { file, digest, documents: 0, size: 0, bytes: 0 })
    }

    fn write(&mut self, part: &Packed) -> io::Result<()> {
        self.file.write_all(&part.bytes)?;
        self.digest.update(&part.bytes);
        self.documents += part.documents;
        self.size += part.size;
        self.bytes += part.bytes.len() as u64;
        Ok(())
    }

    /// Waits until the file is on disk, and fills in its entry.
    fn finish(self, entry: &mut Entry) -> io::Result<()> {
        self.file.sync_all()?;
        (entry.documents, entry.size, entry.bytes) = (self.documents, self.size, self.bytes);
        entry.sha256 = hex::encode(self.digest.finalize());
        Ok(())
    }
}

/// The failure of a read, with what to do about it.
fn explained(error: &SnapshotError) -> Failure {
    match error {
        SnapshotError::TooOld => Failure::trouble(
            "the export took longer than MongoDB keeps the documents of a moment, which is 300 s by default. Before \
             the next try run `db.adminCommand({ setParameter: 1, minSnapshotHistoryWindowInSeconds: 3600 })` on \
             each member, with a time that is longer than the export takes",
        ),
        SnapshotError::Changed(_) => Failure::trouble(format!("{error}; run the export again")),
        SnapshotError::Overwritten(_) => {
            Failure::trouble(format!("{error}; run the export again when less is published"))
        }
        SnapshotError::Empty => Failure::trouble("the database has nothing to export"),
        SnapshotError::HalfRestored => Failure::trouble(
            "the database isn't completely restored; repeat `docgate import --restore` before an export",
        ),
        SnapshotError::Other(error) => Failure::trouble(sentence(error)),
    }
}
