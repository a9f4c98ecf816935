//! Where the configuration comes from, and the database that it names.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use mongodb::Database;
use serde::Serialize;

use super::failure::Failure;
use crate::{
    config::{Config, Faults},
    edge::Edge,
    metrics::Metrics,
    mongo::connect,
};

/// Options of every command that works on the database.
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
    /// The configuration of a gateway.
    pub(super) fn gateway(&self) -> Result<Config, Faults> {
        Config::load(self.config.as_deref(), self)
    }

    /// The configuration of a gateway that serves, `flags` among it: the files that it names are looked at too.
    pub(super) fn served(&self, flags: impl Serialize) -> Result<Config, Faults> {
        Config::load_with(self.config.as_deref(), flags, Edge::faults)
    }

    /// The configuration as far as the database needs it.
    pub(super) fn database(&self) -> Result<Config, Faults> {
        Config::load_for_database(self.config.as_deref(), self)
    }
}

/// How long a command, other than `serve`, waits for the primary.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// Opens the database and waits for its primary, for `limit` at the most.
pub(super) async fn reach(config: &Config, limit: Duration) -> Result<Database, Failure> {
    reach_watched(config, limit, &Metrics::default()).await
}

/// As [`reach`], with the connections counted.
pub(super) async fn reach_watched(
    config: &Config,
    limit: Duration,
    metrics: &Metrics,
) -> Result<Database, Failure> {
    let uri = &config.mongodb_uri;
    let database = connect::watched(uri, "docgate", &config.database, metrics.pool())
        .await
        .map_err(|fault| Failure::usage(format!("mongodb_uri can't be used: {fault}")))?;
    let waited = connect::wait_for_primary(&database, limit, |_, since| {
        let (since, limit) = (since.as_secs(), limit.as_secs());
        tracing::warn!("MongoDB's primary doesn't answer yet ({since} s of {limit} s)");
    });
    waited.await.map_err(|error| {
        let (hosts, limit) = (hosts(uri), limit.as_secs());
        let said = super::failure::sentence(&error);
        Failure::trouble(format!("no primary within {limit} s at {hosts}. {said}"))
    })?;
    Ok(database)
}

/// The hosts of a connection string, without its user and password.
pub(super) fn hosts(uri: &str) -> &str {
    let rest = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let hosts = rest.split(['/', '?']).next().unwrap_or(rest);
    hosts.rsplit_once('@').map_or(hosts, |(_, hosts)| hosts)
}
