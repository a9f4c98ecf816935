//! Tax and discount of an order whose lines are raised and lowered.
//!
//! An order has goods with a discount, and goods that were added later at their full price. If a line is lowered, the
//! goods that were added to it are removed first. If more is removed, goods that were added to other lines take over
//! the discount of the removed goods. The discount of the order is lowered only if there are no such goods. The tax
//! follows the goods: if goods get a discount, the tax on them is lowered in proportion to their price.

use super::documents::{Charges, FullPrice, LineTax, share};

/// The discount of an order. All amounts are in minor units.
#[derive(Debug, Clone, Copy, Default)]
pub struct Discounted {
    /// What is taken off.
    pub amount: i64,
    /// The goods from which it is taken off; 0 if there is no discount.
    pub goods: i64,
    /// The goods that were added at their full price, if there is a discount.
    pub added: i64,
}

impl Discounted {
    /// Lowers the goods by this sum: first what was added, then the others, and the discount in the same proportion as these,
    /// rounded down.
    pub fn lower(&mut self, by: i64) {
        let first = by.min(self.added);
        let left = (self.goods - (by - first)).max(0);
        self.amount = share(self.amount, left, self.goods);
        self.goods = left;
        self.added -= first;
    }
}

impl Charges {
    /// Lowers the tax on the goods as a line of this price is lowered by a part of it. `discount` is that of the order before.
    /// Returns by how much the total is lowered. Shipping stays.
    pub fn lower(&mut self, sku: &str, price: i64, by: i64, discount: Discounted) -> i64 {
        let before = self.tax();
        let at_full_price: i64 = self.lines.iter().map(LineTax::goods_at_full_price).sum();
        let own = match self.lines.iter_mut().find(|line| line.sku == sku) {
            Some(line) => line.lower(price, by),
            // What was added to lines without tax isn't told apart, because it doesn't matter.
            None => by.min((discount.added - at_full_price).max(0)),
        };
        let mut left = (by - own).min((discount.added - own).max(0));
        for line in self.lines.iter_mut().filter(|line| line.sku != sku) {
            left -= line.discount(left, discount);
        }
        self.added(before - self.tax())
    }

    /// Tax on pieces of this price that are added to a line, whether the price includes it or not. `None` if it isn't known.
    pub fn tax_on(&self, sku: &str, price: i64) -> Option<i64> {
        match self.lines.iter().find(|line| line.sku == sku) {
            Some(line) => line.on(price),
            None => Some(0),
        }
    }

    /// Adds pieces of this price and their tax to a line.
    pub fn add(&mut self, sku: &str, price: i64, tax: i64) {
        for line in self.lines.iter_mut().filter(|line| line.sku == sku) {
            line.tax += tax;
            let added = line.full_price.get_or_insert_default();
            added.goods += price;
            added.tax += tax;
        }
    }

    /// Whether the amounts are impossible: one is below zero; a tax is more than what is paid for what is taxed, or than the
    /// whole of which it is a part; or more has its full price than was added. `price_of` is the price of the line with a SKU,
    /// and 0 if there is none.
    pub fn is_impossible(&self, price_of: impl Fn(&str) -> i64, discount: Discounted) -> bool {
        let is_wrong = |line: &LineTax| {
            let price = price_of(&line.sku);
            let FullPrice { goods, tax } = line.full_price.clone().unwrap_or_default();
            // The part of a line is rounded up or down.
            let off =
                share(discount.amount, price - goods, discount.goods).min(discount.amount) - 1;
            !(0..=line.tax).contains(&tax)
                || !(0..=price).contains(&goods)
                || line.tax > price - off.max(0)
        };
        let at_full_price: i64 = self.lines.iter().map(LineTax::goods_at_full_price).sum();
        !(0..=self.shipping).contains(&self.shipping_tax)
            || self.shipping_refunded.is_some_and(|refunded| refunded < 0)
            || self.shipping_tax_paid.is_some_and(|paid| paid < self.shipping_tax)
            || (discount.goods > 0 && at_full_price > discount.added)
            || self.lines.iter().any(is_wrong)
    }
}

impl LineTax {
    fn goods_at_full_price(&self) -> i64 {
        self.full_price.as_ref().map_or(0, |added| added.goods)
    }

    /// Lowers a line of this price. What was added goes first. What stays of the tax on either part is in proportion to the
    /// goods that stay, rounded down. Returns how much of what was added is gone.
    fn lower(&mut self, price: i64, by: i64) -> i64 {
        let FullPrice { goods, tax } = self.full_price.take().unwrap_or_default();
        let (own, first) = (by.min(goods), price - goods);
        let added = FullPrice { goods: goods - own, tax: share(tax, goods - own, goods) };
        self.tax = share(self.tax - tax, first - (by - own), first) + added.tax;
        self.full_price = (added.goods > 0).then_some(added);
        own
    }

