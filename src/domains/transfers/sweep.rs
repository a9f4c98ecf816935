//! The sweep of transfers finishes those that were interrupted: their claim has ended, and their state isn't
//! final.

use super::{
    documents::{TransferDocument, TransferState},
    operations, store,
};
use crate::{app::App, flow::Sweep};

/// States in which steps remain. An authorised payment waits for its checkout.
const UNFINISHED: [TransferState; 5] = [
    TransferState::Pending,
    TransferState::Committed,
    TransferState::Credited,
    TransferState::Cancelling,
    TransferState::Returning,
];

/// Number of transfers that one command reads.
const BATCH: i64 = 100;

/// Finishes interrupted transfers.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.earlier(app.bounds().grace_period());
    for state in UNFINISHED {
        let mut last: Option<TransferDocument> = None;
        loop {
            let batch = store::list_unfinished(app, state, before, last.as_ref(), BATCH).await;
            last = batch.as_ref().ok().and_then(|batch| batch.last().cloned());
            let finish = |transfer: TransferDocument| async move {
                operations::finish(app, &transfer.id).await
            };
            sweep.each(batch, |transfer| transfer.id.clone(), finish).await;
            if last.is_none() {
                break;
            }
        }
    }
}
