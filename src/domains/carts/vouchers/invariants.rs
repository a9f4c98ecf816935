//! Invariants of vouchers, for `docgate check`, and their repair.

use super::{
    documents::{VoucherCustomerDocument, VoucherDocument},
    store::{self, vouchers},
};
use crate::{graphql::prelude::*, invariants::Report};

/// The sums of a document with uses of a voucher.
struct Sums {
    id: String,
    /// Budget, left, reserved by the sum, reserved by the marks, spent: in money.
    money: [i64; 5],
    /// The same in uses.
    uses: [i64; 5],
    /// The budgets of a voucher in money and in uses.
    budgets: [Option<i64>; 2],
}

impl Sums {
    fn of_voucher(own: &VoucherDocument) -> Self {
        let (sum, number) = store::reserved(&own.marks);
        let money = parts(own.budget, own.left, [own.reserved, sum, own.spent]);
        let uses =
            parts(own.budget_uses, own.left_uses, [own.reserved_uses, number, own.spent_uses]);
        Self { id: own.code.clone(), money, uses, budgets: [own.budget, own.budget_uses] }
    }

    fn of_customer(own: &VoucherCustomerDocument) -> Self {
        let (sum, number) = store::reserved(&own.marks);
        let money = parts(None, None, [own.reserved, sum, own.spent]);
        // The limit is in the voucher, and nothing else is left of it.
        let limit = own.left_uses.map(|left| left + own.reserved_uses + own.spent_uses);
        let uses = parts(limit, own.left_uses, [own.reserved_uses, number, own.spent_uses]);
        Self { id: own.id.clone(), money, uses, budgets: [None; 2] }
    }

    /// The sums, if they are wrong.
    fn if_wrong(self) -> Option<Self> {
        let is_sound = |[budget, left, reserved, marked, spent]: &[i64; 5]| {
            reserved == marked
                && left + reserved + spent == *budget
                && [left, reserved, spent].iter().all(|number| **number >= 0)
        };
        (!is_sound(&self.money) || !is_sound(&self.uses)).then_some(self)
    }

    fn line(&self) -> String {
        let Self { id, money, uses, .. } = self;
        let of = |[budget, left, reserved, marked, spent]: &[i64; 5]| {
            format!(
                "of {budget} are {left} left, {reserved} reserved ({marked} by marks), {spent} spent"
            )
        };
        format!("{id}: money: {}; uses: {}", of(money), of(uses))
    }
}

/// Without a budget nothing is left to be compared.
fn parts(budget: Option<i64>, left: Option<i64>, [reserved, marked, spent]: [i64; 3]) -> [i64; 5] {
    match budget.zip(left) {
        Some((budget, left)) => [budget, left, reserved, marked, spent],
        // A budget without a rest is broken, and so is a rest without a budget.
        None if budget.is_some() || left.is_some() => [0, -1, reserved, marked, spent],
        None => [reserved + spent, 0, reserved, marked, spent],
    }
}

/// The wrong sums: those of vouchers, and those of customers.
async fn list_wrong(app: &App) -> Result<[Vec<Sums>; 2]> {
    let (mut wrong, mut wrong_of_customers) = (Vec::new(), Vec::new());
    vouchers(app).for_each(|own| wrong.extend(Sums::of_voucher(&own).if_wrong())).await?;
    let customer = |own: VoucherCustomerDocument| {
        wrong_of_customers.extend(Sums::of_customer(&own).if_wrong());
    };
    app.collection().for_each(customer).await?;
    Ok([wrong, wrong_of_customers])
}

/// Checks each voucher and each customer.
pub(in super::super) async fn check(app: &App, report: &mut Report) -> Result<()> {
    let wrong = list_wrong(app).await?;
    let rule =
        "vouchers: left + reserved + spent = budget, and what is reserved is the sum of the marks";
    report.add(rule, wrong.iter().flatten().map(Sums::line));
    Ok(())
}

/// Computes anew what is reserved and left, where it is wrong. Returns what it corrected.
pub(in super::super) async fn repair(app: &App) -> Result<Vec<String>> {
    let [own, of_customers] = store::COUNTED.map(|collection| store::uses(app, collection));
    let [wrong, wrong_of_customers] = list_wrong(app).await?;
    let mut corrected = Vec::new();
    for Sums { id, budgets, .. } in wrong {
        store::recount(&own, &id, budgets).held().await?;
        corrected.push(format!("the sums of the voucher {id}"));
    }
    for Sums { id, .. } in wrong_of_customers {
        let code = id.split(':').next().unwrap_or_default();
        let limit = vouchers(app).get_settled(code).await?.and_then(|of| of.per_customer);
        store::recount(&of_customers, &id, [None, limit]).held().await?;
        corrected.push(format!("the sums of the voucher's customer {id}"));
    }
    Ok(corrected)
}
