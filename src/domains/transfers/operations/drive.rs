//! The state machine of a transfer, driven step by step by the holder of its claim: an attempt begins the
//! transfer, waits for another attempt, or claims it after that one.

use futures_util::future::join_all;

use super::super::{
    documents::{
        AccountDocument, AccountKind, AccountState, MAX_PENDING, TransferDocument, TransferKind,
        TransferReason, TransferState, TransferStep, is_world,
    },
    store,
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Op, Step, decide},
    graphql::scalars::Money,
    mongo::{Version, batched, guarded::Guarded, unhurried},
};

/// An attempt that drives a transfer.
#[derive(Clone, Copy)]
pub(super) struct Driver<'a> {
    pub(super) app: &'a App,
    pub(super) attempt: &'a Attempt,
}

/// Result of a debit or a credit.
enum Moved {
    /// The balance has changed, by this or by an earlier command for the same transfer.
    Made,
    /// The balance hasn't changed, for a reason of the account.
    Refused(TransferReason),
    /// The balance hasn't changed, and the step is still due.
    Due,
}

impl Driver<'_> {
    /// The document with which a transfer begins, claimed by the attempt. `accounts` are source and destination.
    pub(super) fn pending(
        self,
        op: &Op,
        kind: TransferKind,
        accounts: [&str; 2],
        amount: Money,
    ) -> TransferDocument {
        let accounts = accounts.map(str::to_owned);
        let [source, destination] = accounts.clone();
        let (state, now) = (TransferState::Pending, self.attempt.now());
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
            worker: self.app.name().to_owned(),
            fence: 1,
            deadline: self.attempt.deadline(),
            at: now,
            history: vec![TransferStep { state, at: now.into() }],
            v: Version,
        }
    }

    /// Begins the transfer, whose claim the attempt then holds, and drives it until its caller can get a result.
    /// Returns the existing transfer if an earlier call began it, and whether this call began it.
    pub(super) async fn begin(
        self,
        transfer: TransferDocument,
    ) -> Result<(TransferDocument, bool), Error> {
        if store::transfers(self.app).insert(transfer.clone()).await.decided()?.is_some() {
            return Ok((self.carry(transfer).await?, true));
        }
        let found = store::transfers(self.app).get_settled(&transfer.id).await?;
        Ok((found.ok_or_else(gone)?, false))
    }

    /// Drives a transfer whose claim the attempt holds, until its caller can get a result. Remaining steps are
    /// done in the background.
    pub(super) async fn carry(self, claimed: TransferDocument) -> Result<TransferDocument, Error> {
        let reached = self.drive(claimed, TransferState::is_answerable).await?;
        if reached.state == TransferState::Credited {
            let (app, transfer, attempt) = (self.app.clone(), reached.clone(), *self.attempt);
            let settle = async move {
                Driver { app: &app, attempt: &attempt }.step(transfer).await.map(drop)
            };
            self.app.in_background("settling a transfer", unhurried(settle));
        }
        Ok(reached)
    }

    /// Drives an existing transfer as far as it can go now towards a result for its caller. *Wait* means that
    /// another attempt holds the claim.
    pub(super) async fn advance(
        self,
        found: TransferDocument,
    ) -> Result<Step<TransferDocument>, Error> {
        // The failure of a cancelled transfer is decided, and the holder of the claim undoes the debit.
        let is_cancelled = found.state == TransferState::Cancelling && found.failure().is_none();
        if found.state.is_answerable() || is_cancelled {
            return Ok(Step::Done(found));
        }
        // The claim's holder may still move money, as of the attempt's first read.
        if !self.attempt.is_overdue(found.deadline) {
            return Ok(Step::Wait);
        }
        match store::claim(self.app, &found, found.state, None, self.attempt).await? {
            Some(claimed) => Ok(Step::Done(self.carry(claimed).await?)),
            None => Ok(Step::Wait),
        }
    }

    /// Makes steps until `there` holds for the state, or until a step can't be made now.
    pub(super) async fn drive(
        self,
        mut transfer: TransferDocument,
        there: fn(TransferState) -> bool,
    ) -> Result<TransferDocument, Error> {
        while !there(transfer.state) {
            let before = transfer.state;
            transfer = self.step(transfer).await?;
            if transfer.state == before {
                break;
            }
        }
        Ok(transfer)
    }

    /// Makes the next step. Returns the transfer as it is if the step can't be made now.
    async fn step(self, transfer: TransferDocument) -> Result<TransferDocument, Error> {
        use TransferState::{
            Authorised, Cancelled, Cancelling, Committed, Credited, Done, Pending, Returned,
            Returning,
        };
        let (app, TransferDocument { id, source, destination, .. }) = (self.app, &transfer);
        let (to, reason) = match transfer.state {
            Pending => match self.change_balance(&transfer, source).await? {
                Moved::Made if transfer.kind == TransferKind::Payment => (Authorised, None),
                Moved::Made => (Committed, None),
                // Nothing was debited and nothing can be any more: every debit of this claim was answered, and
                // those of earlier claims are past their deadline. There is nothing to undo.
                Moved::Refused(reason) => (Cancelled, Some(reason)),
                Moved::Due => return Ok(transfer),
            },
            Committed => match self.change_balance(&transfer, destination).await? {
                Moved::Made => (Credited, None),
                Moved::Refused(reason) => (Returning, Some(reason)),
                Moved::Due => return Ok(transfer),
            },
            // Removing the marks needs no grace period: every command of the claim that credited the transfer
            // was answered, and those of earlier claims are past their deadline.
            Credited => {
                let marks = [source, destination].map(|account| store::retire(app, account, id));
                for retired in batched(join_all(marks.map(Guarded::held))).await {
                    retired?;
                }
                (Done, None)
            }
            // The source may not have been debited.
            Cancelling | Returning => {
                store::undo(app, &transfer).held().await?;
                (if transfer.state == Cancelling { Cancelled } else { Returned }, None)
            }
            Authorised | Done | Cancelled | Returned => return Ok(transfer),
        };
        let after = store::step(app, &transfer, to, reason, self.attempt).await?;
        if let Some(after) = after.filter(|after| after.fence == transfer.fence) {
            return Ok(after);
        }
        // The owner or the checkout cancelled it meanwhile, which is then carried out, or the claim is lost.
        let found = store::transfers(app).get_settled(id).await?.filter(|found| {
            let is_own = found.fence == transfer.fence && found.state != transfer.state;
            found.state.is_final() || is_own
        });
        found.ok_or_else(|| Error::unavailable("the claim on this transfer expired"))
    }

    /// Debits or credits one of the transfer's accounts, which is `id`.
    async fn change_balance(self, transfer: &TransferDocument, id: &str) -> Result<Moved, Error> {
        let Self { app, attempt } = self;
        let is_source = id == transfer.source;
        loop {
            let change = if is_source { store::debit } else { store::credit };
            if change(app, transfer).within(attempt).held().await? {
                return Ok(Moved::Made);
            }
            let account = match store::accounts(app).get_settled(id).await? {
                Some(account) if account.has_pending(&transfer.id) => return Ok(Moved::Made),
                // After the deadline a refusal tells nothing about the account.
                _ if attempt.is_over() => return Err(attempt.overdue()),
                Some(account) => account,
                // The world account of a currency is opened on its first use. No other account can be missing,
                // because accounts are never removed.
                None if is_world(id) => {
                    let (world, currency) = (AccountKind::World, transfer.currency);
                    let account = AccountDocument::new(id, world, None, currency, attempt.now());
                    // An account that was opened concurrently serves as well.
                    store::accounts(app).insert(account).await.decided()?;
                    continue;
                }
                None => {
                    return Err(Error::internal(format!("account {id:?} of a transfer is gone")));
                }
            };
            match refusal(transfer, &account) {
                // A refund is owed: it waits until the account can cover it.
                Some(_) if transfer.kind == TransferKind::Refund => return Ok(Moved::Due),
                Some(reason) => return Ok(Moved::Refused(reason)),
                None if is_source && account.pending.len() >= MAX_PENDING => {
                    return Err(Error::unavailable(
                        "the source account has too many pending transfers",
                    ));
                }
                // The account has changed since the refusal.
                None => {}
            }
        }
    }
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
            if let Some(known) = known {
                return Ok(known);
            }
            let (attempt, found) = app.begin_with(id).await?;
            Ok((attempt, found.ok_or_else(gone)?))
        }
    };
    decide(read, |attempt: Attempt, found: TransferDocument| async move {
        Driver { app, attempt: &attempt }.advance(found).await
    })
    .await
}

