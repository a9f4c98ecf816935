//! The rules of hits.

use std::{
    collections::BTreeMap,
    iter::successors,
    ops::{Range, RangeInclusive},
};

use mongodb::bson::DateTime;

use super::{
    documents::{Counts, DayDocument, MonthDocument, PageDate},
    store::{self, Sums},
    types::{HitsRecorded, RecordHitsInput, RecordHitsResult, Resolution},
};
use crate::{
    app::{App, rfc3339},
    error::Error,
    graphql::{
        cx::Cx,
        declared::{Input, nested},
        input,
        refusals::{InvalidInput, Stop},
        scalars::Date,
    },
};

/// Maximum number of hits in one call.
pub(super) const HITS: usize = 100;
/// Length of a site and of a page, in characters.
pub(super) const SITE: RangeInclusive<usize> = 1..=200;
pub(super) const PAGE: RangeInclusive<usize> = 1..=1_000;
/// Maximum number of buckets of a report: a day has 1,440 minutes.
const BUCKETS: usize = 1_500;
/// How far a caller's clock may be ahead, in milliseconds.
const AHEAD: i64 = 60_000;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Counts hits.
///
/// # Errors
/// `Uncounted` if only some of them may have been counted.
pub async fn record_hits(
    cx: Cx<'_>,
    input: RecordHitsInput,
) -> Result<HitsRecorded, Stop<RecordHitsResult>> {
    let hits = input.checked()?.into_inner().hits;
    let count = i32::try_from(hits.len()).unwrap_or(i32::MAX);
    let now = cx.clock().timestamp_millis();
    let mut views = Views::default();
    for (at, mut hit) in hits.into_iter().enumerate() {
        nested()(&format!("hits.{at}"), &mut hit)?;
        let moment = hit.at.map_or(now, |at| at.0.timestamp_millis());
        if !(0..=now + AHEAD).contains(&moment) {
            let field = format!("hits.{at}.at");
            return Err(InvalidInput::new(&field, "must be between 1970 and now").into());
        }
        views.add(hit.site, hit.page, moment, 1);
    }
    views.count(&cx).await?;
    Ok(HitsRecorded { count })
}

/// Page views that are counted together.
#[derive(Debug, Clone, Default)]
pub struct Views {
    days: Sums,
    months: Sums,
}

impl Views {
    /// Adds page views of one moment, in milliseconds since 1970. Site and page are checked; see [`check_page`].
    pub fn add(&mut self, site: String, page: String, moment: i64, hits: i64) {
        let day = Day::of(moment);
        let (hour, minute) = (moment % DAY / HOUR, moment % HOUR / MINUTE);
        let month = PageDate { site, page, date: day.month().to_owned() };
        let id = PageDate { date: day.date.clone(), ..month.clone() };
        let counts = self.days.entry(id).or_default();
        *counts.entry(format!("hourly.{hour}")).or_default() += hits;
        *counts.entry(format!("minute.{hour}.{minute}")).or_default() += hits;
        let counts = self.months.entry(month).or_default();
        *counts.entry(format!("daily.{}", day.number())).or_default() += hits;
    }

    /// Counts them.
    ///
    /// # Errors
    /// `Uncounted` if only some of them may have been counted.
    pub async fn count(self, app: &App) -> Result<(), Error> {
        store::add(app, self.days, self.months).await
    }
}

/// Checks the page of a page view that is imported.
///
/// # Errors
/// `InvalidInput` that names the field.
pub fn check_page(page: &str) -> Result<(), InvalidInput> {
    input::line("page", page, PAGE).map(|_| ())
}

/// A day in UTC, such as `2026-11-23`.
struct Day {
    date: String,
}

impl Day {
    /// The day of a moment.
    fn of(moment: i64) -> Self {
        let mut date = rfc3339(DateTime::from_millis(moment));
        date.truncate("2026-11-23".len());
        Self { date }
    }

    fn month(&self) -> &str {
        &self.date[.."2026-11".len()]
    }

    /// Its number in the month, without a leading zero.
    fn number(&self) -> &str {
        self.date["2026-11-".len()..].trim_start_matches('0')
    }
}

/// Hits by the start of their minute, hour, day or bucket, in milliseconds since 1970.
pub(super) type ByStart = BTreeMap<i64, i64>;

