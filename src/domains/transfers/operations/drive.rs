//! The state machine of a transfer, driven step by step by the holder of its claim.

use super::super::{
    documents::{
        AccountDocument, AccountKind, AccountState, MOST_PENDING, TransferDocument, TransferKind,
        TransferReason, TransferState, is_world,
    },
    store,
};
use crate::{
    app::App,
    error::Error,
    flow::Attempt,
    mongo::{Outcome, Version},
};

/// Result of a debit or a credit.
enum Moved {
    /// The balance has changed, by this or by an earlier command for the same transfer.
    Made,
    /// The balance hasn't changed, for a reason of the account.
    Hindered(TransferReason),
    /// The balance hasn't changed, and the step is still due.
    Due,
}

/// Finishes an interrupted transfer. Returns whether it is finished. Payments that aren't captured or voided
/// are left alone, and so are transfers whose claim is still held.
///
/// # Errors
/// An outcome is unknown. The next pass tries again.
pub async fn finish(app: &App, id: &str) -> Result<bool, Error> {
    let (attempt, found) = store::open_transfer(app, id).await?;
    let waits = |transfer: &TransferDocument| {
        transfer.kind == TransferKind::Payment && transfer.state == TransferState::Pending
    };
    let Some(found) = found.filter(|found| !ends(found.state) && !waits(found)) else {
        return Ok(false);
    };
    let claimed = store::claim(app, &found, found.state, None, &attempt).await.decided()?;
    let Some(claimed) = claimed else { return Ok(false) };
    let reached = drive(app, claimed, &attempt, ends).await?;
    Ok(ends(reached.state))
}

fn ends(state: TransferState) -> bool {
    state.is_final() || state == TransferState::Authorised
}

/// Makes steps until `there` holds for the state, or until a step can't be made now.
pub(super) async fn drive(
    app: &App,
    mut transfer: TransferDocument,
    attempt: &Attempt,
    there: fn(TransferState) -> bool,
) -> Result<TransferDocument, Error> {
    while !there(transfer.state) {
        let before = transfer.state;
        transfer = step(app, transfer, attempt).await?;
        if transfer.state == before {
            break;
        }
    }
    Ok(transfer)
}

async fn step(
    app: &App,
    transfer: TransferDocument,
    attempt: &Attempt,
) -> Result<TransferDocument, Error> {
    match transfer.state {
        TransferState::Pending => take(app, transfer, attempt).await,
        TransferState::Committed => give(app, transfer, attempt).await,
        TransferState::Credited => settle(app, transfer).await,
        TransferState::Cancelling => undo(app, transfer, TransferState::Cancelled).await,
        TransferState::Returning => undo(app, transfer, TransferState::Returned).await,
        TransferState::Authorised
        | TransferState::Done
        | TransferState::Cancelled
        | TransferState::Returned => Ok(transfer),
    }
}

/// Debits the source, and commits.
async fn take(
    app: &App,
    transfer: TransferDocument,
    attempt: &Attempt,
) -> Result<TransferDocument, Error> {
    let written = match debit(app, &transfer, attempt).await? {
        Moved::Made if transfer.kind == TransferKind::Payment => {
            store::decide(app, &transfer, TransferState::Authorised, attempt).await
        }
        Moved::Made => store::decide(app, &transfer, TransferState::Committed, attempt).await,
        Moved::Due => return Ok(transfer),
        // Nothing was debited and nothing can be any more: every debit of this claim was answered, and those
        // of earlier claims are past their deadline. There is nothing to undo.
        Moved::Hindered(reason) => {
            store::mark(app, &transfer, TransferState::Cancelled, Some(reason)).await
        }
    };
    written_or_moved(app, transfer, written).await
}

/// Credits the destination, or begins the return if the destination can't accept the money.
async fn give(
    app: &App,
    transfer: TransferDocument,
    attempt: &Attempt,
) -> Result<TransferDocument, Error> {
    let written = match credit(app, &transfer, attempt).await? {
        Moved::Made => store::mark(app, &transfer, TransferState::Credited, None).await,
        Moved::Due => return Ok(transfer),
        Moved::Hindered(reason) => {
            store::mark(app, &transfer, TransferState::Returning, Some(reason)).await
        }
    };
    written_or_moved(app, transfer, written).await
}

/// Returns debited money to the source, if any was debited.
async fn undo(
    app: &App,
    transfer: TransferDocument,
    to: TransferState,
) -> Result<TransferDocument, Error> {
    store::undo(app, &transfer).await.decided()?;
    let written = store::mark(app, &transfer, to, None).await;
    written_or_moved(app, transfer, written).await
}

