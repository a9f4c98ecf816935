//! Days in UTC, as documents are kept, and the buckets of reports in any time zone.

use std::ops::Range;

use jiff::{Timestamp, ToSpan, ZonedDateTime, civil, tz::TimeZone};

use super::types::Resolution;
use crate::{
    domains::times::{HOUR, MINUTE, floor},
    error::{Error, Result},
    graphql::scalars::Date,
};

/// From the beginning of 1970 to the end of 2999: texts of later moments may be longer.
pub(super) const YEARS: Range<i64> = 0..32_503_680_000_000;

/// Maximum length of the name of a time zone. The longest ones have 32 letters.
const NAME: usize = 64;

/// Number of days of the month of a day.
pub(super) fn days_of_month(day: &str) -> Result<u8> {
    let date: civil::Date = day.parse().map_err(Error::internal)?;
    u8::try_from(date.days_in_month()).map_err(Error::internal)
}

/// The calendar of a time zone.
pub(super) struct Calendar(TimeZone);

impl Calendar {
    /// That of UTC.
    pub(super) const UTC: Self = Self(TimeZone::UTC);

    /// The calendar of the zone with this name in the IANA time zone database.
    ///
    /// # Errors
    /// `BadInput` that names the argument.
    pub(super) fn named(name: &str) -> Result<Self> {
        let zone = if name.len() <= NAME { TimeZone::get(name).ok() } else { None };
        let reason = "takes the name of a time zone in the IANA database, such as Europe/Lisbon";
        zone.map(Self).ok_or_else(|| Error::bad_input("timeZone", reason))
    }

    /// The start of the first of two days, and the end of the second one.
    ///
    /// # Errors
    /// `BadInput` that names the argument.
    pub(super) fn days(&self, from: &Date, to: &Date) -> Result<Range<i64>> {
        let read = |field: &'static str, date: &Date| {
            let read = date.as_str().parse::<civil::Date>().ok();
            let read = read.filter(|date| (1970..=2999).contains(&date.year()));
            read.ok_or_else(|| Error::bad_input(field, "must be between 1970 and 2999"))
        };
        let (first, last) = (read("range.days.from", from)?, read("range.days.to", to)?);
        if last < first {
            return Err(Error::bad_input("range.days.to", "must not be before from"));
        }
        let end = last.tomorrow().map_err(Error::internal)?;
        // Nothing is counted before 1970 in UTC.
        Ok(self.start_of(first)?.max(YEARS.start)..self.start_of(end)?)
    }

    /// The start of the bucket that contains a moment.
    pub(super) fn start(&self, resolution: Resolution, moment: i64) -> Result<i64> {
        let local = self.local(moment)?;
        let date = local.date();
        match resolution {
            Resolution::Minute => Ok(floor(moment, MINUTE)),
            Resolution::Hour => {
                let start = floor(moment, MINUTE) - i64::from(local.minute()) * MINUTE;
                self.latest(resolution, start, moment)
            }
            Resolution::Day => self.start_of(date),
            Resolution::Week => {
                let since_monday = date.weekday().to_monday_zero_offset();
                let monday = date.checked_sub(i64::from(since_monday).days());
                self.start_of(monday.map_err(Error::internal)?)
            }
            Resolution::Month => self.start_of(date.first_of_month()),
        }
    }

    /// The start of the last bucket that begins at or before `moment`, from the one that begins at `start`. An hour in
    /// which the clocks change by half an hour has two buckets.
    fn latest(&self, resolution: Resolution, mut start: i64, moment: i64) -> Result<i64> {
        loop {
            let next = self.next(resolution, start)?;
            if next > moment {
                return Ok(start);
            }
            start = next;
        }
    }

    /// The start of the bucket after the one that begins at `start`.
    pub(super) fn next(&self, resolution: Resolution, start: i64) -> Result<i64> {
        let after = |days: i64| {
            let later = self.local(start)?.date().checked_add(days.days());
            self.start_of(later.map_err(Error::internal)?)
        };
        match resolution {
            Resolution::Minute => Ok(start + MINUTE),
            // A bucket that doesn't begin at a full hour begins when the clocks were changed.
            Resolution::Hour => Ok(start + HOUR - i64::from(self.local(start)?.minute()) * MINUTE),
            Resolution::Day => after(1),
            Resolution::Week => after(7),
            Resolution::Month => {
                let last = self.local(start)?.date().last_of_month();
                self.start_of(last.tomorrow().map_err(Error::internal)?)
            }
        }
    }

    /// The bucket as text: a week as in ISO 8601, such as `2026-W48`, and an hour or minute with the offset from UTC.
    pub(super) fn label(&self, resolution: Resolution, start: i64) -> Result<String> {
        let local = self.local(start)?;
        let date = local.date();
        Ok(match resolution {
            Resolution::Minute | Resolution::Hour => {
                local.strftime("%Y-%m-%dT%H:%M%:z").to_string()
            }
            Resolution::Day => date.to_string(),
            Resolution::Week => {
                let week = date.iso_week_date();
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            Resolution::Month => date.strftime("%Y-%m").to_string(),
        })
    }

    fn local(&self, moment: i64) -> Result<ZonedDateTime> {
        let moment = Timestamp::from_millisecond(moment).map_err(Error::internal)?;
        Ok(moment.to_zoned_datetime(self.0.clone()))
    }

    /// The start of a day. A day begins later than at midnight if the clocks are put forward then.
    fn start_of(&self, date: civil::Date) -> Result<i64> {
        let midnight = date.to_zoned_datetime(self.0.clone()).map_err(Error::internal)?;
        let start = midnight.start_of_day().map_err(Error::internal)?;
        Ok(start.timestamp().as_millisecond())
    }
}
