//! The data folder of a mongod, with its lock.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{
    ManagedError,
    process::{Data, POLL, Settings},
};

/// A lock file in the data folder, held until the mongod that was started there has ended. mongod has a lock
/// of its own, but it doesn't protect against another process that removes the data.
const LOCK: &str = "docgate.lock";

/// Creates the folder and returns its absolute path. A folder that will be removed must be empty.
pub(super) fn prepare_data_dir(settings: &Settings) -> Result<PathBuf, ManagedError> {
    let folder = &settings.data_dir;
    let failed = || ManagedError::system(format!("create {}", folder.display()));
    fs::create_dir_all(folder).map_err(failed())?;
    if settings.data == Data::Removed && fs::read_dir(folder).map_err(failed())?.next().is_some() {
        return Err(ManagedError::NotEmpty { data_dir: folder.clone() });
    }
    fs::canonicalize(folder).map_err(failed())
}

/// Takes the lock of a data folder. Waits for it at most `patience`.
pub(super) async fn lock(data_dir: &Path, patience: Duration) -> Result<File, ManagedError> {
    let path = data_dir.join(LOCK);
    let failed = || ManagedError::system(format!("lock {}", path.display()));
    let file = File::options().write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(failed())?;
    let deadline = Instant::now() + patience;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => sleep(POLL).await,
            Err(TryLockError::WouldBlock) => {
                return Err(ManagedError::DataInUse { data_dir: data_dir.to_owned() });
            }
            Err(TryLockError::Error(fault)) => return Err(failed()(fault)),
        }
    }
}

/// Removes everything in a folder except its lock.
pub(super) fn remove_contents(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != LOCK {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
