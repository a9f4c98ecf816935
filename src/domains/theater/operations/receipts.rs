//! Receipts: reads, and their cancellation with a refund.
//!
//! | command | guard | if the process dies after it |
//! |---|---|---|
//! | commit on the receipt | PAID, no screening has begun; the op isn't recorded; deadline | a repeat or the sweep carries on |
//! | free on each screening | the hold or its sale is there; deadline | freeing again has no effect |
//! | capture and refund at the provider | once per payment, once per refund's id | repeating them has no effect |
//! | settle on the receipt | CANCELLING | the receipt is cancelled |
//!
//! The state CANCELLING stands in the place of an outbox: what is owed follows from the receipt.

use super::super::{
    documents::{BookedSeats, ReceiptDocument, ReceiptState},
    store::{self, receipts, screenings},
    types::{CancelReceiptInput, CancelReceiptResult, Receipt, ReceiptNotOpen, ScreeningBegun},
};
use crate::{
    domains::payments::{Refund, operations as payments},
    graphql::{
        page::{Order as Sort, page_of},
        prelude::*,
    },
    join::join_all,
    mongo::{batched, prelude::Bson},
};

/// Returns the receipt if the caller may read it: their own, an anonymous one whose id they know, or any as a merchant.
pub async fn receipt(cx: Cx<'_>, id: &str) -> Result<Option<ReceiptDocument>> {
    let Ok(id) = &input::id(NodeKind::RECEIPT, id) else { return Ok(None) };
    Ok(receipts(&cx).get_settled(id).await?.filter(|receipt| is_visible(receipt, cx.requester)))
}

/// The caller's receipts, newest first.
///
/// # Errors
/// The caller has no token, an argument is invalid, or the read failed.
pub async fn my_receipts(cx: Cx<'_>, paging: Paging) -> Result<Connection<Receipt>> {
    let owner = cx.requester.subject()?;
    let (list, keys) = (format!("myReceipts {owner}"), vec![("paidAt", -1), ("_id", -1)]);
    let of = ("owner", owner.into());
    page_of(&cx, Sort { list, keys }, paging, of, position, Receipt::from).await
}

/// The receipts with seats of a screening, newest first.
///
/// # Errors
/// An argument is invalid, or the read failed.
pub async fn receipts_of_screening(
    app: &App,
    screening: &str,
    paging: Paging,
) -> Result<Connection<Receipt>> {
    let screening = input::id_or_none(NodeKind::SCREENING, screening);
    let (list, keys) = (format!("receipts {screening}"), vec![("paidAt", -1), ("_id", -1)]);
    let of = ("lines.screeningId", screening.into());
    page_of(app, Sort { list, keys }, paging, of, position, Receipt::from).await
}

/// The sort keys of a receipt.
fn position(receipt: &ReceiptDocument) -> Vec<Bson> {
    vec![receipt.paid_at.into(), (&receipt.id).into()]
}

fn is_visible(receipt: &ReceiptDocument, requester: &Requester) -> bool {
    let is_theirs = receipt.owner.as_deref().is_none_or(|owner| requester.is(owner));
    is_theirs || requester.has(Role::Merchant)
}

/// Cancels a receipt: its seats become free and its money is refunded, each once.
pub async fn cancel_receipt(cx: Cx<'_>, input: CancelReceiptInput) -> Answer<CancelReceiptResult> {
    let input = input.checked()?;
    let id = &input.receipt_id;
    let op = &cx.op_of(&[id, "cancelReceipt"], &input, &());
    let read = || async move {
        let (attempt, receipt) = cx.begin_with::<ReceiptDocument>(id).await?;
        let receipt = receipt.filter(|receipt| is_visible(receipt, cx.requester));
        let receipt = receipt.ok_or_else(|| NotFound::of(NodeKind::RECEIPT, id))?;
        Ok::<_, Stop<CancelReceiptResult>>((attempt, receipt))
    };
    decide(read, |attempt: Attempt, receipt: ReceiptDocument| async move {
        if op.is_committed(&receipt.ops)? {
            return Ok(Step::Done(carry_on(&cx, receipt, &attempt).await?));
        }
        if receipt.state != ReceiptState::Paid {
            return Err(ReceiptNotOpen::new(receipt.state).into());
        }
        if receipt.starts_at <= attempt.clock() {
            return Err(ScreeningBegun::at(receipt.starts_at).into());
        }
        let cancelling = store::cancelling(&receipt).committing(op, &op.id, cx.bounds());
        let decided = receipts(&cx).change(cancelling).within(&attempt).then_read().await?;
        let Some(receipt) = decided else { return Ok(Step::Again) };
        Ok(Step::Done(carry_on(&cx, receipt, &attempt).await?))
    })
    .await
}

/// Frees the seats of a receipt that is CANCELLING, refunds its money, and settles. If the provider can't pay the refund
/// now, the receipt stays CANCELLING, and the sweep asks again. A receipt in another state is returned as it is.
///
/// # Errors
/// The outcome of a step is unknown. A repeat or the sweep carries on.
pub(in super::super) async fn carry_on(
    app: &App,
    receipt: ReceiptDocument,
    attempt: &Attempt,
) -> Result<ReceiptDocument> {
    if receipt.state != ReceiptState::Cancelling {
        return Ok(receipt);
    }
    let free = receipt.lines.iter().map(|line| async move {
        let BookedSeats { screening_id, tag, .. } = line;
        let freeing = store::freeing(screening_id, tag, &line.places(), true);
        // A refusal means that the seats were freed before.
        screenings(app).write(&freeing, attempt).await.map(drop)
    });
    batched(join_all(free)).await.into_iter().collect::<Result<()>>()?;
    if let Some(payment) = &receipt.payment {
        let refund = app.ids().derived(&["refund of seats", &receipt.id]);
        let amount = Money::new(receipt.total, receipt.currency);
        if payments::refund_decided(app, &payment.id, &refund, amount).await? == Refund::Due {
            tracing::warn!(
                event = "refund_deferred",
                receipt = receipt.id,
                "the refund of a receipt can't be paid yet; it stays due"
            );
            return Ok(receipt);
        }
    }
    if let Some(settled) = store::settle_refund(app, &receipt.id).then_read().await? {
        return Ok(settled);
    }
    // Another attempt settled it first.
    let settled = receipts(app).get_settled(&receipt.id).await?;
    settled.ok_or_else(|| Error::internal("a receipt vanished"))
}
