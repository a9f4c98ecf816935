//! Formatting of amounts of money for locales, with the data of the [Unicode CLDR](https://cldr.unicode.org).
//!
//! The formatter belongs to ICU4X's experimental crates, whose API and data still change. It is therefore used in
//! this file only. Of its data, only the part for currencies is compiled in.

use icu_decimal::{
    input::Decimal,
    provider::{Baked, DecimalDigitsV1, DecimalSymbolsV1},
};
use icu_experimental::dimension::{
    currency::{CurrencyType, formatter::CurrencyFormatter, options::CurrencyFormatterOptions},
    provider::currency::{
        essentials::CurrencyEssentialsV1,
        fractions::{CurrencyFractions, CurrencyFractionsV1, FractionInfo},
        no_currency::CurrencyPatternsNoCurrencyV1,
        symbols::{CurrencyDecimalSymbolsV1, CurrencySymbolsV1},
    },
};
use icu_locale_core::Locale;
use icu_provider::prelude::{
    DataError, DataPayload, DataProvider, DataRequest, DataResponse, DataResponseMetadata,
};
use zerovec::ZeroMap;

/// Formats an amount for display, with this number of digits after the decimal separator. Nothing is rounded. `locale` is
/// a language tag.
pub(super) fn formatted(minor_units: i64, digits: u8, code: &str, locale: &str) -> String {
    let mut amount = Decimal::from(minor_units);
    amount.multiply_pow10(-i16::from(digits));
    match formatter(digits, code, locale) {
        Some(formatter) => formatter.format_fixed_decimal(&amount).to_string(),
        None => format!("{code}\u{a0}{amount}"),
    }
}

fn formatter(
    digits: u8,
    code: &str,
    locale: &str,
) -> Option<CurrencyFormatter<icu_decimal::DecimalFormatter>> {
    let currency: CurrencyType = code.parse().ok()?;
    let preferences = (&supported(locale)).into();
    let options = CurrencyFormatterOptions::default();
    CurrencyFormatter::try_new_symbol_unstable(&Data { digits }, preferences, currency, options)
        .ok()
}

/// The locale of a tag. For a tag that CLDR doesn't support, such as `zh-min-nan`, it is the language alone.
fn supported(tag: &str) -> Locale {
    let language = tag.split('-').next().unwrap_or_default();
    tag.parse().or_else(|_| language.parse()).unwrap_or(Locale::UNKNOWN)
}

/// Data of locales and of the currency for the formatter.
struct Data {
    /// Number of digits of the currency's minor unit according to ISO 4217. CLDR has fewer digits for some
    /// currencies whose smallest coins aren't used in practice; amounts would be rounded to them.
    digits: u8,
}

impl DataProvider<CurrencyFractionsV1> for Data {
    fn load(&self, _: DataRequest<'_>) -> Result<DataResponse<CurrencyFractionsV1>, DataError> {
        let default = FractionInfo { digits: self.digits, ..FractionInfo::default() };
        let fractions = CurrencyFractions { fractions: ZeroMap::new(), default };
        let payload = DataPayload::from_owned(fractions);
        Ok(DataResponse { metadata: DataResponseMetadata::default(), payload })
    }
}

/// Implements the data provider for data that is compiled in. If a locale has no entry, the fallback is used
/// without a log message.
macro_rules! compiled {
    ($($marker:ident from $of:ident,)+) => {
        $(
            impl DataProvider<$marker> for Data {
                fn load(&self, mut request: DataRequest<'_>) -> Result<DataResponse<$marker>, DataError> {
                    request.metadata.silent = true;
                    $of.load(request)
                }
            }
        )+
    };
}

compiled! {
    CurrencyDecimalSymbolsV1 from Currencies,
    CurrencyEssentialsV1 from Currencies,
    CurrencyPatternsNoCurrencyV1 from Currencies,
    CurrencySymbolsV1 from Currencies,
    DecimalDigitsV1 from Baked,
    DecimalSymbolsV1 from Baked,
}

/// CLDR's data of currencies.
struct Currencies;

const _: () = {
    use icu_experimental_data::{
        impl_currency_decimal_symbols_v1, impl_currency_essentials_v1,
        impl_currency_patterns_no_currency_v1, impl_currency_symbols_v1, make_provider,
    };
    /// The macros expect these crate names.
    mod icu {
        pub(super) use icu_decimal as decimal;
        pub(super) use icu_experimental as experimental;
    }
    make_provider!(Currencies);
    impl_currency_essentials_v1!(Currencies);
    impl_currency_symbols_v1!(Currencies);
    impl_currency_decimal_symbols_v1!(Currencies);
    impl_currency_patterns_no_currency_v1!(Currencies);
};

#[cfg(test)]
mod tests {
    use super::*;

    fn in_locale(minor_units: i64, digits: u8, code: &str, locale: &str) -> String {
        // The kind of space that a locale uses doesn't matter here.
        formatted(minor_units, digits, code, locale).replace(['\u{a0}', '\u{202f}'], " ")
    }

    #[test]
    fn amounts_have_the_format_of_the_locale() {
        for (minor_units, digits, code, locale, expected) in [
            (801, 2, "USD", "en-US", "$8.01"),
            (801, 2, "EUR", "en", "€8.01"),
            (801, 2, "EUR", "de", "8,01 €"),
            (123_450, 2, "EUR", "de", "1.234,50 €"),
            (891, 2, "CHF", "de-CH", "CHF 8.91"),
            (123_450, 2, "USD", "fr", "1 234,50 $US"),
            (1_235, 0, "JPY", "ja", "￥1,235"),
            (1_235, 0, "JPY", "en", "¥1,235"),
            (12_345_678_900, 2, "INR", "en-IN", "₹12,34,56,789.00"),
            (-801, 2, "USD", "en-US", "-$8.01"),
            (801, 2, "BRL", "pt-BR", "R$ 8,01"),
            (891, 2, "USD", "es", "8,91 US$"),
            (891, 2, "USD", "zh-min-nan", "US$8.91"),
            (891, 2, "USD", "tlh", "US$ 8.91"),
            (i64::MAX, 2, "EUR", "en", "€92,233,720,368,547,758.07"),
        ] {
            assert_eq!(
                in_locale(minor_units, digits, code, locale),
                expected,
                "{code} in {locale}"
            );
        }
    }

    #[test]
    fn no_currency_loses_its_minor_unit() {
        // In CLDR these currencies have no digits, or another number.
        assert_eq!(in_locale(1_234, 2, "RSD", "en"), "RSD 12.34");
        assert_eq!(in_locale(1_234, 3, "IQD", "en"), "IQD 1.234");
        assert_eq!(in_locale(1_234, 0, "XTS", "en"), "XTS 1,234");
    }
}
