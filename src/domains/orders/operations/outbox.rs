//! What an order owes: giving it, noting that, and forgetting it.

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
    graphql::scalars::Money,
    mongo::{Run, flow::Op},
};

/// Pause between two looks at what another run is giving.
const LOOK: Duration = Duration::from_millis(50);

/// Each give with a tag of its own, made of the op that decided it.
pub(super) fn tagged(op: &Op, gives: impl Iterator<Item = Give>) -> Vec<(String, Give)> {
    gives.enumerate().map(|(n, give)| (format!("{}:{n}", op.id), give)).collect()
}

/// Gives what an op has just decided, for the run that decided it, and notes it. A refund that can't
/// be made yet is left to the sweep: the order says that it is due.
///
/// # Errors
/// Something wasn't given for certain: it stays due. What was given is noted all the same.
pub(super) async fn carry_out(
    app: &App,
    mut order: OrderDocument,
    op: &Op,
    run: &Run,
) -> Result<OrderDocument, Error> {
    let gives_back = open_of(&order, op).any(|due| !due.give.is_of_a_raise());
    // What others have raised is being sold and captured at this moment; before that neither can go
    // back.
    while gives_back && order.owed().any(|due| due.give.is_of_a_raise() && !is_of(due, op)) {
        if run.is_over() {
            return Err(run.overdue());
        }
        tokio::time::sleep(LOOK).await;
        let read = store::find(app, &order.id).await?;
        order = read.ok_or_else(|| Error::internal("an order that is gone without a stone"))?;
    }
    give_those(app, order, |due| is_of(due, op) && due.deferred.is_none(), run).await
}

/// For a repeat of an op that was decided: the order, once everything is given but what can't be
/// yet. `None` where the run that decided it still goes on: then it is worth another look.
///
/// # Errors
/// Something wasn't given for certain: it stays due.
pub(super) async fn finish(
    app: &App,
    order: &OrderDocument,
    op: &Op,
    run: &Run,
) -> Result<Option<OrderDocument>, Error> {
    let bound = i64::try_from(app.bounds().one().as_millis()).unwrap_or(i64::MAX);
    let cut = DateTime::from_millis(run.now().timestamp_millis() - bound);
    if open_of(order, op).any(|due| due.at >= cut) {
        tokio::time::sleep(LOOK).await;
        return Ok(None);
    }
    carry_out(app, order.clone(), op, run).await.map(Some)
}

/// What the op decided and nobody has given yet, nor found that it has to wait.
fn open_of<'a>(order: &'a OrderDocument, op: &'a Op) -> impl Iterator<Item = &'a Due> {
    order.owed().filter(|due| is_of(due, op) && due.deferred.is_none())
}

/// Whether the op decided it; see [`tagged`].
fn is_of(due: &Due, op: &Op) -> bool {
    due.tag.split(':').next() == Some(&op.id)
}

/// What became of entries that were to be given.
#[derive(Default)]
struct Told {
    /// Tags of those that were.
    given: Vec<String>,
    /// Tags of those of which it is new that they can't be yet.
    deferred: Vec<String>,
    /// Why another isn't given for certain.
    failed: Option<Error>,
}

impl Told {
    fn add(&mut self, order: &str, due: &Due, outcome: Result<Given, Error>) {
        match outcome {
            Ok(Given::Given) => self.given.push(due.tag.clone()),
            Ok(Given::NotYet) if due.deferred.is_none() => {
                tracing::warn!(order, give = ?due.give, "a refund can't be paid yet; it stays due");
                self.deferred.push(due.tag.clone());
            }
            Ok(Given::NotYet) => {}
            Err(error) => self.failed = Some(error),
        }
    }
}

/// Gives what the order owes of `those`, and notes it.
async fn give_those(
    app: &App,
    order: OrderDocument,
    those: impl Fn(&Due) -> bool,
    run: &Run,
) -> Result<OrderDocument, Error> {
    let Told { given, deferred, failed } = give_in_stages(app, &order, those, run).await;
    let noted = if given.is_empty() && deferred.is_empty() {
        Some(order)
    } else {
        store::mark_given(app, &order.id, &given, &deferred).await.decided()?
    };
    match (failed, noted) {
        (Some(error), _) => Err(error),
        (None, Some(order)) => Ok(order),
        // Noted by another and retired since: this run is long past its deadline.
        (None, None) => Err(run.overdue()),
    }
}

/// What raises owe first; where that fails nothing is given back.
async fn give_in_stages(
    app: &App,
    order: &OrderDocument,
    those: impl Fn(&Due) -> bool,
    run: &Run,
) -> Told {
    let mine = order.owed().filter(|due| those(due));
    let (raised, back): (Vec<&Due>, Vec<&Due>) = mine.partition(|due| due.give.is_of_a_raise());
    let mut told = Told::default();
    for stage in [raised, back] {
        let under_way = stage.into_iter().map(async |due| (due, give(app, order, due, run).await));
        for (due, outcome) in join_all(under_way).await {
            told.add(&order.id, due, outcome);
        }
        if told.failed.is_some() {
            break;
        }
    }
    told
}

/// What became of one outbox entry.
enum Given {
    /// Its receiver has it.
    Given,
    /// It can't be given now.
    NotYet,
}

/// Carries out one outbox entry, repeatable.
async fn give(app: &App, order: &OrderDocument, due: &Due, run: &Run) -> Result<Given, Error> {
    let (tag, holder) = (&due.tag, &order_as_holder(&order.id));
    match &due.give {
        Give::Sell { sku, quantity, take: _ } => {
            let sold = inventory::operations::Destination::Sold;
            inventory::operations::give(app, sku, holder, tag, *quantity, sold, run).await?;
        }
        Give::Capture { payment } => payments::operations::capture(app, payment).await?,
        Give::Restock { sku, quantity } => {
            inventory::operations::restock(app, sku, tag, *quantity, run).await?;
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

/// Orders with something decided before `before` in their outbox.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub(in super::super) async fn list_owing(
    app: &App,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<Vec<OrderDocument>, Error> {
    store::list_owing(app, from, before, limit).await
}

/// Gives what the order still owes from before `before`, and forgets what it noted as given before
/// then; says whether anything was given or forgotten.
///
/// # Errors
/// Something wasn't given for certain: it is tried again.
pub(in super::super) async fn settle(app: &App, id: &str, before: DateTime) -> Result<bool, Error> {
    let (run, order) = store::open(app, id).await?;
    let Some(mut order) = order else { return Ok(false) };
    let is_left = |due: &Due| due.at < before;
    let left = |order: &OrderDocument| order.owed().filter(|due| is_left(due)).count();
    let before_it = left(&order);
    if before_it > 0 {
        order = give_those(app, order, is_left, &run).await?;
    }
    let gave = left(&order) < before_it;
    Ok(retire(app, &order, before).await? || gave)
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
                inventory::operations::retire(app, sku, &order_as_holder(order), &tags, before)
                    .await;
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
