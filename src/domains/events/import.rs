//! Imports of access logs: their lines are inserted as events, and the position in each log is remembered.
//!
//! A log is known by its first line, so its name and its compression don't matter. For each *sink*, such as the events,
//! docgate remembers the position up to which the log is imported. Two logs can begin with the same line. Then the last line
//! before the position distinguishes them.

use std::collections::BTreeMap;

use mongodb::bson::{DateTime, RawDocumentBuf};

use super::{calendar::Month, operations, store, types};
pub use super::{
    documents::{Event, ImportDocument},
    operations::Times,
};
use crate::{app::App, config::Concern, error::Error};

/// Maximum number of events of one command.
const AT_ONCE: usize = 1_000;

/// An event as it is stored.
#[derive(Debug, Clone)]
pub struct Prepared {
    month: Month,
    stored: RawDocumentBuf,
}

impl Prepared {
    /// The event with this `_id`.
    pub fn new(event: &Event<'_>, id: &str, arrived: DateTime) -> Self {
        Self { month: Month::of(event.at), stored: event.stored(id, arrived) }
    }
}

/// The field of an event that is invalid, and the reason; `None` if it can be imported.
pub fn fault(event: &Event<'_>, times: &Times) -> Option<(&'static str, String)> {
    if let Err(reason) = times.check(event.at) {
        return Some(("time", reason.to_owned()));
    }
    let texts = [
        ("host", Some(event.host)),
        ("user", event.user),
        ("method", event.method),
        ("path", Some(event.path)),
        ("query", event.query),
        ("referrer", event.referrer),
        ("userAgent", event.user_agent),
    ];
    texts.into_iter().find_map(|(field, text)| types::check_text(field, text).err())
}

/// Inserts events, except those that are stored.
///
/// # Errors
/// `Unavailable` or `Internal`: some of them may have been inserted. It can be repeated.
pub async fn insert(app: &App, events: &[Prepared]) -> Result<(), Error> {
    let mut months = BTreeMap::<Month, Vec<&RawDocumentBuf>>::new();
    for event in events {
        months.entry(event.month).or_default().push(&event.stored);
    }
    for (month, events) in months {
        let month = operations::months::demand(app, month).await?;
        for some in events.chunks(AT_ONCE) {
            let some = some.iter().map(|event| (*event).clone()).collect();
            let rejected = store::append(&month, some, Concern::Majority).await?;
            if let Some(rejected) = rejected.into_iter().next() {
                return Err(Error::internal(rejected.reason));
            }
        }
    }
    Ok(())
}

/// What is imported of a log.
///
/// # Errors
/// `Unread` or `Internal`.
pub async fn position(app: &App, id: &str) -> Result<Option<ImportDocument>, Error> {
    store::imports(app).get_settled(id).await
}

/// Remembers what is imported of a log. A position never moves back.
///
/// # Errors
/// `Unavailable` or `Internal`. It can be repeated.
pub async fn remember(app: &App, position: &ImportDocument) -> Result<(), Error> {
    store::remember(app, position).await
}

/// Notes from where to where the next lines of a log are counted together, if that much is imported of it. A repeat after an
/// interruption then counts the same lines together. `position` is the state of the log as read before. Returns `false` if another
/// import has gone on with the log, or counts other lines together.
///
/// # Errors
/// `Unavailable` or `Internal`. It can be repeated.
pub async fn plan(app: &App, position: &ImportDocument, batch: [i64; 2]) -> Result<bool, Error> {
    store::plan(app, position, batch).await
}
