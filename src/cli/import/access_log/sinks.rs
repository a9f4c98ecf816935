//! What lines are imported into.

use clap::ValueEnum;
use mongodb::bson::DateTime;

use super::batch::Batch;
use crate::{
    app::App,
    config::Config,
    domains::{
        self, events,
        hits::{self, operations::PageHits},
        series::{self, operations::View},
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
    /// The series of views: a view for each line, whatever its site.
    Series,
}

impl Sink {
    /// Its name on the command line and in positions.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Reports => "reports",
            Self::Series => "series",
        }
    }

    /// Whether its room is switched on.
    pub(super) fn is_on(self, config: &Config) -> bool {
        let room = match self {
            Self::Events => &events::ROOM,
            Self::Reports => &hits::ROOM,
            Self::Series => &series::ROOM,
        };
        domains::is_on(config, room.name)
    }
}

/// Inserts the events of a batch. It can be repeated.
pub(super) async fn insert_events(app: &App, batch: &Batch) -> Result<(), Error> {
    events::import::insert(app, &batch.events).await
}

/// Counts the hits of a batch. Batches of a log are counted one after the other. It can be repeated: a document counts
/// a batch of `log` once.
pub(super) async fn count_hits(
    app: &App,
    site: &str,
    log: &str,
    batch: &Batch,
) -> Result<(), Error> {
    let hits = batch.hits.iter().map(|((page, minute), hits)| {
        PageHits::new(site, page, DateTime::from_millis(*minute), *hits)
    });
    hits::operations::count_batch(app, log, batch.begin, hits.collect::<Result<Vec<_>, _>>()?).await
}

/// Counts the views of a batch, as [`count_hits`] does.
pub(super) async fn count_views(app: &App, log: &str, batch: &Batch) -> Result<(), Error> {
    let views = batch.views.iter().map(|((page, second), views)| {
        View::new(app, page, DateTime::from_millis(*second), *views)
    });
    let views = views.collect::<Result<Vec<_>, _>>()?;
    series::operations::count(app, log, batch.begin, views).await
}
