//! The rules of series.

use std::{collections::BTreeMap, time::Duration};

use mongodb::bson;

use super::{
    documents::PageMinute,
    store,
    types::{
        PreallocateViewsInput, PreallocateViewsResult, RecordViewsInput, RecordViewsResult,
        Resolution, ViewsPreallocated, ViewsRecorded,
    },
};
use crate::{
    app::rfc3339,
    config::SeriesEngine,
    domains::times::{Between, DAY, HOUR, MINUTE, SECOND, Times, floor},
    graphql::{declared::nested, prelude::*, scalars::DateTime},
};

/// Maximum number of views in one call.
pub(super) const VIEWS: usize = 100;
/// How far a caller's clock may be ahead, in milliseconds.
const AHEAD: i64 = 60_000;
/// How far an hour whose buckets are created may be ahead, in milliseconds.
const PREPARED: i64 = 7 * DAY;
/// Maximum number of points of a series.
const POINTS: i64 = 3_600;
/// Longest series in days, from the start of its first to the end of its last point: it reads one document for each of its
/// minutes. Every month fits, by hour and by day, whatever its time zone.
const DAYS: i64 = 32;
/// Times that can be written as text.
const TIMES: Times = Times {
    range: 0..=253_402_300_799_999,
    years: "must be between the years 1970 and 9999",
    early: "needs from, because the series would begin before 1970 without it",
};

/// Number of views by page and second. The second is its start in milliseconds since 1970.
pub(super) type Views = BTreeMap<(String, i64), i64>;

/// Views by the start of their point, in milliseconds since 1970.
pub type ByStart = BTreeMap<i64, i64>;

/// How long views are kept; `None` keeps them forever.
pub(super) fn retention(app: &App) -> Option<Duration> {
    let seconds = app.config().series_retention_seconds;
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

/// The time before which views aren't kept any more, in milliseconds since 1970.
fn kept_since(app: &App, now: i64) -> i64 {
    let length = retention(app).map_or(now, |kept| i64::try_from(kept.as_millis()).unwrap_or(now));
    (now - length).max(0)
}

/// The time before which views aren't kept, for people, with the setting that decides it.
fn since(kept: i64) -> String {
    if kept == 0 {
        return "1970".into();
    }
    format!("{} (series_retention_seconds)", rfc3339(bson::DateTime::from_millis(kept)))
}

/// Counts views.
///
/// # Errors
/// `Uncounted` if some of them may have been counted.
pub async fn record_views(cx: Cx<'_>, input: RecordViewsInput) -> Answer<RecordViewsResult> {
    let views = input.checked()?.into_inner().views;
    let count = i32::try_from(views.len()).unwrap_or(i32::MAX);
    let now = cx.clock().timestamp_millis();
    let kept = kept_since(&cx, now);
    let mut sums = Views::new();
    for (number, mut view) in views.into_iter().enumerate() {
        nested()(&format!("views.{number}"), &mut view)?;
        let moment = view.at.map_or(now, |at| at.0.timestamp_millis());
        if !(kept..=now + AHEAD).contains(&moment) {
            let field = format!("views.{number}.at");
            let reason = format!("must be between {} and now", since(kept));
            return Err(InvalidInput::new(&field, reason).into());
        }
        *sums.entry((view.page, floor(moment, SECOND))).or_default() += 1;
    }
    store::add(&cx, sums).await?;
    Ok(ViewsRecorded { count })
}

/// Creates the buckets of an hour with zeros, unless they exist.
pub async fn preallocate_views(
    cx: Cx<'_>,
    input: PreallocateViewsInput,
) -> Answer<PreallocateViewsResult> {
    let PreallocateViewsInput { page, hour } = input.checked()?.into_inner();
    let now = cx.clock().timestamp_millis();
    let hour = hour.map_or(now + HOUR, |hour| hour.0.timestamp_millis());
    let kept = kept_since(&cx, now);
    if !(kept..=now + PREPARED).contains(&hour) {
        let reason = format!("must be between {} and seven days from now", since(kept));
        return Err(InvalidInput::new("hour", reason).into());
    }
    let begin = floor(hour, HOUR);
    let minutes = (0..60).map(|number| PageMinute {
        page: page.clone(),
        at: bson::DateTime::from_millis(begin + number * MINUTE),
    });
    let created = match cx.config().series_engine {
        SeriesEngine::Buckets => store::create(&cx, minutes.collect()).await?,
        SeriesEngine::Native => 0,
    };
    Ok(ViewsPreallocated { created: i32::try_from(created).unwrap_or(i32::MAX) })
}

/// The views of a page in the points that overlap the time from `from`, inclusive, to `to`, exclusive. Points without
/// views have a zero.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn view_series(
    cx: Cx<'_>,
    page: &str,
    times: [Option<DateTime>; 2],
    resolution: Resolution,
) -> Result<ByStart> {
    input::page("page", page)?;
    let (step, points) = match resolution {
        Resolution::Second => (SECOND, 60),
        Resolution::Minute => (MINUTE, 60),
        Resolution::Hour => (HOUR, 24),
        Resolution::Day => (DAY, 30),
    };
    let Between { from, to, given } = TIMES.between(&cx, times, points * step)?;
    let (first, end) = (floor(from, step), floor(to - 1, step) + step);
    if (end - first) / step > POINTS {
        let reason = format!("asks for more than {POINTS} points of this resolution");
        return Err(Error::bad_input(given, reason));
    }
    if end - first > DAYS * DAY {
        let reason = format!("asks for points of more than {DAYS} days");
        return Err(Error::bad_input(given, reason));
    }
    let mut points: ByStart =
        (0..(end - first) / step).map(|number| (first + number * step, 0)).collect();
    for (moment, views) in store::list(&cx, page, [first, end], resolution).await? {
        if let Some(sum) = points.get_mut(&floor(moment, step)) {
            *sum += views;
        }
    }
    Ok(points)
}

