//! `docgate person`.

mod guests;
mod output;

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};

use self::{guests::Guest, output::Output};
use super::{
    failure::Failure,
    gateway, logging,
    options::{Source, on_database, on_database_until},
    preconditions, terminal,
};
use crate::{
    app::App,
    config::Config,
    domains::persons::{self, Count, Erased},
};

/// Export or erase what docgate holds of one person
///
/// A person is known by the subject of their tokens (`sub`), and a guest by the number of an order.
#[derive(Debug, Subcommand)]
pub(super) enum Person {
    Export(Export),
    Erase(Erase),
    What(What),
}

impl Person {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        match self {
            Self::Export(export) => export.run().await,
            Self::Erase(erase) => erase.run().await,
            Self::What(What {}) => {
                terminal::say(persons::table::as_markdown().trim_end());
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

/// Whom a command is about.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Whom {
    /// Subject of the person's tokens.
    subject: Option<String>,
    /// Number or global id of an order that was placed without signing in: the command is about its guest, in this order. The
    /// room orders has to be on.
    #[arg(long, value_name = "NUMBER")]
    order: Option<String>,
}

impl Whom {
    /// The subject that was given; empty with an order.
    fn subject(&self) -> Result<&str, Failure> {
        self.subject.as_deref().map_or(Ok(""), checked)
    }

    /// Checks that the room of an order that was given is switched on. Without it, an erasure would take the order from its
    /// guest and leave the address.
    fn demand_room(&self, config: &Config) -> Result<(), Failure> {
        match self.order {
            Some(_) => preconditions::room_is_on(config, "orders"),
            None => Ok(()),
        }
    }

    /// The guest of the order that was given.
    async fn guest(&self, app: &App) -> Result<Option<Guest>, Failure> {
        match &self.order {
            Some(named) => Guest::of(app, named).await.map(Some),
            None => Ok(None),
        }
    }
}

/// Print what each collection holds of a person, and what an erasure does with it
///
/// The table is that of docs/PERSONAL_DATA.md. It needs no database.
///
/// Example:
///     docgate person what
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct What {}

/// Export everything that the rooms hold of a person
///
/// Writes one JSON object per line: `room`, `collection`, `field` (the path of the field that holds the
/// subject) and `value`, the document in canonical Extended JSON. Of a document that is shared with others,
/// such as the comments below a post, the value is the person's part of it. Copies are left out,
/// but for the person's own inbox. Transfers from and to the person's accounts are among the lines, whoever
/// requested them.
///
/// Some collections have no index by subject and are read from beginning to end, as `docgate check` reads
/// them. It changes nothing. Gateways may keep running.
///
/// Examples:
///     docgate person export 0b7c1f
///     docgate person export 0b7c1f --out 0b7c1f.jsonl
///     docgate person export --order 7K3M-Q9TX-2
///
/// A file of --out must not exist. Nobody but you can read it, and there is none if nothing was found, or if the export fails or is
/// interrupted.
///
/// Exit codes: 0 if the export is complete, also if nothing was found; 2 if the file exists, 3 if the database has none of
/// docgate's collections, 141 if the reader of the lines is gone before the last one. Rooms that are switched off aren't
/// searched; the command names those with collections.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Export {
    #[command(flatten)]
    whom: Whom,
    /// Write to this new file instead of stdout.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    source: Source,
}

impl Export {
    async fn run(self) -> Result<ExitCode, Failure> {
        let config = self.source.database()?;
        logging::begin(config.log_format, logging::TOOL)?;
        let subject = self.whom.subject()?;
        self.whom.demand_room(&config)?;
        let stop = gateway::stop_on_signals()?;
        let mut output = Output::open(self.out)?;
        let interrupted = async {
            stop.cancelled().await;
            Err(Failure::trouble("interrupted"))
        };
        let exported = on_database_until(&config, interrupted, async |database| {
            let app = App::new(config.clone(), database);
            let export = async {
                preconditions::database_is_in_use(&app).await?;
                if let Some(guest) = self.whom.guest(&app).await? {
                    return output.write_guest(&guest);
                }
                persons::export(&app, subject, |room, collection, field, value| {
                    output.write(room, collection, field, &value)
                })
                .await?;
                warn_of_unsearched(&app).await
            };
            tokio::select! {
                biased;
                () = stop.cancelled() => Err(Failure::trouble("interrupted")),
                exported = Box::pin(export) => exported,
            }
        });
        Box::pin(exported).await?;
        let count = output.finish()?;
        let (one, several) = ("document or part of one", "documents and parts of documents");
        terminal::remark(format_args!("{} exported", terminal::counted(count, one, several)));
        Ok(ExitCode::SUCCESS)
    }
}

/// Names the rooms that weren't searched although the database has collections of theirs.
async fn warn_of_unsearched(app: &App) -> Result<(), Failure> {
    let rooms = persons::unsearched(app).await?;
    if !rooms.is_empty() {
        terminal::remark(format_args!(
            "not searched, because they are switched off (rooms) and have collections: {}",
            rooms.join(", ")
        ));
    }
    Ok(())
}

/// Erase a person from all rooms
///
/// Carts and bookings are cancelled, which returns what they hold; comments, posts, files and characters are
/// removed by the operations that users have; names are released; empty accounts are closed. Orders,
/// receipts and transfers stay with their sums: a random pseudonym takes the place of the subject, the
/// same one in all of them, and names and addresses go. `docgate person what` prints the whole table.
///
/// A guest, who has no subject, is erased order by order with --order. Afterwards the order's id shows it to nobody but
/// merchants.
///
/// An erasure can't be undone. Look at it with --dry-run first. Gateways may keep running. Withdraw the
/// person's tokens before: what is written with a token that is still valid has the subject again, until
/// the command is repeated. A run that was cut is finished by a repeat, and a repeat of a finished one finds
/// nothing. What a flow is changing, such as a cart that is being checked out, waits for the next run.
///
/// Backups and exports aren't changed: they hold the person until they are deleted. Nor are the records of
/// payment providers.
///
/// Examples:
///     docgate person erase 0b7c1f --dry-run
///     docgate person erase 0b7c1f --yes
///     docgate person erase --order 7K3M-Q9TX-2 --yes
///
/// Nothing is erased in rooms that are switched off. The command names those that hold something of the person, and keeps the
/// pseudonym for a run in which they are on. A dry run doesn't search them; it names those with collections.
///
/// Exit codes: 0 if nothing is left; 1 if something is being changed (repeat the command in a minute), or if a room that is
/// switched off holds something (repeat the command with the room on); 3 if the database has none of docgate's collections.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Erase {
    #[command(flatten)]
    whom: Whom,
    /// Only count what would be erased.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Erase. The command asks no question: without this flag or --dry-run it refuses, on a terminal and elsewhere.
    #[arg(long)]
    yes: bool,
    /// Keep the files that the person has uploaded, under the pseudonym.
    #[arg(long)]
    keep_files: bool,
    #[command(flatten)]
    source: Source,
}

