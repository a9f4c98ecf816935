//! Every MongoDB call of hits.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::documents::{Counts, DayDocument, MonthDocument, PageDate, PageTotal};
use crate::{
    app::App,
    error::{Error, Result},
    mongo::{counts::Addition, prelude::*},
};

/// Maximum number of documents of a report.
const MAX: i64 = 1_500;
/// Maximum number of counts that one command adds to once only, as long as they are in several documents.
const COUNTS: usize = 4_000;
/// How often an update is sent whose document another caller inserts at the same time.
const TRIES: usize = 5;
/// Maximum number of batches with an idempotency key, and of imports, that a document remembers.
const REMEMBERED: i32 = 500;

/// The counts to add, by document.
pub(super) type Sums = BTreeMap<PageDate, Counts>;

fn additions<T: Stored>(app: &App, sums: Sums) -> Vec<Addition> {
    let version = app.collection::<T>().written_version();
    let addition = |(id, amounts): (PageDate, Counts)| Addition {
        id: id.stored(),
        amounts,
        fixed: doc! { "v": version },
    };
    sums.into_iter().map(addition).collect()
}

/// Adds to days and months in parallel.
pub(super) async fn add(app: &App, days: Sums, months: Sums) -> Result<()> {
    let counters = app.counters();
    // A failure of one doesn't cancel the other.
    let (days, months) = tokio::join!(
        counters.add::<DayDocument>(additions::<DayDocument>(app, days)),
        counters.add::<MonthDocument>(additions::<MonthDocument>(app, months)),
    );
    days.and(months)
}

/// What hits belong to that are added once only. Each document remembers which of them it contains.
pub(super) enum Batch<'a> {
    /// A call with an idempotency key. The document remembers its tag for this long, and the last ones only.
    Keyed { tag: &'a str, remembered: Duration },
    /// A batch of an import. The batches of a source have ascending numbers.
    Imported { source: &'a str, number: i64 },
}

impl Batch<'_> {
    /// Expression: the document doesn't contain the batch.
    fn is_new(&self) -> Document {
        match self {
            Self::Keyed { tag, .. } => {
                let tags = doc! { "$ifNull": ["$batches.tag", []] };
                not(doc! { "$in": [literal(*tag), tags] })
            }
            Self::Imported { source, number } => {
                let own = filter(array("imports"), element_is("source", *source));
                let last = doc! { "$max": map(own, "$$this.number") };
                doc! { "$lt": [{ "$ifNull": [last, -1_i64] }, *number] }
            }
        }
    }

    /// The field in which the document remembers it, and the field's value with this batch.
    fn record(&self) -> (&'static str, Bson) {
        let (field, others, own) = match self {
            Self::Keyed { tag, remembered } => {
                let since = doc! { "$subtract": ["$$NOW", millis(*remembered)] };
                let recent = filter(array("batches"), doc! { "$gte": ["$$this.at", since] });
                ("batches", recent, doc! { "tag": literal(*tag), "at": "$$NOW" })
            }
            Self::Imported { source, number } => {
                let others = without(array("imports"), "source", *source);
                ("imports", others, doc! { "source": literal(*source), "number": *number })
            }
        };
        (field, doc! { "$slice": [append(others, vec![whole(own)]), -REMEMBERED] }.into())
    }

    /// The update that adds the amounts, unless the document contains the batch.
    fn update(&self, amounts: Counts, version: i32) -> Vec<Document> {
        let (record, with_own) = self.record();
        let mut fields = doc! {
            record: choose("$isNew", with_own, array(record)),
            "v": { "$ifNull": ["$v", version] },
        };
        for (field, amount) in amounts {
            let present = doc! { "$ifNull": [format!("${field}"), 0_i64] };
            let added = choose("$isNew", amount, 0_i64);
            fields.insert(field, doc! { "$add": [present, added] });
        }
        let is_new = doc! { "$set": { "isNew": self.is_new() } };
        vec![is_new, doc! { "$set": fields }, doc! { "$unset": "isNew" }]
    }

    /// Adds to days and months in parallel. A repeat adds only to the documents that don't contain the batch yet.
    pub(super) async fn add(&self, app: &App, days: Sums, months: Sums) -> Result<()> {
        let (days, months) = tokio::join!(
            self.add_to::<DayDocument>(app, days),
            self.add_to::<MonthDocument>(app, months)
        );
        days.and(months)
    }

    async fn add_to<T: Stored>(&self, app: &App, sums: Sums) -> Result<()> {
        let (mut updates, mut counts) = (Vec::new(), 0);
        let version = app.collection::<T>().written_version();
        for (id, amounts) in sums {
            counts += amounts.len();
            // The filter is the unique key alone: MongoDB then repeats an upsert that finds the key taken.
            updates.push((doc! { "_id": id.stored() }, self.update(amounts, version)));
            if counts >= COUNTS {
                send::<T>(app, std::mem::take(&mut updates)).await?;
                counts = 0;
            }
        }
        send::<T>(app, updates).await
    }
}

