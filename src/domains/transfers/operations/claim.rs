//! Claims on transfers: an attempt begins a transfer, waits for another attempt, or takes its claim over.

use std::time::Duration;

use super::{
    super::{
        documents::{TransferDocument, TransferReason, TransferState},
        store,
    },
    drive::{drive, settle},
};
use crate::{app::App, error::Error, flow::Attempt};

/// Polling interval while another attempt drives the transfer.
const LOOK: Duration = Duration::from_millis(50);

/// A transfer whose document exists.
pub(super) enum Begun {
    /// This attempt holds the claim.
    Claimed(TransferDocument),
    /// An earlier call began it.
    Found(TransferDocument),
}

/// How far an attempt got with a transfer.
pub(super) enum Reached {
    /// The transfer went as far as it can now.
    Here(TransferDocument),
    /// Another attempt holds the claim. The transfer is as it was read.
    UnderWay(TransferDocument),
}

/// Inserts the transfer, or finds the existing one.
pub(super) async fn begin(app: &App, transfer: TransferDocument) -> Result<Begun, Error> {
    if store::insert_transfer(app, transfer.clone()).await.decided()?.is_some() {
        return Ok(Begun::Claimed(transfer));
    }
    let found = store::find_transfer(app, &transfer.id).await?;
    found.map(Begun::Found).ok_or_else(|| Error::internal("a transfer that was there is gone"))
}

/// Drives the transfer until its caller can get a result. While another attempt holds the claim, it waits for
/// that attempt until `first` is over.
///
/// # Errors
/// The outcome is unknown, also if the other attempt takes longer.
pub(super) async fn answerable(
    app: &App,
    begun: Begun,
    first: &Attempt,
) -> Result<TransferDocument, Error> {
    let (mut attempt, mut begun) = (*first, begun);
    loop {
        let found = match advance(app, begun, &attempt).await? {
            Reached::Here(transfer) => return Ok(transfer),
            Reached::UnderWay(found) => found,
        };
        if first.is_over() {
            return Err(Error::unavailable("another run of this transfer is under way"));
        }
        tokio::time::sleep(LOOK).await;
        let (next, read) = store::open_transfer(app, &found.id).await?;
        let read = read.ok_or_else(|| Error::internal("a transfer that was there is gone"))?;
        (attempt, begun) = (next, Begun::Found(read));
    }
}

/// Drives the transfer as far as it can go now towards a result for its caller. Remaining steps are done in
/// the background.
///
/// # Errors
/// The outcome of a step is unknown.
pub(super) async fn advance(app: &App, begun: Begun, attempt: &Attempt) -> Result<Reached, Error> {
    let claimed = match begun {
        Begun::Claimed(transfer) => transfer,
        Begun::Found(found) if found.state.is_answerable() || is_given_up(&found) => {
            return Ok(Reached::Here(found));
        }
        Begun::Found(found) if is_held(app, &found, attempt) => {
            return Ok(Reached::UnderWay(found));
        }
        Begun::Found(found) => {
            match store::claim(app, &found, found.state, None, attempt).await.decided()? {
                Some(claimed) => claimed,
                None => return Ok(Reached::UnderWay(found)),
            }
        }
    };
    let reached = drive(app, claimed, attempt, TransferState::is_answerable).await?;
    if reached.state == TransferState::Credited {
        let (app, transfer) = (app.clone(), reached.clone());
        app.clone().behind("settling a transfer", async move {
            settle(&app, transfer).await.map(|_settled| ())
        });
    }
    Ok(Reached::Here(reached))
}

/// Whether the claim's holder may still move money, as of the attempt's first read.
fn is_held(app: &App, found: &TransferDocument, attempt: &Attempt) -> bool {
    found.deadline >= app.bounds().overdue_before(attempt.now())
}

/// Takes a transfer over from a claim that has ended, and changes its state to `to` in the same write.
pub(super) async fn claim(
    app: &App,
    read: &TransferDocument,
    to: TransferState,
    reason: Option<TransferReason>,
    attempt: &Attempt,
) -> Result<TransferDocument, Error> {
    let claimed = store::claim(app, read, to, reason, attempt).await.decided()?;
    claimed.ok_or_else(|| Error::unavailable("another run of this transfer is under way"))
}

/// Whether the owner cancelled it: the failure is decided, and the holder of the claim undoes the debit.
fn is_given_up(transfer: &TransferDocument) -> bool {
    transfer.state == TransferState::Cancelling && transfer.hindrance().is_none()
}
