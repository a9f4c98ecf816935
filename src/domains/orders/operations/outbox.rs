//! The outbox of orders: its entries are applied, settled, and removed later.

use std::time::Duration;

use futures_util::future::join_all;
use mongodb::bson::DateTime;

use super::super::{
    documents::{Due, Give, OrderDocument},
    store,
};
use crate::{
    app::App,
    domains::{
        carts::order_as_holder,
        inventory,
        payments::{self, Refund},
    },
    error::Error,
    flow::{Attempt, Op, Step},
    graphql::scalars::Money,
};

/// Polling interval while another attempt applies entries.
const LOOK: Duration = Duration::from_millis(50);

/// Gives each action a tag, derived from the op that committed it.
pub(super) fn tagged(op: &Op, gives: impl Iterator<Item = Give>) -> Vec<(String, Give)> {
    gives.enumerate().map(|(n, give)| (format!("{}:{n}", op.id), give)).collect()
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
) -> Result<OrderDocument, Error> {
    let gives_back = open_of(&order, op).any(|due| !due.give.is_of_a_raise());
    // Stock and money of other raises are being sold and captured. Neither can be returned before.
    while gives_back && order.owed().any(|due| due.give.is_of_a_raise() && !is_of(due, op)) {
        if attempt.is_over() {
            return Err(attempt.overdue());
        }
        tokio::time::sleep(LOOK).await;
        let read = store::find(app, &order.id).await?;
        order = read.ok_or_else(|| Error::internal("an order that is gone without a stone"))?;
    }
    give_those(app, order, |due| is_of(due, op) && due.deferred.is_none(), attempt).await
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
) -> Result<Step<OrderDocument>, Error> {
    let bound = i64::try_from(app.bounds().grace_period().as_millis()).unwrap_or(i64::MAX);
    let cut = DateTime::from_millis(attempt.now().timestamp_millis() - bound);
    if open_of(order, op).any(|due| due.at >= cut) {
        return Ok(Step::Wait);
    }
    carry_out(app, order.clone(), op, attempt).await.map(Step::Done)
}

/// Entries that the op committed and that are neither settled nor deferred.
fn open_of<'a>(order: &'a OrderDocument, op: &'a Op) -> impl Iterator<Item = &'a Due> {
    order.owed().filter(|due| is_of(due, op) && due.deferred.is_none())
}

/// Whether the op committed the entry; see [`tagged`].
fn is_of(due: &Due, op: &Op) -> bool {
    due.tag.split(':').next() == Some(&op.id)
}

/// Results of a number of entries.
#[derive(Default)]
struct Told {
    /// Tags of applied entries.
    given: Vec<String>,
    /// Tags of newly deferred entries.
    deferred: Vec<String>,
    /// The error of an entry with an unknown outcome.
    failed: Option<Error>,
}

impl Told {
    fn add(&mut self, order: &str, due: &Due, outcome: Result<Given, Error>) {
        match outcome {
            Ok(Given::Given) => self.given.push(due.tag.clone()),
            Ok(Given::NotYet) if due.deferred.is_none() => {
                tracing::warn!(
                    event = "refund_deferred",
                    order,
                    give = ?due.give,
                    "a refund can't be paid yet; it stays due"
                );
                self.deferred.push(due.tag.clone());
            }
            Ok(Given::NotYet) => {}
            Err(error) => self.failed = Some(error),
        }
    }
}

/// Applies and settles those of the order's entries that `those` selects.
async fn give_those(
    app: &App,
    order: OrderDocument,
    those: impl Fn(&Due) -> bool,
    attempt: &Attempt,
) -> Result<OrderDocument, Error> {
    let Told { given, deferred, failed } = give_in_stages(app, &order, those, attempt).await;
    let noted = if given.is_empty() && deferred.is_empty() {
        Some(order)
    } else {
        store::mark_given(app, &order.id, &given, &deferred).await.decided()?
    };
    match (failed, noted) {
        (Some(error), _) => Err(error),
        (None, Some(order)) => Ok(order),
        // Another attempt settled them, and they were removed since. This attempt is long past its deadline.
        (None, None) => Err(attempt.overdue()),
    }
}

