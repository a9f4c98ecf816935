//! `docgate check`.

use std::{process::ExitCode, time::Duration};

use clap::Args;

use super::{
    failure::Failure,
    logging,
    options::{Source, on_database},
    terminal,
};
use crate::{
    app::App,
    background,
    domains::{self, Report},
};

/// Verify that the stored data hold together
///
/// Checks every rule that holds whenever no flow is under way (a checkout, a transfer, a move of a
/// category): stock, carts, orders and money add up, copies equal their records. It reads whole
/// collections and changes nothing. While a gateway is busy, or within a minute of a crash, a rule
/// may be broken for a moment: that is what the sweeps of `serve` finish by themselves.
///
/// Examples:
///     docgate check
///     docgate check --repair
///
/// Exit codes: 0 when every rule holds, 1 when one is broken.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Check {
    /// First finish the flows that were cut, as a gateway's sweeps do, until none is left; then put right
    /// what discussions say of their comments (how many, the newest, the rating). Gateways may go on
    /// meanwhile. Takes a minute at the least, since a flow must have been quiet for a while before it
    /// may be finished.
    #[arg(long)]
    repair: bool,
    /// How many broken things to show of each rule.
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    show: usize,
    #[command(flatten)]
    source: Source,
}

/// Passes of the sweeps after which `--repair` stops: more flows are being cut than finished.
const PASSES: u32 = 10;

impl Check {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        // The ids of a flow hang on the gateway's secret, so repairing needs the whole of it.
        let config = if self.repair { self.source.gateway()? } else { self.source.database()? };
        logging::begin(config.log_format, logging::TOOL)?;
        let checked = on_database(&config, async |database| {
            let app = App::new(config.clone(), database);
            if self.repair {
                sweep(&app).await?;
                repair(&app).await?;
            }
            Ok(domains::check(&app).await?)
        });
        let report = checked.await?;
        self.tell(&report);
        Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn tell(&self, report: &Report) {
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
        match (report.rules.len(), broken) {
            (rules, 0) => terminal::say(format_args!("All {rules} rules hold.")),
            (rules, broken) => terminal::say(format_args!("{broken} of {rules} rules are broken.")),
        }
    }
}

/// Sweeps until a pass that began a quiet time after the one before it found nothing: sweeps leave
/// alone what was touched shortly before, also what they touched themselves.
async fn sweep(app: &App) -> Result<(), Failure> {
    let quiet = Duration::from_millis(app.bounds().quiet_millis().unsigned_abs());
    let quiet = quiet + Duration::from_secs(1);
    let mut finished = background::sweep_all(app).await?.finished;
    for _ in 1..PASSES {
        let seconds = quiet.as_secs();
        terminal::remark(format_args!(
            "{finished} flows finished; waiting {seconds} s for those that may still be under way"
        ));
        tokio::time::sleep(quiet).await;
        finished = background::sweep_all(app).await?.finished;
        if finished == 0 {
            return Ok(());
        }
    }
    terminal::remark(format_args!("after {PASSES} passes there was still something to finish"));
    Ok(())
}

/// Writes anew what follows from other documents.
async fn repair(app: &App) -> Result<(), Failure> {
    for what in domains::repair(app).await? {
        terminal::remark(format_args!("put right what is said of the comments on {what}"));
    }
    Ok(())
}