/// Applies upserts that change nothing if they are repeated.
async fn send<T: Stored>(app: &App, mut updates: Vec<(Document, Vec<Document>)>) -> Result<()> {
    for _ in 0..TRIES {
        let refused = app.collection::<T>().upsert_each(updates.clone()).await?;
        if refused.is_empty() {
            return Ok(());
        }
        updates = refused.into_iter().filter_map(|at| updates.get(at).cloned()).collect();
    }
    Err(Error::unavailable("a document was inserted by others again and again"))
}

/// Creates the documents of a day, and of a month, without hits. Documents that exist stay as they are.
pub(super) async fn create(app: &App, day: DayDocument, month: Option<MonthDocument>) {
    let (days, months) = (app.collection(), app.collection());
    let month = async {
        match month {
            Some(month) => months.insert(&month).await,
            None => Outcome::Refused,
        }
    };
    // Nothing depends on it: the first hit of the day creates the document otherwise.
    let _created = tokio::join!(days.insert(&day), month);
}

/// The documents of a page from the first to the last date, both inclusive, with these fields.
async fn list<T: Stored>(
    app: &App,
    [first, last]: &[PageDate; 2],
    mut fields: Document,
) -> Result<Vec<T>> {
    fields.insert("v", 1);
    let range = doc! { "$gte": first.stored(), "$lte": last.stored() };
    let read = List {
        filter: doc! { "_id": range },
        sort: doc! { "_id": 1 },
        limit: MAX,
        projection: Some(fields),
        ..List::default()
    };
    app.collection().list(read).await
}

/// The days of a page by hour, and these of its hours by minute.
pub(super) async fn days(
    app: &App,
    between: &[PageDate; 2],
    hours: &BTreeSet<i64>,
) -> Result<Vec<DayDocument>> {
    /// Number of hours up to which each of them is selected.
    const FEW: usize = 12;
    let mut fields = doc! { "hourly": 1 };
    if hours.len() <= FEW {
        fields.extend(hours.iter().map(|hour| (format!("minute.{hour}"), 1.into())));
    } else {
        fields.insert("minute", 1);
    }
    list(app, between, fields).await
}

/// The months of a page by day.
pub(super) async fn months(app: &App, between: &[PageDate; 2]) -> Result<Vec<MonthDocument>> {
    list(app, between, doc! { "daily": 1 }).await
}

/// The pages of a site with the most hits on one day, or in one month.
pub(super) async fn top(
    app: &App,
    collection: &'static str,
    (site, date): (&str, &str),
    limit: i64,
) -> Result<Vec<PageTotal>> {
    let read = List {
        filter: doc! { "_id.site": site, "_id.date": date, "total": { "$gt": 0 } },
        sort: doc! { "total": -1 },
        limit,
        projection: Some(doc! { "total": 1, "v": 1 }),
        hint: Some("hits_top"),
        ..List::default()
    };
    app.collection::<PageTotal>().named(collection).list(read).await
}

/// Sets the totals of these documents to the sum of the counts in a field.
pub(super) async fn add_up<T: Stored>(app: &App, ids: &[PageDate], field: &str) -> Result<()> {
    let update = |id: &PageDate| (doc! { "_id": id.stored() }, vec![added_up(field)]);
    send_all::<T>(app, ids.iter().map(update)).await
}

/// The stage of an update that sets the total to the sum of the counts in a field.
pub(super) fn added_up(field: &str) -> Document {
    let counts = doc! { "$objectToArray": { "$ifNull": [format!("${field}"), literal(doc! {})] } };
    doc! { "$set": { "total": { "$sum": map(counts, "$$this.v") } } }
}

/// A day whose count in the month's document isn't that of the day's document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Apart {
    pub(super) day: PageDate,
    /// Hits by the month's document.
    pub(super) of_month: i64,
    /// Hits by the day's document.
    pub(super) of_day: i64,
}

/// Sets the counts of months to those of the days' documents, unless they have changed since they were read.
pub(super) async fn set_days(app: &App, all: &[Apart]) -> Result<()> {
    let version = app.collection::<MonthDocument>().written_version();
    let update = |Apart { day, of_month, of_day }: &Apart| {
        let field = format!("daily.{}", day.day());
        let present = doc! { "$ifNull": [format!("${field}"), 0_i64] };
        let is_same = doc! { "$eq": [&present, *of_month] };
        let fields = doc! {
            field: choose(is_same, *of_day, present),
            "v": { "$ifNull": ["$v", version] },
        };
        let stages = vec![doc! { "$set": fields }, added_up("daily")];
        (doc! { "_id": day.month().stored() }, stages)
    };
    send_all::<MonthDocument>(app, all.iter().map(update)).await
}

async fn send_all<T: Stored>(
    app: &App,
    updates: impl Iterator<Item = (Document, Vec<Document>)>,
) -> Result<()> {
    let updates: Vec<_> = updates.collect();
    for some in updates.chunks(500) {
        send::<T>(app, some.to_vec()).await?;
    }
    Ok(())
}