/// Applies the entries of raises first. If one of them fails, nothing is restocked or refunded.
async fn give_in_stages(
    app: &App,
    order: &OrderDocument,
    those: impl Fn(&Due) -> bool,
    attempt: &Attempt,
) -> Told {
    let mine = order.owed().filter(|due| those(due));
    let (raised, back): (Vec<&Due>, Vec<&Due>) = mine.partition(|due| due.give.is_of_a_raise());
    let mut told = Told::default();
    for stage in [raised, back] {
        let under_way =
            stage.into_iter().map(async |due| (due, give(app, order, due, attempt).await));
        for (due, outcome) in join_all(under_way).await {
            told.add(&order.id, due, outcome);
        }
        if told.failed.is_some() {
            break;
        }
    }
    told
}

/// Result of one entry.
enum Given {
    /// The receiver has applied it.
    Given,
    /// It can't be applied now.
    NotYet,
}

/// Applies one outbox entry. A repeat changes nothing.
async fn give(
    app: &App,
    order: &OrderDocument,
    due: &Due,
    attempt: &Attempt,
) -> Result<Given, Error> {
    let (tag, holder) = (&due.tag, &order_as_holder(&order.id));
    match &due.give {
        Give::Sell { sku, quantity, take: _ } => {
            let sold = inventory::operations::Destination::Sold;
            inventory::operations::give(app, sku, holder, tag, *quantity, sold, attempt).await?;
        }
        Give::Capture { payment } => payments::operations::capture(app, payment).await?,
        Give::Restock { sku, quantity } => {
            inventory::operations::restock(app, sku, tag, *quantity, attempt).await?;
        }
        Give::Refund { payment, amount } => {
            let amount = Money::new(*amount, order.currency);
            if payments::operations::refund(app, payment, tag, amount).await? == Refund::Due {
                return Ok(Given::NotYet);
            }
        }
    }
    Ok(Given::Given)
}

/// Orders with outbox entries that were committed at or after `from` and before `before`.
pub(in super::super) async fn list_owing(
    app: &App,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<Vec<OrderDocument>, Error> {
    store::list_owing(app, from, before, limit).await
}

/// Applies and settles the entries from before `before`, and removes those that were settled before it.
/// Returns whether any were applied or removed.
///
/// # Errors
/// The outcome of an entry is unknown. The next pass tries again.
pub(in super::super) async fn settle(app: &App, id: &str, before: DateTime) -> Result<bool, Error> {
    let (attempt, order) = store::open(app, id).await?;
    let Some(mut order) = order else { return Ok(false) };
    let is_left = |due: &Due| due.at < before;
    let left = |order: &OrderDocument| order.owed().filter(|due| is_left(due)).count();
    let before_it = left(&order);
    if before_it > 0 {
        order = give_those(app, order, is_left, &attempt).await?;
    }
    let gave = left(&order) < before_it;
    Ok(retire(app, &order, before).await? || gave)
}

/// Retires the marks of entries that were settled before `before`, then removes the entries. Returns whether
/// there were any. No attempt that read them unsettled can still apply them then.
async fn retire(app: &App, order: &OrderDocument, before: DateTime) -> Result<bool, Error> {
    let settled = |due: &&Due| due.given.is_some_and(|given| given < before);
    let old: Vec<&Due> = order.outbox.iter().filter(settled).collect();
    for due in &old {
        retire_mark(app, &order.id, due, before).await?;
    }
    let tags: Vec<String> = old.iter().map(|due| due.tag.clone()).collect();
    if !tags.is_empty() {
        store::pull_given(app, &order.id, &tags).await.decided()?;
    }
    Ok(!tags.is_empty())
}

async fn retire_mark(app: &App, order: &str, due: &Due, before: DateTime) -> Result<(), Error> {
    let tag = due.tag.clone();
    match &due.give {
        Give::Sell { sku, take, .. } => {
            let tags = [take.clone(), tag];
            let retired =
                inventory::operations::retire(app, sku, &order_as_holder(order), &tags, before)
                    .await;
            retired.decided()?;
        }
        Give::Restock { sku, .. } => {
            inventory::operations::retire_restocks(app, sku, &[tag]).await.decided()?;
        }
        // The provider keeps its records of payments for good.
        Give::Capture { .. } | Give::Refund { .. } => {}
    }
    Ok(())
}
