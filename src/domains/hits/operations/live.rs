//! Notifies subscribers of a page of new hits, by the change hub and at most once a second.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::Stream;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    super::{
        calendar::Calendar,
        documents::{DayDocument, PageDate},
        types::{HitReport, HitsChanged, ReportRange, Resolution},
    },
    reports::{Bucket, Plan, page_of},
};
use crate::{
    domains::times::{DAY, MINUTE, day_of},
    graphql::{
        prelude::*,
        shared::Shared,
        subscription::Progress,
        watched::{Watched, Watching},
    },
    mongo::watch::Changes,
};

/// Shortest time between two reads of a page.
const PAUSE: Duration = Duration::from_secs(1);
/// Time after which it is looked whether a page still has subscribers, and whether another day has begun.
const CHECK: Duration = Duration::from_secs(1);
/// Number of minutes that subscribers get.
const MINUTES: i32 = 60;

/// What is known of a page; `None` before the first read.
type Known = Option<(Current, Shared<HitsChanged>)>;

/// The counts that subscribers get.
#[derive(Debug, Clone)]
struct Current {
    /// The day in UTC.
    day: String,
    /// The hits of this day, and within an hour after midnight those of the day before.
    days: BTreeMap<String, i64>,
    /// The hits of the last minutes.
    minutes: Vec<Bucket>,
}

/// Reads a page at first, after changes of the documents of this day and the day before, and at midnight.
async fn watch_page(app: App, watching: Watching<PageDate, Known>) {
    let page = watching.key();
    let (mut day, [mut changes, mut late]) = of_today(&app, page);
    loop {
        let earliest = Instant::now() + PAUSE;
        let current = read(&app, page).await;
        let has_failed = current.is_err();
        match current {
            Ok(current) => watching.update(|known| current.replace(known, page)),
            Err(error) => tracing::warn!(
                event = "hits_unread",
                site = page.site,
                page = page.page,
                %error,
                "the hits of a page couldn't be read"
            ),
        }
        loop {
            let next = async {
                tokio::select! {
                    is_open = changes.changed() => is_open,
                    // Hits of the last minutes before midnight may come after it.
                    is_open = late.changed() => is_open,
                }
            };
            let Some(has_changed) = watching.wait(CHECK, next).await else { return };
            let is_over = day != day_of(app.clock().timestamp_millis());
            if is_over {
                (day, [changes, late]) = of_today(&app, page);
            }
            if has_changed || is_over || has_failed {
                break;
            }
        }
        sleep_until(earliest).await;
    }
}

/// The day of a moment and the day before, whose documents count the last minutes.
fn days_at(now: i64) -> [String; 2] {
    [now, now - DAY].map(day_of)
}

/// The present day, and the changes of the documents of a page of this day and the day before.
fn of_today(app: &App, page: &PageDate) -> (String, [Changes; 2]) {
    let [today, before] = days_at(app.clock().timestamp_millis());
    let watch = |day: &str| app.hub().watch::<DayDocument>(page.on(day.to_owned()).watched());
    let changes = [watch(&today), watch(&before)];
    (today, changes)
}

/// The plan of the last minutes before a moment.
fn last_minutes(now: i64) -> Result<Plan> {
    Plan::new(Calendar::UTC, &ReportRange::Last(MINUTES), Resolution::Minute, now)
}

/// Reads the hits of a page today and within the last minutes, by one command.
async fn read(app: &App, page: &PageDate) -> Result<Current> {
    let now = app.clock().timestamp_millis();
    let (minutes, days) = last_minutes(now)?.counted(app, page).await?;
    Ok(Current { day: day_of(now), days, minutes })
}

impl Current {
    /// The hits of a day.
    fn hits(&self, day: &str) -> i64 {
        self.days.get(day).copied().unwrap_or(0)
    }

    /// Replaces what is known. Returns whether the hits have changed; that minutes have passed isn't a change.
    fn replace(self, known: &mut Known, page: &PageDate) -> bool {
        let is_new = known.as_ref().is_none_or(|(before, _)| {
            let is_other = |(day, hits): (&String, &i64)| before.hits(day) != *hits;
            before.day != self.day || self.days.iter().any(is_other)
        });
        if is_new {
            let shown = self.shown(page);
            *known = Some((self, Shared::new(shown)));
        }
        is_new
    }

    /// What subscribers get.
    fn shown(&self, page: &PageDate) -> HitsChanged {
        HitsChanged {
            site: page.site.clone(),
            page: page.page.clone(),
            today: Long(self.hits(&self.day)),
            last_hour: HitReport::from(self.minutes.clone()),
        }
    }

    /// Whether its last minute is that of a moment.
    fn is_of(&self, now: i64) -> bool {
        self.minutes.last().is_some_and(|last| (last.start..last.start + MINUTE).contains(&now))
    }
}

/// The first response to a subscriber, if the last response to the others is that of an earlier minute.
async fn read_late(app: &App, page: &PageDate) -> Shared<HitsChanged> {
    loop {
        if let Ok(current) = read(app, page).await {
            return Shared::new(current.shown(page));
        }
        sleep(PAUSE).await;
    }
}

