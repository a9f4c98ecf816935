//! Slugs.

use async_graphql::{InputValueResult, Scalar, ScalarType, Value};
use serde::{Deserialize, Serialize};

use super::of_text;

/// One step of a path: 1 to 64 lower-case letters, digits and single hyphens between them, such as
/// `hard-bop`. It contains no characters with a special meaning in paths or regular expressions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

impl Slug {
    /// The slug, if `text` is one.
    pub fn parse_slug(text: &str) -> Option<Self> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_valid = (1..=64).contains(&text.len())
            && text.bytes().all(fits)
            && !text.starts_with('-')
            && !text.ends_with('-')
            && !text.contains("--");
        is_valid.then(|| Self(text.to_owned()))
    }

    /// The slug as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Slug {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse_slug(&text).ok_or_else(|| {
            format!(
                "{text:?} isn't a slug: 1 to 64 lower-case letters and digits, with single hyphens between them"
            )
        })
    }
}

impl From<Slug> for String {
    fn from(slug: Slug) -> Self {
        slug.0
    }
}

/// One step of a path: 1 to 64 lower-case letters and digits, with single hyphens between them, such as
/// `hard-bop`.
#[Scalar]
impl ScalarType for Slug {
    fn parse(value: Value) -> InputValueResult<Self> {
        let reason = "lower-case letters, digits and single hyphens between them are expected";
        of_text(value, Self::parse_slug, reason)
    }

    fn is_valid(value: &Value) -> bool {
        Self::parse(value.clone()).is_ok()
    }

    fn to_value(&self) -> Value {
        Value::from(self.0.as_str())
    }
}
