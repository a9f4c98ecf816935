//! The periods of a roll-up, in UTC. Times are in milliseconds since 1970.

use std::iter::successors;

use mongodb::bson::DateTime;

use super::documents::Level;
use crate::{
    app::rfc3339,
    config::Weekday,
    domains::times::{DAY, HOUR, floor},
};

const WEEK: i64 = 7 * DAY;

/// The calendar of a configuration.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calendar {
    /// First day of the week.
    pub(super) week_start: Weekday,
}

impl Calendar {
    /// Start of the period that contains `moment`.
    pub(super) fn start(self, level: Level, moment: i64) -> i64 {
        match level {
            Level::Hour => floor(moment, HOUR),
            Level::Day => floor(moment, DAY),
            // The first day of 1970 was a Thursday.
            Level::Week => {
                let offset = (i64::from(self.week_start as u8) - 3) * DAY;
                floor(moment - offset, WEEK) + offset
            }
            Level::Month => first_day(moment, 7),
            Level::Year => first_day(moment, 4),
        }
    }

    /// Start of the period after the one that begins at `start`.
    pub(super) fn next(self, level: Level, start: i64) -> i64 {
        // A day of the next period, however long this one is.
        let beyond = match level {
            Level::Hour => HOUR,
            Level::Day => DAY,
            Level::Week => WEEK,
            Level::Month => 31 * DAY,
            Level::Year => 366 * DAY,
        };
        self.start(level, start + beyond)
    }

    /// Whether there are more than `most` periods from the one that begins at `start` to the last one that begins before `end`.
    pub(super) fn has_more(self, level: Level, [start, end]: [i64; 2], most: i64) -> bool {
        // However short they are, there aren't more.
        if (end - 1 - start) / shortest(level) < most {
            return false;
        }
        (0..most).fold(start, |start, _| self.next(level, start)) < end
    }

    /// Starts of the periods of the level `below` in the period that begins at `start`.
    pub(super) fn parts(self, level: Level, start: i64, below: Level) -> impl Iterator<Item = i64> {
        let end = self.next(level, start);
        successors(Some(start), move |part| Some(self.next(below, *part)))
            .take_while(move |part| *part < end)
    }
}

/// Length of the shortest period of a level.
pub(super) fn shortest(level: Level) -> i64 {
    match level {
        Level::Hour => HOUR,
        Level::Day => DAY,
        Level::Week => WEEK,
        Level::Month => 28 * DAY,
        Level::Year => 365 * DAY,
    }
}

/// Start of the first day of the year or month whose name is that many characters at the beginning of a date.
fn first_day(moment: i64, length: usize) -> i64 {
    let mut date = rfc3339(DateTime::from_millis(moment));
    date.truncate(length);
    let rest = &"0000-01-01T00:00:00Z"[length..];
    // Every time in the range of sessions has such a text.
    DateTime::parse_rfc3339_str(format!("{date}{rest}")).map_or(moment, DateTime::timestamp_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> i64 {
        DateTime::parse_rfc3339_str(text).expect("a time").timestamp_millis()
    }

    fn start(level: Level, week_start: Weekday, text: &str) -> String {
        let start = Calendar { week_start }.start(level, at(text));
        rfc3339(DateTime::from_millis(start)).replace(":00:00.000Z", "")
    }

    #[test]
    fn periods_begin_where_the_calendar_says() {
        let monday = Weekday::Monday;
        for (level, moment, expected) in [
            (Level::Hour, "2024-02-29T23:59:59.999Z", "2024-02-29T23"),
            (Level::Day, "2024-02-29T23:59:59.999Z", "2024-02-29T00"),
            (Level::Month, "2024-02-29T23:59:59.999Z", "2024-02-01T00"),
            (Level::Month, "2024-12-31T23:00:00Z", "2024-12-01T00"),
            (Level::Year, "2024-12-31T23:59:59.999Z", "2024-01-01T00"),
            (Level::Year, "1970-01-01T00:00:00Z", "1970-01-01T00"),
            // Week 53 of 2020 ends on the third day of 2021; week 1 of 2025 begins in 2024.
            (Level::Week, "2021-01-03T23:59:59Z", "2020-12-28T00"),
            (Level::Week, "2021-01-04T00:00:00Z", "2021-01-04T00"),
            (Level::Week, "2024-12-30T00:00:00Z", "2024-12-30T00"),
            (Level::Week, "1970-01-01T00:00:00Z", "1969-12-29T00"),
        ] {
            assert_eq!(start(level, monday, moment), expected, "{level:?} {moment}");
        }
        assert_eq!(start(Level::Week, Weekday::Sunday, "2021-01-03T12:00:00Z"), "2021-01-03T00");
        assert_eq!(start(Level::Week, Weekday::Sunday, "2021-01-02T12:00:00Z"), "2020-12-27T00");
        assert_eq!(start(Level::Week, Weekday::Saturday, "2021-01-02T12:00:00Z"), "2021-01-02T00");
    }

    #[test]
    fn a_period_consists_of_its_parts() {
        let calendar = Calendar { week_start: Weekday::Monday };
        for (level, below, begin, parts) in [
            (Level::Day, Level::Hour, "2024-02-29T00:00:00Z", 24),
            (Level::Week, Level::Day, "2020-12-28T00:00:00Z", 7),
            (Level::Month, Level::Day, "2024-02-01T00:00:00Z", 29),
            (Level::Month, Level::Day, "2023-02-01T00:00:00Z", 28),
            (Level::Year, Level::Month, "2024-01-01T00:00:00Z", 12),
        ] {
            let found: Vec<i64> = calendar.parts(level, at(begin), below).collect();
            assert_eq!((found.len(), found[0]), (parts, at(begin)), "{level:?} {begin}");
            assert!(found.iter().all(|part| calendar.start(level, *part) == at(begin)));
        }
    }
}
