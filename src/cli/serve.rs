//! `docgate serve`.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use mongodb::Database;
use serde::Serialize;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_util::sync::CancellationToken;

use super::{
    failure::Failure,
    gateway, logging,
    options::{Source, open, wait_for_primary},
};
use crate::{
    app::App,
    config::Config,
    domains::COLLECTIONS,
    edge::Edge,
    metrics::Metrics,
    mongo::{
        connect,
        indexes::{self, Step},
    },
};

/// Run the gateway
///
/// Checks the configuration (every fault is named at once), takes its port, waits for MongoDB's
/// primary and serves until SIGTERM or SIGINT; then it finishes the requests and flows that are under
/// way. Any number of gateways may run on one database.
///
/// GraphQL is at /graphql, the explorer at /, GraphiQL (where the binary was built with it) at
/// /graphiql, health at /health/live and /health/ready, metrics for Prometheus at /metrics.
///
/// Examples:
///     docgate serve --config docgate.toml
///     DOCGATE_MONGODB_URI='mongodb://localhost/?replicaSet=rs0' \
///     DOCGATE_SECRET=… DOCGATE_AUTH_HS256_SECRET=… docgate serve --apply-indexes
///     docgate serve --health-check      # in a container: is the gateway here ready?
///
/// Exit codes: 0 after a stop that was asked for, 2 when the configuration can't be used, 3 when the
/// port is taken or no primary was there in time. With --health-check 0 when the gateway is ready,
/// else 1.
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
    /// Ask the gateway that listens on the configured port of this machine whether it is ready, and
    /// serve nothing.
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
    /// How log lines look [env: DOCGATE_LOG_FORMAT] [default: pretty]
    #[arg(long, value_name = "FORMAT", value_parser = ["json", "pretty"], help_heading = "Configuration")]
    #[serde(skip_serializing_if = "Option::is_none")]
    log_format: Option<String>,
}

impl Serve {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        if self.health_check {
            return self.ask().await;
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
        // Taken before anything is waited for: a taken port is told at once.
        let listeners = gateway::Listeners::open(&config).await?;
        let metrics = Metrics::default();
        let database = tokio::select! {
            opened = open(&config, &metrics) => opened?,
            () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
        };
        let client = database.client().clone();
        let served = self.serve_on(App::watched(config, database, metrics), listeners, stop).await;
        connect::close(client).await;
        served
    }

    async fn serve_on(
        &self,
        app: App,
        listeners: gateway::Listeners,
        stop: CancellationToken,
    ) -> Result<ExitCode, Failure> {
        tokio::select! {
            prepared = self.prepare(&app) => prepared?,
            () = stop.cancelled() => return Ok(ExitCode::SUCCESS),
        }
        let address = listeners.public.local_addr().unwrap_or(app.config().listen);
        let admin = listeners.admin.as_ref().and_then(|admin| admin.local_addr().ok());
        let edge = Edge::new(app.clone(), None)?;
        if let Some(admin) = admin {
            tracing::info!("operators are served on http://{admin}");
        }
        tracing::info!("serving on http://{address}");
        gateway::serve(app, edge, listeners, stop).await;
        tracing::info!("stopped");
        Ok(ExitCode::SUCCESS)
    }

    async fn prepare(&self, app: &App) -> Result<(), Failure> {
        let database = app.database();
        wait_for_primary(app.config(), database, Duration::from_secs(self.wait)).await?;
        if self.apply_indexes {
            indexes::apply(database, COLLECTIONS, false, |planned| {
                if planned.step == Step::Create {
                    tracing::info!("built index {}.{}", planned.collection, planned.name);
                }
            })
            .await?;
        }
        warn_of_indexes(database).await
    }

    /// Asks the gateway on this machine. Whatever else its configuration lacks, it says itself.
    async fn ask(&self) -> Result<ExitCode, Failure> {
        let config = Config::load_keys(self.source.config.as_deref(), self)
            .map_err(|faults| Failure::unready(faults.to_string()))?;
        let address = here(config.admin_listen.unwrap_or(config.listen));
        let asked = tokio::time::timeout(Duration::from_secs(3), ask_ready(address)).await;
        match asked {
            Ok(Ok(true)) => Ok(ExitCode::SUCCESS),
            Ok(Ok(false)) => Err(Failure::unready(format!("the gateway on {address} isn't ready"))),
            Ok(Err(fault)) => {
                Err(Failure::unready(format!("no gateway answers on {address}: {fault}")))
            }
            Err(_) => Err(Failure::unready(format!("the gateway on {address} doesn't answer"))),
        }
    }
}

/// Reads without their index are slow, and some fail: it is said once, with the names.
async fn warn_of_indexes(database: &Database) -> Result<(), Failure> {
    let plan = indexes::plan(database, COLLECTIONS).await?;
    let lacking =
        plan.iter().filter(|planned| matches!(planned.step, Step::Create | Step::Differs));
    let names: Vec<String> =
        lacking.map(|planned| format!("{}.{}", planned.collection, planned.name)).collect();
    if !names.is_empty() {
        tracing::warn!(
            "{} declared indexes are missing or different, run `docgate indexes apply`: {}",
            names.len(),
            names.join(", ")
        );
    }
    Ok(())
}

/// The address under which this machine reaches what listens on `listen`.
fn here(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

async fn ask_ready(address: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /health/ready HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut status = [0; 12];
    stream.read_exact(&mut status).await?;
    Ok(status.ends_with(b" 200"))
}
