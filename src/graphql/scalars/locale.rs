//! Language tags.

use serde::{Deserialize, Serialize};

use crate::mongo::{
    lazy_document::Field,
    raw_bson::{Element, TypeMismatch},
};

/// A BCP 47 language tag such as `de` or `pt-BR`, in canonical case. It contains only letters, digits and
/// hyphens and is therefore safe as a part of a field path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LocaleTag(String);

/// Maximum length of a tag.
const MAX_LENGTH: usize = 35;

/// The value whose tag is nearest to a wanted one: the exact tag, else its language without a region, else another region
/// of that language. `None` if there is none.
pub fn nearest<'a, T>(
    tagged: impl Iterator<Item = (&'a str, T)> + Clone,
    wanted: &str,
) -> Option<T> {
    let language = |tag: &str| tag.split('-').next().unwrap_or_default().to_ascii_lowercase();
    let spoken = language(wanted);
    let of = |wanted: &str| tagged.clone().find(|(tag, _)| tag.eq_ignore_ascii_case(wanted));
    let found = of(wanted)
        .or_else(|| of(&spoken))
        .or_else(|| tagged.clone().find(|(tag, _)| language(tag) == spoken));
    found.map(|(_, value)| value)
}

impl LocaleTag {
    /// The tag in canonical case.
    pub fn parse_tag(tag: &str) -> Option<Self> {
        if tag.len() > MAX_LENGTH {
            return None;
        }
        let tag = oxilangtag::LanguageTag::parse_and_normalize(tag).ok()?;
        Some(Self(tag.into_inner()))
    }

    /// The tag as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The primary language subtag.
    pub fn language(&self) -> &str {
        self.0.split('-').next().unwrap_or_default()
    }

    /// MongoDB's name of the stemming rules for this language, for text search.
    pub fn stemming(&self) -> &'static str {
        // All languages that MongoDB has rules for.
        const KNOWN: [&str; 15] = [
            "da", "de", "en", "es", "fi", "fr", "hu", "it", "nb", "nl", "pt", "ro", "ru", "sv",
            "tr",
        ];
        let code = match self.language() {
            "no" | "nn" => "nb",
            code => code,
        };
        KNOWN.into_iter().find(|known| *known == code).unwrap_or("none")
    }

    /// [`Self::stemming`] of a text or a query. Without a language, the site's language applies.
    pub fn stemming_of(language: Option<&Self>, site_locale: &str) -> &'static str {
        let site = Self::parse_tag(site_locale);
        language.or(site.as_ref()).map_or("none", Self::stemming)
    }
}

impl<'a> Field<'a> for LocaleTag {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        value.as_str().and_then(Self::parse_tag).ok_or_else(TypeMismatch::default)
    }
}

text_scalar! {
    /// A BCP 47 language tag, such as `de` or `pt-BR`.
    #[async_graphql::Scalar(specified_by_url = "https://www.rfc-editor.org/rfc/rfc5646")]
    LocaleTag: parse_tag, parse_tag, as_str;
    "a BCP 47 language tag is expected", "is no BCP 47 language tag"
}
