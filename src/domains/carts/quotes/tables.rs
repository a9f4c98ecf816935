//! Quotes from the flat tables of the configuration.

use super::{
    documents::{Charges, LineTax, rounded, taxed_part},
    goods::{Goods, Piece},
};
use crate::config::{Config, ShippingSetting};

/// What rates are parts of: they are thousandths of a percent.
pub(super) const WHOLE: i64 = 100_000;

/// The methods that are offered for goods to a country, the cheapest first. Taxes are computed line by line, on what is
/// left after the discount. A tax that prices include is a part of that.
pub(super) fn offers(config: &Config, goods: &Goods<'_>, country: &str) -> Vec<Charges> {
    let taxes = config.taxes.get(country);
    let rate = |kind: Option<&str>| {
        let own = |kind: &str| taxes.and_then(|taxes| taxes.types.get(kind));
        let rate = kind.and_then(own).or(taxes.map(|taxes| &taxes.rate));
        rate.copied().map_or(0, i64::from)
    };
    let tax_included = taxes.is_some_and(|taxes| taxes.included);
    let tax_on = |line: &Piece<'_>| {
        let (part, of) = taxed_part(rate(Some(line.kind)), tax_included);
        let tax = rounded(line.net, part, of);
        (part > 0).then(|| LineTax {
            sku: line.sku.to_owned(),
            tax,
            part: Some(part),
            of,
            added: None,
        })
    };
    let lines: Vec<LineTax> = goods.lines.iter().filter_map(tax_on).collect();
    let (part, of) = taxed_part(rate(None), tax_included);
    let offer = |(name, method): (&String, &ShippingSetting)| {
        let code = goods.currency.code();
        let price = *method.prices.get(code)?;
        let is_free = method.free_from.get(code).is_some_and(|from| goods.total >= *from);
        let goes_there = method.countries.is_empty()
            || method.countries.iter().any(|listed| listed.as_str() == country);
        let shipping = if is_free { 0 } else { price };
        goes_there.then(|| Charges {
            method: name.clone(),
            title: method.title.clone(),
            shipping,
            shipping_tax: rounded(shipping, part, of),
            shipping_refunded: None,
            shipping_tax_paid: None,
            tax_included,
            lines: lines.clone(),
            by_default: false,
        })
    };
    let mut offers: Vec<Charges> = config.shipping_methods.iter().filter_map(offer).collect();
    offers.sort_by_key(|offer| offer.shipping);
    offers
}