/// The hits of a page from one day to another, both inclusive, by the start of their buckets. Buckets without
/// hits have a zero.
///
/// # Errors
/// `BadInput` that names the argument.
pub(super) async fn report(
    cx: Cx<'_>,
    site: &str,
    page: &str,
    [from, to]: [&Date; 2],
    resolution: Resolution,
) -> Result<ByStart, Error> {
    let site = input::line("site", site, SITE)?;
    let page = input::line("page", page, PAGE)?;
    let first = midnight("from", from.as_str())?;
    let last = midnight("to", to.as_str())?;
    if last < first {
        return Err(Error::bad_input("to", "must not be before from"));
    }
    let end = last + DAY;
    let mut buckets: ByStart = starts(first, end, resolution).map(|start| (start, 0)).collect();
    if buckets.len() > BUCKETS {
        let reason = format!("asks for more than {BUCKETS} buckets of this resolution");
        return Err(Error::bad_input("to", reason));
    }
    let begins = PageDate { site, page, date: Day::of(first).date };
    let ends = PageDate { date: Day::of(last).date, ..begins.clone() };
    let counted = counted(&cx, [begins, ends], resolution).await?;
    for (moment, hits) in counted.range(first..end) {
        if let Some((_, bucket)) = buckets.range_mut(..=moment).next_back() {
            *bucket += hits;
        }
    }
    Ok(buckets)
}

/// The starts of the buckets that cover the days from `first`, inclusive, to `end`, exclusive. There is one
/// more than the maximum if there are too many.
fn starts(first: i64, end: i64, resolution: Resolution) -> impl Iterator<Item = i64> {
    let begin = match resolution {
        Resolution::Minute | Resolution::Hour | Resolution::Day => first,
        // The first day of 1970 was a Thursday.
        Resolution::Week => first - (first / DAY + 3) % 7 * DAY,
        Resolution::Month => month(first),
    };
    let next = move |start: &i64| {
        Some(match resolution {
            Resolution::Minute => start + MINUTE,
            Resolution::Hour => start + HOUR,
            Resolution::Day => start + DAY,
            Resolution::Week => start + 7 * DAY,
            Resolution::Month => month(start + 31 * DAY),
        })
    };
    successors(Some(begin), next).take_while(move |start| *start < end).take(BUCKETS + 1)
}

/// The start of the month of a midnight.
fn month(midnight: i64) -> i64 {
    let days = Day::of(midnight).number().parse().unwrap_or(1);
    midnight - (days - 1) * DAY
}

/// The stored counts of a page from one day to another, as far as the resolution needs them.
async fn counted(
    app: &App,
    between: [PageDate; 2],
    resolution: Resolution,
) -> Result<ByStart, Error> {
    let mut all = ByStart::new();
    match resolution {
        Resolution::Minute => {
            for day in store::list::<DayDocument>(app, &between, "minute").await? {
                let midnight = stored_midnight(&day.id.date)?;
                for (hour, counts) in &day.minute {
                    put(&mut all, counts, midnight + number(hour)? * HOUR, MINUTE)?;
                }
            }
        }
        Resolution::Hour => {
            for day in store::list::<DayDocument>(app, &between, "hourly").await? {
                put(&mut all, &day.hourly, stored_midnight(&day.id.date)?, HOUR)?;
            }
        }
        Resolution::Day | Resolution::Week | Resolution::Month => {
            let months = between.map(|mut day| {
                day.date.truncate("2026-11".len());
                day
            });
            for month in store::list::<MonthDocument>(app, &months, "daily").await? {
                // Days of a month are numbered from 1.
                let before = stored_midnight(&format!("{}-01", month.id.date))? - DAY;
                put(&mut all, &month.daily, before, DAY)?;
            }
        }
    }
    Ok(all)
}

/// Adds counts of units of that length, which are numbered from `begin`.
fn put(all: &mut ByStart, counts: &Counts, begin: i64, length: i64) -> Result<(), Error> {
    for (unit, hits) in counts {
        all.insert(begin + number(unit)? * length, *hits);
    }
    Ok(())
}

fn number(stored: &str) -> Result<i64, Error> {
    stored.parse().map_err(Error::internal)
}

fn stored_midnight(date: &str) -> Result<i64, Error> {
    midnight("_id.date", date).map_err(Error::internal)
}

/// From the beginning of 1970 to the end of 2999: texts of later moments may be longer.
const YEARS: Range<i64> = 0..32_503_680_000_000;

/// The start of a calendar day in UTC.
fn midnight(field: &'static str, date: &str) -> Result<i64, Error> {
    let begins = DateTime::parse_rfc3339_str(format!("{date}T00:00:00Z"));
    let begins =
        begins.map(DateTime::timestamp_millis).ok().filter(|millis| YEARS.contains(millis));
    begins.ok_or_else(|| Error::bad_input(field, "must be between 1970 and 2999"))
}
