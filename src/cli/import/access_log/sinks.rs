//! What lines are imported into.

use clap::ValueEnum;

use super::batch::Batch;
use crate::{
    app::App,
    config::Config,
    domains::{
        self, events,
        hits::{self, operations::Views},
    },
    error::Error,
};

/// What lines are imported into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Sink {
    /// Events, one for each line.
    Events,
    /// The reports of hits: a hit for each line.
    Reports,
}

impl Sink {
    /// Its name on the command line and in positions.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Reports => "reports",
        }
    }

    /// Whether its room is switched on.
    pub(super) fn is_on(self, config: &Config) -> bool {
        let room = match self {
            Self::Events => &events::ROOM,
            Self::Reports => &hits::ROOM,
        };
        domains::is_on(config, room.name)
    }
}

/// Inserts the events of a batch. It can be repeated.
pub(super) async fn insert_events(app: &App, batch: &Batch) -> Result<(), Error> {
    events::import::insert(app, &batch.events).await
}

/// Counts the hits of a batch. Batches of a log are counted one after the other, in the order of their offsets, and every
/// import of the log has the same ones.
///
/// # Errors
/// Some of them may have been counted.
pub(super) async fn count_hits(app: &App, site: &str, batch: &Batch) -> Result<(), Error> {
    let mut views = Views::default();
    for ((page, minute), hits) in &batch.hits {
        views.add(site.to_owned(), page.to_string(), *minute, *hits);
    }
    views.count(app).await
}
