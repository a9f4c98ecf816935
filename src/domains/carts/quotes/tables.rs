//! Quotes from the flat tables of the configuration.

use super::{
    documents::{Charges, LineTax, rounded, taxed_part},
    goods::{Goods, Piece},
};
use crate::config::{Config, ShippingSetting, TaxSetting};

/// What rates are parts of: they are thousandths of a percent.
pub(super) const WHOLE: i64 = 100_000;

/// The methods that are offered for goods to a country, the cheapest first.
pub(super) fn offers(config: &Config, goods: &Goods<'_>, country: &str) -> Vec<Charges> {
    let (goods_alone, rates) = (without_method(config, goods, country), Rates::of(config, country));
    let (part, of) = rates.part(None);
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
            ..goods_alone.clone()
        })
    };
    let mut offers: Vec<Charges> = config.shipping_methods.iter().filter_map(offer).collect();
    offers.sort_by_key(|offer| offer.shipping);
    offers
}

/// The taxes on goods to a country alone. They are computed line by line, on what is left after the discount. A tax that prices
/// include is a part of that.
pub(super) fn without_method(config: &Config, goods: &Goods<'_>, country: &str) -> Charges {
    let rates = Rates::of(config, country);
    let tax_on = |line: &Piece<'_>| {
        let (part, of) = rates.part(Some(line.kind));
        let tax = rounded(line.net, part, of);
        (part > 0).then(|| LineTax {
            sku: line.sku.to_owned(),
            tax,
            part: Some(part),
            of,
            full_price: None,
        })
    };
    let lines = goods.lines.iter().filter_map(tax_on).collect();
    Charges { tax_included: rates.are_included(), lines, ..Charges::default() }
}

/// The rates of a country; none if it has no taxes.
struct Rates<'a>(Option<&'a TaxSetting>);

impl<'a> Rates<'a> {
    fn of(config: &'a Config, country: &str) -> Self {
        Self(config.taxes.get(country))
    }

    /// Whether prices include the taxes.
    fn are_included(&self) -> bool {
        self.0.is_some_and(|taxes| taxes.included)
    }

    /// The part of a price that the tax on products of this type is, or that on shipping, as `part` and `of`.
    fn part(&self, kind: Option<&str>) -> (i64, i64) {
        let own = |kind: &str| self.0.and_then(|taxes| taxes.types.get(kind));
        let rate = kind.and_then(own).or(self.0.map(|taxes| &taxes.rate));
        taxed_part(rate.copied().map_or(0, i64::from), self.are_included())
    }
}
