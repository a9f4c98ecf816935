//! Slugs.

use serde::{Deserialize, Serialize};

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

text_scalar! {
    /// One step of a path: 1 to 64 lower-case letters and digits, with single hyphens between them, such as
    /// `hard-bop`.
    #[async_graphql::Scalar]
    Slug: parse_slug, parse_slug, as_str;
    "lower-case letters, digits and single hyphens between them are expected",
    "isn't a slug: 1 to 64 lower-case letters and digits, with single hyphens between them"
}
