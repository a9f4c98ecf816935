//! `docgate work`.

use std::{
    fmt, io,
    pin::pin,
    process::{ExitCode, ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use clap::Args;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    process::{Child, ChildStderr, Command},
    time::timeout,
};

use super::{
    failure::Failure,
    gateway, logging,
    options::{Source, on_database_until},
    preconditions,
};
use crate::{
    app::App,
    domains::queue::{
        JobDocument,
        operations::{Handled, Limits, Work as Queue, check_name, run},
    },
    graphql::node_id::NodeKind,
};

/// Run a command for each job of a queue
///
/// Claims the jobs of a queue and runs the command for each of them by a shell. The command gets the
/// job's payload on its standard input, and DOCGATE_JOB_ID, DOCGATE_JOB_QUEUE and DOCGATE_JOB_ATTEMPT in
/// its environment. Other variables whose name begins with DOCGATE_ are removed from its environment, so
/// it doesn't see the secrets of the gateway.
///
/// If the command ends with exit code 0, the job is completed. Otherwise the attempt has failed: the job
/// is tried again after a delay, and is a dead letter after its last attempt. The reason of the failure
/// has the exit code and the end of what the command wrote to stderr.
///
/// The lease is renewed while the command runs. If the lease is lost, the command is killed with all that it
/// has started, since another worker may have the job. When an attempt has failed, what it has left running
/// is killed too. What a command with exit code 0 has left running goes on.
///
/// It runs until SIGTERM or SIGINT, and then waits for the commands that are running. Ctrl-C doesn't reach
/// the commands. A second signal ends it at once; then the commands are killed. Failed attempts and dead
/// letters are logged.
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
        let config = self.source.flows()?;
        logging::begin(config.log_format, logging::GATEWAY)?;
        preconditions::room_is_on(&config, "queue")?;
        for name in &self.queue {
            check_name(name).map_err(|fault| Failure::usage(format!("--queue: {fault}")))?;
        }
        let stop = gateway::stop_on_signals()?;
        let limits = Limits { jobs: self.jobs.into(), lease: Duration::from_secs(self.lease) };
        let stopped = async {
            stop.cancelled().await;
            Ok(ExitCode::SUCCESS)
        };
        on_database_until(&config, stopped, async |database| {
            let app = App::new(config.clone(), database);
            let queues = self.queue.iter().map(|queue| commands(queue, &self.exec)).collect();
            tracing::info!(
                event = "worker_started",
                queues = self.queue.join(", "),
                jobs = self.jobs,
                lease_seconds = self.lease,
                database = config.database,
                "working"
            );
            run(&app, queues, limits, stop.clone()).await;
            tracing::info!(event = "worker_stopped", "stopped");
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
        Box::pin(async move { execute(&exec, &job).await })
    };
    Queue { queue: queue.to_owned(), handler: Arc::new(handler) }
}

/// Runs the command with the payload on its standard input. If this is dropped, the command is killed with all that it has
/// started.
async fn execute(exec: &str, job: &JobDocument) -> Result<(), String> {
    let mut command = Command::new("sh");
    command.args(["-c", exec]).stdin(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("DOCGATE_") {
            command.env_remove(name);
        }
    }
    command
        .env("DOCGATE_JOB_ID", NodeKind::JOB.id(&job.id).as_str())
        .env("DOCGATE_JOB_QUEUE", &job.queue)
        .env("DOCGATE_JOB_ATTEMPT", job.attempts.to_string());
    let not_started = |fault: io::Error| format!("the command can't be started: {fault}");
    let group = Group::start().map_err(not_started)?;
    let mut child = command.process_group(group.id).spawn().map_err(not_started)?;
    let mut tail = Tail::default();
    let ended = {
        let mut reading = pin!(tail.read(child.stderr.take()));
        let mut running = pin!(feed(&mut child, job.payload.as_bytes()));
        tokio::select! {
            ended = &mut running => {
                // A process that the command left behind may keep stderr open.
                let _open = timeout(REST, &mut reading).await;
                ended
            }
            () = &mut reading => running.await,
        }
    };
    match ended {
        Ok(status) if status.success() => {
            group.release().await;
            Ok(())
        }
        Ok(status) => Err(format!("the command ended with {status}{tail}")),
        Err(fault) => Err(format!("the end of the command is unknown: {fault}{tail}")),
    }
}

/// Ends the process group that it leads, and itself, at the end of its input, unless a line came before. It ignores the
/// signals by which a command may end its own group.
const WATCH: &str = "trap '' HUP INT QUIT TERM; read -r _ || kill -KILL 0";

/// The process group of a command. All processes in it are killed when this is dropped, and when docgate itself ends for
/// whatever reason: the pipe to the watchdog is closed then too, and nobody renews the lease any more. Ctrl-C in the
/// terminal doesn't reach the group.
///
/// The watchdog kills its own group (`kill 0`). So no signal is sent to an id, which may belong to other processes after
/// the end of those that were meant. The command joins the group by the id of the watchdog. That id isn't used again
/// before this is dropped, because nobody waits for the watchdog before.
struct Group {
    /// The shell that leads the group. Only this process holds the other end of its input, because pipes are opened
    /// close-on-exec.
    watchdog: Child,
    id: i32,
}

impl Group {
    /// Starts the watchdog.
    fn start() -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", WATCH, "docgate-watchdog"]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let watchdog = command.spawn()?;
        let id = watchdog.id().and_then(|id| i32::try_from(id).ok());
        let id = id.ok_or_else(|| io::Error::other("the watchdog has no id"))?;
        Ok(Self { watchdog, id })
    }

    /// Lets the processes go on that are still in the group.
    async fn release(mut self) {
        if let Some(mut lifeline) = self.watchdog.stdin.take() {
            let _ended = lifeline.write_all(b"\n").await;
        }
    }
}

/// How long the rest of stderr is read after the command has ended.
const REST: Duration = Duration::from_millis(500);

/// Writes the input of a command, and waits for the command's end.
async fn feed(child: &mut Child, input: &[u8]) -> io::Result<ExitStatus> {
    if let Some(mut stdin) = child.stdin.take() {
        // A command may end without reading all of its input; its exit code decides.
        let _unread = stdin.write_all(input).await;
    }
    child.wait().await
}

/// The end of what a command writes to stderr.
#[derive(Default)]
struct Tail {
    bytes: Vec<u8>,
    is_cut: bool,
}

impl Tail {
    /// Maximum length in bytes. A reason has at most 1,000 characters.
    const LENGTH: usize = 800;

    /// Reads stderr to its end, and passes it on to docgate's own.
    async fn read(&mut self, stderr: Option<ChildStderr>) {
        let Some(mut stderr) = stderr else { return };
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
            let read = &buffer[..length];
            let mut own = tokio::io::stderr();
            if own.write_all(read).await.is_ok() {
                let _closed = own.flush().await;
            }
            self.bytes.extend_from_slice(read);
            let surplus = self.bytes.len().saturating_sub(Self::LENGTH);
            self.is_cut |= surplus > 0;
            self.bytes.drain(..surplus);
        }
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = String::from_utf8_lossy(&self.bytes);
        let cut = if self.is_cut { "…" } else { "" };
        // The first character may have been cut.
        match text.trim_start_matches(char::REPLACEMENT_CHARACTER).trim() {
            "" => Ok(()),
            text => write!(formatter, "; the end of stderr: {cut}{text}"),
        }
    }
}
