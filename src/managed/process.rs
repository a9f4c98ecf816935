//! Runs mongod as a child process that always ends with this process, even after a kill.

use super::{
    ManagedError,
    data_dir::{lock, prepare_data_dir, remove_contents},
    log::{errors_in, read_end, read_from},
    replica_set,
    watchdog::{Watchdog, spawn_apart},
};
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// Time limit of a start, including recovery after a kill.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Time limit for mongod to end after SIGTERM; the watchdog kills it after 10 s.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);
/// Interval between two looks at whether a mongod that is ready still runs.
const WATCH: Duration = Duration::from_millis(200);
/// Interval in which the child process and the port are polled.
pub(super) const POLL: Duration = Duration::from_millis(20);
/// Maximum number of starts on different free ports. Another program may take a free port before mongod binds
/// it.
const PORT_ATTEMPTS: u32 = 5;

/// Waits for one line on standard input and then becomes mongod with the same pid. The watchdog thus knows
/// the pid before mongod exists. If the parent is killed before it sends the line, the shell just ends.
const LAUNCH: &str = r#"read -r _ && exec "$0" "$@" </dev/null"#;

/// The settings of a mongod.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The mongod binary, see [`find_or_provide`](super::find_or_provide).
    pub binary: PathBuf,
    /// Folder for the data and `mongod.log`; created if missing.
    pub data_dir: PathBuf,
    /// The TCP port on 127.0.0.1; `None` chooses a free one. Existing data can be used on another port.
    pub port: Option<u16>,
    /// Enables fail points, and refuses operations that lack an index (`notablescan`).
    pub test_mode: bool,
    /// The treatment of the data.
    pub data: Data,
}

/// The treatment of the data of a mongod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Existing data are used, and all data are kept.
    Kept,
    /// Existing data are removed first, after a mongod that may still be ending there has ended. The new data
    /// are kept.
    Renewed,
    /// The folder is removed at the end, even after a kill. It must be empty or missing at the start.
    Removed,
}

/// A running mongod, the primary of a replica set with one member. It ends when this is dropped, and when
/// this process ends, even after a kill; [`stop`](Self::stop) waits for its end.
#[derive(Debug)]
pub struct Mongod {
    settings: Settings,
    port: u16,
    child: Option<Child>,
    /// Length of the log before the last start.
    log_start: u64,
    watchdog: Watchdog,
}

impl Mongod {
    /// Starts mongod and waits until it is primary, at most 60 s. If another mongod still uses the folder,
    /// because its owner has just been killed, this waits for its end.
    ///
    /// # Errors
    /// All of [`ManagedError`] except those of finding a binary. Nothing is left running.
    pub async fn start(settings: Settings) -> Result<Self, ManagedError> {
        Self::start_after(STOP_TIMEOUT, settings).await
    }

    /// As [`start`](Self::start), waiting at most this long for the end of another mongod on the folder.
    pub(super) async fn start_after(
        patience: Duration,
        mut settings: Settings,
    ) -> Result<Self, ManagedError> {
        settings.data_dir = prepare_data_dir(&settings)?;
        let lock = lock(&settings.data_dir, patience).await?;
        if settings.data == Data::Renewed {
            remove_contents(&settings.data_dir).map_err(|fault| {
                ManagedError::system(format!("empty {}", settings.data_dir.display()))(fault)
            })?;
        }
        let wanted_port = settings.port;
        let remove = (settings.data == Data::Removed).then_some(settings.data_dir.as_path());
        let watchdog = Watchdog::start(remove, lock).map_err(ManagedError::system("start sh"))?;
        let mut mongod = Self { settings, port: 0, child: None, log_start: 0, watchdog };

        let mut attempts = PORT_ATTEMPTS;
        loop {
            mongod.port = match wanted_port {
                Some(port) => port,
                None => free_port().map_err(ManagedError::system("find a free port"))?,
            };
            attempts -= 1;
            match mongod.run().await {
                Err(ManagedError::PortTaken { .. }) if wanted_port.is_none() && attempts > 0 => {}
                ran => return ran.map(|()| mongod),
            }
        }
    }

