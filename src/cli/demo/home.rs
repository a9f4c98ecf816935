//! The folder of a demo: `demo.json` (secrets, and whether the shop is filled), `mongod` (the data), and
//! `lock` (held while a demo runs).

use std::{
    fs::{self, File, TryLockError},
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::delivery;
use crate::{
    cli::{
        failure::{Failure, failed},
        private_files,
    },
    managed::Data,
};

/// The folder of one demo, locked for this process.
pub(super) struct Home {
    folder: PathBuf,
    state: State,
    /// Whether this start has created the folder.
    is_new: bool,
    /// Released by the operating system, however this process ends.
    _lock: File,
}

/// The content of `demo.json`.
#[derive(Serialize, Deserialize)]
struct State {
    /// Key for ids and cursors. It is kept, so that idempotency keys and cursors stay valid across restarts.
    secret: String,
    /// Key for tokens; kept.
    auth_secret: String,
    /// Whether filling the shop was completed.
    filled: bool,
    /// Number of products with which it was filled. Earlier versions didn't write it.
    #[serde(default)]
    products: Option<u32>,
}

/// Settings of the demo that a file or the environment can't replace: to ignore them would hide that they are without effect.
pub(super) const REFUSED: &[&str] = &["shipping_methods", "shipping_required", "taxes"];

const STATE: &str = "demo.json";
const LOCK: &str = "lock";
const DATABASE: &str = "mongod";

impl Home {
    /// Opens the folder, which must be empty or belong to a demo. With `fresh` it gets new secrets, and its
    /// shop counts as unfilled, once this is [written](Self::write).
    pub(super) fn open(folder: Option<PathBuf>, fresh: bool) -> Result<Self, Failure> {
        let usual = || Some(dirs::data_dir()?.join("docgate").join("demo"));
        let Some(folder) = folder.or_else(usual) else {
            let sentence = "this user has no data folder: name one with --data or DOCGATE_DATA";
            return Err(Failure::usage(sentence));
        };
        let is_new = !folder.exists();
        fs::create_dir_all(&folder).map_err(|fault| failed("create", &folder, &fault))?;
        refuse_foreign(&folder)?;
        let lock = lock(&folder)?;
        let kept = if fresh { None } else { read(&folder)? };
        let anew =
            || State { secret: secret(), auth_secret: secret(), filled: false, products: None };
        let state = kept.unwrap_or_else(anew);
        Ok(Self { folder, state, is_new, _lock: lock })
    }

    /// The path of the folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of the data, and whether they are kept. A partly filled shop is filled again from the
    /// start.
    pub(super) fn database(&self) -> (PathBuf, Data) {
        let data = if self.state.filled { Data::Kept } else { Data::Renewed };
        (self.folder.join(DATABASE), data)
    }

    /// Whether filling the shop was completed.
    pub(super) fn is_filled(&self) -> bool {
        self.state.filled
    }

    /// Records that the shop was filled, and with how many products.
    pub(super) fn mark_filled(&mut self, products: u32) -> Result<(), Failure> {
        (self.state.filled, self.state.products) = (true, Some(products));
        self.write()
    }

    /// Number of products of the shop, if it is filled: a later start may want another one.
    pub(super) fn products(&self) -> Option<u32> {
        self.state.products.filter(|_| self.state.filled)
    }

    /// The settings that the demo fixes; they override the environment. Carts live for a week, so that those
    /// of the filled shop still exist the next day.
    pub(super) fn settings(&self, listen: SocketAddr) -> Value {
        const WEEK: u64 = 7 * 86_400;
        json!({
            "listen": listen,
            // A placeholder, until the demo's mongod runs and its address is known.
            "mongodb_uri": "mongodb://127.0.0.1/",
            "database": "docgate_demo",
            "secret": self.state.secret,
            "auth_hs256_secret": self.state.auth_secret,
            "payments": "ledger",
            "shipping_methods": delivery::methods(),
            // Clients that don't know of shipping can check out, too.
            "shipping_required": false,
            "taxes": delivery::taxes(),
            // The demo's celebrity has at least 2,000 followers.
            "post_delivery_followers": 1_000,
            "cart_idle_seconds": WEEK,
            "reservation_seconds": 2 * WEEK,
            // The demo begins with two months of sessions.
            "session_retention_seconds": 13 * WEEK,
            "background": true,
            "development": true,
            "introspection": true,
            "explorer": true,
        })
    }

    /// Replaces `demo.json` atomically, so that an interruption leaves the old or the new file.
    pub(super) fn write(&self) -> Result<(), Failure> {
        let path = self.folder.join(STATE);
        let text = serde_json::to_vec_pretty(&self.state).unwrap_or_default();
        private_files::replace(&path, &text).map_err(|fault| failed("write", &path, &fault))
    }
}

/// A start that is refused leaves no folder that it has created.
impl Drop for Home {
    fn drop(&mut self) {
        let has_lock_alone = || fs::read_dir(&self.folder).is_ok_and(|all| all.count() == 1);
        if self.is_new && has_lock_alone() {
            let lock = fs::remove_file(self.folder.join(LOCK));
            // Nothing depends on it: the next start uses a folder that stays.
            let _removed = lock.and_then(|()| fs::remove_dir(&self.folder));
        }
    }
}

/// A key of 256 random bits.
fn secret() -> String {
    #[expect(clippy::disallowed_methods, reason = "the secret from which an app's ids are made")]
    let bits: [u8; 32] = rand::random();
    BASE64.encode(bits)
}

/// Refuses a folder with other content, which must not be removed or mixed with a demo.
fn refuse_foreign(folder: &Path) -> Result<(), Failure> {
    let mut entries = fs::read_dir(folder).map_err(|fault| failed("read", folder, &fault))?;
    if entries.next().is_none() || folder.join(LOCK).is_file() {
        return Ok(());
    }
    let folder = folder.display();
    Err(Failure::usage(format!("{folder} holds something else than a demo: name an empty folder")))
}

fn lock(folder: &Path) -> Result<File, Failure> {
    let path = folder.join(LOCK);
    let lock = File::options().write(true).create(true).truncate(false).open(&path);
    let lock = lock.map_err(|fault| failed("open", &path, &fault))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            let folder = folder.display();
            Err(Failure::trouble(format!(
                "a demo is already running on {folder}: stop it, or name another folder with --data"
            )))
        }
        Err(TryLockError::Error(fault)) => Err(failed("lock", &path, &fault)),
    }
}

fn read(folder: &Path) -> Result<Option<State>, Failure> {
    let path = folder.join(STATE);
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(fault) => return Err(failed("read", &path, &fault)),
    };
    serde_json::from_slice(&text).map(Some).map_err(|fault| {
        let path = path.display();
        Failure::trouble(format!("{path} is damaged ({fault}): --fresh begins anew"))
    })
}
