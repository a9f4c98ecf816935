//! The rules of hits.

use std::{collections::BTreeMap, iter::successors, ops::Range};

use mongodb::bson::DateTime;

use super::{
    documents::{Counts, DayDocument, MonthDocument, PageDate},
    store::{self, Sums},
    types::{HitInput, RecordHitsResult, Resolution},
};
use crate::{
    app::{App, rfc3339},
    error::Error,
    graphql::{
        input,
        refusals::{InvalidInput, Stop},
        scalars::Date,
    },
};

/// Maximum number of hits in one call.
const HITS: usize = 100;
/// Maximum length of a site and of a page, in characters.
const SITE: usize = 200;
const PAGE: usize = 1_000;
/// Maximum number of buckets of a report: a day has 1,440 minutes.
const BUCKETS: usize = 1_500;
/// How far a caller's clock may be ahead, in milliseconds.
const AHEAD: i64 = 60_000;

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Counts hits; returns how many.
///
/// # Errors
/// `Uncounted` if only some of them may have been counted.
pub async fn record(app: &App, hits: &[HitInput]) -> Result<usize, Stop<RecordHitsResult>> {
    if hits.is_empty() {
        return Err(InvalidInput::new("hits", "takes at least one element").into());
    }
    input::at_most("hits", hits, HITS)?;
    let now = app.clock().timestamp_millis();
    let (mut days, mut months) = (Sums::new(), Sums::new());
    for (at, hit) in hits.iter().enumerate() {
        let field = |name| format!("hits.{at}.{name}");
        let site = input::line(&field("site"), &hit.site, 1..=SITE)?;
        let page = input::line(&field("page"), &hit.page, 1..=PAGE)?;
        let moment = hit.at.map_or(now, |at| at.0.timestamp_millis());
        if !(0..=now + AHEAD).contains(&moment) {
            return Err(InvalidInput::new(&field("at"), "must be between 1970 and now").into());
        }
        let day = Day::of(moment);
        let (hour, minute) = (moment % DAY / HOUR, moment % HOUR / MINUTE);
        let month = PageDate { site, page, date: day.month().to_owned() };
        let counts = days.entry(PageDate { date: day.date.clone(), ..month.clone() }).or_default();
        *counts.entry(format!("hourly.{hour}")).or_default() += 1;
        *counts.entry(format!("minute.{hour}.{minute}")).or_default() += 1;
        let counts = months.entry(month).or_default();
        *counts.entry(format!("daily.{}", day.number())).or_default() += 1;
    }
    store::add(app, days, months).await?;
    Ok(hits.len())
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
type ByStart = BTreeMap<i64, i64>;

/// The hits of a page from one day to another, both inclusive, by the start of their buckets. Buckets without
/// hits have a zero.
///
/// # Errors
/// `BadInput` that names the argument.
pub async fn report(
    app: &App,
    site: &str,
    page: &str,
    [from, to]: [&Date; 2],
    resolution: Resolution,
) -> Result<ByStart, Error> {
    let site = input::line("site", site, 1..=SITE)?;
    let page = input::line("page", page, 1..=PAGE)?;
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
    let (begins, ends) = (Day::of(first), Day::of(last));
    let begins = PageDate { site, page, date: begins.date };
    let ends = PageDate { date: ends.date, ..begins.clone() };
    let counted = match resolution {
        Resolution::Minute => minutes(&store::list_days(app, [&begins, &ends], "minute").await?)?,
        Resolution::Hour => hours(&store::list_days(app, [&begins, &ends], "hourly").await?)?,
        Resolution::Day | Resolution::Week | Resolution::Month => {
            let months = [begins, ends].map(|PageDate { site, page, mut date }| {
                date.truncate("2026-11".len());
                PageDate { site, page, date }
            });
            days(&store::list_months(app, &months).await?)?
        }
    };
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

fn minutes(days: &[DayDocument]) -> Result<ByStart, Error> {
    let mut all = ByStart::new();
    for day in days {
        let midnight = stored_midnight(&day.id.date)?;
        for (hour, counts) in &day.minute {
            put(&mut all, counts, midnight + number(hour)? * HOUR, MINUTE)?;
        }
    }
    Ok(all)
}

fn hours(days: &[DayDocument]) -> Result<ByStart, Error> {
    let mut all = ByStart::new();
    for day in days {
        put(&mut all, &day.hourly, stored_midnight(&day.id.date)?, HOUR)?;
    }
    Ok(all)
}

fn days(months: &[MonthDocument]) -> Result<ByStart, Error> {
    let mut all = ByStart::new();
    for month in months {
        // Days of a month are numbered from 1.
        let before = stored_midnight(&format!("{}-01", month.id.date))? - DAY;
        put(&mut all, &month.daily, before, DAY)?;
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
