//! Every MongoDB call of hits.

use std::collections::BTreeMap;

use mongodb::bson::doc;

use super::documents::{Counts, DayDocument, MonthDocument, PageDate, SHAPE};
use crate::{
    app::App,
    error::Error,
    mongo::{Stored, collection::List, counts::Addition},
};

/// Maximum number of documents of a report: a report has at least as many buckets.
const MOST: i64 = 1_500;

/// The counts to add, by document.
pub(super) type Sums = BTreeMap<PageDate, Counts>;

fn additions(sums: Sums) -> Vec<Addition> {
    let addition =
        |(id, amounts): (PageDate, Counts)| Addition { id: id.stored(), amounts, version: SHAPE };
    sums.into_iter().map(addition).collect()
}

/// Adds to days and months in parallel.
pub(super) async fn add(app: &App, days: Sums, months: Sums) -> Result<(), Error> {
    let counters = app.counters();
    // A failure of one doesn't cancel the other.
    let (days, months) = tokio::join!(
        counters.add::<DayDocument>(additions(days)),
        counters.add::<MonthDocument>(additions(months)),
    );
    days.and(months)
}

/// The days of a page with hits, with only `field`.
pub(super) async fn list_days(
    app: &App,
    between: [&PageDate; 2],
    field: &str,
) -> Result<Vec<DayDocument>, Error> {
    app.collection::<DayDocument>().list(between_both(between, field)).await
}

/// The months of a page with hits.
pub(super) async fn list_months(
    app: &App,
    [first, last]: &[PageDate; 2],
) -> Result<Vec<MonthDocument>, Error> {
    app.collection::<MonthDocument>().list(between_both([first, last], "daily")).await
}

/// A list from the first to the last, both inclusive.
fn between_both([first, last]: [&PageDate; 2], field: &str) -> List {
    let range = doc! { "$gte": first.stored(), "$lte": last.stored() };
    List {
        filter: doc! { "_id": range },
        sort: doc! { "_id": 1 },
        limit: MOST,
        projection: Some(doc! { field: 1, "v": 1 }),
        ..List::default()
    }
}

/// Calls a function with every document of a collection.
pub(super) async fn for_each<T: Stored>(
    app: &App,
    each: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Error> {
    app.collection::<T>().for_each(each).await
}
