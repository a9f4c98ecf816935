//! The quote of a cart, and the charges of an order, as MongoDB stores them.

use sha2::{Digest as _, Sha256};

use super::{
    super::documents::{CartDocument, CartLine},
    tables::WHOLE,
};
use crate::mongo::prelude::*;

document! {
    /// What shipping and tax of a cart cost, as they were computed for its lines, its voucher and a destination.
    #[derive(PartialEq, Eq)]
    pub struct CartQuote {
        /// Random id. Whatever sets a quote gives it another one.
        pub id: String,
        /// Digest of the lines and the voucher for which it was computed.
        pub basis: String,
        /// Server time at which the cart was read for which it was computed. Quotes of earlier releases have none.
        pub at?: DateTime,
        /// Country of the destination.
        pub country: String,
        /// Digest of the destination's city, if the amounts may depend on it.
        pub place?: String,
        /// The amounts.
        pub charges: Charges,
    }

    /// What is paid beside the goods, in minor units.
    #[derive(Default, PartialEq, Eq)]
    pub struct Charges {
        /// Name of the shipping method. It is empty for an order without one, whose charges tell the tax that prices include.
        pub method: String,
        /// Its title; empty without a method.
        pub title: String,
        /// Price of the shipping method. Of an order: what is left of it after refunds.
        pub shipping: i64,
        /// Tax on that price.
        pub shipping_tax: i64,
        /// What a merchant gave back of shipping and its tax, if it is an order's.
        pub shipping_refunded?: i64,
        /// Tax on shipping as it was paid, if a merchant gave something of it back.
        pub shipping_tax_paid?: i64,
        /// Whether prices include the taxes. Otherwise they are added. Charges of earlier releases have no such field.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub tax_included: bool,
        /// Tax on lines. A line that isn't listed has no tax, and neither have pieces that are added to it.
        pub lines: Vec<LineTax>,
        /// Whether the outside service gave no usable answer, so that the amounts are those of the configuration.
        pub by_default: bool,
    }

    /// Tax on a line, in minor units.
    #[derive(PartialEq, Eq)]
    pub struct LineTax {
        pub sku: String,
        /// Tax on the pieces that the line has now.
        pub tax: i64,
        /// Pieces that are added are taxed with this part of `of`. Absent if the tax on them isn't known.
        pub part?: i64,
        /// See `part`.
        pub of: i64,
        /// What of the line of the order has its full price because it was added, if anything. It is the first to go.
        pub full_price?: FullPrice,
    }

    /// Goods that were added to a line of an order at their full price.
    #[derive(Default, PartialEq, Eq)]
    pub struct FullPrice {
        /// Their price, in minor units.
        pub goods: i64,
        /// Tax on them, in minor units. It is a part of the tax on the line.
        pub tax: i64,
    }
}

impl CartDocument {
    /// Its quote, if its lines and its voucher are those for which the quote was computed.
    pub fn current_quote(&self) -> Option<&CartQuote> {
        self.quote.as_ref().filter(|quote| quote.basis == basis(self))
    }

    /// What its current quote adds to the price of its lines, in minor units.
    pub fn charges(&self) -> i64 {
        self.current_quote().map_or(0, |quote| quote.charges.total())
    }
}

/// Digest of what a quote is computed for. The terms of a voucher follow from its code.
pub(super) fn basis(cart: &CartDocument) -> String {
    let part =
        |line: &CartLine| (line.sku.clone(), line.kind.clone(), line.quantity, line.unit_price);
    let lines = cart.lines.iter().map(part);
    let voucher = cart.voucher.as_ref().map(|voucher| &voucher.code);
    let json = serde_json::to_vec(&(lines.collect::<Vec<_>>(), voucher)).unwrap_or_default();
    hex::encode(&Sha256::digest(json)[..16])
}

impl Charges {
    /// Whether a shipping method is a part of them.
    pub fn has_method(&self) -> bool {
        !self.method.is_empty()
    }

    /// Tax on the lines and on shipping.
    pub fn tax(&self) -> i64 {
        self.shipping_tax + self.lines.iter().map(|line| line.tax).sum::<i64>()
    }

    /// What they add to the price of the lines: shipping, and the tax unless prices include it.
    pub fn total(&self) -> i64 {
        self.shipping + self.added(self.tax())
    }

    /// What shipping costs: its price, and the tax on it unless the price includes it.
    pub fn shipping_total(&self) -> i64 {
        self.shipping + self.added(self.shipping_tax)
    }