impl Erase {
    async fn run(self) -> Result<ExitCode, Failure> {
        // The ids of flows depend on the gateways' secret, and so does what stands for a guest.
        let needs_secret = !self.dry_run || self.whom.order.is_some();
        let config = if needs_secret { self.source.flows()? } else { self.source.database()? };
        logging::begin(config.log_format, logging::TOOL)?;
        let subject = self.whom.subject()?;
        if !self.dry_run && !self.yes {
            return Err(Failure::usage("an erasure can't be undone")
                .with_hint("look at it with --dry-run, then repeat it with --yes"));
        }
        self.whom.demand_room(&config)?;
        let done = on_database(&config, async |database| {
            let app = App::new(config.clone(), database);
            preconditions::database_is_in_use(&app).await?;
            let guest = self.whom.guest(&app).await?;
            if self.dry_run {
                let counts = match &guest {
                    Some(guest) => guest.counts(),
                    None => persons::look(&app, subject).await?,
                };
                print(&counts, "would be erased or changed");
                if !counts.is_empty() {
                    terminal::say(BY_OPERATIONS);
                }
                warn_of_unsearched(&app).await?;
                return Ok(true);
            }
            app.refresh_versions().await?;
            if let Some(guest) = &guest
                && !guest.name(&app).await?
            {
                terminal::say("unfinished: the order's checkout isn't complete yet");
                terminal::say(REPEAT);
                return Ok(false);
            }
            let subject = guest.as_ref().map_or(subject, |guest| guest.subject.as_str());
            let erased = persons::erase(&app, subject, self.keep_files).await?;
            app.tasks().close();
            app.tasks().wait().await;
            report(&erased);
            Ok(erased.is_finished())
        });
        Ok(if done.await? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// What to do about an erasure that has to wait.
const REPEAT: &str = "Repeat the command in a minute.";

/// What to do about an erasure that has to wait for rooms.
const SWITCH_ON: &str = "Repeat the command with a configuration in which they are on. The pseudonym is kept until then.";

/// Why the counts of a dry run can be higher than those of the erasure.
const BY_OPERATIONS: &str = "Some of these documents are changed by operations that end comments, carts and the like. The \
                             erasure reports them by what has ended.";

fn checked(subject: &str) -> Result<&str, Failure> {
    if subject.is_empty() || subject.contains('\0') {
        return Err(Failure::usage("the subject is empty, or no text that a token can have"));
    }
    Ok(subject)
}

fn print(counts: &[Count], what: &str) {
    for Count { collection, found } in counts {
        let found = terminal::counted(*found, "document", "documents");
        terminal::say(format_args!("{collection}: {found} {what}"));
    }
    if counts.is_empty() {
        terminal::say("nothing is held of this person");
    }
}

fn report(erased: &Erased) {
    for (kind, number) in &erased.ended {
        // The names of the kinds are regular plurals.
        let ended = terminal::counted(*number, kind.strip_suffix('s').unwrap_or(kind), kind);
        terminal::say(format_args!("{ended} ended"));
    }
    if erased.is_empty() || !erased.counts.is_empty() {
        print(&erased.counts, "erased or changed");
    }
    for remark in &erased.remarks {
        terminal::say(remark);
    }
    for wait in &erased.waits {
        terminal::say(format_args!("unfinished: {wait}"));
    }
    if !erased.waits.is_empty() {
        terminal::say(REPEAT);
    }
    if !erased.elsewhere.is_empty() {
        terminal::say(format_args!(
            "unfinished: rooms that are switched off (rooms) hold something of this person: {}",
            erased.elsewhere.join(", ")
        ));
        terminal::say(SWITCH_ON);
    }
}
