//! The managed mongod of `docgate demo` and of the tests: find, provide, start, stop.
//!
//! A real server is started as a child, as a replica set of one on loopback. `provide` finds the
//! binary or fetches it once, `process` runs it, `watchdog` sees to it that it never outlives us,
//! `replica_set` makes it primary. Linux and macOS only: process groups and `sh` are needed.

use std::path::PathBuf;
use std::process::ExitStatus;

mod process;
mod provide;
mod replica_set;
#[cfg(test)]
mod tests;
mod watchdog;

pub use process::{Data, Mongod, Settings};
pub use provide::find_or_provide;

const WAYS_OUT: &str = "Any of these helps: install MongoDB so that `mongod` is on PATH; \
    set DOCGATE_MONGOD to the path of a mongod binary; \
    or run everything in containers with `docker compose -f docker/compose.yaml up`.";

/// Why there is no running mongod. The texts are written for the person at the terminal.
#[derive(Debug, thiserror::Error)]
pub enum ManagedError {
    /// The caller chose a binary through the environment, and it can't be run.
    #[error("DOCGATE_MONGOD is set to {}, which can't be used: {reason}", path.display())]
    BadOverride {
        /// The value of `DOCGATE_MONGOD`, made absolute.
        path: PathBuf,
        /// What happened when it was tried.
        reason: String,
    },
    /// No usable binary was found, nor could one be fetched.
    #[error("There is no mongod to start: {reason}\n{WAYS_OUT}")]
    NoBinary {
        /// The step that failed.
        reason: String,
    },
    /// Another mongod uses the data folder, and didn't end while it was waited for.
    #[error("Another docgate demo is using {}; stop it, or choose another folder.", data_dir.display())]
    DataInUse {
        /// The folder that both want.
        data_dir: PathBuf,
    },
    /// Data that shall be removed afterwards were to be put among other files.
    #[error(
        "{} isn't empty, and everything in it would be removed afterwards; choose an empty folder.",
        data_dir.display()
    )]
    NotEmpty {
        /// The folder with files that aren't ours.
        data_dir: PathBuf,
    },
    /// Another program listens on the port that was asked for.
    #[error(
        "Port {port} of 127.0.0.1 is taken by another program; stop it, or choose another port."
    )]
    PortTaken {
        /// The TCP port.
        port: u16,
    },
    /// mongod ended before it was ready.
    #[error("mongod ended at its start ({status}):\n{lines}{}", log_in(log.as_ref()))]
    EndedEarly {
        /// How it ended.
        status: ExitStatus,
        /// The last errors that it reported, one a line.
        lines: String,
        /// The whole log, unless it goes with its folder.
        log: Option<PathBuf>,
    },
    /// mongod runs and didn't become primary in time.
    #[error(
        "mongod wasn't ready after {seconds} s{}{}",
        because(.source.as_ref()),
        log_in(log.as_ref())
    )]
    NotReady {
        /// How long we waited.
        seconds: u64,
        /// The whole log, unless it goes with its folder.
        log: Option<PathBuf>,
        /// The last thing that went wrong, if anything did.
        source: Option<mongodb::error::Error>,
    },
    /// The operating system refused something.
    #[error("Can't {action}: {source}")]
    System {
        /// What was tried, such as "create /some/folder".
        action: String,
        /// The refusal.
        source: std::io::Error,
    },
}

impl ManagedError {
    /// For `map_err`: the system's refusal together with what was tried.
    fn system(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::System { action, source }
    }
}

fn because(source: Option<&mongodb::error::Error>) -> String {
    source.map_or_else(String::new, |error| format!(": {error}"))
}

fn log_in(file: Option<&PathBuf>) -> String {
    file.map_or_else(String::new, |file| format!("\nIts log is {}.", file.display()))
}
