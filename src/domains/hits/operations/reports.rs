//! Reports: the counts of the documents, added up by bucket.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use super::{
    super::{
        calendar::{Calendar, YEARS},
        documents::{Counts, DayDocument, MonthDocument, PageDate, PageTotal},
        store,
        types::{ReportRange, Resolution, TopPagesPeriod},
    },
    SITE,
};
use crate::{
    domains::times::{DAY, HOUR, MINUTE, day_of, midnight},
    graphql::prelude::*,
    mongo::Stored as _,
};

/// Maximum number of buckets of a report: a day has 1,440 minutes.
const BUCKETS: usize = 1_500;
/// Maximum number of days that a report reads one by one.
const DAYS: i64 = 400;
/// Maximum number of pages in a list of the top pages.
const TOP: i64 = 100;

/// The hits of one bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Bucket {
    /// Its start, in milliseconds since 1970.
    pub(in super::super) start: i64,
    /// The bucket in the calendar of the report.
    pub(in super::super) label: String,
    pub(in super::super) hits: i64,
}

/// The hits of a page within a range, by bucket. Buckets without hits have a zero.
///
/// # Errors
/// `BadInput` that names the argument.
pub(in super::super) async fn report(
    cx: Cx<'_>,
    (site, page): (&str, &str),
    range: ReportRange,
    resolution: Resolution,
    time_zone: Option<&str>,
) -> Result<Vec<Bucket>> {
    let page = page_of(site, page)?;
    let calendar = time_zone.map_or(Ok(Calendar::UTC), Calendar::named)?;
    let now = cx.clock().timestamp_millis();
    let plan = Plan::new(calendar, &range, resolution, now)?;
    Ok(plan.counted(&cx, &page).await?.0)
}

/// The checked page, without a date.
pub(super) fn page_of(site: &str, page: &str) -> Result<PageDate> {
    let (site, page) = (input::line("site", site, SITE)?, input::page("page", page)?);
    Ok(PageDate { site, page, date: String::new() })
}

/// The buckets of a report, and how they are counted.
pub(super) struct Plan {
    calendar: Calendar,
    resolution: Resolution,
    /// The counted range.
    range: Range<i64>,
    /// Starts of the buckets. The first one may begin before the range.
    starts: Vec<i64>,
    unit: Unit,
}

/// The longest unit of the documents that no edge of a bucket divides.
enum Unit {
    /// Days, which the documents of months count.
    Days,
    /// Hours, except for these hours of each day, which are counted by minute.
    Hours(BTreeSet<i64>),
}

impl Plan {
    /// # Errors
    /// `BadInput` that names the argument.
    pub(super) fn new(
        calendar: Calendar,
        range: &ReportRange,
        resolution: Resolution,
        now: i64,
    ) -> Result<Self> {
        let range = match range {
            ReportRange::Days(days) => calendar.days(&days.from, &days.to)?,
            ReportRange::Moments(moments) => {
                let [from, to] = [moments.from, moments.to].map(|at| at.0.timestamp_millis());
                moments_between(from, to)?
            }
            ReportRange::Last(count) => last(&calendar, *count, resolution, now)?,
        };
        let mut starts = Vec::new();
        if !range.is_empty() {
            starts.push(calendar.start(resolution, range.start)?);
        }
        while let Some(start) = starts.last() {
            let next = calendar.next(resolution, *start)?;
            if next >= range.end {
                break;
            }
            if starts.len() == BUCKETS {
                let reason = format!("asks for more than {BUCKETS} buckets of this resolution");
                return Err(Error::bad_input("range", reason));
            }
            starts.push(next);
        }
        let unit = Unit::of(&range, &starts);
        let days = (range.end - 1).div_euclid(DAY) - range.start.div_euclid(DAY) + 1;
        if matches!(unit, Unit::Hours(_)) && days > DAYS {
            let reason = format!(
                "takes at most {DAYS} days, unless all buckets consist of whole days in UTC"
            );
            return Err(Error::bad_input("range", reason));
        }
        Ok(Self { calendar, resolution, range, starts, unit })
    }

    /// The hits of the buckets, and those of each day in UTC if the documents of days were read.
    pub(super) async fn counted(
        &self,
        app: &App,
        page: &PageDate,
    ) -> Result<(Vec<Bucket>, BTreeMap<String, i64>)> {
        if self.starts.is_empty() {
            return Ok((Vec::new(), BTreeMap::new()));
        }
        let ends = [self.range.start, self.range.end - 1].map(|moment| page.on(day_of(moment)));
        match &self.unit {
            Unit::Days => {
                let mut counted = Counted::new(self);
                let months = ends.map(|day| day.month());
                for month in store::months(app, &months).await? {
                    counted.add_month(&month)?;
                }
                Ok((counted.buckets()?, BTreeMap::new()))
            }
            Unit::Hours(by_minute) => {
                self.counted_of(store::days(app, &ends, by_minute).await?, by_minute)
            }
        }
    }

    /// As [`Self::counted`], of the documents of days.
    fn counted_of(
        &self,
        read: Vec<DayDocument>,
        by_minute: &BTreeSet<i64>,
    ) -> Result<(Vec<Bucket>, BTreeMap<String, i64>)> {
        let (mut counted, mut days) = (Counted::new(self), BTreeMap::new());
        for day in read {
            counted.add_day(&day, by_minute)?;
            days.insert(day.id.date, day.hourly.values().sum());
        }
        Ok((counted.buckets()?, days))
    }
}

