//! The documents of vouchers as MongoDB stores them.

use crate::{graphql::scalars::CurrencyCode, mongo::prelude::*};

document! {
    /// One voucher. Its terms never change, but it can be ended.
    pub struct VoucherDocument {
        /// Its code, in capitals.
        pub code as "_id": String,
        /// Percentage that it takes off the goods, 1 to 100, if it doesn't take off an amount.
        pub percent?: i64,
        /// Amount that it takes off, in minor units, if it doesn't take off a percentage.
        pub amount?: i64,
        /// Currency of its amounts, and of the carts to which it can be applied.
        pub currency: CurrencyCode,
        /// Least sum of a cart's lines, in minor units.
        pub minimum: i64,
        /// Budget in minor units, if it has one.
        pub budget?: i64,
        /// Maximum number of uses, if it has one.
        pub budget_uses?: i64,
        /// Maximum number of uses per customer, if it has one.
        pub per_customer?: i64,
        /// Server time from which it can be used.
        pub valid_from?: DateTime,
        /// Server time at which it can't be used any more.
        pub valid_until?: DateTime,
        /// What is left of the budget.
        pub left?: i64,
        /// Number of uses that are left.
        pub left_uses?: i64,
        /// Sum of the reservations, in minor units.
        pub reserved: i64,
        /// Number of the reservations.
        pub reserved_uses: i64,
        /// Sum of what was spent, in minor units.
        pub spent: i64,
        /// Number of uses that were spent.
        pub spent_uses: i64,
        /// Reservations, and recent steps. The list for merchants leaves them out.
        #[serde(default)]
        pub marks: Vec<VoucherMark>,
        /// Subject who created it.
        pub created_by: String,
        /// Op that created it.
        pub op: String,
        /// Digest of that op's input.
        pub input: String,
        /// Server time at which it was created.
        pub created_at: DateTime,
        pub v: Version<1>,
    } in "vouchers" {
        plain("newest", "-createdAt -_id", "vouchers"),
        // Most vouchers have no marks, and so no key in it.
        of_field("marks_at", "marks.at", "the sweep of reservations, and of marks that aren't needed any more"),
    }

    /// The uses of a voucher by one customer. It exists only for vouchers with a limit per customer.
    pub struct VoucherCustomerDocument {
        /// Code of the voucher and subject of the customer, `{code}:{subject}`.
        pub id as "_id": String,
        /// Number of uses that are left.
        pub left_uses?: i64,
        /// Sum of the reservations, in minor units.
        pub reserved: i64,
        /// Number of the reservations.
        pub reserved_uses: i64,
        /// Sum of what was spent, in minor units.
        pub spent: i64,
        /// Number of uses that were spent.
        pub spent_uses: i64,
        /// Reservations, and recent steps.
        pub marks: Vec<VoucherMark>,
        pub v: Version<1>,
    } in "voucherCustomers" {
        of_field("marks_at", "marks.at", "the sweep of reservations, and of marks that aren't needed any more"),
    }

    /// A step of a flow on a voucher.
    #[derive(PartialEq, Eq)]
    pub struct VoucherMark {
        /// Tag of the checkout; of a give-back that of the order's outbox entry.
        pub tag: String,
        /// The cart that is checked out; none for a give-back.
        pub cart?: String,
        /// Amount in minor units.
        pub amount: i64,
        /// The step.
        pub state: MarkState,
        /// Server time of the step.
        pub at: DateTime,
    }

    /// The last step under a tag.
    pub enum MarkState {
        /// The amount is reserved.
        Reserved,
        /// It is spent.
        Spent,
        /// It was given back.
        Returned,
    }

    /// The voucher of a cart, with its terms.
    #[derive(PartialEq, Eq)]
    pub struct AppliedVoucher {
        /// Its code.
        pub code: String,
        /// Percentage that it takes off the goods, if it doesn't take off an amount.
        pub percent?: i64,
        /// Amount that it takes off, in minor units.
        pub amount?: i64,
        /// Least sum of the lines, in minor units.
        pub minimum: i64,
        /// Maximum number of uses per customer.
        pub per_customer?: i64,
    }

    /// What a checkout reserves of a voucher.
    #[derive(PartialEq, Eq)]
    pub struct VoucherHold {
        /// Code of the voucher.
        pub code: String,
        /// Subject of the customer, if the voucher has a limit per customer.
        pub customer?: String,
        /// The limit.
        pub per_customer?: i64,
        /// The discount, in minor units.
        pub amount: i64,
    }
}

impl VoucherDocument {
    /// The copy of its terms for a cart.
    pub fn terms(&self) -> AppliedVoucher {
        AppliedVoucher {
            code: self.code.clone(),
            percent: self.percent,
            amount: self.amount,
            minimum: self.minimum,
            per_customer: self.per_customer,
        }
    }
}

impl AppliedVoucher {
    /// What it takes off goods of this sum, in minor units: nothing below its minimum, and at most the sum. A percentage is
    /// rounded down.
    pub fn discount(&self, goods: i64) -> i64 {
        if goods < self.minimum {
            return 0;
        }
        let percent = i128::from(self.percent.unwrap_or(0));
        let part = i64::try_from(i128::from(goods) * percent / 100).unwrap_or(goods);
        self.amount.unwrap_or(part).min(goods)
    }
}

/// The uses of a voucher, by one customer or by all. The document of a voucher has all fields of that of a customer.
pub(super) type Uses = VoucherCustomerDocument;

// A document of a later version wouldn't be changed as one of `Uses`.
const _: () = assert!(VoucherDocument::UPGRADES.is_empty() && Uses::UPGRADES.is_empty());

impl VoucherCustomerDocument {
    /// A customer who has used nothing.
    pub(super) fn fresh(id: &str, per_customer: Option<i64>) -> Self {
        Self {
            id: id.to_owned(),
            left_uses: per_customer,
            reserved: 0,
            reserved_uses: 0,
            spent: 0,
            spent_uses: 0,
            marks: Vec::new(),
            v: Version,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(percent: Option<i64>, amount: Option<i64>, minimum: i64) -> AppliedVoucher {
        AppliedVoucher { code: "A".into(), percent, amount, minimum, per_customer: None }
    }

    #[test]
    fn a_percentage_is_rounded_down() {
        assert_eq!(terms(Some(15), None, 0).discount(199), 29);
        assert_eq!(terms(Some(100), None, 0).discount(199), 199);
        assert_eq!(terms(Some(100), None, 0).discount(i64::MAX), i64::MAX);
    }

    #[test]
    fn an_amount_takes_off_at_most_the_goods() {
        assert_eq!(terms(None, Some(500), 0).discount(199), 199);
        assert_eq!(terms(None, Some(500), 0).discount(1_000), 500);
    }

    #[test]
    fn below_the_minimum_nothing_is_taken_off() {
        assert_eq!(terms(None, Some(500), 1_000).discount(999), 0);
        assert_eq!(terms(None, Some(500), 1_000).discount(1_000), 500);
    }
}
