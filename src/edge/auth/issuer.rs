//! The keys of an issuer that publishes them under a URL and changes them.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::{StatusCode, header::ACCEPT};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{configured::KeyError, key_set::KeySet};
use crate::app::App;

/// How long the issuer may take for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest answer, in bytes.
const LARGEST: usize = 256 << 10;

/// The keys behind `auth_jwks_url`. They are read at the start and then now and then, behind the
/// backs of requests, and once more when a token names a key that isn't there. The last good ones
/// are kept for as long as no other ones can be had.
pub(super) struct Issuer {
    source: Arc<Source>,
    _refreshing: AbortOnDropHandle<()>,
}

struct Source {
    url: String,
    http: reqwest::Client,
    /// Pause between two looks at keys that could be read.
    refresh: Duration,
    /// Pause after which an unknown key is looked for again, and an issuer that was away.
    cooldown: Duration,
    published: RwLock<Published>,
    /// That of `published`, for those who only want to know whether it has changed.
    generation: AtomicU64,
    looking: Mutex<Looking>,
}

/// What is known of the issuer's keys.
#[derive(Clone, Default)]
pub(super) struct Published {
    /// The last good set.
    pub(super) set: Arc<KeySet>,
    /// Raised with each set that differs from the one before.
    pub(super) generation: u64,
    /// Whether the last look found a good set.
    pub(super) is_current: bool,
}

#[derive(Default)]
struct Looking {
    /// Cancelled when the last look has ended.
    ended: Option<CancellationToken>,
    /// When a key was last looked for.
    asked: Option<Instant>,
}

impl Issuer {
    /// Begins to look at the keys, if an issuer is configured.
    ///
    /// # Errors
    /// There can be no requests to it.
    pub(super) fn begin(app: &App) -> Result<Option<Self>, KeyError> {
        let config = app.config();
        let Some(url) = config.auth_jwks_url.clone() else { return Ok(None) };
        if config.auth_audience.is_none() {
            tracing::warn!(
                "auth_audience isn't set: a token of auth_jwks_url's issuer holds here whoever it is meant for"
            );
        }
        let cant = |_| KeyError::new("auth_jwks_url", "this process can't send requests");
        let http = app.http().map_err(cant)?;
        let source = Arc::new(Source {
            url,
            http,
            refresh: Duration::from_secs(config.auth_jwks_refresh_seconds),
            cooldown: Duration::from_secs(config.auth_jwks_cooldown_seconds),
            published: RwLock::default(),
            generation: AtomicU64::default(),
            looking: Mutex::default(),
        });
        let refreshing = AbortOnDropHandle::new(tokio::spawn(Arc::clone(&source).keep_current()));
        Ok(Some(Self { source, _refreshing: refreshing }))
    }

    /// The keys as they are known now.
    pub(super) fn published(&self) -> Published {
        self.source.published()
    }

    /// Which of the sets that there were is the present one.
    pub(super) fn generation(&self) -> u64 {
        self.source.generation.load(Ordering::Acquire)
    }

    /// Looks for a key that isn't known, and returns when that is done. Whoever comes meanwhile
    /// shares the look, and the next one waits for the cool-down; until then this returns at once.
    pub(super) async fn look_for_key(&self) {
        if let Some(ended) = self.source.look_for_key() {
            ended.cancelled().await;
        }
    }
}

impl Source {
    async fn keep_current(self: Arc<Self>) {
        loop {
            let ended = self.look(&mut self.looking());
            ended.cancelled().await;
            let is_current = self.published().is_current;
            let pause = if is_current { self.refresh } else { self.cooldown.min(self.refresh) };
            tokio::time::sleep(pause).await;
        }
    }

    fn look_for_key(self: &Arc<Self>) -> Option<CancellationToken> {
        let mut looking = self.looking();
        let is_under_way = looking.ended.as_ref().is_some_and(|ended| !ended.is_cancelled());
        if !is_under_way {
            if looking.asked.is_some_and(|asked| asked.elapsed() < self.cooldown) {
                return None;
            }
            looking.asked = Some(Instant::now());
        }
        Some(self.look(&mut looking))
    }

    /// Joins the look that is under way, else begins one. It is a task of its own: who waits for it
    /// may hang up.
    fn look(self: &Arc<Self>, looking: &mut Looking) -> CancellationToken {
        if let Some(ended) = looking.ended.as_ref().filter(|ended| !ended.is_cancelled()) {
            return ended.clone();
        }
        let ended = CancellationToken::new();
        looking.ended = Some(ended.clone());
        let (source, end) = (Arc::clone(self), ended.clone().drop_guard());
        tokio::spawn(async move {
            source.publish(source.fetch().await);
            drop(end);
        });
        ended
    }

    async fn fetch(&self) -> Result<KeySet, String> {
        let request = self.http.get(&self.url).header(ACCEPT, "application/json");
        let mut response = request.timeout(PATIENCE).send().await.map_err(cause)?;
        if response.status() != StatusCode::OK {
            return Err(format!("the answer is {}", response.status()));
        }
        let mut text = Vec::new();
        while let Some(part) = response.chunk().await.map_err(cause)? {
            if text.len() + part.len() > LARGEST {
                return Err(format!("the answer is larger than {LARGEST} bytes"));
            }
            text.extend_from_slice(&part);
        }
        KeySet::from_json(&text)
    }

    fn publish(&self, fetched: Result<KeySet, String>) {
        let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
        published.is_current = fetched.is_ok();
        match fetched {
            Ok(set) if set.is_same(&published.set) => {}
            Ok(set) => {
                tracing::info!(keys = set.keys().len(), "the keys of auth_jwks_url are new");
                published.set = Arc::new(set);
                published.generation += 1;
                self.generation.store(published.generation, Ordering::Release);
            }
            Err(reason) => {
                let kept = published.set.keys().len();
                tracing::warn!(
                    reason,
                    kept,
                    "auth_jwks_url gives no keys; those of before are kept"
                );
            }
        }
    }

    fn published(&self) -> Published {
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn looking(&self) -> MutexGuard<'_, Looking> {
        self.looking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is behind an error, without the URL: it may hold a password.
fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
