//! Every MongoDB call of events.

use mongodb::bson::RawDocumentBuf;

use super::{
    calendar::{Month, PREFIX},
    documents::{BY_HOST, BY_PATH, BY_TIME, CallDocument, EventDocument, ImportDocument},
    types::EventsBy,
};
use crate::{
    app::App,
    config::Concern,
    error::Error,
    mongo::{Rejected, periods::Period, prelude::*},
};

fn events(app: &App) -> Collection<EventDocument> {
    app.collection()
}

/// Calls with an idempotency key.
pub(super) fn calls(app: &App) -> Collection<CallDocument> {
    app.collection()
}

/// The positions of imports.
pub(super) fn imports(app: &App) -> Collection<ImportDocument> {
    app.collection()
}

/// Writes the position of an import, unless there is one that is further.
pub(super) async fn remember(app: &App, position: &ImportDocument) -> Result<(), Error> {
    let guard = doc! { "_id": &position.id, "done": { "$lte": position.done } };
    let mut fields = stored_fields(position);
    fields.remove("_id");
    if position.planned.is_none() {
        fields.insert("planned", Bson::Null);
    }
    let fields = fields.into_iter().map(|(name, value)| (name, literal(value))).collect();
    if imports(app).set(guard, fields).held().await? {
        return Ok(());
    }
    // There is none, or one that is further.
    match imports(app).insert(position).await {
        Outcome::Applied(()) | Outcome::Refused => Ok(()),
        Outcome::Unknown(error) => Err(error),
    }
}

/// Notes the end of the batch that is counted next, and returns whether it did. The guard: the imported part of the log ends where
/// the batch begins, or where `position` says, and no other import has noted another end. `position` is the state of the log's
/// import as it was read before.
pub(super) async fn plan(
    app: &App,
    position: &ImportDocument,
    [begin, end]: [i64; 2],
) -> Result<bool, Error> {
    // The end in `position` may be within a line whose end wasn't written yet.
    let ends = vec![Bson::Null, end.into(), position.planned.into()];
    let guard = doc! {
        "_id": &position.id,
        "done": { "$in": [begin, position.done] },
        "planned": { "$in": ends },
    };
    let note = async || imports(app).set(guard.clone(), doc! { "planned": end }).held().await;
    if note().await? {
        return Ok(true);
    }
    if position.done != begin {
        return Ok(false);
    }
    // The log has no document yet, unless another import was faster.
    let first = ImportDocument { planned: Some(end), ..position.clone() };
    match imports(app).insert(&first).await {
        Outcome::Applied(()) => Ok(true),
        Outcome::Refused => note().await,
        Outcome::Unknown(error) => Err(error),
    }
}

/// Removes positions that were written before this time.
pub(super) async fn forget_imports(app: &App, before: DateTime) -> Result<u64, Error> {
    imports(app).remove_many(doc! { "at": { "$lt": before } }).await
}

/// The events of a month.
fn month(app: &App, of: Month) -> Period<EventDocument> {
    events(app).period(&of.to_string())
}

/// The months that have a collection, in their order.
pub(super) async fn months(app: &App) -> Result<Vec<Month>, Error> {
    let names = events(app).period_names(PREFIX).await?;
    Ok(names.iter().filter_map(|name| Month::named(name)).collect())
}

/// Creates the collection of a month with its indexes. It may exist.
pub(super) async fn prepare(app: &App, of: Month) -> Result<Period<EventDocument>, Error> {
    let month = month(app, of);
    month.prepare().await?;
    Ok(month)
}

/// Builds missing indexes of a month with events.
pub(super) async fn rebuild(app: &App, of: Month) -> Result<(), Error> {
    month(app, of).rebuild().await
}

/// Names of the indexes that a month should have and hasn't.
pub(super) async fn missing_indexes(app: &App, of: Month) -> Result<Vec<&'static str>, Error> {
    month(app, of).missing_indexes().await
}

/// Drops a month with its events.
pub(super) async fn drop_month(app: &App, of: Month) -> Result<(), Error> {
    month(app, of).drop().await
}

