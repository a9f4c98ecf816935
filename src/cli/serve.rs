//! `docgate serve`.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use serde::Serialize;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_util::sync::CancellationToken;

use super::{
    failure::Failure,
    gateway, logging, migrate,
    options::{Source, hosts, open, wait_for_primary},
};
use crate::{
    app::App,
    config::Config,
    domains::{all_collections, indexed},
    edge::Edge,
    metrics::Metrics,
    mongo::{
        Placement, connect,
        indexes::{self, Step},
    },
};

/// Run the gateway
///
/// Validates the configuration (all faults are reported together), binds its port, waits for MongoDB's
/// primary and serves until SIGTERM or SIGINT. Then it finishes the requests and flows that are under
/// way. Any number of gateways may run on one database.
///
/// GraphQL is at /graphql, the explorer at /, GraphiQL (if the binary contains it) at /graphiql, health
/// at /health/live and /health/ready, metrics for Prometheus at /metrics.
///
/// Examples:
///     docgate serve --config docgate.toml
///     DOCGATE_MONGODB_URI='mongodb://localhost/?replicaSet=rs0' \
///     DOCGATE_SECRET=… DOCGATE_AUTH_HS256_SECRET=… docgate serve --apply-indexes
///     docgate serve --health-check      # in a container: is the gateway here ready?
///
/// Exit codes: 0 after a requested stop, 2 if the configuration is invalid, 3 if the port is taken, no
/// primary answers in time or MongoDB isn't in a replica set. With --health-check 0 if the gateway is
/// ready, otherwise 1.
#[derive(Debug, Args, Serialize)]
#[command(verbatim_doc_comment)]
pub(super) struct Serve {
    /// How long to wait for MongoDB's primary, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    #[serde(skip)]
    wait: u64,
    /// Build missing indexes before serving.
    #[arg(long)]
    #[serde(skip)]
    apply_indexes: bool,
    /// Check whether the gateway on the configured port of this machine is ready, instead of serving.
    #[arg(long)]
    #[serde(skip)]
    health_check: bool,
    #[command(flatten)]
    #[serde(flatten)]
    source: Source,
    /// Address and port to serve on [env: DOCGATE_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "Configuration")]
    #[serde(skip_serializing_if = "Option::is_none")]
    listen: Option<SocketAddr>,
    /// Format of log lines [env: DOCGATE_LOG_FORMAT] [default: pretty]
    #[arg(long, value_name = "FORMAT", value_parser = ["json", "pretty"], help_heading = "Configuration")]
    #[serde(skip_serializing_if = "Option::is_none")]
    log_format: Option<String>,
}

