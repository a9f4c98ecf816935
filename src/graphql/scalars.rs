//! Scalars, which are validated when they are parsed, and the type `Money`.

use async_graphql::{
    Any, ID, InputValueError, InputValueResult, Object, Scalar, ScalarType, Value,
};
use mongodb::bson;
use serde::{Deserialize, Serialize};

use super::{amounts, upload::Upload};
use crate::mongo::{
    lazy_document::Field,
    raw_bson::{Element, Unfit},
};

/// Whether `value` is certainly a valid value of this scalar.
pub(crate) fn is_valid(scalar: &str, value: &Value) -> bool {
    match scalar {
        "Int" => <i32 as ScalarType>::is_valid(value),
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

/// Largest magnitude that every JSON parser reads as an exact number.
const SAFE: i64 = 1 << 53;

/// A 64-bit integer. It is sent as a JSON number within ±2^53 and as a string beyond; both forms are accepted
/// as input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Long(pub i64);

/// The `Int` of a number whose limits lie within 31 bits; the nearest `Int` of any other number.
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

/// A point in time in RFC 3339 format, in UTC and with a precision of milliseconds. It is always written with
/// three fractional digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DateTime(pub bson::DateTime);

/// A point in time in RFC 3339 format. It is sent in UTC with three fractional digits, such as
/// `2026-11-23T08:05:01.500Z`, so that the texts sort chronologically.
#[Scalar(specified_by_url = "https://www.rfc-editor.org/rfc/rfc3339")]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        let Value::String(text) = &value else { return Err(InputValueError::expected_type(value)) };
        bson::DateTime::parse_rfc3339_str(text)
            .map(Self)
            .map_err(|_| InputValueError::custom("a time as in RFC 3339 is expected"))
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
        let shape = text.len() == 10
            && text.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        if !shape {
            return None;
        }
        let number = |part: &str| part.parse::<u32>().ok();
        let (year, month, day) = (number(&text[..4])?, number(&text[5..7])?, number(&text[8..])?);
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            1..=12 => 31,
            _ => return None,
        };
        (1..=days).contains(&day).then(|| Self(text.to_owned()))
    }

    /// The date as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Date {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse_date(&text).ok_or_else(|| format!("{text:?} is no date such as 1959-08-17"))
    }
}

impl From<Date> for String {
    fn from(date: Date) -> Self {
        date.0
    }
}

/// A calendar date in RFC 3339 format, such as `2024-02-29`.
#[Scalar(specified_by_url = "https://www.rfc-editor.org/rfc/rfc3339#section-5.6")]
impl ScalarType for Date {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            Value::String(text) => Self::parse_date(text)
                .ok_or_else(|| InputValueError::custom("a date such as 1959-08-17 is expected")),
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn is_valid(value: &Value) -> bool {
        Self::parse(value.clone()).is_ok()
    }

    fn to_value(&self) -> Value {
        Value::from(self.as_str())
    }
}

/// An ISO 4217 currency code, such as `EUR`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CurrencyCode(iso_currency::Currency);

impl CurrencyCode {
    /// ISO 4217's code for "no currency".
    pub const NONE: Self = Self(iso_currency::Currency::XXX);

    /// The currency with this code.
    pub fn from_code(code: &str) -> Option<Self> {
        iso_currency::Currency::from_code(code).map(Self)
    }

    /// Code of three letters.
    pub fn code(self) -> &'static str {
        self.0.code()
    }

    /// Number of decimal digits of the minor unit; zero for a currency without one.
    fn digits(self) -> u8 {
        self.0.exponent().and_then(|digits| u8::try_from(digits).ok()).unwrap_or(0)
    }
}

impl TryFrom<String> for CurrencyCode {
    type Error = String;

    fn try_from(code: String) -> Result<Self, String> {
        Self::from_code(&code).ok_or_else(|| format!("{code:?} is no ISO 4217 currency"))
    }
}

impl From<CurrencyCode> for String {
    fn from(currency: CurrencyCode) -> Self {
        currency.code().to_owned()
    }
}

impl<'a> Field<'a> for CurrencyCode {
    fn read(value: Element<'a>) -> Result<Self, Unfit> {
        value.as_str().and_then(Self::from_code).ok_or_else(Unfit::default)
    }
}

