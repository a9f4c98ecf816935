//! Points in time and calendar dates.

use std::ops::RangeInclusive;

use async_graphql::{InputValueResult, Scalar, ScalarType, Value};
use jiff::civil;
use mongodb::bson;
use serde::{Deserialize, Serialize};

use super::of_text;

/// The years 0 to 9999 in UTC, in milliseconds of Unix time.
const YEARS: RangeInclusive<i64> = -62_167_219_200_000..=253_402_300_799_999;

/// A point in time in RFC 3339 format, in UTC and with a precision of milliseconds. It is always written with
/// three fractional digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DateTime(pub bson::DateTime);

impl DateTime {
    /// The point in time, if `text` is one.
    pub fn parse_date_time(text: &str) -> Option<Self> {
        let moment = bson::DateTime::parse_rfc3339_str(text).ok();
        // With its offset, a time can be in a year that RFC 3339 can't write in UTC.
        moment.filter(|moment| YEARS.contains(&moment.timestamp_millis())).map(Self)
    }
}

/// A point in time in RFC 3339 format. It is sent in UTC with three fractional digits, such as
/// `2026-11-23T08:05:01.500Z`, so that the texts sort chronologically.
#[Scalar(specified_by_url = "https://www.rfc-editor.org/rfc/rfc3339")]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        of_text(value, Self::parse_date_time, "a time as in RFC 3339 is expected")
    }

    fn is_valid(value: &Value) -> bool {
        Self::parse(value.clone()).is_ok()
    }

    fn to_value(&self) -> Value {
        Value::from(crate::app::rfc3339(self.0))
    }
}

impl From<bson::DateTime> for DateTime {
    fn from(moment: bson::DateTime) -> Self {
        Self(moment)
    }
}

/// A calendar date in the format of RFC 3339's `full-date`, such as `1959-08-17`. The texts sort
/// chronologically.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Date(String);

impl Date {
    /// The date, if `text` is one.
    pub fn parse_date(text: &str) -> Option<Self> {
        let date: civil::Date = text.parse().ok()?;
        // The parser takes other formats as well, and years with more digits.
        (text.len() == 10 && date.to_string() == text).then(|| Self(text.to_owned()))
    }

    /// The date as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_scalar! {
    /// A calendar date in RFC 3339 format, such as `2024-02-29`.
    #[async_graphql::Scalar(specified_by_url = "https://www.rfc-editor.org/rfc/rfc3339#section-5.6")]
    Date: parse_date, parse_date, as_str;
    "a date such as 1959-08-17 is expected", "is no date such as 1959-08-17"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_is_read_can_be_written() {
        for (text, written) in [
            ("2026-11-23T09:05:01.5+01:00", Some("2026-11-23T08:05:01.500Z")),
            ("9999-12-31T23:59:59Z", Some("9999-12-31T23:59:59.000Z")),
            ("0000-01-01T00:00:00Z", Some("0000-01-01T00:00:00.000Z")),
            ("9999-12-31T23:59:59-00:01", None),
            ("0000-01-01T00:00:00+00:01", None),
        ] {
            let read = DateTime::parse(Value::from(text)).ok();
            assert_eq!(read.map(|time| time.to_value()), written.map(Value::from), "{text}");
        }
    }
}
