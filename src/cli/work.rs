//! `docgate work`.

use std::{
    process::{ExitCode, Stdio},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use tokio::{io::AsyncWriteExt, process::Command};

use super::{
    failure::Failure,
    gateway, logging,
    options::{Source, on_database},
};
use crate::{
    app::App,
    domains::{
        is_on,
        queue::{
            JobDocument,
            operations::{Handled, Limits, Work as Queue, check_name, run},
        },
    },
};

/// Run a command for each job of a queue
///
/// Claims the jobs of a queue and runs the command for each of them by a shell. The command gets the
/// job's payload on its standard input, and DOCGATE_JOB_QUEUE and DOCGATE_JOB_ATTEMPT in its environment.
/// If it ends with exit code 0, the job is completed. Otherwise the attempt has failed: the job is tried
/// again after a delay, and is a dead letter after its last attempt. The lease is renewed while the
/// command runs. If the lease is lost, the command is killed, since another worker may have the job.
///
/// It runs until SIGTERM or SIGINT, and then waits for the commands that are running.
///
/// Examples:
///     docgate work --queue mail --exec ./send-mail
///     docgate work --queue thumbnails --queue previews --exec 'node worker.js' --jobs 4
///
/// Exit codes: 0 after a requested stop.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Work {
    /// Name of the queue. Several queues take turns.
    #[arg(long, value_name = "NAME", required = true)]
    queue: Vec<String>,
    /// Command, for `sh -c`.
    #[arg(long, value_name = "COMMAND")]
    exec: String,
    /// Maximum number of commands at once.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    jobs: u16,
    /// Length of a lease in seconds. After the death of this process, others get its jobs after this time.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=43_200))]
    lease: u64,
    #[command(flatten)]
    source: Source,
}

impl Work {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let config = self.source.gateway()?;
        logging::begin(config.log_format, logging::TOOL)?;
        if !is_on(&config, "queue") {
            return Err(Failure::usage("the room queue is switched off"));
        }
        for name in &self.queue {
            check_name(name).map_err(|fault| Failure::usage(format!("--queue: {fault}")))?;
        }
        let stop = gateway::stop_on_signals()?;
        let limits = Limits { jobs: self.jobs.into(), lease: Duration::from_secs(self.lease) };
        on_database(&config, async |database| {
            let app = App::new(config.clone(), database);
            let queues = self.queue.iter().map(|queue| commands(queue, &self.exec)).collect();
            run(&app, queues, limits, stop.clone()).await;
            Ok(ExitCode::SUCCESS)
        })
        .await
    }
}

/// The work of a queue: the command for each of its jobs.
fn commands(queue: &str, exec: &str) -> Queue {
    let exec: Arc<str> = exec.into();
    let handler = move |_: App, job: JobDocument| -> Handled {
        let exec = Arc::clone(&exec);
        Box::pin(async move { execute(&exec, &job.queue, job.attempts, &job.payload).await })
    };
    Queue { queue: queue.to_owned(), handler: Arc::new(handler) }
}

/// Runs the command with the payload on its standard input. It is killed if this is dropped.
async fn execute(exec: &str, queue: &str, attempt: i32, payload: &str) -> Result<(), String> {
    let started = Command::new("sh")
        .args(["-c", exec])
        .env("DOCGATE_JOB_QUEUE", queue)
        .env("DOCGATE_JOB_ATTEMPT", attempt.to_string())
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    let mut child = started.map_err(|fault| format!("the command can't be started: {fault}"))?;
    if let Some(mut input) = child.stdin.take() {
        // A command may end without reading all of its input; its exit code decides.
        let _unread = input.write_all(payload.as_bytes()).await;
    }
    match child.wait().await {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the command ended with {status}")),
        Err(fault) => Err(format!("the end of the command is unknown: {fault}")),
    }
}
