//! Creates the documents of the next day ahead of time, so that the first hits after midnight don't all insert one.
//!
//! Each hit creates them with a probability of one in `hits_ahead`. If a page has about that number of hits in a day, this
//! happens about once a day, at a random time. For a page with fewer hits it often doesn't happen.

use super::{
    super::{
        calendar::days_of_month,
        documents::{DayDocument, MonthDocument, PageDate},
        store::{self, Sums},
    },
    counting::TOTAL,
};
use crate::{
    app::App,
    domains::times::{DAY, day_of},
};

/// The pages of today's hits for which the documents of tomorrow are to be created, with that day.
pub(super) fn drawn(app: &App, days: &Sums, now: i64) -> Vec<PageDate> {
    let one_in = u64::from(app.config().hits_ahead);
    if one_in == 0 {
        return Vec::new();
    }
    let (today, tomorrow) = (day_of(now), day_of(now + DAY));
    let random = || u64::from_le_bytes(*app.ids().random_bytes().first_chunk().unwrap_or(&[0; 8]));
    days.iter()
        .filter(|(id, counts)| {
            let hits = counts.get(TOTAL).copied().unwrap_or(0);
            id.date == today && is_drawn(random(), one_in, hits)
        })
        .map(|(id, _)| id.on(tomorrow.as_str()))
        .collect()
}

/// Whether this random number is drawn for so many hits: of `one_in` numbers that follow each other, as many as there are
/// hits.
fn is_drawn(random: u64, one_in: u64, hits: i64) -> bool {
    random % one_in < hits.unsigned_abs()
}

/// Creates the documents of these days in the background, and those of the months that begin with them.
pub(super) fn create(app: &App, days: Vec<PageDate>) {
    for id in days {
        let (day, month) = empty(id);
        let app = app.clone();
        let tasks = app.tasks().clone();
        tasks.spawn(async move { store::create(&app, day, month).await });
    }
}

/// The document of a day without hits, and that of its month if the month begins with this day.
fn empty(id: PageDate) -> (DayDocument, Option<MonthDocument>) {
    let is_first = id.day() == "1";
    let length = days_of_month(&id.date).ok().filter(|_| is_first);
    let month = length.map(|length| MonthDocument::empty(id.month(), length));
    (DayDocument::empty(id), month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_hit_is_drawn_with_the_same_probability() {
        for one_in in [1, 2, 7, 1_000] {
            for hits in [0, 1, 2, 6, 999, 1_000, 5_000] {
                for first in [0, 12_345, 1 << 40] {
                    let numbers = first..first + one_in;
                    let drawn = numbers.filter(|number| is_drawn(*number, one_in, hits)).count();
                    let expected = hits.unsigned_abs().min(one_in);
                    assert_eq!(u64::try_from(drawn), Ok(expected), "{hits} hits, one in {one_in}");
                }
            }
        }
    }

    #[test]
    fn a_month_is_created_with_its_first_day() {
        for (date, days) in [
            ("2024-02-01", Some(29)),
            ("2023-02-01", Some(28)),
            ("2025-01-01", Some(31)),
            ("2024-02-02", None),
            ("2024-01-31", None),
        ] {
            let id = PageDate { site: "a".into(), page: "/".into(), date: date.into() };
            let (day, month) = empty(id.clone());
            assert_eq!((day.id, day.hourly.len(), day.total), (id.clone(), 24, 0));
            assert!(day.minute.values().all(|minutes| minutes.len() == 60));
            assert_eq!(month.as_ref().map(|month| month.daily.len()), days, "{date}");
            assert!(month.is_none_or(|month| month.id.date == date[..7] && month.total == 0));
        }
    }
}
