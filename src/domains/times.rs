//! Times of reports, which several rooms have. They are in milliseconds since 1970.

use std::ops::RangeInclusive;

use mongodb::bson;

use crate::{
    app::{App, rfc3339},
    error::{Error, Result},
    graphql::scalars::DateTime,
};

/// Lengths in milliseconds.
pub const SECOND: i64 = 1_000;
/// See [`SECOND`].
pub const MINUTE: i64 = 60 * SECOND;
/// See [`SECOND`].
pub const HOUR: i64 = 60 * MINUTE;
/// See [`SECOND`].
pub const DAY: i64 = 24 * HOUR;

/// The day in UTC of a moment, such as `2026-11-23`.
pub fn day_of(moment: i64) -> String {
    let mut date = rfc3339(bson::DateTime::from_millis(moment));
    date.truncate("2026-11-23".len());
    date
}

/// The start of a day in UTC.
///
/// # Errors
/// The text isn't a day.
pub fn midnight(date: &str) -> Result<i64> {
    let begins = bson::DateTime::parse_rfc3339_str(format!("{date}T00:00:00Z"));
    begins.map(bson::DateTime::timestamp_millis).map_err(Error::internal)
}

/// The last multiple of `step` up to `moment`.
pub fn floor(moment: i64, step: i64) -> i64 {
    moment - moment.rem_euclid(step)
}

/// The times that the arguments `from` and `to` of a report can have.
#[derive(Debug)]
pub struct Times {
    /// The range of both.
    pub range: RangeInclusive<i64>,
    /// What is wrong with another time.
    pub years: &'static str,
    /// What is wrong without `from`, if the report would begin before the range.
    pub early: &'static str,
}

/// The checked arguments of a report.
#[derive(Debug)]
pub struct Between {
    /// Its beginning, inclusive.
    pub from: i64,
    /// Its end, exclusive.
    pub to: i64,
    /// The argument that a fault of its length names: one that the caller has given.
    pub given: &'static str,
}

impl Times {
    /// Checks `from` and `to`. Without `to` a report ends now, and without `from` it has this length.
    ///
    /// # Errors
    /// `BadInput` that names the argument.
    pub fn between(
        &self,
        app: &App,
        [from, to]: [Option<DateTime>; 2],
        length: i64,
    ) -> Result<Between> {
        let Self { range, years, early } = self;
        let (given, order) = match to {
            Some(_) => ("to", "must be after from"),
            None => ("from", "must be before now, the default of to"),
        };
        let (begins, reason) = match from {
            Some(_) => ("from", *years),
            None => ("to", *early),
        };
        let to = to.map_or_else(|| app.clock(), |to| to.0).timestamp_millis();
        let from = from.map_or(to.saturating_sub(length), |from| from.0.timestamp_millis());
        for (argument, time, reason) in [("to", to, *years), (begins, from, reason)] {
            if !range.contains(&time) {
                return Err(Error::bad_input(argument, reason));
            }
        }
        if to <= from {
            return Err(Error::bad_input(given, order));
        }
        Ok(Between { from, to, given })
    }
}
