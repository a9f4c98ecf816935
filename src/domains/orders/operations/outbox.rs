//! Applies the entries in the outbox of an order, settles them, and removes them later.

use std::time::Duration;

use mongodb::bson::DateTime;

use super::super::{
    documents::{Action, Due, OrderDocument},
    store::{self, orders},
};
use crate::{
    domains::{
        carts::{order_as_holder, vouchers::operations::VoucherStep},
        inventory::operations::{self as inventory, Destination, Holder},
        payments::{Refund, operations as payments},
    },
    flow::earlier,
    graphql::prelude::*,
    join::join_all,
};

/// Polling interval while another attempt applies entries.
const LOOK: Duration = Duration::from_millis(50);

/// Reads the order again.
///
/// # Errors
/// The attempt is over.
pub(super) async fn read_again(app: &App, id: &str, attempt: &Attempt) -> Result<OrderDocument> {
    if attempt.is_over() {
        return Err(attempt.overdue());
    }
    let order = orders(app).get_settled(id).await?;
    order.ok_or_else(|| Error::internal("an order vanished without a tombstone"))
}

/// Applies and settles what an op has just committed, for the attempt that committed it. A refund that can't
/// be paid yet is deferred and left to the sweep.
///
/// # Errors
/// The outcome of an entry is unknown: it stays due. Applied entries are settled all the same.
pub(super) async fn carry_out(
    app: &App,
    mut order: OrderDocument,
    op: &Op,
    attempt: &Attempt,
) -> Result<OrderDocument> {
    let returns = open_of(&order, op).any(|due| !due.action.is_of_a_raise());
    // Stock and money of other raises are being sold and captured. Neither can be returned before.
    while returns && order.owed().any(|due| due.action.is_of_a_raise() && !due.is_of(op)) {
        tokio::time::sleep(LOOK).await;
        order = read_again(app, &order.id, attempt).await?;
    }
    apply_those(app, order, |due| due.is_of(op) && due.deferred.is_none(), attempt).await
}

/// Finishes a repeat of a committed op: it is done once all entries but the deferred ones are applied. Until
/// then it waits for the attempt that committed it, as long as that may still be running.
///
/// # Errors
/// The outcome of an entry is unknown: it stays due.
pub(super) async fn finish(
    app: &App,
    order: &OrderDocument,
    op: &Op,
    attempt: &Attempt,
) -> Result<Step<OrderDocument>> {
    let ended_before = earlier(attempt.now(), app.bounds().grace_period());
    if open_of(order, op).any(|due| due.at >= ended_before) {
        return Ok(Step::Wait);
    }
    carry_out(app, order.clone(), op, attempt).await.map(Step::Done)
}

/// Entries that the op committed and that are neither settled nor deferred.
fn open_of<'a>(order: &'a OrderDocument, op: &'a Op) -> impl Iterator<Item = &'a Due> {
    order.owed().filter(|due| due.is_of(op) && due.deferred.is_none())
}

/// Applies and settles those of the order's entries that `those` selects. The entries of raises come first. If
/// one of them fails, nothing is restocked or refunded.
async fn apply_those(
    app: &App,
    order: OrderDocument,
    those: impl Fn(&Due) -> bool,
    attempt: &Attempt,
) -> Result<OrderDocument> {
    let selected = order.owed().filter(|due| those(due));
    let (of_raises, others): (Vec<_>, Vec<_>) =
        selected.partition(|due| due.action.is_of_a_raise());
    let (mut applied, mut deferred, mut failed) = (Vec::new(), Vec::new(), None);
    for stage in [of_raises, others] {
        let outcomes = join_all(stage.iter().map(|due| apply(app, &order, due, attempt))).await;
        for (due, outcome) in stage.iter().zip(outcomes) {
            match outcome {
                Ok(true) => applied.push(due.tag.clone()),
                Ok(false) if due.deferred.is_none() => {
                    tracing::warn!(
                        event = "refund_deferred",
                        order = order.id,
                        action = ?due.action,
                        "a refund can't be paid yet; it stays due"
                    );
                    deferred.push(due.tag.clone());
                }
                Ok(false) => {}
                Err(error) => failed = Some(error),
            }
        }
        if failed.is_some() {
            break;
        }
    }
    let noted = if applied.is_empty() && deferred.is_empty() {
        Some(order)
    } else {
        store::settle(app, &order.id, &applied, &deferred).then_read().await?
    };
    match (failed, noted) {
        (Some(error), _) => Err(error),
        (None, Some(order)) => Ok(order),
        // Another attempt settled them, and they were removed since. This attempt is long past its deadline.
        (None, None) => Err(attempt.overdue()),
    }
}

/// Applies one outbox entry. Returns `false` if the receiver can't take it now. A repeat changes nothing.
async fn apply(app: &App, order: &OrderDocument, due: &Due, attempt: &Attempt) -> Result<bool> {
    let holder = Holder { app, name: &order_as_holder(&order.id), tag: &due.tag, attempt };
    match &due.action {
        Action::Sell { sku, quantity, .. } => {
            holder.apply(sku, *quantity, Destination::Sold).await?;
        }
        Action::Capture { payment } => payments::capture(app, payment).await?,
        Action::Restock { sku, quantity } => holder.restock(sku, *quantity).await?,
        Action::GiveBack { voucher } => {
            VoucherStep { app, hold: voucher, tag: &due.tag }.give_back(attempt).await?;
        }
        Action::Refund { payment, amount } => {
            let amount = Money::new(*amount, order.currency);
            return Ok(
                payments::refund_decided(app, payment, &due.tag, amount).await? == Refund::Made
            );
        }
    }
    Ok(true)
}

/// Applies and settles the entries from before `before`, and removes those that were settled before it.
/// Returns whether any were applied or removed.
///
/// # Errors
/// The outcome of an entry is unknown. The next pass tries again.
pub(in super::super) async fn settle(app: &App, id: &str, before: DateTime) -> Result<bool> {
    let (attempt, Some(mut order)) = app.begin_with::<OrderDocument>(id).await? else {
        return Ok(false);
    };
    let is_old = |due: &Due| due.at < before;
    let count = |order: &OrderDocument| order.owed().filter(|due| is_old(due)).count();
    let found = count(&order);
    if found > 0 {
        order = apply_those(app, order, is_old, &attempt).await?;
    }
    Ok(retire(app, &order, before).await? || count(&order) < found)
}

/// Retires the marks of entries that were settled before `before`, then removes the entries. Returns whether
/// there were any. No attempt that read them unsettled can still apply them then.
async fn retire(app: &App, order: &OrderDocument, before: DateTime) -> Result<bool> {
    let mut retired = Vec::new();
    for due in &order.outbox {
        if due.settled.is_none_or(|settled| settled >= before) {
            continue;
        }
        match &due.action {
            Action::Sell { sku, raise, .. } => {
                let tags = [raise.clone(), due.tag.clone()];
                let holder = order_as_holder(&order.id);
                inventory::retire(app, sku, &holder, &tags, before).await?;
            }
            Action::Restock { sku, .. } => inventory::retire_restock(app, sku, &due.tag).await?,
            Action::GiveBack { voucher } => {
                VoucherStep { app, hold: voucher, tag: &due.tag }.forget_give_back().await?;
            }
            // The provider keeps its records of payments for good.
            Action::Capture { .. } | Action::Refund { .. } => {}
        }
        retired.push(due.tag.clone());
    }
    if !retired.is_empty() {
        store::pull_settled(app, &order.id, &retired).held().await?;
    }
    Ok(!retired.is_empty())
}
