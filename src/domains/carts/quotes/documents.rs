//! The quote of a cart, and the charges of an order, as MongoDB stores them.

use sha2::{Digest as _, Sha256};

use super::super::documents::CartDocument;
use crate::mongo::prelude::*;

document! {
    /// What shipping and tax of a cart cost, as they were computed for its lines, its voucher and a destination.
    #[derive(PartialEq, Eq)]
    pub struct CartQuote {
        /// Random id. Whatever sets a quote gives it another one.
        pub id: String,
        /// Digest of the lines and the voucher for which it was computed.
        pub basis: String,
        /// Country of the destination.
        pub country: String,
        /// Digest of the destination's city, if the amounts may depend on it.
        pub place?: String,
        /// The amounts.
        pub charges: Charges,
    }

    /// What is paid beside the goods, in minor units.
    #[derive(PartialEq, Eq)]
    pub struct Charges {
        /// Name of the shipping method.
        pub method: String,
        /// Its title.
        pub title: String,
        /// Price of the shipping method.
        pub shipping: i64,
        /// Tax on that price.
        pub shipping_tax: i64,
        /// Tax on lines. Lines without tax aren't listed.
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
        /// Pieces that are added are taxed with this part of `of`.
        pub part: i64,
        /// See `part`.
        pub of: i64,
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
    let lines = cart.lines.iter().map(|line| (&line.sku, line.quantity, line.unit_price));
    let voucher = cart.voucher.as_ref().map(|voucher| &voucher.code);
    let json = serde_json::to_vec(&(lines.collect::<Vec<_>>(), voucher)).unwrap_or_default();
    hex::encode(&Sha256::digest(json)[..16])
}

impl Charges {
    /// Tax on the lines and on shipping.
    pub fn tax(&self) -> i64 {
        self.shipping_tax + self.lines.iter().map(|line| line.tax).sum::<i64>()
    }

    /// Shipping and tax.
    pub fn total(&self) -> i64 {
        self.shipping + self.tax()
    }

    /// Whether an amount is below zero, which none may be.
    pub fn is_negative(&self) -> bool {
        self.shipping < 0 || self.shipping_tax < 0 || self.lines.iter().any(|line| line.tax < 0)
    }

    /// Lowers the tax on a line in proportion to its pieces, rounded down. Returns by how much. Shipping stays.
    pub fn lower(&mut self, sku: &str, from: i64, to: i64) -> i64 {
        let Some(line) = self.lines.iter_mut().find(|line| line.sku == sku) else { return 0 };
        let before = line.tax;
        if from > to {
            line.tax = share(before, to, from);
        }
        before - line.tax
    }

    /// Tax on pieces of this price that are added to a line.
    pub fn tax_on(&self, sku: &str, price: i64) -> i64 {
        let line = self.lines.iter().find(|line| line.sku == sku);
        line.map_or(0, |line| rounded(price, line.part, line.of))
    }

    /// Adds to the tax on a line.
    pub fn add(&mut self, sku: &str, tax: i64) {
        for line in self.lines.iter_mut().filter(|line| line.sku == sku) {
            line.tax += tax;
        }
    }
}

/// `part / of` of an amount, rounded down. `part` is at most `of`.
fn share(amount: i64, part: i64, of: i64) -> i64 {
    let share = i128::from(amount) * i128::from(part) / i128::from(of.max(1));
    i64::try_from(share).unwrap_or(amount)
}

/// `part / of` of an amount, rounded to the nearest; a half is rounded up. `part` is at most `of`.
pub(super) fn rounded(amount: i64, part: i64, of: i64) -> i64 {
    let of = i128::from(of.max(1));
    let share = (2 * i128::from(amount) * i128::from(part) + of) / (2 * of);
    i64::try_from(share).unwrap_or(amount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tax_is_rounded_to_the_nearest() {
        assert_eq!(rounded(250, 19_000, 100_000), 48, "47.5");
        assert_eq!(rounded(100, 8_875, 100_000), 9, "8.875");
        assert_eq!(rounded(100, 400, 100_000), 0, "0.4");
        assert_eq!(rounded(0, 0, 0), 0);
    }

    #[test]
    fn the_tax_of_a_line_follows_its_pieces() {
        let line = LineTax { sku: "a".into(), tax: 57, part: 19_000, of: 100_000 };
        let mut charges = Charges {
            method: "m".into(),
            title: "M".into(),
            shipping: 500,
            shipping_tax: 95,
            lines: vec![line],
            by_default: false,
        };
        assert_eq!((charges.tax(), charges.total()), (152, 652));
        assert_eq!(charges.lower("a", 3, 2), 19);
        assert_eq!(charges.lower("a", 2, 2), 0);
        assert_eq!(charges.lower("b", 2, 1), 0);
        assert_eq!(charges.tax_on("a", 200), 38);
        assert_eq!(charges.tax_on("b", 200), 0);
        charges.add("a", 38);
        assert_eq!(charges.lower("a", 4, 0), 76);
        assert_eq!(charges.total(), 595, "shipping stays");
    }
}