    /// What a tax adds to the price that is taxed: nothing if the price includes it.
    pub fn added(&self, tax: i64) -> i64 {
        if self.tax_included { 0 } else { tax }
    }

    /// Gives a part of what shipping costs back, at most all of it. What stays of the tax as it was paid is in proportion to
    /// what stays of the price, rounded down. So it doesn't depend on the parts in which it is given back.
    pub fn lower_shipping(&mut self, by: i64) {
        let left = self.shipping_total() - by;
        let refunded = self.shipping_refunded.unwrap_or(0) + by;
        let paid = self.shipping_tax_paid.unwrap_or(self.shipping_tax);
        let tax = share(paid, left, left + refunded);
        self.shipping = left - self.added(tax);
        self.shipping_tax = tax;
        self.shipping_refunded = Some(refunded);
        self.shipping_tax_paid = Some(paid);
    }
}

impl LineTax {
    /// Tax on pieces of this price that are added, if it is known.
    pub(super) fn on(&self, price: i64) -> Option<i64> {
        Some(rounded(price, self.part?, self.of))
    }
}

/// `part / of` of an amount, rounded down. `part` is at most `of`.
pub(super) fn share(amount: i64, part: i64, of: i64) -> i64 {
    let share = i128::from(amount) * i128::from(part) / i128::from(of.max(1));
    i64::try_from(share).unwrap_or(amount)
}

/// The part of a price that a tax of this rate is, in thousandths of a percent, as `part` and `of`.
pub(super) fn taxed_part(rate: i64, is_included: bool) -> (i64, i64) {
    (rate, if is_included { WHOLE + rate } else { WHOLE })
}

/// `part / of` of an amount, rounded to the nearest; a half is rounded up. `part` is at most `of`.
pub(super) fn rounded(amount: i64, part: i64, of: i64) -> i64 {
    let of = i128::from(of.max(1));
    let share = (2 * i128::from(amount) * i128::from(part) + of) / (2 * of);
    i64::try_from(share).unwrap_or(amount)
}

#[cfg(test)]
mod tests {
    use super::{super::Discounted, *};

    #[test]
    fn a_tax_is_rounded_to_the_nearest() {
        assert_eq!(rounded(250, 19_000, 100_000), 48, "47.5");
        assert_eq!(rounded(100, 8_875, 100_000), 9, "8.875");
        assert_eq!(rounded(100, 400, 100_000), 0, "0.4");
        assert_eq!(rounded(0, 0, 0), 0);
    }

    #[test]
    fn a_tax_that_is_included_adds_nothing() {
        assert_eq!(taxed_part(19_000, false), (19_000, 100_000));
        let (part, of) = taxed_part(19_000, true);
        assert_eq!((part, of), (19_000, 119_000));
        assert_eq!(rounded(1_190, part, of), 190);
        assert_eq!(rounded(100, part, of), 16, "15.97");
        let line = LineTax { sku: "a".into(), tax: 48, part: Some(part), of, full_price: None };
        let mut charges = of_shipping(500, 80, true);
        charges.lines.push(line);
        assert_eq!((charges.tax(), charges.total()), (128, 500));
        assert_eq!(charges.tax_on("a", 1_190), Some(190));
    }

    fn of_shipping(shipping: i64, shipping_tax: i64, tax_included: bool) -> Charges {
        Charges {
            method: "m".into(),
            title: "M".into(),
            shipping,
            shipping_tax,
            tax_included,
            ..Charges::default()
        }
    }

    #[test]
    fn shipping_is_lowered_with_its_tax() {
        let mut charges = of_shipping(500, 95, false);
        charges.lower_shipping(100);
        assert_eq!((charges.shipping, charges.shipping_tax), (416, 79), "of 95, 79.03 stay");
        assert_eq!((charges.shipping_total(), charges.shipping_refunded), (495, Some(100)));
        charges.lower_shipping(495);
        assert_eq!((charges.shipping, charges.shipping_tax), (0, 0));
        assert_eq!(charges.shipping_refunded, Some(595));
        let mut charges = of_shipping(500, 80, true);
        charges.lower_shipping(100);
        assert_eq!((charges.shipping, charges.shipping_tax, charges.total()), (400, 64, 400));
        assert!(!charges.is_impossible(|_| 0, Discounted::default()));
    }
}
