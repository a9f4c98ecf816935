//! The sweep of transfers finishes those that were interrupted: their claim has ended, and their state isn't
//! final.

use super::{documents::TransferState, operations, store};
use crate::{app::App, flow::Sweep};

/// States in which steps remain. An authorised payment waits for its checkout.
const UNFINISHED: [TransferState; 5] = [
    TransferState::Pending,
    TransferState::Committed,
    TransferState::Credited,
    TransferState::Cancelling,
    TransferState::Returning,
];

/// Finishes interrupted transfers.
pub(super) async fn sweep(app: &App, sweep: &mut Sweep) {
    let before = sweep.earlier(app.bounds().grace_period());
    for state in UNFINISHED {
        let found = store::list_unfinished(app, state, before).await;
        let finish = |id: String| async move { operations::finish(app, &id).await };
        sweep.each(found, String::clone, finish).await;
    }
}