/// Follows the hits of a page. While MongoDB can't be read, it tells nothing.
///
/// # Errors
/// `BadInput` that names the argument.
pub(in super::super) fn hits_changed(
    cx: Cx<'_>,
    (site, page): (&str, &str),
    progress: Arc<Progress>,
) -> Result<impl Stream<Item = async_graphql::Result<Shared<HitsChanged>>> + use<>> {
    let (app, page) = (cx.app.clone(), page_of(site, page)?);
    let mut known = Watched::subscribe(cx.app, page.clone(), watch_page);
    // What is known at the beginning may be of any earlier time.
    let now = app.clock().timestamp_millis();
    let is_late = known.borrow().as_ref().is_some_and(|(current, _)| !current.is_of(now));
    Ok(async_stream::stream! {
        if is_late {
            known.mark_unchanged();
            let shown = read_late(&app, &page).await;
            yield Ok(shown);
            progress.wait();
            if known.changed().await.is_err() {
                return;
            }
        }
        loop {
            let shown = known.borrow_and_update().as_ref().map(|(_, shown)| shown.clone());
            if let Some(shown) = shown {
                yield Ok(shown);
            }
            progress.wait();
            if known.changed().await.is_err() {
                return;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains::times::midnight;

    fn page() -> PageDate {
        PageDate { site: "a.example".into(), page: "/a".into(), date: String::new() }
    }

    /// The documents of the days of these hits.
    fn counted(hits: &[i64]) -> Vec<DayDocument> {
        let mut days = BTreeMap::new();
        for moment in hits {
            let date = day_of(*moment);
            let of_day = moment % DAY / MINUTE;
            let (hour, minute) = ((of_day / 60).to_string(), (of_day % 60).to_string());
            let day: &mut DayDocument =
                days.entry(date.clone()).or_insert_with(|| DayDocument::empty(page().on(date)));
            *day.hourly.entry(hour.clone()).or_default() += 1;
            *day.minute.entry(hour).or_default().entry(minute).or_default() += 1;
        }
        days.into_values().collect()
    }

    /// Reads these hits at a moment. Returns the hits of today and of the last hour, if subscribers are told them.
    fn told(known: &mut Known, now: i64, hits: &[i64]) -> Option<(i64, i64)> {
        let (minutes, days) =
            last_minutes(now).expect("a plan").counted_in(&counted(hits)).expect("counted");
        let current = Current { day: day_of(now), days, minutes };
        let (today, last) =
            (current.hits(&current.day), current.minutes.iter().map(|minute| minute.hits).sum());
        current.replace(known, &page()).then_some((today, last))
    }

    #[test]
    fn a_page_is_followed_over_midnight() {
        let midnight = midnight("2026-11-27").expect("a time");
        let mut known = None;
        let before = midnight - 20 * MINUTE;
        assert_eq!(told(&mut known, before, &[]), Some((0, 0)));
        let mut hits = vec![before, before];
        assert_eq!(told(&mut known, before, &hits), Some((2, 2)));
        assert_eq!(told(&mut known, midnight - 1, &hits), None, "only time has passed");

        // Without another hit, the new day is told.
        let after = midnight + 10 * MINUTE;
        assert_eq!(told(&mut known, after, &hits), Some((0, 2)));
        assert_eq!(told(&mut known, after, &hits), None);
        hits.push(after);
        assert_eq!(told(&mut known, after, &hits), Some((1, 3)));
        // One of the day before, which comes late.
        hits.push(midnight - 5 * MINUTE);
        assert_eq!(told(&mut known, after, &hits), Some((1, 4)));
        assert_eq!(told(&mut None, after, &hits), Some((1, 4)), "a subscriber who comes later");
        // An hour after midnight the day before doesn't matter any more.
        assert_eq!(told(&mut known, midnight + 70 * MINUTE, &hits), None);
        hits.push(midnight - 5 * MINUTE);
        assert_eq!(told(&mut known, midnight + 70 * MINUTE, &hits), None);
    }

    #[test]
    fn the_last_hour_is_that_of_a_minute() {
        let midnight = midnight("2026-11-27").expect("a time");
        let (minutes, days) =
            last_minutes(midnight).expect("a plan").counted_in(&[]).expect("counted");
        let current = Current { day: day_of(midnight), days, minutes };
        for (now, is_of) in [
            (midnight - 1, false),
            (midnight, true),
            (midnight + MINUTE - 1, true),
            (midnight + MINUTE, false),
            (midnight + DAY, false),
        ] {
            assert_eq!(current.is_of(now), is_of, "{now}");
        }
    }

    #[test]
    fn the_day_and_the_day_before_are_watched() {
        let midnight = midnight("2026-11-27").expect("a time");
        for (now, expected) in [
            (midnight - 1, ["2026-11-26", "2026-11-25"]),
            (midnight, ["2026-11-27", "2026-11-26"]),
            (midnight + DAY - 1, ["2026-11-27", "2026-11-26"]),
        ] {
            assert_eq!(days_at(now), expected, "{now}");
        }
    }
}