impl Unit {
    /// The unit for buckets with these starts within the range.
    fn of(range: &Range<i64>, starts: &[i64]) -> Self {
        let ends = [range.start, range.end];
        let edges = starts.iter().skip(1).chain(&ends);
        if edges.clone().all(|edge| edge % DAY == 0) {
            return Self::Days;
        }
        let within = edges.filter(|edge| *edge % HOUR != 0);
        Self::Hours(within.map(|edge| edge % DAY / HOUR).collect())
    }
}

/// The range between two points in time. The minutes that contain them are counted as a whole.
fn moments_between(from: i64, to: i64) -> Result<Range<i64>> {
    if !YEARS.contains(&from) {
        return Err(Error::bad_input("range.moments.from", "must be between 1970 and 2999"));
    }
    if !YEARS.contains(&to) {
        return Err(Error::bad_input("range.moments.to", "must be between 1970 and 2999"));
    }
    if to <= from {
        return Err(Error::bad_input("range.moments.to", "must be after from"));
    }
    Ok(from - from % MINUTE..(to + MINUTE - 1) / MINUTE * MINUTE)
}

/// The last `count` buckets, with the current one.
fn last(calendar: &Calendar, count: i32, resolution: Resolution, now: i64) -> Result<Range<i64>> {
    let count = usize::try_from(count).ok().filter(|count| (1..=BUCKETS).contains(count));
    let count = count.ok_or_else(|| {
        Error::bad_input("range.last", format!("must be between 1 and {BUCKETS}"))
    })?;
    let mut start = calendar.start(resolution, now)?;
    let end = calendar.next(resolution, start)?;
    for _ in 1..count {
        if start <= YEARS.start {
            break;
        }
        start = calendar.start(resolution, start - 1)?;
    }
    Ok(start.max(YEARS.start)..end)
}

/// The hits of the buckets of a plan.
struct Counted<'a> {
    plan: &'a Plan,
    hits: Vec<i64>,
}

impl<'a> Counted<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self { plan, hits: vec![0; plan.starts.len()] }
    }

    fn buckets(self) -> Result<Vec<Bucket>> {
        let Self { plan, hits } = self;
        let bucket = |(start, hits): (&i64, i64)| {
            let label = plan.calendar.label(plan.resolution, *start)?;
            Ok(Bucket { start: *start, label, hits })
        };
        plan.starts.iter().zip(hits).map(bucket).collect()
    }

    fn add_month(&mut self, month: &MonthDocument) -> Result<()> {
        // Days of a month are numbered from 1.
        let before = midnight(&format!("{}-01", month.id.date))? - DAY;
        self.add_all(&month.daily, before, DAY)
    }

    fn add_day(&mut self, day: &DayDocument, by_minute: &BTreeSet<i64>) -> Result<()> {
        let midnight = midnight(&day.id.date)?;
        for (hour, hits) in &day.hourly {
            let hour = number(hour)?;
            if !by_minute.contains(&hour) {
                self.add(midnight + hour * HOUR, *hits);
            }
        }
        for (hour, counts) in &day.minute {
            let hour = number(hour)?;
            if by_minute.contains(&hour) {
                self.add_all(counts, midnight + hour * HOUR, MINUTE)?;
            }
        }
        Ok(())
    }

    /// Adds counts of units of that length, which are numbered from `begin`.
    fn add_all(&mut self, counts: &Counts, begin: i64, length: i64) -> Result<()> {
        for (unit, hits) in counts {
            self.add(begin + number(unit)? * length, *hits);
        }
        Ok(())
    }

    fn add(&mut self, moment: i64, hits: i64) {
        if !self.plan.range.contains(&moment) {
            return;
        }
        let after = self.plan.starts.partition_point(|start| *start <= moment);
        if let Some(bucket) = after.checked_sub(1).and_then(|at| self.hits.get_mut(at)) {
            *bucket += hits;
        }
    }
}

fn number(stored: &str) -> Result<i64> {
    stored.parse().map_err(Error::internal)
}

/// The pages of a site with the most hits on one day, or in one month, in UTC.
///
/// # Errors
/// `BadInput` that names the argument.
pub(in super::super) async fn top_pages(
    cx: Cx<'_>,
    site: &str,
    period: Option<TopPagesPeriod>,
    first: i32,
) -> Result<Vec<PageTotal>> {
    let site = input::line("site", site, SITE)?;
    let first = input::within("first", first.into(), 1..=TOP)?;
    let present = || {
        let day = day_of(cx.clock().timestamp_millis());
        TopPagesPeriod::Month(day[.."2026-11".len()].to_owned())
    };
    let (collection, date) = match period.unwrap_or_else(present) {
        TopPagesPeriod::Day(day) => (DayDocument::COLLECTION, day.as_str().to_owned()),
        TopPagesPeriod::Month(month) => {
            if Date::parse_date(&format!("{month}-01")).is_none() {
                return Err(Error::bad_input("period.month", "takes a month such as 2026-11"));
            }
            (MonthDocument::COLLECTION, month)
        }
    };
    store::top(&cx, collection, (&site, &date), first).await
}

#[cfg(test)]
impl Plan {
    /// The hits of a page whose days are these, as [`Self::counted`] returns them.
    pub(super) fn counted_in(
        &self,
        days: &[DayDocument],
    ) -> Result<(Vec<Bucket>, BTreeMap<String, i64>)> {
        let Unit::Hours(by_minute) = &self.unit else {
            return Err(Error::internal("a plan of months"));
        };
        let ends = [self.range.start, self.range.end - 1].map(day_of);
        let read = days.iter().filter(|day| ends.contains(&day.id.date)).cloned();
        self.counted_of(read.collect(), by_minute)
    }
}
