//! Returns of shipped pieces. A customer requests them, and a merchant decides once. An accepted return is a lowering of its
//! lines: the same commit and the same outbox put the pieces into stock and refund their price.

use std::time::Duration;

use super::{
    super::{
        documents::{OrderDocument, OrderReturn, Pieces, ReturnState, ShipmentState},
        store::Decision,
        types::{
            AcceptReturnInput, AcceptReturnResult, MOST, RefuseReturnInput, RefuseReturnResult,
            RequestReturnInput, RequestReturnResult, ReturnNotOpen, ReturnTooLate, ShipmentNotOpen,
            TooManyPieces,
        },
    },
    adjust::lowered,
    free,
    fulfilment::named,
    merchants_op, once,
};
use crate::{
    flow::later,
    graphql::{prelude::*, scalars::DateTime},
};

/// Requests the return of pieces of a shipment. The caller is whoever may change the order.
pub async fn request_return(cx: Cx<'_>, input: RequestReturnInput) -> Answer<RequestReturnResult> {
    let input = &input.checked()?;
    let op = &cx.op(&[input.order_id.as_str(), "requestReturn"], input);
    let window = Duration::from_secs(u64::from(cx.config().return_days) * 24 * 3_600);
    once(cx, &input.order_id, op, |order, attempt| requested(order, input, window, attempt)).await
}

/// The decision of a requested return.
fn requested(
    mut order: OrderDocument,
    input: &RequestReturnInput,
    window: Duration,
    attempt: &Attempt,
) -> Result<Decision, Stop<RequestReturnResult>> {
    let number = input.shipment_number;
    let shipment = order.shipments.iter().find(|one| one.number == number);
    let shipment = shipment.ok_or_else(|| NotFound::new("shipment", number.to_string()))?;
    if !shipment.is_sent() {
        return Err(ShipmentNotOpen::of(ShipmentState::Packed).into());
    }
    let until = shipment.delivered_at.map(|delivered| later(delivered, window));
    if let Some(until) = until.filter(|until| *until < attempt.now()) {
        let message = "the time in which the shipment could be returned is over";
        return Err(ReturnTooLate::because(message, DateTime(until)).into());
    }
    let lines = match &input.lines {
        Some(lines) => named(lines),
        None => shipment
            .lines
            .iter()
            .filter_map(|line| {
                let quantity = order.returnable(shipment, &line.sku);
                (quantity > 0).then(|| Pieces { sku: line.sku.clone(), quantity })
            })
            .collect(),
    };
    if lines.is_empty() {
        let sku = shipment.lines.first().map_or("", |line| &line.sku);
        return Err(TooManyPieces::new(sku, 1, 0).into());
    }
    for Pieces { sku, quantity } in &lines {
        if !shipment.lines.iter().any(|line| line.sku == *sku) {
            return Err(NotFound::new("shipment line", sku).into());
        }
        let available = order.returnable(shipment, sku);
        if *quantity > available {
            return Err(TooManyPieces::new(sku, *quantity, available).into());
        }
    }
    if order.returns.len() >= MOST {
        return Err(InUse::because("the order has the maximum number of returns").into());
    }
    let last = order.returns.last().map_or(0, |last| last.number);
    order.returns.push(OrderReturn {
        number: last.saturating_add(1),
        shipment: number,
        state: ReturnState::Requested,
        lines,
        reason: input.reason.clone(),
        answer: None,
        requested_at: attempt.now(),
        decided_at: None,
    });
    Ok(free(order))
}

/// Accepts a return: its pieces go back into stock, and their price is refunded, each once.
pub async fn accept_return(cx: Cx<'_>, input: AcceptReturnInput) -> Answer<AcceptReturnResult> {
    let input = &input.checked()?;
    let op = &merchants_op(cx, "acceptReturn", &input.order_id, input)?;
    once(cx, &input.order_id, op, |order, attempt| {
        let order = answered(
            order,
            input.return_number,
            ReturnState::Accepted,
            input.answer.as_ref(),
            attempt,
        )?;
        let is_it = |one: &&OrderReturn| one.number == input.return_number;
        let lines = order.returns.iter().find(is_it).map(|one| one.lines.clone());
        Ok(taken_back(order, &lines.unwrap_or_default()))
    })
    .await
}

/// The decision of returned pieces: each line is lowered by them.
fn taken_back(order: OrderDocument, lines: &[Pieces]) -> Decision {
    lines.iter().fold(
        free(order),
        |Decision { order, mut owed, raise }, Pieces { sku, quantity }| {
            let Some(line) = order.lines.iter().find(|line| line.sku == *sku) else {
                return Decision { order, owed, raise };
            };
            // Shipped pieces can't be taken off a line, so it has at least as many.
            let next = lowered(&order, line, (line.quantity - quantity).max(0));
            owed.extend(next.owed);
            Decision { owed, ..next }
        },
    )
}

/// Refuses a return. The customer keeps the pieces.
pub async fn refuse_return(cx: Cx<'_>, input: RefuseReturnInput) -> Answer<RefuseReturnResult> {
    let input = &input.checked()?;
    let op = &merchants_op(cx, "refuseReturn", &input.order_id, input)?;
    once(cx, &input.order_id, op, |order, attempt| {
        answered(order, input.return_number, ReturnState::Refused, input.answer.as_ref(), attempt)
            .map(free)
    })
    .await
}

/// The order with a decision on a return that waits for one.
fn answered<U: From<NotFound> + From<ReturnNotOpen>>(
    mut order: OrderDocument,
    number: i32,
    state: ReturnState,
    answer: Option<&String>,
    attempt: &Attempt,
) -> Result<OrderDocument, Stop<U>> {
    let found = order.returns.iter_mut().find(|one| one.number == number);
    let found = found.ok_or_else(|| NotFound::new("return", number.to_string()))?;
    if found.state != ReturnState::Requested {
        let message = "the return was decided on before";
        return Err(ReturnNotOpen::because(message, found.state).into());
    }
    found.state = state;
    found.answer = answer.cloned();
    found.decided_at = Some(attempt.now());
    Ok(order)
}
