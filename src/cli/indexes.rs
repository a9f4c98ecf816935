//! `docgate indexes`.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::{
    failure::Failure,
    logging, migrate,
    options::{Source, on_database},
    terminal,
};
use crate::{
    app::App,
    domains::{catalog, indexed, inventory, people},
    mongo::{
        Placement,
        indexes::{self, Planned, Step},
    },
};

/// Compare the indexes with what the gateway needs, or build them
///
/// Every read of the gateway is served by a declared index. Build the indexes before the first start
/// and after each update; `serve` warns if one is missing.
///
/// Examples:
///     docgate indexes plan       # shows what is missing
///     docgate indexes apply      # builds it
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub(super) enum Indexes {
    Plan(Plan),
    Apply(Apply),
}

/// Show which indexes are in place, missing, different or undeclared
///
/// Changes nothing. The exit code is 1 if an index is missing or different, for use in pipelines;
/// undeclared indexes don't count.
///
/// Example:
///     docgate indexes plan --mongodb-uri 'mongodb://localhost/?replicaSet=rs0'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Plan {
    #[command(flatten)]
    source: Source,
}

/// Build missing indexes
///
/// Nothing is dropped unless `--drop` is given. MongoDB builds indexes in the background, without
/// locking the collections; the command may be interrupted and repeated. The exit code is 1 if an
/// index still differs from its declaration because `--drop` wasn't given.
///
/// In a database without any collection of docgate, the command also puts the newest version of documents in
/// force, as `docgate migrate` does elsewhere after an update.
///
/// The command also updates three kinds of documents, if an earlier version or other settings stored them:
/// products without a language, which are searched in the site's language, products and people without the
/// words by which suggestions find them, and the times at which the sweeps look at stock. It needs the gateways' DOCGATE_SITE_LOCALE and DOCGATE_RESERVATION_SECONDS for
/// that, or their file (--config).
///
/// Example:
///     docgate indexes apply
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Apply {
    /// Also drop undeclared indexes and rebuild different ones. Reads that need an index are slow until it is
    /// rebuilt, so avoid it while the shop is open.
    #[arg(long)]
    drop: bool,
    #[command(flatten)]
    source: Source,
}

impl Indexes {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        match self {
            Self::Plan(plan) => plan.run().await,
            Self::Apply(apply) => apply.run().await,
        }
    }
}

impl Plan {
    async fn run(self) -> Result<ExitCode, Failure> {
        let config = self.source.database()?;
        logging::begin(config.log_format, logging::TOOL)?;
        let planned = on_database(&config, async |database| {
            let placement = Placement::new(&config, &database);
            Ok(indexes::plan(&placement, &indexed(&config)).await?)
        });
        let plan = planned.await?;
        let mut rows = vec![["COLLECTION", "INDEX", "STATE", "SERVES"].map(str::to_owned)];
        rows.extend(plan.iter().map(|planned| row(planned, state(&planned.step))));
        terminal::print(terminal::table(&rows));
        let count = |step: &Step| plan.iter().filter(|planned| planned.step == *step).count();
        let (missing, different) = (count(&Step::Create), count(&Step::Differs));
        let undeclared = count(&Step::Undeclared);
        terminal::say(format_args!(
            "{} in place, {missing} missing, {different} different, {undeclared} undeclared",
            count(&Step::Keep)
        ));
        if missing > 0 {
            terminal::say("`docgate indexes apply` builds what is missing.");
        }
        if different + undeclared > 0 {
            terminal::say(
                "`docgate indexes apply --drop` also rebuilds what differs and drops what is undeclared.",
            );
        }
        Ok(complaint(missing + different > 0))
    }
}

impl Apply {
    async fn run(self) -> Result<ExitCode, Failure> {
        let config = self.source.database()?;
        logging::begin(config.log_format, logging::TOOL)?;
        let mut left_different = false;
        let applied = on_database(&config, async |database| {
            let tell = |planned: &Planned| {
                left_different |= planned.step == Step::Differs && !self.drop;
                let (what, done) = (planned, self.done(&planned.step));
                terminal::say(format_args!("{}.{}: {done}", what.collection, what.name));
            };
            let app = App::new(config.clone(), database);
            let is_new = migrate::is_new(&app).await?;
            indexes::apply(app.placement(), &indexed(&config), self.drop, tell).await?;
            if is_new {
                migrate::put_in_force(&app).await?;
                terminal::say(
                    "The database is new: its documents are of the newest version from the beginning.",
                );
            }
            follow_site_locale(&app).await?;
            correct_terms(&app).await?;
            correct_stock(&app).await
        });
        applied.await?;
        Ok(complaint(left_different))
    }

    fn done(&self, step: &Step) -> &'static str {
        match step {
            Step::Keep => "in place",
            Step::Create => "built",
            Step::Differs if self.drop => "rebuilt",
            Step::Differs => "DIFFERENT, left alone: --drop rebuilds it",
            Step::Undeclared if self.drop => "dropped",
            Step::Undeclared => "undeclared, left alone: --drop removes it",
        }
    }
}

/// Updates products without a language of their own, which are searched in the site's language.
async fn follow_site_locale(app: &App) -> Result<(), Failure> {
    let changed = catalog::operations::follow_site_locale(app).await?;
    if changed > 0 {
        let site = &app.config().site_locale;
        terminal::say(format_args!(
            "products: {changed} without a language are searched in the site's, {site}, from now on"
        ));
    }
    Ok(())
}

/// Adds the words by which suggestions find products and people that an earlier version has stored.
async fn correct_terms(app: &App) -> Result<(), Failure> {
    let products = catalog::operations::correct_terms(app).await?;
    let people = people::operations::correct_terms(app).await?;
    if products + people > 0 {
        terminal::say(format_args!(
            "search: {} and {} are suggested from now on",
            terminal::counted(products, "product", "products"),
            terminal::counted(people, "person", "people")
        ));
    }
    Ok(())
}

/// Corrects the time by which the sweep finds stock that an earlier version has stored.
async fn correct_stock(app: &App) -> Result<(), Failure> {
    let corrected = inventory::operations::correct_all(app).await?;
    if corrected > 0 {
        terminal::say(format_args!(
            "inventory: the time of the sweep of {} corrected",
            terminal::counted(corrected, "SKU", "SKUs")
        ));
    }
    Ok(())
}

fn state(step: &Step) -> &'static str {
    match step {
        Step::Keep => "in place",
        Step::Create => "MISSING",
        Step::Differs => "DIFFERENT",
        Step::Undeclared => "undeclared",
    }
}

fn row(planned: &Planned, state: &str) -> [String; 4] {
    [planned.collection.to_string(), planned.name.clone(), state.into(), planned.serves.into()]
}

fn complaint(there_is_one: bool) -> ExitCode {
    if there_is_one { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
