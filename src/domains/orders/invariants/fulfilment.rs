//! The invariants of shipments and returns, and the repair of what is derived from them.

use std::collections::{HashMap, HashSet};

use super::super::{
    documents::{OrderDocument, OrderNumberDocument, OrderState, ReturnState, Shipment},
    operations,
    store::{self, orders},
};
use crate::{app::App, error::Result, invariants::Report};

/// The rule of [`faults`].
pub(super) const RULE: &str = "orders: of each line, what is to be packed, packed and sent is its quantity; no shipment has \
                               fewer pieces than its returns; `stage` and `returnRequestedAt` are those of shipments and \
                               returns, and `skus` those of the lines";

/// The faults of the order's shipments and returns.
pub(super) fn faults(order: &OrderDocument) -> Vec<String> {
    if order.deleted {
        return Vec::new();
    }
    let mut faults = Vec::new();
    let id = &order.id;
    for line in &order.lines {
        let (packed, sent) = (order.packed(&line.sku), order.sent(&line.sku));
        let (sku, quantity) = (&line.sku, line.quantity);
        let is_sound = order.open(line) >= 0 && sent >= 0;
        // A cancelled order keeps its lines as they were.
        if !is_sound || (order.state != OrderState::Placed && packed + sent > 0) {
            faults.push(format!("order {id}: {packed} packed and {sent} sent of {quantity} {sku}"));
        }
    }
    let skus: HashSet<&str> = order.lines.iter().map(|line| line.sku.as_str()).collect();
    for shipment in &order.shipments {
        let number = shipment.number;
        for line in &shipment.lines {
            if order.returnable(shipment, &line.sku) < 0 {
                let sku = &line.sku;
                faults.push(format!("order {id}: shipment {number} has more returns of {sku}"));
            }
            if line.quantity < 1 || !skus.contains(line.sku.as_str()) {
                let sku = &line.sku;
                faults.push(format!("order {id}: shipment {number} has no {sku} of the order"));
            }
        }
    }
    for one in order.returns.iter().filter(|one| one.state != ReturnState::Refused) {
        let shipment = order.shipments.iter().find(|shipment| shipment.number == one.shipment);
        if !shipment.is_some_and(Shipment::is_sent) {
            faults.push(format!("order {id}: return {} is of no shipment", one.number));
        }
    }
    // A release without stages may have changed an order that wasn't packed. That isn't a fault, and a repair corrects it.
    if order.state == OrderState::Placed && !order.shipments.is_empty() && is_outdated(order) {
        faults.push(format!("order {id}: `stage` or `returnRequestedAt` is outdated"));
    }
    if !order.skus.is_empty() && lacks_skus(order) {
        faults.push(format!("order {id}: `skus` are {:?}", order.skus));
    }
    faults
}

/// Checks that every order with a number has it in `orderNumbers`. `numbers` are those of the orders, each with the order's
/// id. A number without an order is that of a deleted one, or of a checkout that was cut.
pub(super) async fn check_numbers(
    app: &App,
    mut numbers: HashMap<String, String>,
    report: &mut Report,
) -> Result<()> {
    report.rule("orders: every order has its number alone");
    app.collection::<OrderNumberDocument>()
        .for_each(|number| {
            if let Some(order) = numbers.remove(&number.id)
                && order != number.order
            {
                let OrderNumberDocument { id, order: other, .. } = number;
                report.broken(format!("order {order} has the number {id} of order {other}"));
            }
        })
        .await?;
    for (number, order) in numbers {
        report.broken(format!("order {order} has the number {number}, which isn't claimed"));
    }
    Ok(())
}

/// Whether a release without them has changed the order since its derived fields were computed.
fn is_outdated(order: &OrderDocument) -> bool {
    order.stage != Some(order.reached()) || order.return_requested_at != order.oldest_request()
}

/// Whether the SKUs by which the order is found aren't those of its lines.
fn lacks_skus(order: &OrderDocument) -> bool {
    order.skus != OrderDocument::skus_of(&order.lines)
}

/// Whether the repair has something to correct in the order.
fn is_unrepaired(order: &OrderDocument) -> bool {
    !order.deleted && (is_outdated(order) || lacks_skus(order) || order.number.is_none())
}

/// Computes `stage`, `returnRequestedAt` and `skus` anew where they are outdated, gives orders of earlier releases their numbers, and
/// returns what was corrected.
pub(in super::super) async fn repair(app: &App) -> Result<Vec<String>> {
    // After an update these can be all orders of a shop, so only their ids are kept.
    let mut unrepaired = Vec::new();
    orders(app)
        .for_each(|order| {
            if is_unrepaired(&order) {
                unrepaired.push(order.id);
            }
        })
        .await?;
    let mut corrected = Vec::new();
    for id in unrepaired {
        let order = orders(app).get_settled(&id).await?.filter(is_unrepaired);
        let Some(order) = order else { continue };
        // If the order has changed meanwhile, that commit has computed them.
        let (is_outdated, lacks_skus) = (is_outdated(&order), lacks_skus(&order));
        if (is_outdated || lacks_skus) && store::derive(app, &order).held().await? {
            corrected.extend(is_outdated.then(|| format!("the stage of order {id}")));
            corrected.extend(lacks_skus.then(|| format!("the SKUs of order {id}")));
        }
        if order.number.is_none() && operations::renumber(app, &order).await? {
            corrected.push(format!("the number of order {id}"));
        }
    }
    Ok(corrected)
}