/// Views of an imported page, all at one time.
#[derive(Debug, Clone)]
pub struct View {
    page: String,
    at: i64,
    views: i64,
}

impl View {
    /// Views of `page` at a time.
    ///
    /// # Errors
    /// `InvalidInput`: the page can't be counted, for example because it is longer than 8,192 bytes; or the time is
    /// before 1970, or more than a minute ahead; or the number isn't positive.
    pub fn new(
        app: &App,
        page: &str,
        at: bson::DateTime,
        views: i64,
    ) -> Result<Self, InvalidInput> {
        let page = input::page("page", page)?;
        let (at, now) = (at.timestamp_millis(), app.clock().timestamp_millis());
        input::within("at", at, 0..=now + AHEAD)?;
        input::within("views", views, 1..=i64::from(i32::MAX))?;
        Ok(Self { page, at, views })
    }
}

/// Counts the views of one batch of an import. `source` names what is imported, such as the digest of a file. The caller
/// numbers the batches of a source in rising order, always with the same views, and repeats a batch that failed before
/// it sends the next one. Views older than the retention aren't counted.
///
/// With the engine `buckets` each view is counted once, however often a batch is repeated, and whichever of its commands
/// is late: each bucket has the number of the last batch of each source that it contains, and its update is guarded by
/// it. With the engine `native` a batch that was counted as a whole isn't counted again. If a batch was cut, its repeat
/// may count some of its views twice, because a measurement has no unique key.
///
/// # Errors
/// `Unavailable` or `Uncounted`: some of the views may have been counted, and the batch has to be repeated. `Internal`.
pub async fn count(app: &App, source: &str, batch: i64, views: Vec<View>) -> Result<()> {
    let kept = kept_since(app, app.clock().timestamp_millis());
    let mut sums = Views::new();
    for view in views.into_iter().filter(|view| view.at >= kept) {
        *sums.entry((view.page, floor(view.at, SECOND))).or_default() += view.views;
    }
    match app.config().series_engine {
        SeriesEngine::Buckets => store::add_once(app, source, batch, sums).await,
        SeriesEngine::Native => {
            if store::last_batch(app, source).await?.is_some_and(|last| last >= batch) {
                return Ok(());
            }
            store::add(app, sums).await?;
            store::note_batch(app, source, batch).await
        }
    }
}
