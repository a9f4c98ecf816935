//! Invariants of hits, for `docgate check`.

use super::documents::{Counts, DayDocument, MonthDocument};
use crate::{app::App, error::Error, graphql::scalars::Date, invariants::Report};

/// Checks that each document is consistent in itself.
pub async fn check(app: &App, report: &mut Report) -> Result<(), Error> {
    report.rule("hits: the hits of an hour are the sum of its minutes");
    let each = |DayDocument { id, hourly, minute, .. }| {
        let of_minutes: Counts =
            minute.into_iter().map(|(hour, counts)| (hour, counts.values().sum())).collect();
        if hourly != of_minutes || !is_counted(&hourly, 0..=23) || !is_day(&id.date) {
            report.broken(format!("{id:?}: {hourly:?}, of minutes {of_minutes:?}"));
        }
    };
    app.collection().for_each(each).await?;
    report.rule("hits: a month has counts of its own days only");
    let each = |MonthDocument { id, daily, .. }| {
        let is_own = |day: &String| is_day(&format!("{}-{day:0>2}", id.date));
        if !is_counted(&daily, 1..=31) || !daily.keys().all(is_own) {
            report.broken(format!("{id:?}: {daily:?}"));
        }
    };
    app.collection().for_each(each).await
}

/// Whether each key is a number within `range` with a positive count.
fn is_counted(counts: &Counts, range: std::ops::RangeInclusive<u32>) -> bool {
    let is_one = |(unit, hits): (&String, &i64)| {
        *hits > 0 && unit.parse().is_ok_and(|unit| range.contains(&unit))
    };
    !counts.is_empty() && counts.iter().all(is_one)
}

fn is_day(date: &str) -> bool {
    Date::parse_date(date).is_some()
}
