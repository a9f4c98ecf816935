//! The managed mongod of `docgate demo` and of the tests: find, provide, start, stop.
//!
//! A real server is started as a child process, as a replica set with one member on the loopback interface.
//! `provide` finds the binary or fetches it once, `process` runs it in the folder of `data_dir`, `log` reads why it ended,
//! `watchdog` ensures that it ends with this process, and `replica_set` makes it primary. Only Linux and macOS are supported, because process
//! groups and `sh` are needed.

use std::path::PathBuf;
use std::process::ExitStatus;

mod data_dir;
mod log;
mod process;
mod provide;
mod replica_set;
#[cfg(test)]
mod tests;
mod watchdog;

pub use process::{Data, Mongod, Settings};
pub use provide::find_or_provide;

const REMEDIES: &str = "Any of these helps: install MongoDB so that `mongod` is on PATH; \
    set DOCGATE_MONGOD to the path of a mongod binary; \
    or run everything in containers with `docker compose -f docker/compose.yaml up`.";

/// The failure to run a mongod. The messages are for the user of the terminal.
#[derive(Debug, thiserror::Error)]
pub enum ManagedError {
    /// The binary named by the environment can't be run.
    #[error("DOCGATE_MONGOD is set to {}, which can't be used: {reason}", path.display())]
    BadOverride {
        /// The value of `DOCGATE_MONGOD`, made absolute.
        path: PathBuf,
        /// The error of the attempt to run it.
        reason: String,
    },
    /// No usable binary was found, and none could be fetched.
    #[error("There is no mongod to start: {reason}\n{REMEDIES}")]
    NoBinary {
        /// The step that failed.
        reason: String,
    },
    /// Another mongod uses the data folder, and didn't end within the time limit.
    #[error("Another docgate demo is using {}; stop it, or choose another folder.", data_dir.display())]
    DataInUse {
        /// The data folder.
        data_dir: PathBuf,
    },
    /// A folder for temporary data contains other files.
    #[error(
        "{} isn't empty, and everything in it would be removed afterwards; choose an empty folder.",
        data_dir.display()
    )]
    NotEmpty {
        /// The folder.
        data_dir: PathBuf,
    },
    /// Another program listens on the requested port.
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
        /// The exit status of mongod.
        status: ExitStatus,
        /// The last errors in its log, one per line.
        lines: String,
        /// The log file, unless it is removed with its folder.
        log: Option<PathBuf>,
    },
    /// mongod ended by itself after it was ready.
    #[error("mongod ended by itself ({status}){}{}", told(lines), log_in(log.as_ref()))]
    Ended {
        /// The exit status of mongod.
        status: ExitStatus,
        /// The last errors in its log, one per line.
        lines: String,
        /// The log file, unless it is removed with its folder.
        log: Option<PathBuf>,
    },
    /// mongod runs, but didn't become primary in time.
    #[error(
        "mongod wasn't ready after {seconds} s{}{}",
        because(.source.as_ref()),
        log_in(log.as_ref())
    )]
    NotReady {
        /// The time limit in seconds.
        seconds: u64,
        /// The log file, unless it is removed with its folder.
        log: Option<PathBuf>,
        /// The last error, if there was one.
        source: Option<mongodb::error::Error>,
    },
    /// The operating system refused an action.
    #[error("Can't {action}: {source}")]
    System {
        /// The action, such as "create /some/folder".
        action: String,
        /// The system's error.
        source: std::io::Error,
    },
}

impl ManagedError {
    /// For `map_err`: adds the action to an error of the system.
    fn system(action: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let action = action.into();
        move |source| Self::System { action, source }
    }
}

fn because(source: Option<&mongodb::error::Error>) -> String {
    source.map_or_else(String::new, |error| format!(": {error}"))
}

/// The end of a sentence, with the errors that the log has.
fn told(lines: &str) -> String {
    if lines.is_empty() { ".".to_owned() } else { format!(":\n{lines}") }
}

fn log_in(file: Option<&PathBuf>) -> String {
    file.map_or_else(String::new, |file| format!("\nIts log is {}.", file.display()))
}
