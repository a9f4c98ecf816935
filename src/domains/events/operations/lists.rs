//! Lists and counts of events. A list or a count can cross several months, each of which is a collection.

use std::sync::{Arc, OnceLock};

use super::{
    super::{
        calendar::Month,
        documents::EventDocument,
        store,
        types::{Event, EventsBy, RequestsOfDay, RequestsOfPage, check_site, check_text},
    },
    Times,
};
use crate::{
    domains::times::{DAY, day_of, midnight},
    graphql::{
        prelude::*,
        scalars::DateTime,
        shares::{Clients, Shares},
    },
};

/// Maximum number of days of `requestsByDayAndPage`.
const DAYS: i64 = 31;
/// Pages of each day, if the caller doesn't say.
const PAGES: i32 = 20;
/// Maximum number of these counts of a gateway at once.
const AT_ONCE: usize = 2;
/// Part of it that one subject may have, in per cent.
const EACH: usize = 50;

/// The end of the times that a list can name.
const END: i64 = 253_402_300_800_000;

/// Checks the argument `by`. Returns the day to which the list is restricted.
fn check(by: &EventsBy) -> Result<Option<[i64; 2]>, Error> {
    let invalid = |(field, reason): (&str, String)| Error::bad_input(format!("by.{field}"), reason);
    match by {
        EventsBy::Path(path) => check_text("path", Some(path)).map_err(invalid)?,
        EventsBy::Host(host) => check_text("host", Some(host)).map_err(invalid)?,
        EventsBy::Day(day) => {
            let begin = midnight(day.as_str())?;
            return Ok(Some([begin, begin + DAY]));
        }
    }
    Ok(None)
}

/// The months in which events of a range may be, in their order.
async fn months(app: &App, [from, end]: [i64; 2]) -> Result<Vec<Month>, Error> {
    let Times { oldest, newest } = Times::now(app);
    // Months that are older are dropped as a whole, so the oldest one has older events as well.
    let from = oldest.map_or(from, |oldest| from.max(Month::of(oldest).start()));
    let last = (end - 1).min(newest);
    if last < from {
        return Ok(Vec::new());
    }
    let (first, last) = (Month::of(from), Month::of(last));
    if last <= first.next() {
        let mut few = vec![first, last];
        few.dedup();
        return Ok(few);
    }
    let there = store::months(app).await?.into_iter();
    Ok(there.filter(|month| (first..=last).contains(month)).collect())
}

/// A page of events, newest first. The months are read one after the other until it is full.
///
/// # Errors
/// `BadInput` that names the argument.
pub(in super::super) async fn events(
    cx: Cx<'_>,
    by: EventsBy,
    times: [Option<DateTime>; 2],
    paging: Paging,
) -> Result<Connection<Event>, Error> {
    let order =
        Order { list: format!("events {by:?} {times:?}"), keys: vec![("at", -1), ("_id", -1)] };
    let day = check(&by)?;
    let page = Page::new(&cx, order, paging)?;
    let given = times.map(|time| time.map(|time| time.0.timestamp_millis()));
    if let [Some(from), Some(to)] = given
        && to <= from
    {
        return Err(Error::bad_input("to", "must be after from"));
    }
    let mut range = [given[0].unwrap_or(0).max(0), given[1].unwrap_or(END).min(END)];
    if let Some([begin, end]) = day {
        range = [range[0].max(begin), range[1].min(end)];
    }
    let (filter, index) = store::filter(&by, range);
    // Months before the cursor aren't read.
    if let Some(at) = page.from().and_then(|from| from.first()?.as_datetime().copied()) {
        let at = at.timestamp_millis();
        range = if page.is_backward() {
            [range[0].max(at), range[1]]
        } else {
            [range[0], range[1].min(at.saturating_add(1))]
        };
    }
    let mut months = months(&cx, range).await?;
    if !page.is_backward() {
        months.reverse();
    }
    let mut found: Vec<EventDocument> = Vec::new();
    for month in months {
        let missing = page.wanted().saturating_sub(found.len());
        if missing == 0 {
            break;
        }
        let mut list = page.list(filter.clone());
        list.limit = i64::try_from(missing).unwrap_or(i64::MAX);
        list.hint = Some(index);
        found.extend(store::list(&cx, month, list).await?);
    }
    let values = |event: &EventDocument| vec![event.at.into(), event.id.clone().into()];
    Ok(page.connection(found, values, Event::from))
}

/// The arguments of `requestsByDayAndPage`.
pub(in super::super) struct Counted<'a> {
    /// First and last day.
    pub(in super::super) days: [&'a Date; 2],
    /// Site of the pages.
    pub(in super::super) site: Option<&'a str>,
    /// Maximum number of pages of each day.
    pub(in super::super) pages: Option<i32>,
}

/// The counts that run in this gateway.
#[derive(Default)]
struct Running(OnceLock<Arc<Shares>>);

/// Requests by day and page.
///
/// # Errors
/// `BadInput`; `Overloaded` if too many of these run, or another one of the caller.
pub(in super::super) async fn requests_by_day_and_page(
    cx: Cx<'_>,
    Counted { days: [from, to], site, pages }: Counted<'_>,
) -> Result<Vec<RequestsOfDay>, Error> {
    let (begin, end) = (midnight(from.as_str())?, midnight(to.as_str())? + DAY);
    if end <= begin {
        return Err(Error::bad_input("to", "must not be before from"));
    }
    if end - begin > DAYS * DAY {
        return Err(Error::bad_input("to", format!("asks for more than {DAYS} days")));
    }
    if let Some(site) = site {
        check_site(site).map_err(|reason| Error::bad_input("site", reason))?;
    }
    let pages = i64::from(pages.unwrap_or(PAGES));
    if !(1..=100).contains(&pages) {
        return Err(Error::bad_input("pagesPerDay", "must be between 1 and 100"));
    }
    cx.requester.subject()?;
    let (running, client) =
        (cx.shared::<Running>(), cx.shared::<Clients>().of_caller(cx.requester));
    let running = running.0.get_or_init(|| Shares::of(AT_ONCE, EACH));
    let _permit = running.acquire(Some(client)).map_err(|_reached| Error::Overloaded)?;
    let months = months(&cx, [begin, end]).await?;
    let most = cx.config().events_counted;
    let mut left = most;
    for month in &months {
        let count = store::count(&cx, *month, [begin, end], left + 1).await?;
        let Some(rest) = left.checked_sub(count) else {
            let reason = format!(
                "there are more than {most} events in these days; ask for fewer days, or for `report`"
            );
            return Err(Error::bad_input("to", reason));
        };
        left = rest;
    }
    let mut all = Vec::new();
    for month in months {
        for found in store::by_day_and_page(&cx, month, [begin, end], site, pages).await? {
            let shown = |page: store::PageOfEvents| {
                RequestsOfPage::new(page.site, page.path, page.requests)
            };
            all.push(RequestsOfDay {
                day: date(found.day.timestamp_millis())?,
                requests: Long(found.requests),
                pages: found.pages.into_iter().map(shown).collect(),
            });
        }
    }
    Ok(all)
}

fn date(midnight: i64) -> Result<Date, Error> {
    let text = day_of(midnight);
    Date::parse_date(&text).ok_or_else(|| Error::internal(text))
}
