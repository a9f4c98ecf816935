//! Creates the documents of the next day ahead of time, so that the first hits after midnight don't all insert one.
//!
//! Each hit does it with a probability of one in `hits_ahead`. If that is about the number of hits of a page and day, each
//! page does it about once a day, at a random time. Pages with fewer hits often do without.

use super::{
    super::{
        calendar::{DAY, day_of, days_of_month},
        documents::{DayDocument, MonthDocument, PageDate},
        store::{self, Sums},
    },
    counting::TOTAL,
};
use crate::app::App;

/// The pages of today's hits for which the documents of tomorrow are to be created, with that day.
pub(super) fn drawn(app: &App, days: &Sums, now: i64) -> Vec<PageDate> {
    let one_in = u64::from(app.config().hits_ahead);
    if one_in == 0 {
        return Vec::new();
    }
    let (today, tomorrow) = (day_of(now), day_of(now + DAY));
    let is_drawn = |hits: i64| {
        let random = u64::from_le_bytes(*app.ids().random_bytes().first_chunk().unwrap_or(&[0; 8]));
        random % one_in < hits.unsigned_abs()
    };
    days.iter()
        .filter(|(id, counts)| {
            id.date == today && is_drawn(counts.get(TOTAL).copied().unwrap_or(0))
        })
        .map(|(id, _)| id.on(tomorrow.as_str()))
        .collect()
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