impl Serve {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        if self.health_check {
            return self.check_health().await;
        }
        let config = self.source.served(&self)?;
        let traces = logging::begin_with_traces(&config, logging::GATEWAY)?;
        let served = self.serve(config).await;
        if let Some(traces) = traces {
            traces.end().await;
        }
        served
    }

    async fn serve(self, config: Config) -> Result<ExitCode, Failure> {
        let stop = gateway::stop_on_signals()?;
        // Bound before any wait, so that a taken port is reported at once.
        let listeners = gateway::Listeners::open(&config).await?;
        let metrics = Metrics::default();
        let database = tokio::select! {
            opened = open(&config, &metrics) => opened?,
            () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
        };
        let client = database.client().clone();
        let served =
            self.serve_on(App::with_metrics(config, database, metrics), listeners, stop).await;
        connect::close(client).await;
        served
    }

    async fn serve_on(
        &self,
        app: App,
        listeners: gateway::Listeners,
        stop: CancellationToken,
    ) -> Result<ExitCode, Failure> {
        let address = listeners.public.local_addr().unwrap_or(app.config().listen);
        let gateway::Listeners { public, admin } = listeners;
        let edge = Edge::new(app.clone(), None)?;
        if let Some(admin) = admin.as_ref().and_then(|admin| admin.local_addr().ok()) {
            tracing::info!(event = "admin_listening", "operators are served on http://{admin}");
        }
        // Whoever restarts what doesn't live mustn't do so while the primary is away, or while indexes are built.
        let operators = gateway::Operators::begin(&edge, admin);
        let is_prepared = tokio::select! {
            prepared = self.prepare(&app) => prepared.map(|()| true),
            () = stop.cancelled() => Ok(false),
        };
        if !matches!(is_prepared, Ok(true)) {
            operators.end().await;
            return is_prepared.map(|_stopped| ExitCode::SUCCESS);
        }
        tracing::info!(
            event = "gateway_listening",
            gateway = app.name(),
            "serving on http://{address}"
        );
        gateway::serve(app, edge, (public, operators), stop).await;
        tracing::info!(event = "gateway_stopped", "stopped");
        Ok(ExitCode::SUCCESS)
    }

    async fn prepare(&self, app: &App) -> Result<(), Failure> {
        let placement = app.placement();
        wait_for_primary(app.config(), app.database(), Duration::from_secs(self.wait)).await?;
        if connect::is_standalone(app.database()).await? {
            return Err(standalone(app.config()));
        }
        if self.apply_indexes {
            let is_new = migrate::is_new(app).await?;
            indexes::apply(placement, &indexed(app.config()), false, |planned| {
                if planned.step == Step::Create {
                    tracing::info!(
                        event = "index_built",
                        "built index {}.{}",
                        planned.collection,
                        planned.name
                    );
                }
            })
            .await?;
            if is_new {
                migrate::put_in_force(app).await?;
            }
        }
        warn_of_places(app.config(), placement).await?;
        warn_of_indexes(app.config(), placement).await
    }

    /// Queries the gateway on this machine. Other faults of the configuration are left to that gateway to
    /// report.
    async fn check_health(&self) -> Result<ExitCode, Failure> {
        let config = Config::load_keys(self.source.config.as_deref(), self)
            .map_err(|faults| Failure::unready(faults.to_string()))?;
        let address = local(config.admin_listen.unwrap_or(config.listen));
        let response = tokio::time::timeout(Duration::from_secs(3), is_ready(address)).await;
        match response {
            Ok(Ok(true)) => Ok(ExitCode::SUCCESS),
            Ok(Ok(false)) => Err(Failure::unready(format!("the gateway on {address} isn't ready"))),
            Ok(Err(fault)) => {
                Err(Failure::unready(format!("no gateway answers on {address}: {fault}")))
            }
            Err(_) => Err(Failure::unready(format!("the gateway on {address} doesn't answer"))),
        }
    }
}

/// The failure on a mongod that can't be in a replica set.
fn standalone(config: &Config) -> Failure {
    let hosts = hosts(&config.mongodb_uri);
    Failure::trouble(format!(
        "MongoDB at {hosts} isn't in a replica set, without which it has neither the writes nor the change streams that \
         a gateway needs (start it with `--replSet`, and initiate the set once with `rs.initiate()` in mongosh; one member \
         is enough)"
    ))
}

/// Logs one warning with the names of collections that are in another database than that of their group: their documents
/// aren't read there.
async fn warn_of_places(config: &Config, placement: &Placement) -> Result<(), Failure> {
    let left = placement.left_behind(&all_collections(config)).await?;
    if !left.is_empty() {
        tracing::warn!(
            event = "collections_left_behind",
            "the database {} has collections whose group has another database; what they contain isn't read: {}",
            config.database,
            left.join(", ")
        );
    }
    Ok(())
}

/// Logs one warning with the names of missing or different indexes: reads without their index are slow, and
/// some fail.
async fn warn_of_indexes(config: &Config, placement: &Placement) -> Result<(), Failure> {
    let plan = indexes::plan(placement, &indexed(config)).await?;
    let incomplete =
        plan.iter().filter(|planned| matches!(planned.step, Step::Create | Step::Differs));
    let names: Vec<String> =
        incomplete.map(|planned| format!("{}.{}", planned.collection, planned.name)).collect();
    if !names.is_empty() {
        tracing::warn!(
            event = "indexes_missing",
            "{} declared indexes are missing or different, run `docgate indexes apply`: {}",
            names.len(),
            names.join(", ")
        );
    }
    Ok(())
}

/// The address of `listen` from this machine.
fn local(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

async fn is_ready(address: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /health/ready HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut status = [0; 12];
    stream.read_exact(&mut status).await?;
    Ok(status.ends_with(b" 200"))
}
