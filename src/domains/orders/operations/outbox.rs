//! What an order owes: giving it, noting that, and forgetting it.

use futures_util::future::join_all;
use mongodb::bson::DateTime;

use super::super::{
    documents::{Due, Give, OrderDocument},
    store,
};
use crate::{
    app::App,
    domains::{inventory, payments},
    error::Error,
    graphql::scalars::Money,
    mongo::{Run, flow::Op},
};

/// Each give with a tag of its own, made of the op that decided it.
pub(super) fn tagged(op: &Op, gives: impl Iterator<Item = Give>) -> Vec<(String, Give)> {
    gives.enumerate().map(|(n, give)| (format!("{}:{n}", op.id), give)).collect()
}

/// As whom an order holds stock that a raise took.
pub(super) fn holder(order: &str) -> String {
    format!("order:{order}")
}

/// Gives what the order owes and notes it.
///
/// # Errors
/// Something wasn't given for certain: it stays due. What was given is noted all the same.
pub(in super::super) async fn carry_out(
    app: &App,
    order: OrderDocument,
    run: &Run,
) -> Result<OrderDocument, Error> {
    let owed = order.outbox.iter().filter(|due| due.given.is_none());
    // Goods can't go back before they are sold, nor money before it is captured.
    let (raised, back): (Vec<&Due>, Vec<&Due>) = owed.partition(|due| due.give.is_of_a_raise());
    let mut given = Vec::new();
    let mut failed = None;
    for stage in [raised, back] {
        let gives = stage.into_iter().map(async |due| (due, give(app, &order, due, run).await));
        for (due, outcome) in join_all(gives).await {
            match outcome {
                Ok(()) => given.push(due.tag.clone()),
                Err(error) => failed = Some(error),
            }
        }
        if failed.is_some() {
            break;
        }
    }
    let noted = if given.is_empty() {
        Some(order)
    } else {
        store::mark_given(app, &order.id, &given).await.decided()?
    };
    match (failed, noted) {
        (Some(error), _) => Err(error),
        (None, Some(order)) => Ok(order),
        (None, None) => Err(Error::internal("an outbox entry went before it was noted")),
    }
}

/// Carries out one outbox entry, repeatable.
async fn give(app: &App, order: &OrderDocument, due: &Due, run: &Run) -> Result<(), Error> {
    let (tag, holder) = (&due.tag, &holder(&order.id));
    match &due.give {
        Give::Sell { sku, quantity, take: _ } => {
            let sold = inventory::operations::Destination::Sold;
            inventory::operations::give(app, sku, holder, tag, *quantity, sold, run).await
        }
        Give::Capture { payment } => payments::operations::capture(app, payment).await,
        Give::Restock { sku, quantity } => {
            inventory::operations::restock(app, sku, tag, *quantity, run).await
        }
        Give::Refund { payment, amount } => {
            let amount = Money::new(*amount, order.currency);
            payments::operations::refund(app, payment, tag, amount).await
        }
    }
}

/// Orders with something decided before `before` in their outbox.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub(in super::super) async fn list_owing(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<OrderDocument>, Error> {
    store::list_owing(app, before, limit).await
}

/// Gives what the order still owes from before `before`, and forgets what it noted as given before
/// then; says whether there was anything to do.
///
/// # Errors
/// Something wasn't given for certain: it is tried again.
pub(in super::super) async fn settle(app: &App, id: &str, before: DateTime) -> Result<bool, Error> {
    let (run, order) = store::open(app, id).await?;
    let Some(mut order) = order else { return Ok(false) };
    let is_left = |due: &Due| due.given.is_none() && due.at < before;
    let left = order.outbox.iter().any(is_left);
    if left {
        order = carry_out(app, order, &run).await?;
    }
    Ok(retire(app, &order, before).await? || left)
}

/// Retires the marks of what was noted as given before `before`, then forgets the entries; says
/// whether there were any. By then nobody who read them before the note can give them any more.
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
                inventory::operations::retire(app, sku, &holder(order), &tags, before).await;
            retired.decided()?;
        }
        Give::Restock { sku, .. } => {
            inventory::operations::retire_restocks(app, sku, &[tag]).await.decided()?;
        }
        // The provider remembers payments for good.
        Give::Capture { .. } | Give::Refund { .. } => {}
    }
    Ok(())
}
