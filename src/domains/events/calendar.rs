//! Months in UTC, in the proleptic Gregorian calendar.

use std::fmt;

use jiff::{Timestamp, ToSpan, civil::Date, tz::Offset};

/// The start of the names of the months' collections.
pub const PREFIX: &str = "events_";

/// A month, as its first day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month(Date);

impl Month {
    /// The month of a moment, in milliseconds since 1970. For a moment far beyond all events it is the first one of 1970.
    pub fn of(moment: i64) -> Self {
        let moment = Timestamp::from_millisecond(moment).unwrap_or_default();
        Self(Offset::UTC.to_datetime(moment).date().first_of_month())
    }

    /// The month with this name of a collection.
    pub fn named(name: &str) -> Option<Self> {
        let first = format!("{}-01", name.strip_prefix(PREFIX)?.replace('_', "-"));
        let month = Self(first.parse().ok()?);
        (month.to_string() == name).then_some(month)
    }

    /// Its first moment, in milliseconds since 1970.
    pub fn start(self) -> i64 {
        let start = Offset::UTC.to_timestamp(self.0.into());
        start.map_or(i64::MAX, Timestamp::as_millisecond)
    }

    /// The first moment after it.
    pub fn end(self) -> i64 {
        self.next().start()
    }

    /// The month after it.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1.month()))
    }
}

/// The name of its collection.
impl fmt::Display for Month {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{:04}_{:02}", self.0.year(), self.0.month())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains::times::DAY;

    #[test]
    fn a_month_ends_where_the_next_one_begins() {
        let month = Month::named("events_2024_02").expect("a month");
        assert_eq!(month.end() - month.start(), 29 * DAY);
        assert_eq!(Month::of(month.end() - 1), month);
        assert_eq!(Month::of(month.end()), month.next());
        assert_eq!(Month::of(-1).to_string(), "events_1969_12");
        assert_eq!(month.next().to_string(), "events_2024_03");
    }

    #[test]
    fn only_names_of_months_are_months() {
        for name in [
            "events_2024_13",
            "events_2024_00",
            "events_24_01",
            "events_2024_1",
            "events",
            "eventCalls",
            "events_+024_01",
        ] {
            assert_eq!(Month::named(name), None, "{name}");
        }
    }
}
