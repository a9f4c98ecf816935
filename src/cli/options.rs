//! The sources of the configuration, and access to its database.

use std::{future, path::PathBuf, pin::pin, time::Duration};

use clap::Args;
use mongodb::{Database, error::ErrorKind};
use serde::Serialize;

use super::failure::{Failure, NO_MEMBER, sentence};
use crate::{
    config::{Config, Faults},
    domains,
    edge::Edge,
    metrics::Metrics,
    mongo::connect,
};

/// Options of all commands that use the database.
#[derive(Debug, Clone, Args, Serialize)]
#[command(next_help_heading = "Configuration")]
pub(super) struct Source {
    /// File with settings in TOML, such as docgate.toml.
    #[arg(long, env = "DOCGATE_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub(super) config: Option<PathBuf>,
    /// Connection string of the replica set or cluster [env: DOCGATE_MONGODB_URI]
    #[arg(long, value_name = "URI")]
    #[serde(skip_serializing_if = "Option::is_none")]
    mongodb_uri: Option<String>,
    /// Database that holds the collections [env: DOCGATE_DATABASE] [default: docgate]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<String>,
}

impl Source {
    /// The configuration of a command that runs flows as a gateway does, and checks no tokens.
    pub(super) fn flows(&self) -> Result<Config, Faults> {
        Config::load_for_flows(self.config.as_deref(), self, |config| {
            [domains::setting_faults(config), domains::faults(config)].concat()
        })
    }

    /// The configuration of a gateway with `flags`, including a check of the files that it names.
    pub(super) fn served(&self, flags: impl Serialize) -> Result<Config, Faults> {
        Config::load(self.config.as_deref(), flags, |config| {
            [domains::setting_faults(config), Edge::faults(config), domains::faults(config)]
                .concat()
        })
    }

    /// The configuration of a command that only uses the database.
    pub(super) fn database(&self) -> Result<Config, Faults> {
        let file = self.config.as_deref();
        Config::load_for_database(file, self, domains::setting_faults, domains::faults)
    }
}

/// How long commands other than `serve` wait for the primary.
pub(super) const PRIMARY_TIMEOUT: Duration = Duration::from_secs(15);

/// Waits for the primary, runs `work` on the database and closes the client. Ends after two seconds if the servers are in
/// no replica set: somebody has to initiate it.
pub(super) async fn on_database<T>(
    config: &Config,
    work: impl AsyncFnOnce(Database) -> Result<T, Failure>,
) -> Result<T, Failure> {
    on_database_until(config, future::pending(), work).await
}

/// Like [`on_database`], for commands that end by themselves at a signal. If `stopped` completes before there is a primary, its result
/// is the command's. `work` has to look for the signal itself.
pub(super) async fn on_database_until<T>(
    config: &Config,
    stopped: impl Future<Output = Result<T, Failure>>,
    work: impl AsyncFnOnce(Database) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (uri, name) = (&config.mongodb_uri, &config.database);
    let mut stopped = pin!(stopped);
    let opened = tokio::select! {
        opened = connect::connect_watching(uri, "docgate", name) => opened,
        ended = &mut stopped => return ended,
    };
    let (database, membership) = opened.map_err(|fault| unusable(&fault))?;
    let client = database.client().clone();
    let worked = async {
        tokio::select! {
            ended = &mut stopped => return ended,
            waited = wait_for_primary(config, &database, PRIMARY_TIMEOUT) => waited?,
            () = membership.until_outside() => {
                return Err(Failure::trouble(format!("no primary at {}. {NO_MEMBER}", hosts(uri))));
            }
        }
        work(database).await
    };
    let worked = worked.await;
    connect::close(client).await;
    worked
}

/// Opens the database and counts its connections. The caller has to close the client before the command ends.
pub(super) async fn open(config: &Config, metrics: &Metrics) -> Result<Database, Failure> {
    let (uri, database) = (&config.mongodb_uri, &config.database);
    let opened = connect::with_metrics(uri, "docgate", database, &metrics.pool).await;
    opened.map_err(|fault| unusable(&fault))
}

/// The failure to create the client.
fn unusable(fault: &mongodb::error::Error) -> Failure {
    let reason = match fault.kind.as_ref() {
        ErrorKind::DnsResolve { .. } => {
            let sentence =
                "the hosts behind mongodb_uri can't be looked up: no name server knows them";
            return Failure::trouble(sentence);
        }
        ErrorKind::InvalidArgument { message, .. } => message.as_str(),
        // The text after the colon is the system's message about a file.
        ErrorKind::InvalidTlsConfig { message, .. } => {
            message.split_once(": ").map_or(message.as_str(), |(what, _)| what)
        }
        _ => "the driver can't work with it",
    };
    Failure::usage(format!(
        "the configuration can't be used:\n  - mongodb_uri can't be used: {reason}"
    ))
}

/// Waits for the primary, at most for `limit`.
pub(super) async fn wait_for_primary(
    config: &Config,
    database: &Database,
    limit: Duration,
) -> Result<(), Failure> {
    let waited = connect::wait_for_primary(database, limit, |error, since| {
        let (since, limit, reason) = (since.as_secs(), limit.as_secs(), sentence(error));
        tracing::warn!(
            event = "primary_unavailable",
            "MongoDB's primary doesn't answer yet ({since} s of {limit} s). {reason}"
        );
    });
    waited.await.map_err(|error| {
        let (hosts, limit) = (hosts(&config.mongodb_uri), limit.as_secs());
        let reason = sentence(&error);
        Failure::trouble(format!("no primary within {limit} s at {hosts}. {reason}"))
    })
}

/// The hosts of a connection string, without user and password.
pub(super) fn hosts(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let hosts = rest.split(['/', '?']).next().unwrap_or(rest);
    hosts.rsplit_once('@').map_or(hosts, |(_, hosts)| hosts)
}
