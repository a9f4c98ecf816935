//! Claims on transfers: an attempt begins a transfer, waits for another attempt, or takes its claim over.

use super::{
    super::{
        documents::{TransferDocument, TransferKind, TransferState, TransferStep},
        store,
    },
    drive::{drive, step},
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Op, Step, decide},
    graphql::scalars::Money,
    mongo::Version,
};

/// The document with which a transfer begins, claimed by `attempt`. `accounts` are source and destination.
pub(super) fn pending(
    app: &App,
    op: &Op,
    kind: TransferKind,
    accounts: [&str; 2],
    amount: Money,
    attempt: &Attempt,
) -> TransferDocument {
    let accounts = accounts.map(str::to_owned);
    let [source, destination] = accounts.clone();
    let state = TransferState::Pending;
    TransferDocument {
        id: op.id.clone(),
        kind,
        by: None,
        source,
        destination,
        accounts: accounts.into(),
        amount: amount.minor_units,
        currency: amount.currency,
        state,
        reason: None,
        reverses: None,
        holder: None,
        input: op.input.clone(),
        worker: app.name().to_owned(),
        fence: 1,
        deadline: attempt.deadline(),
        at: attempt.now(),
        history: vec![TransferStep { state, at: attempt.now() }],
        v: Version,
    }
}

/// Begins the transfer, whose claim `attempt` then holds, and drives it until its caller can get a result.
/// Returns the existing transfer if an earlier call began it, and whether this call began it.
///
/// # Errors
/// The outcome of a step is unknown.
pub(super) async fn begin(
    app: &App,
    transfer: TransferDocument,
    attempt: &Attempt,
) -> Result<(TransferDocument, bool), Error> {
    if store::insert_transfer(app, transfer.clone()).await.decided()?.is_some() {
        return Ok((carry(app, transfer, attempt).await?, true));
    }
    let found = store::find_transfer(app, &transfer.id).await?;
    Ok((found.ok_or_else(gone)?, false))
}

/// Drives a transfer whose claim `attempt` holds, until its caller can get a result. Remaining steps are done
/// in the background.
///
/// # Errors
/// The outcome of a step is unknown.
pub(super) async fn carry(
    app: &App,
    claimed: TransferDocument,
    attempt: &Attempt,
) -> Result<TransferDocument, Error> {
    let reached = drive(app, claimed, attempt, TransferState::is_answerable).await?;
    if reached.state == TransferState::Credited {
        let (own, transfer, attempt) = (app.clone(), reached.clone(), *attempt);
        app.behind(
            "settling a transfer",
            async move { step(&own, transfer, &attempt).await.map(drop) },
        );
    }
    Ok(reached)
}

/// Drives an existing transfer until its caller can get a result. While another attempt holds the claim, it
/// waits for that attempt until `first`, which has read the transfer, is over.
///
/// # Errors
/// The outcome is unknown, also if the other attempt takes longer.
pub(super) async fn answerable(
    app: &App,
    found: TransferDocument,
    first: &Attempt,
) -> Result<TransferDocument, Error> {
    let (id, mut known) = (&found.id.clone(), Some((*first, found)));
    let read = || {
        let known = known.take();
        async move {
            match known {
                Some(known) => Ok(known),
                None => match store::open_transfer(app, id).await? {
                    (attempt, Some(found)) => Ok((attempt, found)),
                    (_, None) => Err(gone()),
                },
            }
        }
    };
    decide(read, |attempt: Attempt, found: TransferDocument| async move {
        advance(app, found, &attempt).await
    })
    .await
}

/// Drives an existing transfer as far as it can go now towards a result for its caller. *Wait* means that
/// another attempt holds the claim.
///
/// # Errors
/// The outcome of a step is unknown.
pub(super) async fn advance(
    app: &App,
    found: TransferDocument,
    attempt: &Attempt,
) -> Result<Step<TransferDocument>, Error> {
    // The failure of a cancelled transfer is decided, and the holder of the claim undoes the debit.
    let is_cancelled = found.state == TransferState::Cancelling && found.failure().is_none();
    if found.state.is_answerable() || is_cancelled {
        return Ok(Step::Done(found));
    }
    // The claim's holder may still move money, as of the attempt's first read.
    if found.deadline >= app.bounds().overdue_before(attempt.now()) {
        return Ok(Step::Wait);
    }
    match store::claim(app, &found, found.state, None, attempt).await.decided()? {
        Some(claimed) => Ok(Step::Done(carry(app, claimed, attempt).await?)),
        None => Ok(Step::Wait),
    }
}

fn gone() -> Error {
    Error::internal("a transfer that was there is gone")
}
