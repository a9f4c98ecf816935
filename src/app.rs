//! The handles that everything shares.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use hmac::{Hmac, KeyInit as _, Mac};
use mongodb::{Database, bson::DateTime};
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, Span};

use crate::{
    config::Config,
    error::Error,
    metrics::Metrics,
    mongo::{
        Bounds, Collection, Counters, Readers, Stored,
        flow::{OPS_CAP, Op, Run},
        watch::Hub,
    },
    traces,
};

/// One gateway process. Cheap to clone.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    database: Database,
    readers: Arc<Readers>,
    counters: Arc<Counters>,
    hub: Hub,
    ids: Ids,
    metrics: Metrics,
    /// Work that goes on behind an answer (mutations whose client hung up, settling); shutdown
    /// waits for it.
    tasks: TaskTracker,
    /// Name of this process among the gateways.
    name: String,
    /// The client for calls to other services, once there was one.
    http: OnceLock<reqwest::Client>,
}

impl fmt::Debug for App {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("App").field("name", &self.inner.name).finish_non_exhaustive()
    }
}

impl App {
    /// A gateway over `database`, whose connections nobody watches.
    pub fn new(config: Config, database: Database) -> Self {
        Self::watched(config, database, Metrics::default())
    }

    /// A gateway over `database`, which counts in `metrics`.
    pub fn watched(config: Config, database: Database, metrics: Metrics) -> Self {
        let ids = Ids::new(&config.secret);
        let hub = Hub::new(database.clone(), metrics.streams().clone());
        let limit = Duration::from_millis(config.request_millis);
        let readers = Readers::new(database.clone(), &metrics, limit);
        let counters = Counters::new(&readers, &metrics, config.coalesce_counts);
        let name = ids.random();
        let (tasks, http) = (TaskTracker::new(), OnceLock::new());
        Self {
            inner: Arc::new(Inner {
                config,
                database,
                readers,
                counters,
                hub,
                ids,
                metrics,
                tasks,
                name,
                http,
            }),
        }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// The database of the core group.
    pub fn database(&self) -> &Database {
        &self.inner.database
    }

    /// The typed collection of `T`.
    pub fn collection<T: Stored>(&self) -> Collection<T> {
        Collection::of(&self.inner.readers)
    }

    /// From now on answers reads by key of what the collection holds now without asking MongoDB.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    #[cfg(feature = "bench")]
    pub async fn answer_from_memory(&self, collection: &'static str) -> Result<(), Error> {
        self.inner.readers.answer_from_memory(collection).await
    }

    /// Counts that many add to.
    pub fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    /// This machine's clock, for what is only counted: flows go by the server's.
    pub fn clock(&self) -> DateTime {
        #[expect(clippy::disallowed_methods, reason = "no outcome depends on it")]
        DateTime::now()
    }

    /// The change hub.
    pub fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    /// Ids, op ids and signatures.
    pub fn ids(&self) -> &Ids {
        &self.inner.ids
    }

    /// What operators can watch.
    pub fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// This process's name, as holder of leases and claims.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Work that outlives its caller.
    pub fn tasks(&self) -> &TaskTracker {
        &self.inner.tasks
    }

    /// The client for calls to other services; it follows no redirects.
    ///
    /// # Errors
    /// `Internal`: this host gives it no TLS.
    pub fn http(&self) -> Result<reqwest::Client, Error> {
        if let Some(client) = self.inner.http.get() {
            return Ok(client.clone());
        }
        // The driver may have installed it already.
        let _already = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(Error::internal)?;
        Ok(self.inner.http.get_or_init(|| client).clone())
    }

    /// The bounds of flows.
    pub fn bounds(&self) -> Bounds {
        let config = self.config();
        Bounds {
            run: Duration::from_millis(config.flow_run_millis),
            command: Duration::from_millis(config.flow_command_millis),
            skew: Duration::from_millis(config.flow_skew_millis),
            ops: Duration::from_secs(config.flow_ops_seconds),
            most_ops: OPS_CAP,
        }
    }

    /// Begins a run where there is nothing to read first.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn begin(&self) -> Result<Run, Error> {
        Run::begin(self.bounds(), &self.inner.readers).await
    }

    /// Does `work` behind the caller's back, with shutdown waiting for it. An error is logged: the
    /// sweep finishes what was left.
    pub fn behind(
        &self,
        what: &'static str,
        work: impl Future<Output = Result<(), Error>> + Send + 'static,
    ) {
        let span = traces::behind(what);
        let work = async move {
            if let Err(error) = work.await {
                traces::failed(&Span::current(), error.code());
                tracing::warn!(what, ?error, "left to the sweep");
            }
        };
        self.tasks().spawn(work.instrument(span));
    }
}

/// Ids, and everything else that is keyed by the secret.
pub struct Ids {
    key: Hmac<Sha256>,
}

impl Ids {
    fn new(secret: &str) -> Self {
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let key = Hmac::new_from_slice(secret.as_bytes()).expect("a key of any length");
        Self { key }
    }

    /// A random id of 128 bits, base64url: it may act as a capability.
    pub fn random(&self) -> String {
        BASE64.encode(self.random_bytes())
    }

    /// 128 random bits.
    pub fn random_bytes(&self) -> [u8; 16] {
        #[expect(clippy::disallowed_methods, reason = "the one place that draws randomness")]
        rand::random()
    }

    /// The id that belongs to `parts`, always the same and not to be guessed: 128 bits, base64url.
    pub fn derived(&self, parts: &[&str]) -> String {
        BASE64.encode(&self.mac(parts)[..16])
    }

    /// Whether `id` is [`Self::derived`] of `parts`; takes the same time for every id that isn't.
    pub fn verifies(&self, parts: &[&str], id: &str) -> bool {
        let Ok(given) = BASE64.decode(id) else { return false };
        given.len() == 16 && self.fed(parts).verify_truncated_left(&given).is_ok()
    }

    /// A short signature of `parts`, for tokens that come back from clients.
    pub fn signature(&self, parts: &[&str]) -> String {
        BASE64.encode(&self.mac(parts)[..9])
    }

    fn mac(&self, parts: &[&str]) -> [u8; 32] {
        self.fed(parts).finalize().into_bytes().into()
    }

    fn fed(&self, parts: &[&str]) -> Hmac<Sha256> {
        let mut mac = self.key.clone();
        for part in parts {
            // Lengths keep ("ab", "c") and ("a", "bc") apart.
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }

    /// One call of a flow. `scope` is whose op ids these are (a subject or a capability) and which
    /// operation; `input` is what was asked. Without an op id every call is its own.
    pub fn op(&self, scope: &[&str], op_id: Option<&str>, input: &impl Serialize) -> Op {
        let id = match op_id {
            Some(op_id) => {
                let mut parts = vec!["op"];
                parts.extend_from_slice(scope);
                parts.push(op_id);
                self.derived(&parts)
            }
            None => self.random(),
        };
        // A digest of what serialises is only compared with digests of the same operation.
        let json = serde_json::to_vec(input).unwrap_or_default();
        Op { id, input: BASE64.encode(&Sha256::digest(json)[..12]) }
    }
}

/// A moment as clients see it: RFC 3339 in UTC, always with three digits of the fraction, so that moments sort
/// as their texts do.
pub fn rfc3339(moment: DateTime) -> String {
    // The driver's own leaves out zeros at the end, and a fraction of nothing but zeros.
    let text = moment.try_to_rfc3339_string().unwrap_or_default();
    let Some(text) = text.strip_suffix('Z') else { return text };
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{seconds}.{fraction:0<3}Z")
}
