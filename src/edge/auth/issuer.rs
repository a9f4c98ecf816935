//! The rotating keys of an issuer that publishes them at a URL.

use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use reqwest::{StatusCode, header::ACCEPT};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{configured::KeyError, key_set::KeySet};
use crate::{
    app::App,
    domains::outside::{cause, whole},
    locks::lock,
};

/// Time limit of one fetch.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of the JWK set, in bytes.
const MAX_BYTES: usize = 256 << 10;

/// The keys at `auth_jwks_url`. A background task fetches them at startup and at intervals. A token with an unknown
/// key causes one more fetch. If a fetch fails, the last good keys are kept.
pub(super) struct Issuer {
    source: Arc<Source>,
    _refreshing: AbortOnDropHandle<()>,
}

struct Source {
    url: String,
    http: reqwest::Client,
    /// Pause after a successful fetch.
    refresh: Duration,
    /// Minimum time between two fetches for unknown keys, and the pause after a failed fetch.
    cooldown: Duration,
    published: RwLock<Published>,
    /// The generation of `published`, for a check without the lock.
    generation: AtomicU64,
    refreshes: Mutex<Refreshes>,
}

/// The known keys of the issuer.
#[derive(Clone, Default)]
pub(super) struct Published {
    /// The last good set.
    pub(super) set: Arc<KeySet>,
    /// Incremented for each set that differs from the previous one.
    pub(super) generation: u64,
    /// Whether the last fetch was successful.
    pub(super) is_current: bool,
}

#[derive(Default)]
struct Refreshes {
    /// Token of the last fetch, cancelled when the fetch has ended.
    latest: Option<CancellationToken>,
    /// Time of the last fetch for an unknown key.
    for_unknown_key: Option<Instant>,
}

impl Issuer {
    /// Starts fetching the keys, if an issuer is configured.
    ///
    /// # Errors
    /// The HTTP client can't be created.
    pub(super) fn begin(app: &App) -> Result<Option<Self>, KeyError> {
        let config = app.config();
        let Some(url) = config.auth_jwks_url.clone() else { return Ok(None) };
        if config.auth_audience.is_none() {
            tracing::warn!(
                event = "auth_audience_unset",
                "auth_audience isn't set: a token of auth_jwks_url's issuer is accepted even if it is meant for another service"
            );
        }
        let unusable = |_| KeyError::new("auth_jwks_url", "this process can't send requests");
        let http = app.http().map_err(unusable)?;
        let source = Arc::new(Source {
            url,
            http,
            refresh: Duration::from_secs(config.auth_jwks_refresh_seconds),
            cooldown: Duration::from_secs(config.auth_jwks_cooldown_seconds),
            published: RwLock::default(),
            generation: AtomicU64::default(),
            refreshes: Mutex::default(),
        });
        // The first fetch runs before the first request comes. So no request starts the cool-down while there are no keys.
        let first = source.refresh(&mut lock(&source.refreshes));
        let keep_current = Arc::clone(&source).keep_current(first);
        let refreshing = AbortOnDropHandle::new(tokio::spawn(keep_current));
        Ok(Some(Self { source, _refreshing: refreshing }))
    }

    /// The known keys.
    pub(super) fn published(&self) -> Published {
        self.source.published()
    }

    /// The generation of the known keys.
    pub(super) fn generation(&self) -> u64 {
        self.source.generation.load(Ordering::Acquire)
    }

    /// Fetches the keys because of an unknown key, and returns when the fetch has ended. Concurrent callers
    /// share one fetch. During the cool-down this returns at once.
    pub(super) async fn refresh_for_unknown_key(&self) {
        if let Some(ended) = self.source.refresh_for_unknown_key() {
            ended.cancelled().await;
        }
    }
}

impl Source {
    /// Fetches at intervals. `fetch` is the token of the first fetch.
    async fn keep_current(self: Arc<Self>, mut fetch: CancellationToken) {
        loop {
            fetch.cancelled().await;
            let is_current = self.published().is_current;
            let pause = if is_current { self.refresh } else { self.cooldown.min(self.refresh) };
            tokio::time::sleep(pause).await;
            fetch = self.refresh(&mut lock(&self.refreshes));
        }
    }

    fn refresh_for_unknown_key(self: &Arc<Self>) -> Option<CancellationToken> {
        let mut refreshes = lock(&self.refreshes);
        if refreshes.running().is_none() {
            if refreshes.for_unknown_key.is_some_and(|last| last.elapsed() < self.cooldown) {
                return None;
            }
            refreshes.for_unknown_key = Some(Instant::now());
        }
        Some(self.refresh(&mut refreshes))
    }

    /// Joins the running fetch, or starts one. It is a separate task, because the caller that waits for it
    /// may disconnect.
    fn refresh(self: &Arc<Self>, refreshes: &mut Refreshes) -> CancellationToken {
        if let Some(ended) = refreshes.running() {
            return ended.clone();
        }
        let ended = CancellationToken::new();
        refreshes.latest = Some(ended.clone());
        let (source, end) = (Arc::clone(self), ended.clone().drop_guard());
        tokio::spawn(async move {
            source.publish(source.fetch().await);
            drop(end);
        });
        ended
    }

    async fn fetch(&self) -> Result<KeySet, String> {
        let request = self.http.get(&self.url).header(ACCEPT, "application/json");
        let response = request.timeout(FETCH_TIMEOUT).send().await.map_err(cause)?;
        if response.status() != StatusCode::OK {
            return Err(format!("the response has status {}", response.status()));
        }
        let text = whole(response, MAX_BYTES).await?;
        let text = text.ok_or_else(|| format!("the response is larger than {MAX_BYTES} bytes"))?;
        KeySet::from_json(&text)
    }

    fn publish(&self, fetched: Result<KeySet, String>) {
        let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
        published.is_current = fetched.is_ok();
        match fetched {
            Ok(set) if set.is_same(&published.set) => {}
            Ok(mut set) => {
                tracing::info!(
                    event = "jwks_changed",
                    keys = set.keys().len(),
                    "the keys at auth_jwks_url have changed"
                );
                set.replace(&published.set);
                published.set = Arc::new(set);
                published.generation += 1;
                self.generation.store(published.generation, Ordering::Release);
            }
            Err(reason) => {
                let kept = published.set.keys().len();
                tracing::warn!(
                    event = "jwks_fetch_failed",
                    reason,
                    kept,
                    "auth_jwks_url could not be fetched; the previous keys are kept"
                );
            }
        }
    }

    fn published(&self) -> Published {
        self.published.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Refreshes {
    /// The token of the running fetch.
    fn running(&self) -> Option<&CancellationToken> {
        self.latest.as_ref().filter(|ended| !ended.is_cancelled())
    }
}
