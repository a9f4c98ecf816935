//! The commands, one file each. They share [`options`] (the sources of the configuration), [`failure`]
//! (messages and exit codes), [`terminal`] (output), [`logging`] and [`traces`], and [`gateway`] (the
//! lifetime of a gateway).

#![expect(clippy::doc_markdown, reason = "comments of commands are a terminal's help, no Markdown")]

mod check;
mod columns;
mod demo;
mod export;
mod failure;
mod gateway;
mod help;
mod import;
mod indexes;
mod input;
mod logging;
mod migrate;
mod options;
mod person;
mod preconditions;
mod private_files;
mod progress;
mod schema;
mod seed;
mod serve;
mod shards;
mod terminal;
mod token;
mod traces;
mod work;

use std::{process::ExitCode, time::Duration};

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use failure::Failure;

/// A GraphQL gateway over MongoDB.
///
/// Try it with `docgate demo`, which brings its own database and a shop full of data. To use your own
/// MongoDB, set `DOCGATE_MONGODB_URI`, `DOCGATE_SECRET` and a key for tokens, then run
/// `docgate indexes apply` and `docgate serve`.
///
/// Settings are read from a file (`--config`), the environment (`DOCGATE_…`) and flags, in rising precedence.
#[derive(Debug, Parser)]
#[command(name = "docgate", version, max_term_width = 100, after_long_help = EXIT_CODES)]
#[command(propagate_version = true, subcommand_required = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The end of the help of `docgate`.
const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  completed with findings: a rule is broken, an index is missing, a line was skipped
  2  the command line or the configuration is invalid
  3  failure: MongoDB doesn't answer, a port is taken, a file can't be read
  141  an export to stdout ended early, because its reader is gone (as `head` is)

Log lines and progress go to stderr; DOCGATE_LOG (such as `debug` or `docgate=debug`) sets the log \
filter.";

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
    Demo(demo::Demo),
    #[command(subcommand)]
    Indexes(indexes::Indexes),
    Import(import::Import),
    Export(export::Export),
    Check(check::Check),
    Migrate(migrate::Migrate),
    #[command(subcommand)]
    Person(person::Person),
    #[command(subcommand)]
    Shards(shards::Shards),
    Token(token::Token),
    Schema(schema::Schema),
    Work(work::Work),
}

/// Parses the command line, runs the command and reports a failure.
pub fn main() -> ExitCode {
    let mut command = help::flowing(Cli::command());
    let parsed = Cli::from_arg_matches(&command.get_matches_mut());
    let cli = parsed.unwrap_or_else(|fault| fault.format(&mut command).exit());
    // The provider for outgoing TLS. It fails only if a provider is installed already.
    let _installed = rustls::crypto::ring::default_provider().install_default();
    let ended = run(cli.command).and_then(|code| terminal::written().map(|()| code));
    match ended {
        Ok(code) => code,
        Err(failure) => {
            if !failure.is_silent() {
                terminal::complain(&failure);
            }
            failure.code()
        }
    }
}

/// A command itself returns 0 or 1; the other codes come from failures.
fn run(command: Command) -> Result<ExitCode, Failure> {
    to_its_end(async {
        match command {
            Command::Serve(serve) => serve.run().await,
            Command::Demo(demo) => Box::pin(demo.run()).await,
            Command::Indexes(indexes) => indexes.run().await,
            Command::Import(import) => Box::pin(import.run()).await,
            Command::Export(export) => export.run().await,
            Command::Check(check) => check.run().await,
            Command::Migrate(migrate) => migrate.run().await,
            Command::Person(person) => person.run().await,
            Command::Shards(shards) => shards.run(),
            Command::Token(token) => token.run(),
            Command::Schema(schema) => Ok(schema.run()),
            Command::Work(work) => work.run().await,
        }
    })
}

/// How long the process waits at its end for what can't be interrupted, such as the system's look-up of a host.
const LAST_CALLS: Duration = Duration::from_secs(2);

/// Runs a command on threads of its own, and ends these.
fn to_its_end(
    command: impl Future<Output = Result<ExitCode, Failure>>,
) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|fault| Failure::trouble(format!("threads can't be started: {fault}")))?;
    let ended = runtime.block_on(command);
    runtime.shutdown_timeout(LAST_CALLS);
    ended
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    };

    use super::*;

    #[test]
    fn the_end_doesnt_wait_for_a_call_that_hangs() {
        let (hang_up, never) = mpsc::channel::<()>();
        let has_ended = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&has_ended);
        let ran = to_its_end(async {
            let (tell, told) = tokio::sync::oneshot::channel();
            tokio::task::spawn_blocking(move || {
                tell.send(()).expect("it is waited for");
                let _timeout = never.recv_timeout(Duration::from_secs(120));
                ends.store(true, Ordering::SeqCst);
            });
            told.await.expect("it begins");
            Ok(ExitCode::SUCCESS)
        });
        assert!(ran.is_ok());
        assert!(!has_ended.load(Ordering::SeqCst), "it was waited for");
        drop(hang_up);
    }
}
