//! Finishes transfers that were cut: whose claim has ended and which aren't at their end.

use mongodb::bson::DateTime;

use super::{
    documents::{TransferDocument, TransferState},
    operations, store,
};
use crate::{app::App, error::Error, mongo::Tally};

/// States from which there is something left to be done. An authorised payment waits for its
/// checkout.
const UNFINISHED: [TransferState; 5] = [
    TransferState::Pending,
    TransferState::Committed,
    TransferState::Credited,
    TransferState::Cancelling,
    TransferState::Returning,
];

/// Transfers that are read at a time.
const BATCH: i64 = 100;

/// One pass; answers how many transfers it brought to their end.
///
/// # Errors
/// The first that failed; the others were still tried.
pub async fn sweep(app: &App) -> Result<u64, Error> {
    let now = app.begin().await?.now().timestamp_millis();
    let bound = i64::try_from(app.bounds().one().as_millis()).unwrap_or(i64::MAX);
    let before = DateTime::from_millis(now.saturating_sub(bound));
    let mut tally = Tally::default();
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
