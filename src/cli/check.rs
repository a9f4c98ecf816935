//! `docgate check`.

use std::{process::ExitCode, time::Duration};

use clap::Args;

use super::{
    failure::{Failure, sentence},
    logging,
    options::{Source, on_database},
    preconditions, terminal,
};
use crate::{
    app::App,
    background, domains,
    invariants::{Progress, Report},
};

/// Verify the invariants of the stored data
///
/// Checks every rule that holds while no flow is in progress (a checkout, a transfer, a move of a
/// category): stock, carts, orders and money add up, and copies equal their records. It reads whole
/// collections and changes nothing. While a gateway is busy, or within a minute of a crash, a rule may
/// be broken temporarily; the sweeps of `serve` finish such flows.
///
/// The command looks at a rule that seems to be broken once more, half a second later. Between two looks at
/// days of hits that differ from their months it waits for twice the sum of flow_run_millis,
/// flow_command_millis and flow_skew_millis, 32 seconds with the default settings. It announces each pause
/// on stderr.
///
/// Warns on stderr of settings that differ among running gateways and must be the same in all.
///
/// Examples:
///     docgate check
///     docgate check --repair
///
/// Exit codes: 0 if every rule holds, 1 if one is broken, 3 if the database has none of docgate's collections.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Check {
    /// First finish interrupted flows, as a gateway's sweeps do, until none is left. Then recompute what
    /// discussions store about their comments (their number, the newest, the rating), the time by which the
    /// sweep finds stock, the marks by which news find authors whose posts are merged in, the totals of reports,
    /// the hits of each day in the documents of months, the numbers, stages and SKUs of orders of earlier
    /// versions, the reserved and the remaining amounts of vouchers, the facets of categories, what was bought
    /// together, and the attributes by which files of earlier versions are found. Damaged smaller pictures are
    /// removed, and missing indexes of the collections of months are built. Gateways may keep running. A flow can
    /// only be finished some time after its last write: between two passes of the sweeps the command waits for
    /// twice the sum of flow_run_millis, flow_command_millis and flow_skew_millis, and a second. So it takes at
    /// least 33 seconds with the default settings.
    #[arg(long)]
    repair: bool,
    /// Maximum number of violations shown for each rule.
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    show: usize,
    #[command(flatten)]
    source: Source,
}

/// Maximum number of sweep passes with `--repair`. If it is reached, flows are interrupted faster than they
/// are finished.
const MAX_PASSES: u32 = 10;

/// Maximum number of sweep passes with `--repair` that may fail because MongoDB doesn't answer in time.
const MAX_FAILED: u32 = 2;

impl Check {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        // The ids of a flow depend on the gateway's secret.
        let config = if self.repair { self.source.flows()? } else { self.source.database()? };
        logging::begin(config.log_format, logging::TOOL)?;
        let checked = on_database(&config, async |database| {
            let app = App::new(config.clone(), database);
            preconditions::database_is_in_use(&app).await?;
            warn_of_settings(&app, self.repair).await?;
            if self.repair {
                sweep(&app).await?;
                repair(&app).await?;
            }
            Ok(domains::check(&app, Progress::to(tell)).await?)
        });
        let report = checked.await?;
        self.print(&report);
        Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn print(&self, report: &Report) {
        for (rule, broken) in &report.rules {
            let sign = if broken.is_empty() { '✓' } else { '✗' };
            terminal::say(format_args!("{sign} {rule}"));
            for what in broken.iter().take(self.show) {
                terminal::say(format_args!("    {what}"));
            }
            if let more @ 1.. = broken.len().saturating_sub(self.show) {
                terminal::say(format_args!("    … and {more} more"));
            }
        }
        let broken = report.rules.iter().filter(|(_, broken)| !broken.is_empty()).count();
        let are = if broken == 1 { "is" } else { "are" };
        match (report.rules.len(), broken) {
            (rules, 0) => terminal::say(format_args!("All {rules} rules hold.")),
            (rules, broken) => {
                terminal::say(format_args!("{broken} of {rules} rules {are} broken."));
            }
        }
    }
}

/// Warns of settings that differ among running gateways and must be the same; with `repairs` also of those in which this
/// command differs from them, because its sweeps do what theirs do.
async fn warn_of_settings(app: &App, repairs: bool) -> Result<(), Failure> {
    let disputed = background::disputed(app, repairs).await?;
    if !disputed.is_empty() {
        let who = if repairs { "this command and the gateways" } else { "gateways" };
        terminal::remark(format_args!(
            "warning: {who} on the database differ in settings that must be the same: {}",
            disputed.join(", ")
        ));
    }
    Ok(())
}

/// Sweeps until a pass finishes no flow. Between two passes there are two grace periods, because sweeps skip flows
/// that were changed recently, also by a sweep. If MongoDB doesn't answer in time, the next pass goes on, at most
/// [`MAX_FAILED`] times.
async fn sweep(app: &App) -> Result<(), Failure> {
    let pause = app.bounds().two_grace_periods() + Duration::from_secs(1);
    let seconds = pause.as_secs();
    let mut failed = 0;
    for number in 1..=MAX_PASSES {
        if number > 1 {
            tokio::time::sleep(pause).await;
        }
        match background::sweep_all(app).await {
            Ok(0) if number > 1 => return Ok(()),
            Ok(finished) => terminal::remark(format_args!(
                "{} finished; waiting {seconds} s for flows that may still be running",
                terminal::counted(finished, "flow", "flows")
            )),
            Err(error) if error.is_retryable() && failed < MAX_FAILED => {
                failed += 1;
                terminal::remark(format_args!(
                    "{}; the sweeps go on in {seconds} s",
                    sentence(&error)
                ));
            }
            Err(error) => return Err(error.into()),
        }
    }
    terminal::remark(format_args!("after {MAX_PASSES} passes some flows are still unfinished"));
    Ok(())
}

/// Recomputes values that are derived from other documents.
async fn repair(app: &App) -> Result<(), Failure> {
    for what in domains::repair(app, Progress::to(tell)).await? {
        terminal::remark(format_args!("repaired {what}"));
    }
    Ok(())
}

fn tell(sentence: &str) {
    terminal::remark(sentence);
}