fn gone() -> Error {
    Error::internal("a transfer vanished")
}

/// Finishes an interrupted transfer. Returns whether it is finished. Payments that aren't captured or voided
/// are left alone, and so are transfers whose claim is still held.
///
/// # Errors
/// An outcome is unknown. The next pass tries again.
pub async fn finish(app: &App, id: &str) -> Result<bool, Error> {
    let ends = |state: TransferState| state.is_final() || state == TransferState::Authorised;
    let (attempt, found) = app.begin_with::<TransferDocument>(id).await?;
    let is_left = |transfer: &TransferDocument| {
        let is_open = transfer.state == TransferState::Pending;
        !ends(transfer.state) && (transfer.kind != TransferKind::Payment || !is_open)
    };
    let Some(found) = found.filter(is_left) else { return Ok(false) };
    let claimed = store::claim(app, &found, found.state, None, &attempt).await?;
    let Some(claimed) = claimed else { return Ok(false) };
    let reached = Driver { app, attempt: &attempt }.drive(claimed, ends).await?;
    Ok(ends(reached.state))
}

/// Why the account can't be debited or credited by the transfer, if it can't. A withdrawal is possible from a
/// closed account, and a refund always arrives.
pub(super) fn refusal(
    transfer: &TransferDocument,
    account: &AccountDocument,
) -> Option<TransferReason> {
    let TransferDocument { kind, amount, .. } = *transfer;
    let is_closed = account.state == AccountState::Closed;
    if account.id == transfer.source {
        if is_closed && kind != TransferKind::Withdrawal {
            return Some(TransferReason::SourceClosed);
        }
        return (account.available() < amount).then_some(TransferReason::InsufficientFunds);
    }
    match kind {
        TransferKind::Refund => None,
        _ if is_closed => Some(TransferReason::DestinationClosed),
        _ => (!account.has_room_for(amount)).then_some(TransferReason::DestinationFull),
    }
}
