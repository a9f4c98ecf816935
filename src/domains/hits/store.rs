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
const MAX: i64 = 1_500;

/// The counts to add, by document.
pub(super) type Sums = BTreeMap<PageDate, Counts>;

fn additions(sums: Sums) -> Vec<Addition> {
    let addition = |(id, amounts): (PageDate, Counts)| Addition {
        id: id.stored(),
        amounts,
        fixed: doc! { "v": SHAPE },
    };
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

/// The days or months of a page with hits from the first to the last, both inclusive, with only `field`.
pub(super) async fn list<T: Stored>(
    app: &App,
    [first, last]: &[PageDate; 2],
    field: &str,
) -> Result<Vec<T>, Error> {
    let range = doc! { "$gte": first.stored(), "$lte": last.stored() };
    let read = List {
        filter: doc! { "_id": range },
        sort: doc! { "_id": 1 },
        limit: MAX,
        projection: Some(doc! { field: 1, "v": 1 }),
        ..List::default()
    };
    app.collection().list(read).await
}
