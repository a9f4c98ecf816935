//! `docgate shards`.

use std::{iter, path::PathBuf, process::ExitCode};

use clap::{Args, Subcommand};
use mongodb::bson::DateTime;
use serde::Serialize;

use super::{failure::Failure, terminal};
use crate::{
    config::Config,
    domains::{
        Made,
        events::calendar::Month,
        shards::{Placed, collections},
    },
    mongo::Group,
};

/// Print how a sharded cluster would divide the collections
///
/// docgate has never been run on a sharded cluster. The shard keys follow from the commands that it
/// sends; docs/SHARDING.md lists the commands that a router sends to all shards.
///
/// Example:
///     docgate shards plan > shards.js
#[derive(Debug, Subcommand)]
#[command(verbatim_doc_comment)]
pub(super) enum Shards {
    Plan(Plan),
}

/// Print the commands that shard the collections, for mongosh
///
/// Prints one command for each collection that is sharded, and a comment for each that isn't, with the
/// reason. It changes nothing, and connects to no database.
///
/// On a new cluster:
///   1. docgate shards plan --presplit > shards.js    before there are documents
///   2. mongosh 'mongodb://router/' shards.js         creates the collections and spreads them
///   3. docgate indexes apply                         builds the indexes of the gateway
///   4. docgate migrate                               puts the newest versions of documents in force
///
/// With --presplit, the collections are divided at once into chunks on all shards. That is possible only
/// for collections without documents. Without it, the plan also builds the index of each shard key, which
/// a collection with documents needs first, and the balancer moves documents to other shards.
///
/// Events are in one collection for each month, which a gateway would create unsharded. The plan shards
/// the collections of this month and the next ones (--months), so print and run it again in time.
///
/// The databases are those of the gateways' configuration: file, environment or flags.
///
/// Examples:
///     docgate shards plan
///     docgate shards plan --presplit --chunks 64
///     docgate shards plan --database shop --months 12
#[derive(Debug, Args, Serialize)]
#[command(verbatim_doc_comment)]
pub(super) struct Plan {
    /// Divide empty collections at once into chunks on all shards.
    #[arg(long)]
    #[serde(skip)]
    presplit: bool,
    /// Number of chunks of each collection with --presplit. Twice the number of shards is enough to begin
    /// with.
    #[arg(long, value_name = "NUMBER", default_value_t = 16, requires = "presplit")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=8_192))]
    #[serde(skip)]
    chunks: u16,
    /// Number of months whose events are sharded, from this one on.
    #[arg(long, value_name = "NUMBER", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=120))]
    #[serde(skip)]
    months: u8,
    /// File with settings in TOML, such as docgate.toml.
    #[arg(long, env = "DOCGATE_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    config: Option<PathBuf>,
    /// Database that holds the collections [env: DOCGATE_DATABASE] [default: docgate]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    database: Option<String>,
    /// Database of the group `activity`, if it has one of its own [env: DOCGATE_ACTIVITY_DATABASE]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    activity_database: Option<String>,
    /// Database of the group `log`, if it has one of its own [env: DOCGATE_LOG_DATABASE]
    #[arg(long, value_name = "NAME")]
    #[serde(skip_serializing_if = "Option::is_none")]
    log_database: Option<String>,
}

impl Shards {
    pub(super) fn run(&self) -> Result<ExitCode, Failure> {
        let Self::Plan(plan) = self;
        let config = Config::load_keys(plan.config.as_deref(), plan)?;
        #[expect(clippy::disallowed_methods, reason = "no outcome depends on it")]
        let now = DateTime::now();
        terminal::print(plan.text(&config, Month::of(now.timestamp_millis())));
        Ok(ExitCode::SUCCESS)
    }
}

/// The database of a group.
fn database_of(config: &Config, group: Group) -> &str {
    let own = match group {
        Group::Core => None,
        Group::Activity => config.activity_database.as_deref(),
        Group::Log => config.log_database.as_deref(),
    };
    own.unwrap_or(&config.database)
}

