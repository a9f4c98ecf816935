//! Invariants of hits, for `docgate check`, and their repair.
//!
//! A day's document is authoritative for that day in the month's document. The two are added to independently, so an
//! interrupted `recordHits` without an idempotency key can leave them apart. Only days whose counts don't change between
//! two reads count as apart: between these, every command that was under way has ended. The repair sets the month's count.
//! The update is guarded by the month's count as it was read last.
//!
//! After a repair, the repeat of a batch with an idempotency key, or of an import, may make the two differ once more. The next
//! repair corrects that. Days without a document aren't compared, so an operator may delete old documents of days.

use std::{collections::BTreeMap, ops::RangeInclusive};

use super::{
    documents::{Counts, DayDocument, MonthDocument, PageDate},
    store::{self, Apart},
};
use crate::{
    graphql::prelude::*,
    invariants::{Progress, Report},
};

/// The rule of days that aren't apart from their months.
const APART: &str = "hits: a month counts as many hits of a day as the day's document";

/// What is wrong with the documents.
#[derive(Default)]
struct Found {
    /// Days whose hours aren't the sums of their minutes, and keys that can't be.
    days: Vec<String>,
    months: Vec<String>,
    /// Documents whose total isn't the sum of their counts.
    day_totals: Vec<PageDate>,
    month_totals: Vec<PageDate>,
    apart: Vec<Apart>,
}

/// Reads all documents, and days that are apart a second time.
async fn find(app: &App, progress: Progress) -> Result<Found> {
    let mut found = read(app).await?;
    if !found.apart.is_empty() {
        let pause = app.bounds().two_grace_periods();
        progress.looks_again(APART, found.apart.len(), pause);
        tokio::time::sleep(pause).await;
        let still = read(app).await?.apart;
        found.apart.retain(|apart| still.contains(apart));
    }
    Ok(found)
}

/// Reads all documents. The months are read before the days.
async fn read(app: &App) -> Result<Found> {
    let mut found = Found::default();
    let mut months = BTreeMap::new();
    let each = |MonthDocument { id, daily, total, .. }| {
        let is_own = |day: &String| is_day(&format!("{}-{day:0>2}", id.date));
        if !is_counted(&daily, 1..=31) || !daily.keys().all(is_own) {
            found.months.push(format!("{id:?}: {daily:?}"));
        }
        if total != sum(&daily) {
            found.month_totals.push(id.clone());
        }
        months.insert(id, daily);
    };
    app.collection().for_each(each).await?;
    let each = |DayDocument { id, hourly, minute, total, .. }| {
        let of_minutes: Counts =
            minute.iter().map(|(hour, counts)| (hour.clone(), sum(counts))).collect();
        if hourly != of_minutes || !is_counted(&hourly, 0..=23) || !is_day(&id.date) {
            found.days.push(format!("{id:?}: {hourly:?}, of minutes {of_minutes:?}"));
            return;
        }
        let of_day = sum(&hourly);
        if total != of_day {
            found.day_totals.push(id.clone());
        }
        let month = months.get(&id.month());
        let of_month = month.and_then(|daily| daily.get(id.day())).copied().unwrap_or(0);
        if of_month != of_day {
            found.apart.push(Apart { day: id, of_month, of_day });
        }
    };
    app.collection().for_each(each).await?;
    Ok(found)
}

/// Checks that each document is consistent in itself, and the documents of months with those of days.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let found = find(app, report.progress).await?;
    report.add("hits: the hits of an hour are the sum of its minutes", found.days);
    report.add("hits: a month has counts of its own days only", found.months);
    let totals = found.day_totals.iter().chain(&found.month_totals);
    let totals = totals.map(|id| format!("{id:?}"));
    report.add("hits: the total of a day or month is the sum of its hits", totals);
    let apart = found.apart.into_iter().map(|Apart { day, of_month, of_day }| {
        format!("{day:?}: {of_day}, in the month's document {of_month}")
    });
    report.add(APART, apart);
    Ok(())
}

/// Corrects totals, and the counts of months. Returns what was corrected.
pub async fn repair(app: &App, progress: Progress) -> Result<Vec<String>> {
    let found = find(app, progress).await?;
    let (days, months) = (found.day_totals, found.month_totals);
    store::add_up::<DayDocument>(app, &days, "hourly").await?;
    store::add_up::<MonthDocument>(app, &months, "daily").await?;
    let mut repaired = Vec::new();
    if let totals @ 1.. = days.len() + months.len() {
        repaired.push(format!("the total hits of {totals} days and months"));
    }
    store::set_days(app, &found.apart).await?;
    if let days @ 1.. = found.apart.len() {
        repaired.push(format!("the hits of {days} days in the documents of months"));
    }
    Ok(repaired)
}

fn sum(counts: &Counts) -> i64 {
    counts.values().sum()
}

/// Whether each key is a number within `range`, and no count is negative.
fn is_counted(counts: &Counts, range: RangeInclusive<u32>) -> bool {
    counts
        .iter()
        .all(|(unit, hits)| *hits >= 0 && unit.parse().is_ok_and(|unit: u32| range.contains(&unit)))
}

fn is_day(date: &str) -> bool {
    Date::parse_date(date).is_some()
}
