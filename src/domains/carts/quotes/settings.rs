//! Checks of the settings of shipping, taxes and the outside service.

use std::collections::BTreeMap;

use super::{MAX_AMOUNT, tables::WHOLE};
use crate::{
    config::{Config, ShippingSetting, TaxSetting, is_web_address},
    domains::room::unmet,
    graphql::{input, scalars::CurrencyCode},
};

/// Maximum number of characters of a title.
pub(super) const MAX_TITLE: usize = 200;

/// Faults of the settings, each as a sentence.
pub(in super::super) fn faults(config: &Config) -> Vec<String> {
    let secret = config.quote_signing_secret.as_deref();
    let has_country = |code: &String| input::country("country", code).is_ok();
    let countries = config.shipping_methods.values().flat_map(|method| &method.countries);
    let rates = config.taxes.values().flat_map(|tax| tax.types.values().chain([&tax.rate]));
    unmet([
        (
            config.shipping_methods.iter().all(is_method),
            "shipping_methods: a name takes lower-case letters, digits, `-`, `_` and `.`, a title 1 to 200 characters, \
             and prices and free_from currencies with amounts from 0 to 2^53",
        ),
        (
            config.taxes.keys().chain(countries).all(has_country),
            "taxes and the countries of shipping_methods take codes of ISO 3166-1, such as DE",
        ),
        (
            rates.copied().all(|rate| i64::from(rate) <= WHOLE),
            "a rate of taxes is in thousandths of a percent, at most 100000",
        ),
        (
            config.taxes.is_empty() || is_on(config),
            "taxes needs shipping_methods or quote_url; a method may cost 0",
        ),
        (
            config.shipping_required || !config.taxes.values().any(is_added),
            "shipping_required = false needs taxes that prices include, because an order without a shipping method pays no \
             added tax: set included = true for each country in taxes, or shipping_required = true",
        ),
        (
            config.quote_url.as_deref().is_none_or(is_web_address),
            "quote_url isn't a URL that begins with https:// or http://",
        ),
        (
            config.quote_url.is_none() || secret.is_some_and(|secret| secret.len() >= 32),
            "quote_url needs quote_signing_secret, of 32 bytes or more",
        ),
        (
            config.quote_url.is_none()
                || (1..config.flow_run_millis).contains(&config.quote_timeout_millis),
            "quote_timeout_millis must be above zero and below flow_run_millis",
        ),
    ])
}

/// Whether a checkout needs a quote.
pub(super) fn is_needed(config: &Config) -> bool {
    config.shipping_required && is_on(config)
}

/// Whether carts can have quotes.
pub(super) fn is_on(config: &Config) -> bool {
    config.quote_url.is_some() || !config.shipping_methods.is_empty()
}

/// Whether a tax is added to prices.
fn is_added(tax: &TaxSetting) -> bool {
    !tax.included && tax.types.values().chain([&tax.rate]).any(|rate| *rate > 0)
}

/// Whether the setting describes a method.
fn is_method((name, method): (&String, &ShippingSetting)) -> bool {
    let are_amounts = |of: &BTreeMap<String, i64>| {
        of.iter().all(|(code, amount)| {
            CurrencyCode::from_code(code).is_some() && (0..=MAX_AMOUNT).contains(amount)
        })
    };
    is_name(name)
        && is_title(&method.title)
        && are_amounts(&method.prices)
        && are_amounts(&method.free_from)
}

/// Whether a method can have this name.
pub(super) fn is_name(name: &str) -> bool {
    input::plain_name("name", name).is_ok()
}

/// Whether a method can have this title.
pub(super) fn is_title(title: &str) -> bool {
    input::verbatim("title", title, 1..=MAX_TITLE).is_ok()
}
