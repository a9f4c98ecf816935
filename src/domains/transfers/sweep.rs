//! The sweep of transfers finishes interrupted transfers, and retires the payers' marks of payments. It looks for
//! transfers whose claim has ended and whose state isn't final.

use super::{documents::TransferState, operations, store};
use crate::{app::App, flow::Sweep, join::join_all};

/// Number of transfers that are finished side by side, so that their writes share commands: each payment of a checkout
/// without a claim is left to the sweep.
const SIDE_BY_SIDE: usize = 50;

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
        let found = match store::list_unfinished(app, state, before).await {
            Ok(found) => found,
            Err(error) => {
                sweep.note("list", Err(error));
                continue;
            }
        };
        for batch in found.chunks(SIDE_BY_SIDE) {
            let done = join_all(batch.iter().map(|id| operations::finish(app, id))).await;
            for (id, done) in batch.iter().zip(done) {
                sweep.add(id, done);
            }
        }
    }
}
