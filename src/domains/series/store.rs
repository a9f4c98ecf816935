//! Every MongoDB call of series.

use std::{collections::BTreeMap, time::Duration};

use tokio::sync::OnceCell;

use super::{
    documents::{
        BucketDocument, Counted, CountedSeconds, ImportDocument, PageMinute, PointDocument, SHAPE,
    },
    operations::{Views, retention},
    types::Resolution,
};
use crate::{
    app::App,
    config::SeriesEngine,
    domains::times::{MINUTE, SECOND, floor},
    error::{Error, Result},
    flow::later,
    mongo::{counts::Addition, prelude::*, time_series::TimeSeries},
};

/// Maximum number of buckets of a command, whose pages may have 8 KiB each.
const AT_ONCE: usize = 500;
/// `maxTimeMS` of a command of an import.
const LIMIT: Duration = Duration::from_secs(10);

/// Whether this process has created the time-series collection.
#[derive(Default)]
struct Created(OnceCell<()>);

/// Creates the time-series collection, once in each process. Without it an insert would make a collection of another kind.
pub(super) async fn create_points(app: &App) -> Result<()> {
    let of =
        TimeSeries { time: "at", subject: "page", index: "page_at", retention: retention(app) };
    let create = async || app.collection::<PointDocument>().create_time_series(of).await;
    app.shared::<Created>().0.get_or_try_init(create).await?;
    Ok(())
}

/// Counts views by the engine of the configuration.
pub(super) async fn add(app: &App, views: Views) -> Result<()> {
    let counters = app.counters();
    match app.config().series_engine {
        SeriesEngine::Buckets => counters.add::<BucketDocument>(additions(app, views)).await,
        SeriesEngine::Native => {
            create_points(app).await?;
            counters.measure::<PointDocument>(measurements(views)).await
        }
    }
}

/// The views of each bucket: its total by second.
fn by_minute(views: Views) -> BTreeMap<(String, i64), BTreeMap<i64, i64>> {
    let mut buckets = BTreeMap::<_, BTreeMap<i64, i64>>::new();
    for ((page, second), views) in views {
        let minute = floor(second, MINUTE);
        let bucket = buckets.entry((page, minute)).or_default();
        *bucket.entry((second - minute) / SECOND).or_default() += views;
    }
    buckets
}

fn additions(app: &App, views: Views) -> Vec<Addition> {
    let addition = |((page, minute), seconds): (_, BTreeMap<i64, i64>)| {
        let minute = PageMinute { page, at: DateTime::from_millis(minute) };
        let mut fixed = doc! { "v": SHAPE };
        fixed.extend(expiry(app, minute.at).map(|at| ("expiresAt".to_owned(), at.into())));
        let mut amounts: BTreeMap<String, i64> =
            seconds.iter().map(|(second, views)| (format!("seconds.{second}"), *views)).collect();
        amounts.insert("total".to_owned(), seconds.values().sum());
        Addition { id: minute.stored(), amounts, fixed }
    };
    by_minute(views).into_iter().map(addition).collect()
}

fn measurements(views: Views) -> Vec<Addition> {
    let measurement = |((page, second), views): ((String, i64), i64)| Addition {
        id: doc! { "page": page, "at": DateTime::from_millis(second) },
        amounts: BTreeMap::from([("views".to_owned(), views)]),
        fixed: doc! { "v": SHAPE },
    };
    views.into_iter().map(measurement).collect()
}

/// Time after which the bucket of a minute isn't kept.
fn expiry(app: &App, minute: DateTime) -> Option<DateTime> {
    retention(app).map(|kept| later(minute, kept + Duration::from_secs(60)))
}

/// Creates empty buckets, unless they exist. Returns how many it created.
pub(super) async fn create(app: &App, minutes: Vec<PageMinute>) -> Result<usize> {
    let seconds: BTreeMap<String, i64> = (0..60).map(|second| (second.to_string(), 0)).collect();
    let bucket = |id: PageMinute| empty(app, id, seconds.clone());
    let buckets: Vec<_> = minutes.into_iter().map(bucket).collect();
    let count = buckets.len();
    let existing = app.collection::<BucketDocument>().insert_many(buckets).await?;
    Ok(count.saturating_sub(existing.len()))
}

fn empty(app: &App, id: PageMinute, seconds: BTreeMap<String, i64>) -> BucketDocument {
    let expires_at = expiry(app, id.at);
    BucketDocument { id, total: 0, seconds, expires_at, imports: None, v: Version }
}

