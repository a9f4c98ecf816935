//! Counts hits: those of calls with or without an idempotency key, and those of imports.

use mongodb::bson::DateTime;

use super::{
    super::{
        calendar::YEARS,
        documents::{Counts, PageDate},
        store::{self, Batch, Sums},
        types::{HitsRecorded, RecordHitsInput, RecordHitsResult},
    },
    SITE, ahead,
};
use crate::{
    domains::times::{DAY, HOUR, MINUTE, day_of},
    graphql::{declared::nested, prelude::*},
};

/// How far a caller's clock may be ahead, in milliseconds.
const AHEAD: i64 = 60_000;
/// Length of the name of an import's source, in characters.
const SOURCE: std::ops::RangeInclusive<usize> = 1..=200;

/// Counts hits. With an idempotency key, each document counts the same hits once.
///
/// # Errors
/// `Uncounted` if only some of them may have been counted; with an idempotency key `Unavailable`.
pub async fn record_hits(cx: Cx<'_>, input: RecordHitsInput) -> Answer<RecordHitsResult> {
    let input = input.checked()?;
    let subject = cx.requester.subject()?;
    let tag = input.idempotency_key.is_some().then(|| {
        let op = cx.op(&[subject, "recordHits"], &input);
        // Other hits under the same key are another batch.
        format!("{}/{}", op.id, op.input)
    });
    let count = i32::try_from(input.hits.len()).unwrap_or(i32::MAX);
    let now = cx.clock().timestamp_millis();
    let mut tally = Tally::default();
    for (at, mut hit) in input.into_inner().hits.into_iter().enumerate() {
        nested()(&format!("hits.{at}"), &mut hit)?;
        let refused =
            |reason: &str| Stop::from(InvalidInput::new(&format!("hits.{at}.at"), reason));
        let moment = match hit.at {
            Some(at) => at.0.timestamp_millis(),
            None if tag.is_some() => {
                return Err(refused(
                    "is required with an idempotencyKey: a repeat has another time",
                ));
            }
            None => now,
        };
        if !(0..=now + AHEAD).contains(&moment) {
            return Err(refused("must be between 1970 and now"));
        }
        tally.add(hit.site, hit.page, moment, 1);
    }
    let ahead = ahead::drawn(&cx, &tally.days, now);
    match tag {
        Some(tag) => {
            let batch = Batch::Keyed { tag: &tag, remembered: cx.bounds().ops };
            batch.add(&cx, tally.days, tally.months).await?;
        }
        None => store::add(&cx, tally.days, tally.months).await?,
    }
    ahead::create(&cx, ahead);
    Ok(HitsRecorded { count })
}

/// Hits of one page within one minute.
#[derive(Debug, Clone)]
pub struct PageHits {
    site: String,
    page: String,
    /// In milliseconds since 1970.
    moment: i64,
    count: i64,
}

impl PageHits {
    /// `count` hits of a page at a time between the years 1970 and 2999.
    ///
    /// # Errors
    /// `BadInput` that names the invalid field: `site` (1 to 200 characters on one line), `page` (1 to 8,192 bytes on one
    /// line), `at` or `count` (at least 1).
    pub fn new(site: &str, page: &str, at: DateTime, count: i64) -> Result<Self> {
        let (site, page) = (input::line("site", site, SITE)?, input::page("page", page)?);
        let moment = at.timestamp_millis();
        if !YEARS.contains(&moment) {
            return Err(Error::bad_input("at", "must be between 1970 and 2999"));
        }
        input::within("count", count, 1..=i64::from(i32::MAX))?;
        Ok(Self { site, page, moment, count })
    }
}

/// Counts one batch of an import, such as some lines of an access log. Each document counts the batch once, so an import
/// that was interrupted can send its last batches again.
///
/// `source` names the import, 1 to 200 characters on one line. Its batches have the numbers 0, 1, 2, …; the same number
/// has to stand for the same hits, and a batch may only be sent after the one before it was counted. A document
/// remembers the last number of each of the last 500 sources.
///
/// # Errors
/// `BadInput` if `source` or `number` is invalid. `Unavailable`: some of the hits may have been counted; send the batch
/// again.
pub async fn count_batch(
    app: &App,
    source: &str,
    number: i64,
    hits: impl IntoIterator<Item = PageHits>,
) -> Result<()> {
    let source = &input::line("source", source, SOURCE)?;
    input::within("number", number, 0..=i64::MAX)?;
    let Tally { days, months } = hits.into_iter().collect();
    Batch::Imported { source, number }.add(app, days, months).await
}

/// Counts hits without a guard, for data that is made once, such as that of the demo. A repeat counts them again.
///
/// # Errors
/// `Uncounted`: some of them may have been counted.
pub async fn count(app: &App, hits: impl IntoIterator<Item = PageHits>) -> Result<()> {
    let Tally { days, months } = hits.into_iter().collect();
    store::add(app, days, months).await
}

/// The counts to add.
#[derive(Default)]
struct Tally {
    days: Sums,
    months: Sums,
}

impl Tally {
    fn add(&mut self, site: String, page: String, moment: i64, hits: i64) {
        let day = PageDate { site, page, date: day_of(moment) };
        let (hour, minute) = (moment % DAY / HOUR, moment % HOUR / MINUTE);
        let month = self.months.entry(day.month()).or_default();
        increase(month, [format!("daily.{}", day.day()), TOTAL.to_owned()], hits);
        let day = self.days.entry(day).or_default();
        let hour = [format!("hourly.{hour}"), format!("minute.{hour}.{minute}")];
        increase(day, hour, hits);
        increase(day, [TOTAL.to_owned()], hits);
    }
}

impl FromIterator<PageHits> for Tally {
    fn from_iter<I: IntoIterator<Item = PageHits>>(hits: I) -> Self {
        let mut tally = Self::default();
        for PageHits { site, page, moment, count } in hits {
            tally.add(site, page, moment, count);
        }
        tally
    }
}

/// The field with the sum of a document.
pub(super) const TOTAL: &str = "total";

fn increase<const N: usize>(counts: &mut Counts, fields: [String; N], hits: i64) {
    for field in fields {
        *counts.entry(field).or_default() += hits;
    }
}
