//! Log lines, to stderr.

use std::io;

use tracing_subscriber::{EnvFilter, fmt};

use super::failure::Failure;
use crate::config::LogFormat;

/// Begins to log. `DOCGATE_LOG` says how much; `usual` is what is logged without it.
pub(super) fn begin(format: LogFormat, usual: &str) -> Result<(), Failure> {
    let wanted = std::env::var("DOCGATE_LOG").unwrap_or_else(|_| usual.to_owned());
    let filter = EnvFilter::try_new(&wanted)
        .map_err(|fault| Failure::usage(format!("DOCGATE_LOG can't be used: {fault}")))?;
    let lines = fmt().with_env_filter(filter).with_writer(io::stderr).with_target(false);
    match format {
        LogFormat::Json => lines.json().flatten_event(true).init(),
        LogFormat::Pretty => {
            use io::IsTerminal as _;
            lines.compact().with_ansi(io::stderr().is_terminal()).init();
        }
    }
    Ok(())
}

/// What a gateway logs.
pub(super) const GATEWAY: &str = "docgate=info,warn";
/// What any other command logs.
pub(super) const TOOL: &str = "warn";
