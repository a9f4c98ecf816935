//! The sweep of transfers finishes those that were interrupted: their claim has ended, and their state isn't
//! final.

use mongodb::bson::DateTime;

use super::{
    documents::{TransferDocument, TransferState},
    operations, store,
};
use crate::{app::App, error::Error, mongo::SweepReport};

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

/// Runs one pass and returns the number of transfers that it finished.
///
/// # Errors
/// The first failure. The other transfers were still tried.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now().timestamp_millis();
    let bound = i64::try_from(app.bounds().grace_period().as_millis()).unwrap_or(i64::MAX);
    let before = DateTime::from_millis(now.saturating_sub(bound));
    let mut tally = SweepReport::default();
    for state in UNFINISHED {
        let mut last: Option<TransferDocument> = None;
        loop {
            let batch = store::list_unfinished(app, state, before, last.as_ref(), BATCH).await?;
            for transfer in &batch {
                tally.add(&transfer.id, operations::finish(app, &transfer.id).await);
            }
            match batch.into_iter().last() {
                Some(transfer) => last = Some(transfer),
                None => break,
            }
        }
    }
    tally.finished()
}