/// An ISO 4217 currency code, such as `EUR`.
#[Scalar(specified_by_url = "https://www.iso.org/iso-4217-currency-codes.html")]
impl ScalarType for CurrencyCode {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            Value::String(code) => Self::from_code(code)
                .ok_or_else(|| InputValueError::custom("an ISO 4217 currency code is expected")),
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn is_valid(value: &Value) -> bool {
        Self::parse(value.clone()).is_ok()
    }

    fn to_value(&self) -> Value {
        Value::from(self.code())
    }
}

/// A BCP 47 language tag such as `de` or `pt-BR`, in canonical case. It contains only letters, digits and
/// hyphens and is therefore safe as a part of a field path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LocaleTag(String);

/// Maximum length of a tag.
const TAG_LENGTH: usize = 35;

impl LocaleTag {
    /// The tag in canonical case.
    pub fn parse_tag(tag: &str) -> Option<Self> {
        if tag.len() > TAG_LENGTH {
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

impl TryFrom<String> for LocaleTag {
    type Error = String;

    fn try_from(tag: String) -> Result<Self, String> {
        Self::parse_tag(&tag).ok_or_else(|| format!("{tag:?} is no BCP 47 language tag"))
    }
}

impl From<LocaleTag> for String {
    fn from(tag: LocaleTag) -> Self {
        tag.0
    }
}

impl<'a> Field<'a> for LocaleTag {
    fn read(value: Element<'a>) -> Result<Self, Unfit> {
        value.as_str().and_then(Self::parse_tag).ok_or_else(Unfit::default)
    }
}

/// A BCP 47 language tag, such as `de` or `pt-BR`.
#[Scalar(specified_by_url = "https://www.rfc-editor.org/rfc/rfc5646")]
impl ScalarType for LocaleTag {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            Value::String(tag) => Self::parse_tag(tag)
                .ok_or_else(|| InputValueError::custom("a BCP 47 language tag is expected")),
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn is_valid(value: &Value) -> bool {
        Self::parse(value.clone()).is_ok()
    }

    fn to_value(&self) -> Value {
        Value::from(self.0.as_str())
    }
}

/// One step of a path: 1 to 64 lower-case letters, digits and single hyphens between them, such as
/// `hard-bop`. It contains no characters with a special meaning in paths or regular expressions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slug(String);

impl Slug {
    /// The slug, if `text` is one.
    pub fn parse_slug(text: &str) -> Option<Self> {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let sound = (1..=64).contains(&text.len())
            && text.bytes().all(fits)
            && !text.starts_with('-')
            && !text.ends_with('-')
            && !text.contains("--");
        sound.then(|| Self(text.to_owned()))
    }

    /// The slug as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Slug {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse_slug(&text).ok_or_else(|| format!("{text:?} is no slug"))
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
        match &value {
            Value::String(text) => {
                Self::parse_slug(text).ok_or_else(|| InputValueError::custom(reason))
            }
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn is_valid(value: &Value) -> bool {
        Self::parse(value.clone()).is_ok()
    }

    fn to_value(&self) -> Value {
        Value::from(self.0.as_str())
    }
}

/// An amount of money in minor units, such as cents, with its currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Money {
    /// Amount in minor units.
    pub minor_units: i64,
    /// Currency of the amount.
    pub currency: CurrencyCode,
}

impl Money {
    /// The amount of this many minor units.
    pub fn new(minor_units: i64, currency: CurrencyCode) -> Self {
        Self { minor_units, currency }
    }
}

/// An amount of money in a currency.
#[Object(shareable)]
impl Money {
    /// Amount in minor units of the currency: cents for `EUR`, yen for `JPY`.
    async fn minor_units(&self) -> Long {
        Long(self.minor_units)
    }

    /// Currency of the amount.
    async fn currency(&self) -> CurrencyCode {
        self.currency
    }

    /// Amount in the format of a locale with the currency's symbol, such as `1.234,50 €` in `de` and
    /// `€1,234.50` in `en`. The text is for display only: spaces and symbols may change when the locale data
    /// is updated.
    async fn formatted(
        &self,
        #[graphql(desc = "Language tag of the locale.")] locale: LocaleTag,
    ) -> String {
        amounts::written(self.minor_units, self.currency.digits(), self.currency.code(), &locale)
    }
}