impl Plan {
    /// The plan, if this month is `first`.
    fn text(&self, config: &Config, first: Month) -> String {
        let mut databases = Group::ALL.map(|group| database_of(config, group)).to_vec();
        databases.dedup();
        let enable = databases.iter().map(|name| format!("sh.enableSharding({name:?});\n"));
        let begin = format!(
            "// Shards the collections of docgate. Run it with mongosh on a router of the cluster.\n{}",
            enable.collect::<String>()
        );
        let all = collections();
        let rooms = all.chunk_by(|left, right| left.room == right.room);
        let of_room = |room: &[Placed]| {
            let name = room.first().map_or("", |placed| placed.room);
            let lines: String = room.iter().map(|placed| self.of(config, placed, first)).collect();
            format!("\n// {name}\n{lines}")
        };
        iter::once(begin).chain(rooms.map(of_room)).collect()
    }

    /// The lines of a collection.
    fn of(&self, config: &Config, placed: &Placed, first: Month) -> String {
        let (name, database) = (placed.name, database_of(config, placed.group));
        let why = placed.shard_key.why();
        let Some(key) = placed.shard_key.pattern() else {
            return format!("// {name}: not sharded, because {why}.\n");
        };
        let lines = match placed.made {
            None => self.commands(database, name, &key),
            Some(Made::Monthly) => {
                let months = iter::successors(Some(first), |month| Some(month.next()));
                let months = months.take(self.months.into());
                let commands =
                    months.map(|month| self.commands(database, &month.to_string(), &key));
                let each = "// One collection for each month. Shard it before its first event.\n";
                iter::once(each.to_owned()).chain(commands).collect()
            }
            Some(Made::TimeSeries) => {
                let command = shard(database, name, &key, "");
                format!(
                    "// With `series_engine = \"native\"`, once a gateway has created it:\n// {command}"
                )
            }
            Some(Made::Random) => "// Each is created when it is needed.\n".to_owned(),
        };
        format!("// {name}: {why}.\n{lines}")
    }

    /// The commands that shard a collection. One that may have documents gets the index of its shard key first.
    fn commands(&self, database: &str, name: &str, key: &str) -> String {
        if self.presplit {
            // A hashed key can't be declared unique.
            let options = format!(", false, {{ numInitialChunks: {} }}", self.chunks);
            return shard(database, name, key, &options);
        }
        let index =
            format!("db.getSiblingDB({database:?}).getCollection({name:?}).createIndex({key});\n");
        index + &shard(database, name, key, "")
    }
}

/// The command that shards a collection.
fn shard(database: &str, name: &str, key: &str, options: &str) -> String {
    let namespace = format!("{database}.{name}");
    format!("sh.shardCollection({namespace:?}, {key}{options});\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(presplit: bool) -> String {
        let plan = Plan {
            presplit,
            chunks: 8,
            months: 2,
            config: None,
            database: None,
            activity_database: None,
            log_database: None,
        };
        let config = Config {
            database: "shop".to_owned(),
            log_database: Some("logs".to_owned()),
            ..Config::default()
        };
        plan.text(&config, Month::named("events_2024_12").expect("a month"))
    }

    #[test]
    fn a_plan_has_every_collection() {
        let text = plan(false);
        for placed in collections() {
            assert!(text.contains(&format!("// {}: ", placed.name)), "{}", placed.name);
        }
        assert!(text.contains("sh.enableSharding(\"shop\");\n"), "{text}");
        let carts = "db.getSiblingDB(\"shop\").getCollection(\"carts\")\
                     .createIndex({ \"_id\": \"hashed\" });\n\
                     sh.shardCollection(\"shop.carts\", { \"_id\": \"hashed\" });\n";
        assert!(text.contains(carts), "{text}");
        assert!(!text.contains("numInitialChunks"), "{text}");
        assert!(text.contains("// jobs: not sharded, because "), "{text}");
        assert!(!text.contains("\"shop.jobs\""), "{text}");
    }

    #[test]
    fn a_plan_divides_empty_collections() {
        let text = plan(true);
        let on = "{ \"on\": \"hashed\" }";
        let comments = format!(
            "sh.shardCollection(\"shop.comments\", {on}, false, {{ numInitialChunks: 8 }});\n"
        );
        assert!(text.contains(&comments), "{text}");
        assert!(!text.contains("createIndex"), "{text}");
    }

    #[test]
    fn a_plan_has_the_next_months() {
        let text = plan(true);
        for month in ["events_2024_12", "events_2025_01"] {
            assert!(text.contains(&format!("\"logs.{month}\"")), "{text}");
        }
        assert!(!text.contains("2025_02"), "{text}");
    }
}