    /// The connection string. It names the replica set, so that a driver waits for the primary during a
    /// restart instead of failing at once.
    #[must_use]
    pub fn uri(&self) -> String {
        format!("mongodb://127.0.0.1:{}/?replicaSet={}", self.port, replica_set::NAME)
    }

    /// The TCP port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id; `None` after [`kill`](Self::kill) and [`until_ended`](Self::until_ended).
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Ends mongod cleanly, or by force after a time limit. Waits until it has ended and its data are
    /// removed, if that was requested.
    ///
    /// # Errors
    /// [`ManagedError::System`] if waiting for a child process fails.
    pub async fn stop(mut self) -> Result<(), ManagedError> {
        self.watchdog.lifeline = None;
        if let Some(mut child) = self.child.take() {
            end_within(&mut child, STOP_TIMEOUT).await?;
        }
        match self.watchdog.shell.take() {
            Some(mut shell) => end_within(&mut shell, STOP_TIMEOUT).await,
            None => Ok(()),
        }
    }

    /// Kills mongod at once, as a crash would. Its data are kept for [`restart`](Self::restart).
    ///
    /// # Errors
    /// [`ManagedError::System`] if it can't be killed, or if the watchdog has ended.
    pub async fn kill(&mut self) -> Result<(), ManagedError> {
        let Some(mut child) = self.child.take() else { return Ok(()) };
        child.kill().map_err(ManagedError::system("kill mongod"))?;
        self.watchdog.guard(None).map_err(ManagedError::system("reach the watchdog"))?;
        end_within(&mut child, STOP_TIMEOUT).await
    }

