//! Checks of the settings of shipping, taxes and the outside service.

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
    let methods = config.shipping_methods.iter().flat_map(faults_of_method);
    let taxes = config.taxes.iter().flat_map(faults_of_taxes);
    let mut faults: Vec<_> = methods.chain(taxes).collect();
    faults.extend(unmet([
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
    ]));
    faults
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

/// The faults of a method's setting.
fn faults_of_method((name, method): (&String, &ShippingSetting)) -> Vec<String> {
    let path = format!("shipping_methods.{name}");
    let mut faults = Vec::new();
    if !is_name(name) {
        faults.push(format!(
            "{path}: a name of lower-case letters, digits, `-`, `_` and `.` is expected"
        ));
    }
    if !is_title(&method.title) {
        faults.push(format!("{path}.title: 1 to {MAX_TITLE} characters in one line are expected"));
    }
    for (key, amounts) in [("prices", &method.prices), ("free_from", &method.free_from)] {
        faults.extend(amounts.iter().flat_map(|one| faults_of_amount(&path, key, one)));
    }
    let codes = method.countries.iter().filter(|code| !is_country(code));
    faults.extend(codes.map(|code| format!("{path}.countries: {}", no_country(code))));
    faults
}

fn faults_of_amount(path: &str, key: &str, (code, amount): (&String, &i64)) -> Vec<String> {
    let mut faults = Vec::new();
    if CurrencyCode::of_money(code).is_none() {
        faults.push(format!("{path}.{key}: {code:?} is no currency of ISO 4217, such as EUR"));
    }
    if !(0..=MAX_AMOUNT).contains(amount) {
        faults.push(format!(
            "{path}.{key}.{code}: {amount} stands there, an amount in minor units from 0 to 2^53 is expected"
        ));
    }
    faults
}

/// The faults of a country's taxes.
fn faults_of_taxes((country, tax): (&String, &TaxSetting)) -> Vec<String> {
    let mut faults = Vec::new();
    if !is_country(country) {
        faults.push(format!("taxes: {}", no_country(country)));
    }
    let types = tax.types.iter().map(|(name, rate)| (format!("types.{name}"), *rate));
    let rates = types.chain([("rate".to_owned(), tax.rate)]);
    let above = rates.filter(|(_, rate)| i64::from(*rate) > WHOLE);
    faults.extend(above.map(|(key, rate)| {
        format!(
            "taxes.{country}.{key}: {rate} stands there, a rate in thousandths of a percent is expected, at most \
             {WHOLE}: 19 % is 19000"
        )
    }));
    faults
}

fn is_country(code: &str) -> bool {
    input::country("country", code).is_ok()
}

fn no_country(code: &str) -> String {
    format!("{code:?} is no country of ISO 3166-1, such as DE")
}

/// Whether a method can have this name.
pub(super) fn is_name(name: &str) -> bool {
    input::plain_name("name", name).is_ok()
}

/// Whether a method can have this title.
pub(super) fn is_title(title: &str) -> bool {
    input::verbatim("title", title, 1..=MAX_TITLE).is_ok()
}
