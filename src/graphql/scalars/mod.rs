//! Scalars, which are validated when they are parsed, and the type `Money`.

/// Implements a scalar that is a text, in the schema and in JSON. Behind its name stand the functions that read a text that a
/// client sends, and one of JSON, and the method that returns the text; then the messages about other texts.
macro_rules! text_scalar {
    (
        $(#[$meta:meta])*
        $name:ident: $sent:ident, $stored:ident, $text:ident;
        $expected:literal, $other:literal
    ) => {
        $(#[$meta])*
        impl async_graphql::ScalarType for $name {
            fn parse(value: async_graphql::Value) -> async_graphql::InputValueResult<Self> {
                super::of_text(value, Self::$sent, $expected)
            }

            fn is_valid(value: &async_graphql::Value) -> bool {
                Self::parse(value.clone()).is_ok()
            }

            fn to_value(&self) -> async_graphql::Value {
                async_graphql::Value::from(self.$text())
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                Self::$stored(&text).ok_or_else(|| format!(concat!("{:?} ", $other), text))
            }
        }

        impl From<$name> for String {
            fn from(scalar: $name) -> Self {
                scalar.$text().to_owned()
            }
        }
    };
}

mod locale;
mod money;
mod slug;
mod times;

use async_graphql::{Any, ID, InputValueError, InputValueResult, Scalar, ScalarType, Value};
use serde::{Deserialize, Serialize};

pub use locale::{LocaleTag, nearest};
pub use money::{CurrencyCode, Money};
pub use slug::Slug;
pub use times::{Date, DateTime};

use super::upload::Upload;

/// Whether `value` is certainly a valid value of this scalar.
pub(crate) fn is_valid(scalar: &str, value: &Value) -> bool {
    match scalar {
        "Int" => matches!(value, Value::Number(number)
            if number.as_i64().is_some_and(|number| i32::try_from(number).is_ok())),
        "Float" => <f64 as ScalarType>::is_valid(value),
        "String" => <String as ScalarType>::is_valid(value),
        "Boolean" => <bool as ScalarType>::is_valid(value),
        "ID" => <ID as ScalarType>::is_valid(value),
        "Long" => Long::is_valid(value),
        "DateTime" => DateTime::is_valid(value),
        "Date" => Date::is_valid(value),
        "CurrencyCode" => CurrencyCode::is_valid(value),
        "LocaleTag" => LocaleTag::is_valid(value),
        "Slug" => Slug::is_valid(value),
        "Upload" => Upload::is_valid(value),
        "_Any" => Any::is_valid(value),
        _ => false,
    }
}

/// Parses the value of a scalar that is sent as text. `expected` is the message about another text.
fn of_text<T: async_graphql::InputType>(
    value: Value,
    read: impl FnOnce(&str) -> Option<T>,
    expected: &str,
) -> InputValueResult<T> {
    match &value {
        Value::String(text) => read(text).ok_or_else(|| InputValueError::custom(expected)),
        _ => Err(InputValueError::expected_type(value)),
    }
}

/// What the values of a scalar look like, for messages.
pub(crate) fn values(scalar: &str) -> Option<&'static str> {
    Some(match scalar {
        "Int" => "a 32-bit integer",
        "Long" => "a 64-bit integer, as a number or a string",
        "DateTime" => "a date and time of RFC 3339 with a zone, such as \"2026-01-31T12:00:00Z\"",
        "Date" => "a date, such as \"2026-01-31\"",
        "CurrencyCode" => "an ISO 4217 code in capital letters, such as \"EUR\"",
        "LocaleTag" => "a language tag of BCP 47, such as \"de\" or \"pt-BR\"",
        "Slug" => "1 to 64 lower-case letters, digits and single hyphens between them",
        _ => return None,
    })
}

/// Largest magnitude of an integer that every JSON parser reads exactly.
const SAFE: i64 = 1 << 53;

/// A 64-bit integer. It is sent as a JSON number within ±2^53 and as a string beyond; both forms are accepted
/// as input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Long(pub i64);

/// The `Int` with the value of a number. A number beyond its range becomes the nearest `Int`.
pub fn int(number: i64) -> i32 {
    let nearest = if number < 0 { i32::MIN } else { i32::MAX };
    i32::try_from(number).unwrap_or(nearest)
}

impl From<Long> for i64 {
    fn from(Long(number): Long) -> Self {
        number
    }
}

/// A 64-bit integer. It is sent as a JSON number within ±2^53 and as a string beyond; both forms are accepted
/// as input.
#[Scalar(specified_by_url = "https://www.rfc-editor.org/rfc/rfc7493#section-2.2")]
impl ScalarType for Long {
    fn parse(value: Value) -> InputValueResult<Self> {
        let parsed = match &value {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        parsed.map(Self).ok_or_else(|| InputValueError::custom("a 64-bit integer is expected"))
    }

    fn is_valid(value: &Value) -> bool {
        Self::parse(value.clone()).is_ok()
    }

    fn to_value(&self) -> Value {
        if (-SAFE..=SAFE).contains(&self.0) {
            Value::from(self.0)
        } else {
            Value::from(self.0.to_string())
        }
    }
}
