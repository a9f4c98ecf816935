//! The state machine of a transfer, driven step by step by the holder of its claim: an attempt begins the
//! transfer, waits for another attempt, or claims it after that one.

use super::super::{
    documents::{
        AccountDocument, AccountKind, TransferDocument, TransferKind, TransferReason,
        TransferState, TransferStep, is_world,
    },
    store::{self, NotMoved},
};
use crate::{
    graphql::prelude::*,
    join::join_all,
    mongo::{
        Version, batched,
        guarded::{Guarded, Sends},
        unhurried,
    },
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
            purpose: None,
            currency: amount.currency,
            state,
            reason: None,
            reverses: None,
            holder: None,
            input: op.input.clone(),
            worker: format!("{} {}", self.app.name(), self.app.ids().random()),
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
    ) -> Result<(TransferDocument, bool)> {
        if store::transfers(self.app).insert(&transfer).await.decided()?.is_some() {
            return Ok((self.carry(transfer).await?, true));
        }
        let found = store::transfers(self.app).get_settled(&transfer.id).await?;
        Ok((found.ok_or_else(gone)?, false))
    }

    /// Drives a transfer whose claim the attempt holds, until its caller can get a result. Remaining steps are
    /// done in the background.
    pub(super) async fn carry(self, claimed: TransferDocument) -> Result<TransferDocument> {
        let mut sends = Sends::Once;
        let reached = self.drive(claimed, TransferState::is_answerable, &mut sends).await?;
        if reached.state == TransferState::Credited && sends == Sends::Once {
            let (app, transfer, attempt) = (self.app.clone(), reached.clone(), *self.attempt);
            let settle = async move {
                Driver { app: &app, attempt: &attempt }.step(transfer, &mut sends).await.map(drop)
            };
            self.app.in_background("settling a transfer", unhurried(settle));
        }
        Ok(reached)
    }

    /// Drives an existing transfer as far as it can go now towards a result for its caller. *Wait* means that
    /// another attempt holds the claim.
    pub(super) async fn advance(self, found: TransferDocument) -> Result<Step<TransferDocument>> {
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

    /// Makes steps until `there` holds for the state, or until a step can't be made now. `sends` becomes
    /// [`Sends::Twice`] if a debit or a credit was sent twice. The first copy may then still be applied until the
    /// deadline unless the account has the transfer's mark. So the steps that remove marks are left to the next claim.
    pub(super) async fn drive(
        self,
        mut transfer: TransferDocument,
        there: fn(TransferState) -> bool,
        sends: &mut Sends,
    ) -> Result<TransferDocument> {
        while !there(transfer.state) && (*sends == Sends::Once || !transfer.state.removes_marks()) {
            let before = transfer.state;
            transfer = self.step(transfer, sends).await?;
            if transfer.state == before {
                break;
            }
        }
        Ok(transfer)
    }

    /// Makes the next step. Returns the transfer as it is if the step can't be made now.
    async fn step(self, transfer: TransferDocument, sends: &mut Sends) -> Result<TransferDocument> {
        use TransferState::{
            Authorised, Cancelled, Cancelling, Committed, Credited, Done, Pending, Returned,
            Returning,
        };
        let (app, TransferDocument { id, source, destination, .. }) = (self.app, &transfer);
        let (to, reason) = match transfer.state {
            Pending => match self.change_balance(&transfer, source, sends).await? {
                // An authorised payment can be claimed, and its debit undone, at any time.
                Moved::Made if transfer.kind == TransferKind::Payment && *sends == Sends::Twice => {
                    return Err(Error::unavailable("a payment's debit was sent twice"));
                }
                Moved::Made if transfer.kind == TransferKind::Payment => (Authorised, None),
                Moved::Made => (Committed, None),
                // Nothing was debited and nothing can be any more: every debit of this claim was answered, and
                // those of earlier claims are past their deadline. There is nothing to undo.
                Moved::Refused(reason) => (Cancelled, Some(reason)),
                Moved::Due => return Ok(transfer),
            },
            Committed => match self.change_balance(&transfer, destination, sends).await? {
                Moved::Made => (Credited, None),
                Moved::Refused(reason) => (Returning, Some(reason)),
                Moved::Due => return Ok(transfer),
            },
            // Removing the marks needs no grace period: every command of the claim that credited the transfer
            // was answered and none was sent twice, and those of earlier claims are past their deadline.
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

    /// Opens the account of the outside world, or the one on which payments arrive, on its first use. One that was
    /// opened concurrently serves as well.
    pub(super) async fn open(
        self,
        id: &str,
        kind: AccountKind,
        currency: CurrencyCode,
    ) -> Result<()> {
        let merchant = &*self.app.config().payments_merchant;
        let owner = (kind == AccountKind::Receiving).then_some(merchant);
        let account = AccountDocument::new(id, kind, owner, currency, self.attempt.now());
        store::accounts(self.app).insert(&account).await.decided().map(drop)
    }

    /// Debits or credits one of the transfer's accounts, which is `id`; see [`Self::drive`] for `sends`.
    async fn change_balance(
        self,
        transfer: &TransferDocument,
        id: &str,
        sends: &mut Sends,
    ) -> Result<Moved> {
        let accounts = store::accounts(self.app);
        let movement = store::movement(transfer, id);
        loop {
            match accounts.write(&movement, self.attempt).await? {
                Verdict::Applied(sent) => {
                    if sent == Sends::Twice {
                        *sends = sent;
                    }
                    return Ok(Moved::Made);
                }
                Verdict::Refused(NotMoved::Already, _) => return Ok(Moved::Made),
                // A refund is owed: it waits until the account can cover it.
                Verdict::Refused(NotMoved::Because(_), _)
                    if transfer.kind == TransferKind::Refund =>
                {
                    return Ok(Moved::Due);
                }
                Verdict::Refused(NotMoved::Because(reason), _) => {
                    return Ok(Moved::Refused(reason));
                }
                Verdict::Refused(NotMoved::Busy, _) => {
                    let reason = "the source account has too many pending transfers";
                    return Err(Error::unavailable(reason));
                }
                // No other account can be missing, because accounts are never removed.
                Verdict::Missing if is_world(id) => {
                    self.open(id, AccountKind::World, transfer.currency).await?;
                }
                Verdict::Missing if id == receiving_account(self.app, transfer.currency) => {
                    self.open(id, AccountKind::Receiving, transfer.currency).await?;
                }
                Verdict::Missing => {
                    return Err(Error::internal(format!("account {id:?} of a transfer is gone")));
                }
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
) -> Result<TransferDocument> {
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

/// `_id` of the account on which payments in this currency arrive.
pub(super) fn receiving_account(app: &App, currency: CurrencyCode) -> String {
    app.ids().derived(&["merchant", &app.config().payments_merchant, currency.code()])
}

fn gone() -> Error {
    Error::internal("a transfer vanished")
}

/// Finishes an interrupted transfer. Returns whether it is finished. Payments that aren't captured or voided
/// are left alone, and so are transfers whose claim is still held.
///
/// # Errors
/// An outcome is unknown. The next pass tries again.
pub async fn finish(app: &App, id: &str) -> Result<bool> {
    let ends = |state: TransferState| state.is_final() || state == TransferState::Authorised;
    let (attempt, found) = app.begin_with::<TransferDocument>(id).await?;
    let is_left = |transfer: &TransferDocument| {
        let is_open = transfer.state == TransferState::Pending;
        !ends(transfer.state) && (transfer.kind != TransferKind::Payment || !is_open)
    };
    let Some(found) = found.filter(is_left) else { return Ok(false) };
    let claimed = store::claim(app, &found, found.state, None, &attempt).await?;
    let Some(claimed) = claimed else { return Ok(false) };
    let reached = Driver { app, attempt: &attempt }.drive(claimed, ends, &mut Sends::Once).await?;
    Ok(ends(reached.state))
}

/// Why the state of the account doesn't permit the transfer, if it doesn't.
pub(super) fn refusal(
    transfer: &TransferDocument,
    account: &AccountDocument,
    attempt: &Attempt,
) -> Option<TransferReason> {
    match store::movement(transfer, &account.id).broken(account, attempt.now())? {
        NotMoved::Because(reason) => Some(*reason),
        NotMoved::Already | NotMoved::Busy => None,
    }
}