    /// Starts mongod again on the same port and data. A running one is killed first.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn restart(&mut self) -> Result<(), ManagedError> {
        self.kill().await?;
        self.run().await
    }

    /// Waits until mongod ends by itself, and returns [`ManagedError::Ended`] with what its log says. Nobody waits for a mongod
    /// that was [killed](Self::kill).
    pub async fn until_ended(&mut self) -> ManagedError {
        loop {
            match self.ended() {
                Ok(None) => sleep(WATCH).await,
                Ok(Some(status)) => {
                    let log = self.log();
                    let text = read_end(&log, self.log_start);
                    let text = text.unwrap_or_else(|error| error.to_string());
                    return ManagedError::Ended {
                        status,
                        lines: errors_in(&text),
                        log: self.kept(&log),
                    };
                }
                Err(error) => return error,
            }
        }
    }

    fn log(&self) -> PathBuf {
        self.settings.data_dir.join("mongod.log")
    }

    async fn run(&mut self) -> Result<(), ManagedError> {
        let log = self.log();
        // The log is appended to, so lines of an earlier start are skipped.
        let log_start = fs::metadata(&log).map_or(0, |file| file.len());
        self.log_start = log_start;
        let pid = self.launch(&log).map_err(ManagedError::system("start mongod"))?;

        let deadline = Instant::now() + START_TIMEOUT;
        let mut member = None;
        let mut last_error = None;
        while Instant::now() < deadline {
            if let Some(status) = self.ended()? {
                return Err(self.explain(status, &log, log_start));
            }
            // Connected by hand first, because the driver waits half a second after each failure.
            if member.is_none()
                && TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await.is_ok()
            {
                member = replica_set::Member::new(self.port, pid).ok();
            }
            if let Some(member) = &mut member {
                match member.advance().await {
                    Ok(true) => return Ok(()),
                    Ok(false) => last_error = None,
                    Err(error) => last_error = Some(error),
                }
            }
            sleep(POLL).await;
        }
        let log = self.kept(&log);
        Err(ManagedError::NotReady { seconds: START_TIMEOUT.as_secs(), log, source: last_error })
    }

    fn launch(&mut self, log: &Path) -> io::Result<u32> {
        // Output of mongod before it opens its log goes to the same file.
        let output = File::options().create(true).append(true).open(log)?;
        let mut command = Command::new("sh");
        command.arg("-c").arg(LAUNCH).arg(&self.settings.binary);
        command.arg("--dbpath").arg(&self.settings.data_dir).arg("--logpath").arg(log);
        command.args(["--logappend", "--quiet", "--nounixsocket", "--bind_ip", "127.0.0.1"]);
        command.args(["--port", &self.port.to_string(), "--replSet", replica_set::NAME]);
        // By default SIGTERM waits 15 s for clients to find another primary, and there is none.
        command.args(["--setParameter", "shutdownTimeoutMillisForSignaledShutdown=100"]);
        command.args(["--setParameter", "diagnosticDataCollectionEnabled=false"]);
        if self.settings.test_mode {
            // With a quarter of it, it wrote out pages all the time.
            command.args(["--wiredTigerCacheSizeGB", "1"]);
            command.args(["--setParameter", "enableTestCommands=1"]);
            command.args(["--setParameter", "notablescan=1"]);
            // On a busy machine every other operation would be logged as a slow one.
            command.args(["--slowms", "60000"]);
            // Each test has a database of its own, and each collection and index a file. Idle files are closed before there
            // are too many. To evict a small share of the cache, threads go through the list of all files again and again.
            let files = "file_manager=(close_idle_time=300,close_scan_interval=30)";
            let evicted = "eviction_dirty_target=60,eviction_dirty_trigger=80";
            let updates = "eviction_updates_target=60,eviction_updates_trigger=80";
            let storage = [files, evicted, updates].join(",");
            command.args(["--wiredTigerEngineConfigString", &storage]);
        } else {
            command.args(["--wiredTigerCacheSizeGB", "0.5"]);
        }
        command.stdin(Stdio::piped()).stdout(output.try_clone()?).stderr(output);
        let mut child = spawn_apart(&mut command)?;
        let go = child.stdin.take();
        let pid = child.id();
        self.child = Some(child);
        self.watchdog.guard(Some(pid))?;
        go.map_or(Ok(()), |mut go| go.write_all(b"go\n"))?;
        Ok(pid)
    }

    /// The exit status, if mongod has ended by itself.
    fn ended(&mut self) -> Result<Option<ExitStatus>, ManagedError> {
        let Some(child) = &mut self.child else { return Ok(None) };
        let status = child.try_wait().map_err(ManagedError::system("wait for mongod"))?;
        if status.is_some() {
            // From here on the pid may belong to another process.
            self.child = None;
            self.watchdog.guard(None).map_err(ManagedError::system("reach the watchdog"))?;
        }
        Ok(status)
    }

    /// The error of a mongod that ended by itself, from its log since this start.
    fn explain(&self, status: ExitStatus, log: &Path, log_start: u64) -> ManagedError {
        let text = read_from(log, log_start).unwrap_or_else(|error| error.to_string());
        if text.contains("DBPathInUse") {
            return ManagedError::DataInUse { data_dir: self.settings.data_dir.clone() };
        }
        if text.contains("Address already in use") {
            return ManagedError::PortTaken { port: self.port };
        }
        ManagedError::EndedEarly { status, lines: errors_in(&text), log: self.kept(log) }
    }

    /// The path of a file in the data folder, if the folder is kept.
    fn kept(&self, file: &Path) -> Option<PathBuf> {
        (self.settings.data != Data::Removed).then(|| file.to_owned())
    }
}

impl Drop for Mongod {
    fn drop(&mut self) {
        self.watchdog.lifeline = None;
        let children = [self.child.take(), self.watchdog.shell.take()];
        if children.iter().all(Option::is_none) {
            return; // after `stop`
        }
        // The children end by themselves; without a reaper they would stay as zombies while this process
        // runs.
        let reaper =
            move || children.into_iter().flatten().for_each(|mut child| drop(child.wait()));
        if let Err(error) =
            std::thread::Builder::new().name("mongod-reaper".to_owned()).spawn(reaper)
        {
            tracing::warn!(
                event = "mongod_reaper_failed",
                %error,
                "the thread that reaps mongod could not be started"
            );
        }
    }
}

/// Waits for a child's end, and kills it after the time limit.
async fn end_within(child: &mut Child, time_limit: Duration) -> Result<(), ManagedError> {
    // Polled rather than awaited, because tokio binds a child to the runtime that started it, and tests with
    // different runtimes may share a mongod.
    let deadline = Instant::now() + time_limit;
    let failed = || ManagedError::system("wait for mongod");
    while child.try_wait().map_err(failed())?.is_none() {
        if Instant::now() > deadline {
            child.kill().map_err(failed())?;
        }
        sleep(POLL).await;
    }
    Ok(())
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
