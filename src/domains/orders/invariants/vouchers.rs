//! The invariant that vouchers and orders agree.

use std::collections::{HashMap, HashSet};

use super::super::documents::{Action, OrderDocument, OrderState};
use crate::{
    app::App,
    domains::carts::vouchers::operations::{self as vouchers, counted_on},
    error::Result,
    invariants::Report,
};

/// What orders have of one voucher, or of one of its customers.
#[derive(Default)]
struct Ordered {
    /// What placed orders have.
    kept: i64,
    /// What is still to be given back for cancelled ones. It may have been given back already.
    due: i64,
}

/// What orders have of vouchers, by the `_id` of the document of uses.
#[derive(Default)]
pub(super) struct Vouchers(HashMap<String, Ordered>);

impl Vouchers {
    pub(super) fn note(&mut self, order: &OrderDocument) {
        if let Some(discount) =
            order.discount.as_ref().filter(|_| order.state == OrderState::Placed)
        {
            for id in counted_on(&discount.hold) {
                self.0.entry(id).or_default().kept += discount.hold.amount;
            }
        }
        for due in order.owed() {
            let Action::GiveBack { voucher } = &due.action else { continue };
            for id in counted_on(voucher) {
                self.0.entry(id).or_default().due += voucher.amount;
            }
        }
    }

    /// Compares them with the vouchers. `carts` has the cart of each order. A reservation counts if its cart has an order;
    /// that of another cart belongs to a checkout in progress.
    pub(super) async fn check(
        mut self,
        app: &App,
        carts: &HashMap<String, String>,
        report: &mut Report,
    ) -> Result<()> {
        let ordered: HashSet<&String> = carts.values().collect();
        let mut broken = Vec::new();
        vouchers::for_each(app, |id, spent, reserved| {
            let of_orders = reserved.iter().filter(|(cart, _)| ordered.contains(cart));
            let held = spent + of_orders.map(|(_, amount)| amount).sum::<i64>();
            let Ordered { kept, due } = self.0.remove(id).unwrap_or_default();
            if !(kept..=kept + due).contains(&held) {
                broken.push(format!("{id}: {held} are spent, orders have {kept}, {due} are due"));
            }
        })
        .await?;
        // The uses of a customer are removed when the customer is erased. Those of the voucher contain them.
        let missing = self.0.into_iter().filter(|(id, of)| of.kept != 0 && !id.contains(':'));
        broken.extend(
            missing.map(|(id, of)| format!("{id}: orders have {}, it isn't there", of.kept)),
        );
        report.add("vouchers: what is spent and reserved is what orders have", broken);
        Ok(())
    }
}
