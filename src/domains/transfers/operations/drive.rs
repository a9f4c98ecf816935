//! What moves a transfer from state to state: the holder of its claim, step by step.

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
    mongo::{Outcome, Run, Version},
};

/// What became of a debit or a credit.
enum Moved {
    /// The balance has changed, by this or an earlier command for the same transfer.
    Made,
    /// It hasn't, for a reason that is the account's.
    Hindered(TransferReason),
    /// It hasn't, and is still due.
    Due,
}

/// Goes on with a transfer that was left behind, to its end; says whether it got there. Payments
/// that aren't decided are left alone, and what another run may still be at.
///
/// # Errors
/// An outcome is unknown; the next pass goes on.
pub async fn finish(app: &App, id: &str) -> Result<bool, Error> {
    let (run, found) = store::open_transfer(app, id).await?;
    let waits = |transfer: &TransferDocument| {
        transfer.kind == TransferKind::Payment && transfer.state == TransferState::Pending
    };
    let Some(found) = found.filter(|found| !ends(found.state) && !waits(found)) else {
        return Ok(false);
    };
    let claimed = store::claim(app, &found, found.state, None, &run).await.decided()?;
    let Some(claimed) = claimed else { return Ok(false) };
    let reached = drive(app, claimed, &run, ends).await?;
    Ok(ends(reached.state))
}

fn ends(state: TransferState) -> bool {
    state.is_final() || state == TransferState::Authorised
}

/// Steps until `there`, or until there is a step that can't be made now.
pub(super) async fn drive(
    app: &App,
    mut transfer: TransferDocument,
    run: &Run,
    there: fn(TransferState) -> bool,
) -> Result<TransferDocument, Error> {
    while !there(transfer.state) {
        let before = transfer.state;
        transfer = step(app, transfer, run).await?;
        if transfer.state == before {
            break;
        }
    }
    Ok(transfer)
}

async fn step(app: &App, transfer: TransferDocument, run: &Run) -> Result<TransferDocument, Error> {
    match transfer.state {
        TransferState::Pending => take(app, transfer, run).await,
        TransferState::Committed => give(app, transfer, run).await,
        TransferState::Credited => settle(app, transfer).await,
        TransferState::Cancelling => undo(app, transfer, TransferState::Cancelled).await,
        TransferState::Returning => undo(app, transfer, TransferState::Returned).await,
        TransferState::Authorised
        | TransferState::Done
        | TransferState::Cancelled
        | TransferState::Returned => Ok(transfer),
    }
}

/// Takes the money from the source, and decides.
async fn take(app: &App, transfer: TransferDocument, run: &Run) -> Result<TransferDocument, Error> {
    let written = match debit(app, &transfer, run).await? {
        Moved::Made if transfer.kind == TransferKind::Payment => {
            store::decide(app, &transfer, TransferState::Authorised, run).await
        }
        Moved::Made => store::decide(app, &transfer, TransferState::Committed, run).await,
        Moved::Due => return Ok(transfer),
        // Nothing was taken and nothing can be any more: every debit of this claim was answered,
        // and those of earlier ones are past their deadline. There is nothing to undo.
        Moved::Hindered(reason) => {
            store::mark(app, &transfer, TransferState::Cancelled, Some(reason)).await
        }
    };
    written_or_moved(app, transfer, written).await
}

/// Hands the money to the destination, or turns back where it can't take it.
async fn give(app: &App, transfer: TransferDocument, run: &Run) -> Result<TransferDocument, Error> {
    let written = match credit(app, &transfer, run).await? {
        Moved::Made => store::mark(app, &transfer, TransferState::Credited, None).await,
        Moved::Due => return Ok(transfer),
        Moved::Hindered(reason) => {
            store::mark(app, &transfer, TransferState::Returning, Some(reason)).await
        }
    };
    written_or_moved(app, transfer, written).await
}

/// Gives the source back what was taken, if anything was.
async fn undo(
    app: &App,
    transfer: TransferDocument,
    to: TransferState,
) -> Result<TransferDocument, Error> {
    store::undo(app, &transfer).await.decided()?;
    let written = store::mark(app, &transfer, to, None).await;
    written_or_moved(app, transfer, written).await
}

/// Lets both accounts forget the transfer: at once, as every command of the claim that credited it
/// was answered, and those of earlier claims are past their deadline.
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

/// The transfer after a write of the claim's holder. A refused one means that its owner or its
/// checkout gave it up meanwhile, which is then carried out; or that the claim is lost.
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

async fn debit(app: &App, transfer: &TransferDocument, run: &Run) -> Result<Moved, Error> {
    loop {
        if store::debit(app, transfer, run).await.decided()?.is_some() {
            return Ok(Moved::Made);
        }
        match store::find_account(app, &transfer.source).await? {
            Some(source) if source.has_pending(&transfer.id) => return Ok(Moved::Made),
            // A refused write tells nothing about the account then.
            _ if run.is_over() => return Err(run.overdue()),
            None => open_world(app, &transfer.source, transfer, run).await?,
            Some(source) => match hindered_source(&source, transfer) {
                // It is owed: it waits until the account has it.
                Some(_) if transfer.kind == TransferKind::Refund => return Ok(Moved::Due),
                Some(reason) => return Ok(Moved::Hindered(reason)),
                None if source.pending.len() >= MOST_PENDING => {
                    return Err(Error::unavailable("the source is too busy"));
                }
                // It was so for a moment.
                None => {}
            },
        }
    }
}

async fn credit(app: &App, transfer: &TransferDocument, run: &Run) -> Result<Moved, Error> {
    loop {
        if store::credit(app, transfer, run).await.decided()?.is_some() {
            return Ok(Moved::Made);
        }
        match store::find_account(app, &transfer.destination).await? {
            Some(destination) if destination.has_pending(&transfer.id) => return Ok(Moved::Made),
            _ if run.is_over() => return Err(run.overdue()),
            None => open_world(app, &transfer.destination, transfer, run).await?,
            Some(destination) => {
                if let Some(reason) = hindered_destination(&destination, transfer) {
                    return Ok(Moved::Hindered(reason));
                }
            }
        }
    }
}

/// Why the source can't give, if it can't.
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

/// Why the destination can't take, if it can't.
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

/// Opens the world's account of a currency when it is first needed. No other account can be missing
/// here: none is ever removed.
async fn open_world(
    app: &App,
    account: &str,
    transfer: &TransferDocument,
    run: &Run,
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
        opened_at: run.now(),
        input: None,
        v: Version,
    };
    // Opened by another at the same moment is as good.
    store::insert_account(app, world).await.decided()?;
    Ok(())
}