/// Removes the marks from both accounts. This needs no grace period: every command of the claim that credited
/// the transfer was answered, and those of earlier claims are past their deadline.
pub(super) async fn settle(
    app: &App,
    transfer: TransferDocument,
) -> Result<TransferDocument, Error> {
    let (source, destination) = tokio::join!(
        store::retire(app, &transfer.source, &transfer.id),
        store::retire(app, &transfer.destination, &transfer.id),
    );
    source.decided()?;
    destination.decided()?;
    let written = store::mark(app, &transfer, TransferState::Done, None).await;
    written_or_moved(app, transfer, written).await
}

/// The transfer after a write of the claim's holder. A refusal means that the owner or the checkout cancelled
/// it meanwhile, which is then carried out, or that the claim is lost.
async fn written_or_moved(
    app: &App,
    before: TransferDocument,
    written: Outcome<TransferDocument>,
) -> Result<TransferDocument, Error> {
    if let Some(after) = written.decided()? {
        return Ok(after);
    }
    let found = store::find_transfer(app, &before.id).await?;
    let mine = |found: &TransferDocument| {
        found.state.is_final() || (found.fence == before.fence && found.state != before.state)
    };
    found.filter(mine).ok_or_else(|| Error::unavailable("the claim on this transfer ran out"))
}

async fn debit(app: &App, transfer: &TransferDocument, attempt: &Attempt) -> Result<Moved, Error> {
    loop {
        if store::debit(app, transfer, attempt).await.decided()?.is_some() {
            return Ok(Moved::Made);
        }
        match store::find_account(app, &transfer.source).await? {
            Some(source) if source.has_pending(&transfer.id) => return Ok(Moved::Made),
            // After the deadline a refusal tells nothing about the account.
            _ if attempt.is_over() => return Err(attempt.overdue()),
            None => open_world(app, &transfer.source, transfer, attempt).await?,
            Some(source) => match hindered_source(&source, transfer) {
                // A refund is owed: it waits until the account can cover it.
                Some(_) if transfer.kind == TransferKind::Refund => return Ok(Moved::Due),
                Some(reason) => return Ok(Moved::Hindered(reason)),
                None if source.pending.len() >= MOST_PENDING => {
                    return Err(Error::unavailable("the source is too busy"));
                }
                // The account has changed since the refusal.
                None => {}
            },
        }
    }
}

async fn credit(app: &App, transfer: &TransferDocument, attempt: &Attempt) -> Result<Moved, Error> {
    loop {
        if store::credit(app, transfer, attempt).await.decided()?.is_some() {
            return Ok(Moved::Made);
        }
        match store::find_account(app, &transfer.destination).await? {
            Some(destination) if destination.has_pending(&transfer.id) => return Ok(Moved::Made),
            _ if attempt.is_over() => return Err(attempt.overdue()),
            None => open_world(app, &transfer.destination, transfer, attempt).await?,
            Some(destination) => {
                if let Some(reason) = hindered_destination(&destination, transfer) {
                    return Ok(Moved::Hindered(reason));
                }
            }
        }
    }
}

/// Why the source can't be debited, if it can't.
pub(super) fn hindered_source(
    source: &AccountDocument,
    transfer: &TransferDocument,
) -> Option<TransferReason> {
    let may_be_closed = transfer.kind == TransferKind::Withdrawal;
    if source.state == AccountState::Closed && !may_be_closed {
        Some(TransferReason::SourceClosed)
    } else if source.available() < transfer.amount {
        Some(TransferReason::InsufficientFunds)
    } else {
        None
    }
}

/// Why the destination can't be credited, if it can't.
pub(super) fn hindered_destination(
    destination: &AccountDocument,
    transfer: &TransferDocument,
) -> Option<TransferReason> {
    if transfer.kind == TransferKind::Refund {
        None
    } else if destination.state == AccountState::Closed {
        Some(TransferReason::DestinationClosed)
    } else if !destination.has_room_for(transfer.amount) {
        Some(TransferReason::DestinationFull)
    } else {
        None
    }
}

/// Opens the world account of a currency on its first use. No other account can be missing here, because
/// accounts are never removed.
async fn open_world(
    app: &App,
    account: &str,
    transfer: &TransferDocument,
    attempt: &Attempt,
) -> Result<(), Error> {
    if !is_world(account) {
        return Err(Error::internal(format!("account {account:?} of a transfer is gone")));
    }
    let world = AccountDocument {
        id: account.to_owned(),
        owner: None,
        kind: AccountKind::World,
        currency: transfer.currency,
        state: AccountState::Open,
        balance: 0,
        cap: None,
        pending: Vec::new(),
        opened_at: attempt.now(),
        input: None,
        v: Version,
    };
    // An account that was opened concurrently serves as well.
    store::insert_account(app, world).await.decided()?;
    Ok(())
}
