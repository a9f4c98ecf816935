//! Writes the same views with both engines of time series, and reads them: throughput, and the size on disk.
//!
//! ```text
//! MONGODB_URI='mongodb://localhost:27017/?replicaSet=rs0' \
//!     cargo run --profile dist --manifest-path bench/rust/Cargo.toml --bin views -- 10000000
//! ```
//!
//! The views are those of 200 pages on one day, in the order of time, 100 in a call. They are counted by the operations of
//! docgate without HTTP and GraphQL, by 32 callers at once. The databases `bench_views_…` are removed before and after.

// As in docgate: futures of resolvers lie in each other as deep as objects do.
#![recursion_limit = "256"]

use std::{
    env, io,
    time::{Duration, Instant},
};

use docgate::{
    app::App,
    config::{Config, SeriesEngine},
    domains::{
        collections,
        series::{
            operations::{record_views, view_series},
            types::{RecordViewsInput, Resolution, ViewInput},
        },
    },
    graphql::{cx::Cx, requester::Requester, scalars::DateTime},
    mongo::{Placement, indexes},
};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use mongodb::{
    Client, Database,
    bson::{self, Document, doc},
};

/// As docgate has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const PAGES: u64 = 200;
const AT_ONCE: u64 = 100;
const CALLERS: usize = 32;
const READS: u64 = 2_000;
/// Start of the day, in milliseconds since 1970.
const START: i64 = 1_700_006_400_000;
const DAY: u64 = 86_400_000;

fn fault(error: impl std::fmt::Debug) -> io::Error {
    io::Error::other(format!("{error:?}"))
}

/// View `number` of `all`: its page, and its time. Popular pages have more views.
fn view(number: u64, all: u64) -> (String, i64) {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let page = (mixed >> 32) % PAGES * ((mixed >> 8) % PAGES) / PAGES;
    let after = number * DAY / all;
    (format!("/section-{}/page-{page}", page % 10), START + after as i64)
}

fn requester() -> Requester {
    Requester::new("bench", None, Vec::new())
}

async fn record(app: &App, first: u64, all: u64) -> io::Result<()> {
    let view = |number| {
        let (page, at) = view(number, all);
        ViewInput { page, at: Some(DateTime(bson::DateTime::from_millis(at))) }
    };
    let views = (first..(first + AT_ONCE).min(all)).map(view).collect();
    let requester = requester();
    let cx = Cx { app, requester: &requester };
    record_views(cx, RecordViewsInput { views }).await.map_err(fault)?;
    Ok(())
}

/// Reads an hour by second, a day by minute, or a day by hour.
async fn read(app: &App, number: u64, all: u64, by: Resolution) -> io::Result<()> {
    let (page, _) = view(number * 7_919 % all, all);
    let (begin, length) = match by {
        Resolution::Second => (number % 24 * 3_600_000, 3_600_000),
        Resolution::Minute | Resolution::Hour | Resolution::Day => (0, DAY),
    };
    let at = |after: u64| Some(DateTime(bson::DateTime::from_millis(START + after as i64)));
    let requester = requester();
    let cx = Cx { app, requester: &requester };
    view_series(cx, &page, [at(begin), at(begin + length)], by).await.map_err(fault)?;
    Ok(())
}

/// Does `work` with each number below `count`. Returns how long it took.
async fn all<F>(count: u64, work: impl Fn(u64) -> F) -> io::Result<Duration>
where
    F: Future<Output = io::Result<()>>,
{
    let since = Instant::now();
    stream::iter((0..count).map(work)).buffer_unordered(CALLERS).try_collect::<()>().await?;
    Ok(since.elapsed())
}

/// Bytes on disk: the documents, and the indexes.
async fn size(database: &Database, collection: &str) -> io::Result<(i64, i64)> {
    let admin = database.client().database("admin");
    admin.run_command(doc! { "fsync": 1 }).await.map_err(fault)?;
    let found = database.run_command(doc! { "collStats": collection }).await.map_err(fault)?;
    let number = |of: &Document, name: &str| match of.get(name) {
        Some(number) => number.as_i64().or(number.as_i32().map(i64::from)).unwrap_or(0),
        None => 0,
    };
    Ok((number(&found, "storageSize"), number(&found, "totalIndexSize")))
}

async fn measure(uri: &str, engine: SeriesEngine, views: u64) -> io::Result<()> {
    let client = Client::with_uri_str(uri).await.map_err(fault)?;
    let (name, stored) = match engine {
        SeriesEngine::Buckets => ("bench_views_buckets", "pageViews"),
        SeriesEngine::Native => ("bench_views_native", "pageViewPoints"),
    };
    let database = client.database(name);
    database.drop().await.map_err(fault)?;
    let config = Config {
        database: name.to_owned(),
        mongodb_uri: uri.to_owned(),
        secret: "a secret for measurements alone".to_owned(),
        rooms: vec!["series".to_owned()],
        series_engine: engine,
        series_retention_seconds: 0,
        ..Config::default()
    };
    let placement = Placement::new(&config, &database);
    indexes::apply(&placement, &collections(&config), false, |_| {}).await.map_err(fault)?;
    let app = &App::new(config, database.clone());
    // The first call may create the collection.
    record(app, 0, views).await?;
    let calls = views.div_ceil(AT_ONCE);
    let written = all(calls - 1, |call| record(app, (call + 1) * AT_ONCE, views)).await?;
    let (documents, keys) = size(&database, stored).await?;
    let per_second = |count: u64, time: Duration| count as f64 / time.as_secs_f64();
    println!("{name}");
    println!("  views written per second  {:>12.0}", per_second(views, written));
    println!("  bytes of documents        {documents:>12}");
    println!("  bytes of indexes          {keys:>12}");
    for (title, by) in [
        ("an hour by second", Resolution::Second),
        ("a day by minute", Resolution::Minute),
        ("a day by hour", Resolution::Hour),
    ] {
        let took = all(READS, |number| read(app, number, views, by)).await?;
        println!("  {title:18} per second {:>10.0}", per_second(READS, took));
    }
    database.drop().await.map_err(fault)
}

#[tokio::main]
async fn main() -> io::Result<()> {
    let uri = docgate_bench::variable("MONGODB_URI")?;
    let views = env::args().nth(1).map_or(Ok(10_000_000), |count| count.parse());
    let views = views.map_err(fault)?.max(AT_ONCE * 2);
    println!("{views} views of {PAGES} pages");
    for engine in [SeriesEngine::Buckets, SeriesEngine::Native] {
        measure(&uri, engine, views).await?;
    }
    Ok(())
}
