//! Days and months in UTC, in the proleptic Gregorian calendar.

use std::fmt;

/// Lengths in milliseconds.
pub const SECOND: i64 = 1_000;
/// See [`SECOND`].
pub const DAY: i64 = 86_400 * SECOND;
/// Number of days of 400 years, after which the calendar repeats itself.
const CYCLE: i64 = 146_097;
/// Days from the first of March of the year 0 to the first of January 1970.
const EPOCH: i64 = 719_468;

/// The start of the names of the months' collections.
pub const PREFIX: &str = "events_";

/// Days since 1970 of a date. The month counts from 1.
pub fn days_of(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March here, so that a leap day is its last day.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (cycle, year) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    cycle * CYCLE + year * 365 + year / 4 - year / 100 + day_of_year - EPOCH
}

/// Number of days of a month.
pub fn length(year: i64, month: i64) -> i64 {
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_of(next.0, next.1, 1) - days_of(year, month, 1)
}

/// A month, as the number of months since the year 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month(i64);

impl Month {
    /// The month of a moment, in milliseconds since 1970.
    pub fn of(moment: i64) -> Self {
        let days = moment.div_euclid(DAY) + EPOCH;
        let (cycle, day) = (days.div_euclid(CYCLE), days.rem_euclid(CYCLE));
        let year = (day - day / 1_460 + day / 36_524 - day / (CYCLE - 1)) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        // From March.
        let month = (5 * day + 2) / 153;
        Self((cycle * 400 + year) * 12 + month + 2)
    }

    /// The month with this name of a collection.
    pub fn named(name: &str) -> Option<Self> {
        let (year, month) = name.strip_prefix(PREFIX)?.split_once('_')?;
        let number = |text: &str, length| {
            let fits = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
            fits.then(|| text.parse::<i64>().ok()).flatten()
        };
        let (year, month) = (number(year, 4)?, number(month, 2)?);
        (1..=12).contains(&month).then_some(Self(year * 12 + month - 1))
    }

    /// Its first moment, in milliseconds since 1970.
    pub fn start(self) -> i64 {
        days_of(self.0.div_euclid(12), self.0.rem_euclid(12) + 1, 1) * DAY
    }

    /// The first moment after it.
    pub fn end(self) -> i64 {
        self.next().start()
    }

    /// The month after it.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The months from this one to `last`, both included.
    pub fn to(self, last: Self) -> impl DoubleEndedIterator<Item = Self> {
        (self.0..=last.0).map(Self)
    }
}

/// The name of its collection.
impl fmt::Display for Month {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{:04}_{:02}", self.0.div_euclid(12), self.0.rem_euclid(12) + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_months_agree_with_the_calendar() {
        let mut days = 0;
        for year in 1970..2500 {
            let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            for month in 1..=12 {
                let length_of_month = match month {
                    2 if is_leap => 29,
                    2 => 28,
                    4 | 6 | 9 | 11 => 30,
                    _ => 31,
                };
                assert_eq!(length(year, month), length_of_month);
                for day in 1..=length_of_month {
                    assert_eq!(days_of(year, month, day), days, "{year}-{month}-{day}");
                    let of = Month::of(days * DAY + 5);
                    assert_eq!(of.to_string(), format!("events_{year:04}_{month:02}"));
                    days += 1;
                }
            }
        }
    }

    #[test]
    fn a_month_ends_where_the_next_one_begins() {
        let month = Month::named("events_2024_02").expect("a month");
        assert_eq!(month.end() - month.start(), 29 * DAY);
        assert_eq!(Month::of(month.end() - 1), month);
        assert_eq!(Month::of(month.end()), month.next());
        assert_eq!(Month::of(-1).to_string(), "events_1969_12");
        let names: Vec<_> = month.to(month.next()).map(|one| format!("{one}")).collect();
        assert_eq!(names, ["events_2024_02", "events_2024_03"]);
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
