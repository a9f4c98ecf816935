//! The sweep of transfers finishes interrupted transfers, and retires the payers' marks of payments. It looks for
//! transfers whose claim has ended and whose state isn't final.

use super::{
    documents::{SweptTransfer, TransferState},
    operations, store,
};
use crate::{
    app::App,
    flow::{Pages, Sweep},
};

/// Transfers are finished side by side, so that their writes share commands: each payment of a checkout without a claim is left
/// to the sweep.
const PAGES: Pages = Pages { limit: 500, side_by_side: 50 };

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
        let list = |from, limit| store::list_unfinished(app, state, from, before, limit);
        let finish = |found: SweptTransfer| async move { operations::finish(app, &found.id).await };
        sweep.each_page(&format!("transfers that are {state:?}"), PAGES, list, finish).await;
    }
}