    /// Gives the discount to up to this much of what was added to the line. Returns to how much.
    fn discount(&mut self, most: i64, discount: Discounted) -> i64 {
        let Some(FullPrice { goods, tax }) = self.full_price.clone() else { return 0 };
        let taken = most.min(goods);
        let added = FullPrice { goods: goods - taken, tax: share(tax, goods - taken, goods) };
        let full = tax - added.tax;
        self.tax -= full - share(full, discount.goods - discount.amount, discount.goods);
        self.full_price = (added.goods > 0).then_some(added);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Discounted = Discounted { amount: 0, goods: 0, added: 0 };

    fn line(sku: &str, tax: i64, added: Option<(i64, i64)>) -> LineTax {
        let full_price = added.map(|(goods, tax)| FullPrice { goods, tax });
        LineTax { sku: sku.into(), tax, part: Some(20_000), of: 100_000, full_price }
    }

    fn charges(lines: Vec<LineTax>) -> Charges {
        Charges {
            method: "m".into(),
            title: "M".into(),
            shipping: 500,
            shipping_tax: 95,
            lines,
            ..Charges::default()
        }
    }

    #[test]
    fn the_tax_of_a_line_follows_its_goods() {
        let mut charges = charges(vec![line("a", 60, None)]);
        assert_eq!((charges.tax(), charges.total()), (155, 655));
        assert_eq!(charges.lower("a", 300, 100, NONE), 20);
        assert_eq!(charges.lower("a", 200, 0, NONE), 0);
        assert_eq!(charges.lower("b", 200, 100, NONE), 0);
        assert_eq!((charges.tax_on("a", 200), charges.tax_on("b", 200)), (Some(40), Some(0)));
        charges.add("a", 200, 40);
        assert_eq!(charges.lower("a", 400, 400, NONE), 80);
        assert_eq!(charges.total(), 595, "shipping stays");
        assert_eq!(charges.lines[0].full_price, None);
        charges.tax_included = true;
        charges.add("a", 100, 17);
        assert_eq!(charges.lower("a", 100, 100, NONE), 0, "the total falls by the price alone");
        assert_eq!(charges.tax(), 95);
    }

    #[test]
    fn the_tax_on_what_was_added_goes_first() {
        let lowered = |mut line: LineTax, by| (line.lower(3_000, by), line);
        let raised = || line("a", 20 + 400, Some((2_000, 400)));
        assert_eq!(lowered(raised(), 0), (0, raised()));
        assert_eq!(lowered(raised(), 1_000), (1_000, line("a", 20 + 200, Some((1_000, 200)))));
        assert_eq!(lowered(raised(), 2_000), (2_000, line("a", 20, None)));
        assert_eq!(lowered(raised(), 3_000), (2_000, line("a", 0, None)));
    }

    #[test]
    fn what_was_added_to_another_line_takes_the_discount() {
        // Half off two lines of 1000, and 1000 more of the second one.
        let raised = || charges(vec![line("x", 100, None), line("y", 300, Some((1_000, 200)))]);
        let discount = Discounted { amount: 1_000, goods: 2_000, added: 1_000 };
        let mut of_x = raised();
        assert_eq!(of_x.lower("x", 1_000, 1_000, discount), 200);
        assert_eq!(of_x.lines, [line("x", 0, None), line("y", 200, None)]);
        // A line without tax gives its discount away, too: that to a part of what was added to another one.
        let mut untaxed = charges(vec![line("y", 300, Some((1_000, 200)))]);
        assert_eq!(untaxed.lower("x", 1_000, 500, discount), 50);
        assert_eq!(untaxed.lines, [line("y", 250, Some((500, 100)))]);
        // Unless it was raised itself.
        let discount = Discounted { added: 1_500, ..discount };
        let mut untaxed = charges(vec![line("y", 300, Some((1_000, 200)))]);
        assert_eq!(untaxed.lower("x", 1_500, 500, discount), 0);
        assert_eq!(untaxed.lines, [line("y", 300, Some((1_000, 200)))]);
    }

    #[test]
    fn what_cannot_be_is_impossible() {
        let discount = Discounted { amount: 1_000, goods: 2_000, added: 1_000 };
        let is_impossible = |tax, added| {
            let charges = charges(vec![line("y", tax, added)]);
            charges.is_impossible(|_| 2_000, discount)
        };
        assert!(!is_impossible(300, Some((1_000, 200))));
        assert!(!is_impossible(1_501, Some((1_000, 200))), "rounded");
        assert!(is_impossible(1_502, Some((1_000, 200))), "more than is paid");
        assert!(is_impossible(300, Some((1_001, 200))), "more than was added");
        assert!(is_impossible(300, Some((1_000, 301))) && is_impossible(300, Some((1_000, -1))));
        assert!(is_impossible(-1, None) && is_impossible(0, Some((-1, 0))));
        let unlike = charges(vec![line("y", 2_001, None)]);
        assert!(unlike.is_impossible(|_| 2_000, NONE));
    }

    /// An order of three lines, and what was paid and refunded.
    struct Simulated {
        prices: [i64; 3],
        quantities: [i64; 3],
        discount: Discounted,
        charges: Charges,
        paid: i64,
        refunded: i64,
        changes: i64,
    }

    impl Simulated {
        fn new(prices: [i64; 3], rates: [i64; 3], percent: i64, is_included: bool) -> Self {
            let of = |rate: i64| if is_included { 100_000 + rate } else { 100_000 };
            let lines = (0..3).map(|at| LineTax {
                part: Some(rates[at]),
                of: of(rates[at]),
                ..line(&at.to_string(), 0, None)
            });
            let mut charges = charges(lines.collect());
            charges.tax_included = is_included;
            for (line, price) in charges.lines.iter_mut().zip(prices) {
                let price = 2 * price;
                line.tax = line.on(price - price * percent / 100).expect("a rate");
            }
            let goods = prices.iter().sum::<i64>() * 2;
            let discount = Discounted { amount: goods * percent / 100, goods, added: 0 };
            let mut order = Self {
                prices,
                quantities: [2; 3],
                discount,
                charges,
                paid: 0,
                refunded: 0,
                changes: 0,
            };
            order.paid = order.total();
            order
        }

        fn goods(&self) -> i64 {
            self.prices.iter().zip(self.quantities).map(|(price, pieces)| price * pieces).sum()
        }

        fn total(&self) -> i64 {
            self.goods() - self.discount.amount + self.charges.total()
        }

        fn adjust(&mut self, at: usize, to: i64) {
            let (sku, from) = (at.to_string(), self.quantities[at]);
            let price = self.prices[at] * (from - to).abs();
            self.changes += 1;
            if to > from {
                let tax = self.charges.tax_on(&sku, price).expect("a rate");
                self.paid += price + self.charges.added(tax);
                self.charges.add(&sku, price, tax);
                self.discount.added += if self.discount.goods > 0 { price } else { 0 };
            } else {
                let tax = self.charges.lower(&sku, self.prices[at] * from, price, self.discount);
                let before = self.discount.amount;
                self.discount.lower(price);
                let refund = price - (before - self.discount.amount) + tax;
                assert!(refund >= 0, "{refund}");
                self.refunded += refund;
            }
            self.quantities[at] = to;
        }

        /// Compares it with what its goods say alone. The amounts are rounded with each change.
        fn compare(&self, [least, most]: [i64; 2]) {
            let of = |rate: i64| if self.charges.tax_included { 100_000 + rate } else { 100_000 };
            let net = self.goods() - self.discount.amount;
            let (tax, off) = (self.charges.tax() - 95, 8 * (self.changes + 1));
            let [from, to] = [least, most].map(|rate| net * rate / of(rate));
            assert!((from - off..=to + off).contains(&tax), "{tax} of {net}: {from} to {to}");
            assert_eq!(self.total(), self.paid - self.refunded);
            let price_of = |sku: &str| {
                let at: usize = sku.parse().expect("a line");
                self.prices[at] * self.quantities[at]
            };
            assert!(!self.charges.is_impossible(price_of, self.discount), "{:?}", self.charges);
            if self.goods() == 0 {
                assert_eq!((tax, self.discount.amount), (0, 0));
            }
        }
    }

    #[test]
    fn tax_and_discount_follow_what_is_paid_for_the_goods() {
        let mut random = 1_u64;
        let mut below = |most: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            i64::try_from((random >> 33) % most).expect("a small number")
        };
        for round in 0..100 {
            let prices = [0; 3].map(|_| 500 + below(9_500));
            let rate = 1_000 * (1 + below(30));
            let rates = if round % 2 == 0 { [rate; 3] } else { [rate, 7_000, 0] };
            let mut order = Simulated::new(prices, rates, below(101), round % 4 < 2);
            let bounds = rates
                .into_iter()
                .fold([rate; 2], |[least, most], rate| [least.min(rate), most.max(rate)]);
            for _ in 0..12 {
                let at = usize::try_from(below(3)).expect("a line");
                order.adjust(at, below(5));
                order.compare(bounds);
            }
            for at in 0..3 {
                order.adjust(at, 0);
                order.compare(bounds);
            }
        }
    }
}
