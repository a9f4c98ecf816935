//! Which run drives a transfer: who began it, who waits for another, and who takes it over.

use std::time::Duration;

use super::{
    super::{
        documents::{TransferDocument, TransferReason, TransferState},
        store,
    },
    drive::{drive, settle},
};
use crate::{app::App, error::Error, mongo::Run};

/// Pause between two looks at a transfer that another run carries on.
const LOOK: Duration = Duration::from_millis(50);

/// A transfer whose document stands.
pub(super) enum Begun {
    /// This run holds the claim.
    Claimed(TransferDocument),
    /// An earlier call began it.
    Found(TransferDocument),
}

/// How far a run got with a transfer.
pub(super) enum Reached {
    /// As far as the transfer can go now.
    Here(TransferDocument),
    /// Nowhere: another run holds the claim. The transfer as it was read.
    UnderWay(TransferDocument),
}

/// Begins the transfer, or finds it begun.
pub(super) async fn begin(app: &App, transfer: TransferDocument) -> Result<Begun, Error> {
    if store::insert_transfer(app, transfer.clone()).await.decided()?.is_some() {
        return Ok(Begun::Claimed(transfer));
    }
    let found = store::find_transfer(app, &transfer.id).await?;
    found.map(Begun::Found).ok_or_else(|| Error::internal("a transfer that was there is gone"))
}

/// Brings the transfer to a point at which its caller can be told how it went. While another run
/// holds the claim it waits for that run, as long as `first` lasts.
///
/// # Errors
/// The outcome is unknown, also where the other run takes longer.
pub(super) async fn answerable(
    app: &App,
    begun: Begun,
    first: &Run,
) -> Result<TransferDocument, Error> {
    let (mut run, mut begun) = (*first, begun);
    loop {
        let found = match advance(app, begun, &run).await? {
            Reached::Here(transfer) => return Ok(transfer),
            Reached::UnderWay(found) => found,
        };
        if first.is_over() {
            return Err(Error::unavailable("another run of this transfer is under way"));
        }
        tokio::time::sleep(LOOK).await;
        let (next, read) = store::open_transfer(app, &found.id).await?;
        let read = read.ok_or_else(|| Error::internal("a transfer that was there is gone"))?;
        (run, begun) = (next, Begun::Found(read));
    }
}

/// Brings the transfer as far as it can go now towards a point at which its caller can be told how
/// it went, and leaves the rest to be done behind the answer.
///
/// # Errors
/// An outcome is unknown.
pub(super) async fn advance(app: &App, begun: Begun, run: &Run) -> Result<Reached, Error> {
    let claimed = match begun {
        Begun::Claimed(transfer) => transfer,
        Begun::Found(found) if found.state.is_answerable() || is_given_up(&found) => {
            return Ok(Reached::Here(found));
        }
        Begun::Found(found) if is_held(app, &found, run) => return Ok(Reached::UnderWay(found)),
        Begun::Found(found) => {
            match store::claim(app, &found, found.state, None, run).await.decided()? {
                Some(claimed) => claimed,
                None => return Ok(Reached::UnderWay(found)),
            }
        }
    };
    let reached = drive(app, claimed, run, TransferState::is_answerable).await?;
    if reached.state == TransferState::Credited {
        let (app, transfer) = (app.clone(), reached.clone());
        app.clone().behind("settling a transfer", async move {
            settle(&app, transfer).await.map(|_settled| ())
        });
    }
    Ok(Reached::Here(reached))
}

/// Whether the claim's holder may still move money, as of the run's first read.
fn is_held(app: &App, found: &TransferDocument, run: &Run) -> bool {
    found.deadline >= app.bounds().overdue_before(run.now())
}

/// Takes a transfer over from a claim that has ended, moving it on to `to` in the same write.
pub(super) async fn claim(
    app: &App,
    read: &TransferDocument,
    to: TransferState,
    reason: Option<TransferReason>,
    run: &Run,
) -> Result<TransferDocument, Error> {
    let claimed = store::claim(app, read, to, reason, run).await.decided()?;
    claimed.ok_or_else(|| Error::unavailable("another run of this transfer is under way"))
}

/// Cancelled by its owner: that it will come to nothing is decided, and undoing it is up to whoever
/// holds the claim.
fn is_given_up(transfer: &TransferDocument) -> bool {
    transfer.state == TransferState::Cancelling && transfer.hindrance().is_none()
}