/// Inserts events of a month, except those that are there.
pub(super) async fn append(
    month: &Period<EventDocument>,
    events: Vec<RawDocumentBuf>,
    concern: Concern,
) -> Result<Vec<Rejected>, Error> {
    month.append(events, concern).await
}

/// One list read of a month.
pub(super) async fn list(app: &App, of: Month, list: List) -> Result<Vec<EventDocument>, Error> {
    month(app, of).list(list).await
}

/// The first and the last event of a month by their times.
pub(super) async fn ends(app: &App, of: Month) -> Result<Vec<EventDocument>, Error> {
    let mut found = Vec::new();
    for direction in [1, -1] {
        let sort = doc! { "at": direction, "_id": direction };
        let filter = doc! { "at": { "$type": "date" } };
        let read = List { filter, sort, limit: 1, hint: Some(BY_TIME), ..List::default() };
        found.extend(list(app, of, read).await?);
    }
    Ok(found)
}

/// The condition that an event is from the first moment, included, to the end, excluded.
fn within([from, end]: [i64; 2]) -> Document {
    doc! { "at": { "$gte": DateTime::from_millis(from), "$lt": DateTime::from_millis(end) } }
}

/// The filter of a list in a range of time, and its index.
pub(super) fn filter(by: &EventsBy, range: [i64; 2]) -> (Document, &'static str) {
    let (mut filter, index) = match by {
        EventsBy::Path(path) => (doc! { "path": { "$eq": path } }, BY_PATH),
        EventsBy::Host(host) => (doc! { "host": { "$eq": host } }, BY_HOST),
        EventsBy::Day(_) => (Document::new(), BY_TIME),
    };
    filter.extend(within(range));
    (filter, index)
}

/// Number of events of a month in a range of time, counted up to `limit`. It reads keys of one index.
pub(super) async fn count(app: &App, of: Month, range: [i64; 2], limit: u64) -> Result<u64, Error> {
    month(app, of).count_by(BY_TIME, within(range), limit).await
}

/// The requests of one day.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct DayOfEvents {
    /// Its midnight.
    #[serde(rename = "_id")]
    pub(super) day: DateTime,
    /// All of them.
    pub(super) requests: i64,
    /// Those of the pages with most requests, most first.
    pub(super) pages: Vec<PageOfEvents>,
}

/// The requests of a page.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct PageOfEvents {
    pub(super) site: String,
    pub(super) path: String,
    pub(super) requests: i64,
}

/// Requests of a month in a range of time by day, with the pages that have most. It reads keys of one index.
pub(super) async fn by_day_and_page(
    app: &App,
    of: Month,
    range: [i64; 2],
    site: Option<&str>,
    pages: i64,
) -> Result<Vec<DayOfEvents>, Error> {
    let mut filter = within(range);
    filter.extend(site.map(|site| ("site".to_owned(), Bson::from(doc! { "$eq": site }))));
    let day = doc! { "$dateTrunc": { "date": "$at", "unit": "day" } };
    let page = doc! { "day": day, "site": "$site", "path": "$path" };
    let most = doc! { "requests": -1, "_id.site": 1, "_id.path": 1 };
    let shown = doc! { "site": "$_id.site", "path": "$_id.path", "requests": "$requests" };
    let pages = doc! { "$topN": { "n": pages, "sortBy": most, "output": shown } };
    let events = month(app, of);
    let found = events.aggregate_by(
        BY_TIME,
        vec![
            doc! { "$match": filter },
            doc! { "$group": { "_id": page, "requests": { "$sum": 1_i64 } } },
            doc! { "$group": {
                "_id": "$_id.day", "requests": { "$sum": "$requests" }, "pages": pages,
            } },
            doc! { "$sort": { "_id": 1 } },
        ],
    );
    found.await?.iter().map(decode_document).collect()
}

/// Removes calls that needn't be remembered any more.
pub(super) async fn forget_calls(app: &App, before: DateTime) -> Result<u64, Error> {
    calls(app).remove_many(doc! { "at": { "$lt": before } }).await
}
