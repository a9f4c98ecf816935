//! Currencies and amounts of money.

use std::fmt;

use async_graphql::{Context, Object};
use serde::{Deserialize, Serialize};

use super::{LocaleTag, Long};
use crate::{
    graphql::{amounts, app},
    mongo::{
        lazy_document::Field,
        raw_bson::{Element, TypeMismatch},
    },
};

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

    /// The currency with this code, if amounts can be in it: neither "no currency" nor the code for tests.
    pub fn of_money(code: &str) -> Option<Self> {
        let no_money = [iso_currency::Currency::XXX, iso_currency::Currency::XTS];
        Self::from_code(code).filter(|currency| !no_money.contains(&currency.0))
    }

    /// Code of three letters.
    pub fn code(self) -> &'static str {
        self.0.code()
    }

    /// Number of decimal digits of the minor unit; zero for a currency without one.
    pub fn digits(self) -> u8 {
        self.0.exponent().and_then(|digits| u8::try_from(digits).ok()).unwrap_or(0)
    }
}

impl<'a> Field<'a> for CurrencyCode {
    fn read(value: Element<'a>) -> Result<Self, TypeMismatch> {
        value.as_str().and_then(Self::from_code).ok_or_else(TypeMismatch::default)
    }
}

text_scalar! {
    /// An ISO 4217 currency code, such as `EUR`.
    #[async_graphql::Scalar(specified_by_url = "https://www.iso.org/iso-4217-currency-codes.html")]
    CurrencyCode: of_money, from_code, code;
    "an ISO 4217 currency code is expected", "is no ISO 4217 currency"
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

/// The amount as messages have it, such as `1234.50 EUR`.
impl fmt::Display for Money {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = usize::from(self.currency.digits());
        let amount = self.minor_units.unsigned_abs();
        let sign = if self.minor_units < 0 { "-" } else { "" };
        // No currency has more than four digits.
        let unit = 10_u64.pow(u32::from(self.currency.digits()));
        write!(formatter, "{sign}{}", amount / unit)?;
        if digits > 0 {
            write!(formatter, ".{:0digits$}", amount % unit)?;
        }
        write!(formatter, " {}", self.currency.code())
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
        context: &Context<'_>,
        #[graphql(desc = "Language tag of the locale. Default: the site's language.")]
        locale: Option<LocaleTag>,
    ) -> String {
        let (digits, code) = (self.currency.digits(), self.currency.code());
        let site = app(context).config().site_locale.as_str();
        let locale = locale.as_ref().map_or(site, LocaleTag::as_str);
        amounts::formatted(self.minor_units, digits, code, locale)
    }
}

#[cfg(test)]
mod tests {
    use async_graphql::ScalarType as _;

    use super::*;

    #[test]
    fn messages_have_amounts_in_the_major_unit() {
        for (minor_units, code, expected) in [
            (100_000, "EUR", "1000.00 EUR"),
            (5, "EUR", "0.05 EUR"),
            (0, "EUR", "0.00 EUR"),
            (-150, "EUR", "-1.50 EUR"),
            (1_234, "JPY", "1234 JPY"),
            (1_234, "KWD", "1.234 KWD"),
        ] {
            let currency = CurrencyCode::of_money(code).expect("a currency");
            assert_eq!(Money::new(minor_units, currency).to_string(), expected);
        }
    }

    #[test]
    fn amounts_are_in_currencies() {
        for (code, is_fine) in
            [("EUR", true), ("JPY", true), ("XXX", false), ("XTS", false), ("eur", false)]
        {
            assert_eq!(CurrencyCode::of_money(code).is_some(), is_fine, "{code}");
            assert_eq!(CurrencyCode::parse(code.into()).is_ok(), is_fine, "{code}");
        }
    }
}
