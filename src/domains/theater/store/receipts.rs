//! Writes of receipts.

use super::{
    super::documents::{ReceiptDocument, ReceiptState},
    receipts,
};
use crate::{graphql::prelude::*, mongo::prelude::*};

/// PAID → CANCELLING, before the first screening begins.
pub(in super::super) fn cancelling(receipt: &ReceiptDocument) -> Change {
    to_cancelling(receipt, both(is_paid(), before(receipt.starts_at)))
}

/// PAID → CANCELLING, because one of its screenings is cancelled.
pub(in super::super) fn cancelling_for_screening(receipt: &ReceiptDocument) -> Change {
    to_cancelling(receipt, is_paid())
}

fn is_paid() -> Document {
    doc! { "state": stored(&ReceiptState::Paid) }
}

fn to_cancelling(receipt: &ReceiptDocument, guard: Document) -> Change {
    let set = doc! {
        "state": stored(&ReceiptState::Cancelling), "cancellingAt": "$$NOW", "changedAt": "$$NOW",
    };
    Change::new(&receipt.id, guard, set)
}

/// Paid receipts with seats of a screening, up to `most`.
pub(in super::super) async fn list_paid_of(
    app: &App,
    screening: &str,
    most: usize,
) -> Result<Vec<ReceiptDocument>> {
    let filter = both(doc! { "lines.screeningId": screening }, is_paid());
    let (limit, hint) = (count(most), Some("screening_paid"));
    receipts(app).list(List { filter, limit, hint, ..List::default() }).await
}

/// CANCELLING → CANCELLED, after seats and money were returned.
pub(in super::super) fn settle_refund(app: &App, id: &str) -> Guarded<ReceiptDocument> {
    let is_cancelling = doc! { "_id": id, "state": stored(&ReceiptState::Cancelling) };
    let refunded = doc! { "$cond": [
        is_missing("payment"), "$$REMOVE", { "$mergeObjects": ["$payment", { "refunded": true }] },
    ] };
    let set = doc! {
        "state": stored(&ReceiptState::Cancelled), "payment": refunded, "cancellingAt": "$$REMOVE",
        "changedAt": "$$NOW",
    };
    receipts(app).set(is_cancelling, set)
}