/// Counts the views of a batch in each bucket that doesn't contain it yet. The buckets are created before: if a guarded
/// upsert found the key taken, it wouldn't tell a bucket that contains the batch from one that was just created.
pub(super) async fn add_once(app: &App, source: &str, batch: i64, views: Views) -> Result<()> {
    let buckets: Vec<_> = by_minute(views).into_iter().collect();
    let collection = app.collection::<BucketDocument>();
    for buckets in buckets.chunks(AT_ONCE) {
        let id = |((page, minute), _): &((String, i64), _)| PageMinute {
            page: page.clone(),
            at: DateTime::from_millis(*minute),
        };
        let new = buckets.iter().map(|one| empty(app, id(one), BTreeMap::new()));
        collection.insert_many(new.collect()).await?;
        let update = |one: &((String, i64), BTreeMap<i64, i64>)| {
            let is_in = doc! { "$elemMatch": { "_id": source, "batch": { "$gte": batch } } };
            let guard = doc! { "_id": id(one).stored(), "imports": { "$not": is_in } };
            let sum = |field: String, views: i64| {
                let before = doc! { "$ifNull": [format!("${field}"), 0_i64] };
                (field, Bson::from(doc! { "$add": [before, views] }))
            };
            let seconds = one.1.iter();
            let mut set: Document =
                seconds.map(|(second, views)| sum(format!("seconds.{second}"), *views)).collect();
            set.extend([sum("total".to_owned(), one.1.values().sum())]);
            let last = whole(doc! { "_id": literal(source), "batch": batch });
            let others = without(array("imports"), "_id", source);
            set.insert("imports", append(others, vec![last]));
            (guard, vec![doc! { "$set": set }])
        };
        // A guard that doesn't hold means that the bucket contains the batch.
        collection.update_all(buckets.iter().map(update).collect(), LIMIT).await?;
    }
    Ok(())
}

/// The last batch of a source that was inserted as a whole.
pub(super) async fn last_batch(app: &App, source: &str) -> Result<Option<i64>> {
    let found = app.collection::<ImportDocument>().get_settled(source).await?;
    Ok(found.map(|found| found.batch))
}

/// Records that a batch was inserted as a whole.
pub(super) async fn note_batch(app: &App, source: &str, batch: i64) -> Result<()> {
    let imports = app.collection::<ImportDocument>();
    let first = ImportDocument { source: source.to_owned(), batch, v: Version };
    if imports.insert(&first).await.decided()?.is_none() {
        let earlier = doc! { "_id": source, "batch": { "$lt": batch } };
        // It isn't held if this batch, or a later one, was recorded before.
        imports.guarded(earlier, doc! { "$set": { "batch": batch, "v": SHAPE } }).held().await?;
    }
    Ok(())
}

/// The views of a page from one time, inclusive, to another, exclusive, by time. They are summed up as far as the
/// resolution permits.
pub(super) async fn list(
    app: &App,
    page: &str,
    between: [i64; 2],
    resolution: Resolution,
) -> Result<Vec<(i64, i64)>> {
    let [from, to] = between.map(DateTime::from_millis);
    if app.config().series_engine == SeriesEngine::Native {
        create_points(app).await?;
        let range = doc! { "page": page, "at": { "$gte": from, "$lt": to } };
        return sums::<PointDocument>(app, range, ["at", "views"], resolution).await;
    }
    // A point of less than a minute begins within a bucket.
    let first = DateTime::from_millis(floor(between[0], MINUTE));
    let id = |at: DateTime| PageMinute { page: page.to_owned(), at }.stored();
    let range = doc! { "_id": { "$gte": id(first), "$lt": id(to) } };
    let read = |shown: Document| List {
        filter: range.clone(),
        sort: doc! { "_id": 1 },
        limit: (between[1] - first.timestamp_millis()) / MINUTE + 1,
        projection: Some(shown),
        ..List::default()
    };
    match resolution {
        Resolution::Second => {
            let read = read(doc! { "_id": 0, "at": "$_id.at", "seconds": 1 });
            let found = app.collection::<CountedSeconds>().list(read).await?;
            let seconds = |CountedSeconds { at, seconds }| {
                let at = at.timestamp_millis();
                seconds.into_iter().map(move |(second, views): (String, i64)| {
                    let second: i64 = second.parse().map_err(Error::internal)?;
                    Ok((at + second * SECOND, views))
                })
            };
            found.into_iter().flat_map(seconds).collect()
        }
        Resolution::Minute => {
            let read = read(doc! { "_id": 0, "at": "$_id.at", "views": "$total" });
            Ok(pairs(app.collection().list(read).await?))
        }
        Resolution::Hour | Resolution::Day => {
            sums::<BucketDocument>(app, range, ["_id.at", "total"], resolution).await
        }
    }
}

/// Sums of the field `views` by the time in the field `at`, made by MongoDB.
async fn sums<T: Stored>(
    app: &App,
    range: Document,
    [at, views]: [&str; 2],
    resolution: Resolution,
) -> Result<Vec<(i64, i64)>> {
    let unit = match resolution {
        Resolution::Second => "second",
        Resolution::Minute => "minute",
        Resolution::Hour => "hour",
        Resolution::Day => "day",
    };
    let start = doc! { "$dateTrunc": { "date": format!("${at}"), "unit": unit } };
    let pipeline = vec![
        doc! { "$match": range },
        doc! { "$group": { "_id": start, "views": { "$sum": format!("${views}") } } },
        doc! { "$project": { "_id": 0, "at": "$_id", "views": 1 } },
    ];
    Ok(pairs(app.collection::<T>().rank(pipeline, None).await?))
}

fn pairs(found: Vec<Counted>) -> Vec<(i64, i64)> {
    found.into_iter().map(|Counted { at, views }| (at.timestamp_millis(), views)).collect()
}
