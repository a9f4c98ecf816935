//! The shared handles of a gateway process.

mod ids;

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use futures_util::FutureExt;
use mongodb::{Database, bson::DateTime};
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, Span};

use crate::{
    config::Config,
    error::Error,
    flow::{Attempt, Bounds, OPS_CAP},
    locks::lock,
    metrics::Metrics,
    mongo::{
        Collection, Counters, Loader, Placement, Stored, migrations::SchemaVersionDocument,
        watch::Hub,
    },
    traces,
};

pub use ids::Ids;

/// One gateway process. Cheap to clone.
#[derive(Clone)]
pub struct App {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    database: Database,
    placement: Placement,
    loader: Arc<Loader>,
    counters: Arc<Counters>,
    hub: Hub,
    ids: Ids,
    metrics: Metrics,
    /// Background work, such as mutations of disconnected clients. A shutdown waits for it.
    tasks: TaskTracker,
    /// Name of this process among the gateways.
    name: String,
    /// The client for calls to other services, created at its first use.
    http: OnceLock<reqwest::Client>,
    /// What rooms share among the requests of this process, by type.
    shared: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl fmt::Debug for App {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("App").field("name", &self.inner.name).finish_non_exhaustive()
    }
}

impl App {
    /// A gateway over `database`, without connection metrics.
    pub fn new(config: Config, database: Database) -> Self {
        Self::with_metrics(config, database, Metrics::default())
    }

    /// A gateway over `database`, with its metrics in `metrics`.
    pub fn with_metrics(config: Config, database: Database, metrics: Metrics) -> Self {
        let ids = Ids::new(&config.secret);
        let placement = Placement::new(&config, &database);
        let hub = Hub::new(placement.clone(), metrics.streams.clone());
        let limit = Duration::from_millis(config.request_millis);
        let keep = Duration::from_secs(config.suggestion_cache_seconds.into());
        let loader = Loader::new(placement.clone(), &metrics, limit, keep, config.coalesce_writes);
        let counters = Counters::new(&loader, &metrics, config.coalesce_counts);
        let name = ids.random();
        let (tasks, http, shared) = (TaskTracker::new(), OnceLock::new(), Mutex::default());
        Self {
            inner: Arc::new(Inner {
                config,
                database,
                placement,
                loader,
                counters,
                hub,
                ids,
                metrics,
                tasks,
                name,
                http,
                shared,
            }),
        }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.inner.config
    }

    /// The gateway's database, which is that of the group `core`.
    pub fn database(&self) -> &Database {
        &self.inner.database
    }

    /// The databases of all groups.
    pub fn placement(&self) -> &Placement {
        &self.inner.placement
    }

    /// The typed collection of `T`.
    pub fn collection<T: Stored>(&self) -> Collection<T> {
        Collection::of(&self.inner.loader, self.config())
    }

    /// Reads which versions of documents are in force; see [`migrations`](crate::mongo::migrations).
    ///
    /// # Errors
    /// `Unread` or `Internal`; the versions stay as they were read before.
    pub async fn refresh_versions(&self) -> Result<(), Error> {
        let in_force = self.collection::<SchemaVersionDocument>().in_force().await?;
        self.inner.loader.set_in_force(in_force);
        Ok(())
    }

    /// Loads the collection into memory. From then on, its reads by key are answered without MongoDB.
    #[cfg(feature = "bench")]
    pub async fn answer_from_memory(&self, collection: &'static str) -> Result<(), Error> {
        self.inner.loader.answer_from_memory(collection).await
    }

    /// The counters with many writers.
    pub fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    /// This machine's clock, for values on which no outcome depends. Flows use the server's clock.
    pub fn clock(&self) -> DateTime {
        #[expect(clippy::disallowed_methods, reason = "no outcome depends on it")]
        DateTime::now()
    }

    /// A time that the server's clock has reached, which can lie far behind it. It decides without a read of that clock
    /// whether a time is past. `None` if the gateway knows none yet.
    pub fn reached(&self) -> Option<DateTime> {
        self.inner.loader.reached()
    }

    /// The change hub.
    pub fn hub(&self) -> &Hub {
        &self.inner.hub
    }

    /// Ids, idempotency keys and signatures.
    pub fn ids(&self) -> &Ids {
        &self.inner.ids
    }

    /// The gateway's metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// This process's name, as holder of leases and claims.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The value of this type that all requests of this process share. It is created at its first use.
    pub fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut all = lock(&self.inner.shared);
        let value = all.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        Arc::clone(value).downcast().unwrap_or_default()
    }

    /// Background work that outlives its caller.
    pub fn tasks(&self) -> &TaskTracker {
        &self.inner.tasks
    }

    /// The client for calls to other services; it follows no redirects.
    ///
    /// # Errors
    /// `Internal` if TLS isn't available on this host.
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

    /// The time limits of flows.
    pub fn bounds(&self) -> Bounds {
        Self::bounds_of(self.config())
    }

    /// The time limits of flows with this configuration.
    pub fn bounds_of(config: &Config) -> Bounds {
        Bounds {
            attempt: Duration::from_millis(config.flow_run_millis),
            command: Duration::from_millis(config.flow_command_millis),
            skew: Duration::from_millis(config.flow_skew_millis),
            ops: Duration::from_secs(config.flow_ops_seconds),
            most_ops: OPS_CAP,
        }
    }

    /// Begins an attempt without a first read of a document.
    pub async fn begin(&self) -> Result<Attempt, Error> {
        Attempt::begin(self.bounds(), &self.inner.loader).await
    }

    /// Begins an attempt with its first read, the document with this `_id`; see [`Collection::begin_with`].
    pub async fn begin_with<T: Stored>(&self, id: &str) -> Result<(Attempt, Option<T>), Error> {
        self.collection().begin_with(self.bounds(), id).await
    }

    /// Runs `work` in the background; a shutdown waits for it. After an error, which is logged, the sweep finishes
    /// the work.
    pub fn in_background(
        &self,
        what: &'static str,
        work: impl Future<Output = Result<(), Error>> + Send + 'static,
    ) {
        let span = traces::background(what);
        let work = async move {
            if let Err(error) = work.await {
                traces::failed(&Span::current(), error.code());
                tracing::warn!(
                    event = "background_work_failed",
                    what,
                    ?error,
                    "background work failed; the sweep finishes it"
                );
            }
        };
        // Boxed, so that the task is compiled once.
        self.tasks().spawn(work.instrument(span).boxed());
    }
}

/// A time as clients see it: RFC 3339 in UTC, always with three digits of the fraction, so that times sort
/// like their texts.
pub fn rfc3339(moment: DateTime) -> String {
    // The driver's format omits zeros at the end of the fraction, and a fraction of only zeros.
    let text = moment.try_to_rfc3339_string().unwrap_or_default();
    let Some(text) = text.strip_suffix('Z') else { return text };
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    format!("{seconds}.{fraction:0<3}Z")
}
