//! Payments of checkouts as transfers to the merchant, which wait for the checkout's commit, and their
//! refunds.

use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{
            AccountDocument, AccountKind, TransferDocument, TransferKind, TransferReason,
            TransferState,
        },
        store,
    },
    drive::{Driver, answerable, receiving_account},
};
use crate::{
    graphql::prelude::*,
    mongo::{guarded::Sends, swept::SweptPage},
};

/// Result of an authorisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorisation {
    /// The money is reserved for the payment.
    Authorised,
    /// The money isn't and won't be reserved under this id. The reason is safe to show.
    Declined(String),
}

/// Reserves the money for the payment `id` of that holder: `payer` is debited, the merchant isn't credited
/// yet. A repeat has the same result.
///
/// # Errors
/// The outcome is unknown: the money may be reserved now or later.
pub async fn authorise(
    app: &App,
    id: &str,
    holder: &str,
    payer: &str,
    amount: Money,
) -> Result<Authorisation> {
    let currency = amount.currency;
    let receiving = &receiving_account(app, currency);
    let (attempt, from, to) = store::begin_with_accounts(app, payer, receiving).await?;
    let is_payer =
        |from: &AccountDocument| from.kind == AccountKind::Personal && from.currency == currency;
    let Some(by) = from.filter(is_payer).and_then(|from| from.owner) else {
        let reason = "the account can't pay in this currency";
        return Ok(Authorisation::Declined(reason.into()));
    };
    let driver = Driver { app, attempt: &attempt };
    if to.is_none() {
        driver.open(receiving, AccountKind::Receiving, currency).await?;
    }
    let payment = TransferDocument {
        by: Some(by),
        holder: Some(holder.to_owned()),
        ..driver.pending(&op(id), TransferKind::Payment, [payer, receiving], amount)
    };
    let (mut found, _) = driver.begin(payment).await?;
    let is_tombstone = found.accounts.is_empty();
    if !is_tombstone && (&*found.source, found.amount) != (payer, amount.minor_units) {
        return Err(Error::internal(format!("payment {id:?} was authorised for another charge")));
    }
    if found.state == TransferState::Pending {
        found = answerable(app, found, &attempt).await?;
    }
    if !matches!(found.state, TransferState::Cancelling | TransferState::Cancelled) {
        return Ok(Authorisation::Authorised);
    }
    let reason = match found.reason {
        Some(TransferReason::InsufficientFunds) => "the account holds less than the total",
        Some(TransferReason::SourceClosed) => "the account is closed",
        _ => "the checkout of the payment was aborted",
    };
    Ok(Authorisation::Declined(reason.into()))
}

/// Credits the merchant with the reserved money.
///
/// # Errors
/// The outcome is unknown, or another attempt holds the claim: capture again.
pub async fn capture(app: &App, id: &str) -> Result<()> {
    let (attempt, found) = app.begin_with(id).await?;
    let found = payment(found, id)?;
    match found.state {
        TransferState::Credited | TransferState::Done => return Ok(()),
        TransferState::Authorised | TransferState::Committed => {}
        state => return Err(Error::internal(format!("capture of payment {id:?} in {state:?}"))),
    }
    let claimed = store::claim(app, &found, TransferState::Committed, None, &attempt).await?;
    let is_held = || Error::unavailable("another attempt holds the claim on this transfer");
    let driver = Driver { app, attempt: &attempt };
    let reached = driver.carry(claimed.ok_or_else(is_held)?).await?;
    if reached.state.has_arrived() {
        return Ok(());
    }
    Err(Error::internal(format!("payment {id:?} was captured and is {:?}", reached.state)))
}

/// Voids the payment: reserved money is returned, and no money can be reserved under this id any more. If there is
/// no payment yet, a tombstone is inserted, which refuses a later authorisation. If an authorisation is in
/// progress, its money is returned in the background.
///
/// # Errors
/// The outcome is unknown: void again.
pub async fn void(app: &App, id: &str) -> Result<()> {
    let reason = TransferReason::CheckoutAborted;
    let (attempt, found) = app.begin_with(id).await?;
    let driver = Driver { app, attempt: &attempt };
    let Some(found) = found else {
        let nothing = Money::new(0, CurrencyCode::NONE);
        let mut tombstone = driver.pending(&op(id), TransferKind::Payment, [""; 2], nothing);
        tombstone.accounts.clear();
        tombstone.refuse(reason);
        let inserted = store::transfers(app).insert(&tombstone).await.decided()?;
        return inserted
            .ok_or_else(|| Error::unavailable("the payment was authorised at the same time"));
    };
    let found = payment(Some(found), id)?;
    let to = TransferState::Cancelling;
    match found.state {
        TransferState::Cancelling | TransferState::Cancelled => return Ok(()),
        TransferState::Pending | TransferState::Authorised => {}
        state => return Err(Error::internal(format!("void of payment {id:?} in {state:?}"))),
    }
    // A claim is possible if no other claim may still debit the payer. Otherwise the holder of that claim
    // undoes the debit, or the sweep does when the claim has ended.
    if let Some(claimed) = store::claim(app, &found, to, Some(reason), &attempt).await? {
        return driver.drive(claimed, TransferState::is_final, &mut Sends::Once).await.map(drop);
    }
    let cancelled = store::mark_cancelling(app, id, None, reason).after().await?;
    let moved_on = || Error::unavailable("the state of the payment changed at the same time");
    cancelled.map(drop).ok_or_else(moved_on)
}

/// Refunds a part of a captured payment, once per `refund_id`. Returns whether the money has arrived. While
/// the merchant's account can't cover it, the refund stays due and the sweep tries again. It waits for a payment that is
/// about to be credited.
///
/// # Errors
/// The outcome is unknown: refund again.
pub async fn refund(app: &App, id: &str, refund_id: &str, amount: Money) -> Result<bool> {
    let read = || app.begin_with::<TransferDocument>(id);
    decide(read, |attempt: Attempt, found: Option<TransferDocument>| async move {
        // The order of a checkout without a claim may be seen before its payment, which is credited behind the answer.
        if found.is_none() {
            return Err(Error::unavailable(format!("payment {id:?} isn't recorded yet")));
        }
        let paid = payment(found, id)?;
        if paid.state == TransferState::Committed {
            return Ok(Step::Wait);
        }
        if !paid.state.has_arrived() {
            return Err(Error::unavailable(format!("payment {id:?} isn't captured yet")));
        }
        let op = op(&app.ids().derived(&["refund", id, refund_id]));
        let accounts = [&*paid.destination, &paid.source];
        let driver = Driver { app, attempt: &attempt };
        let transfer = TransferDocument {
            by: Some(app.config().payments_merchant.clone()),
            reverses: Some(paid.id.clone()),
            ..driver.pending(&op, TransferKind::Refund, accounts, amount)
        };
        let (found, _) = driver.begin(transfer).await?;
        if found.amount != amount.minor_units {
            let problem = format!("refund {refund_id:?} was made of another amount");
            return Err(Error::internal(problem));
        }
        let Step::Done(reached) = driver.advance(found).await? else {
            return Ok(Step::Done(false));
        };
        if reached.state.is_final() && !reached.state.has_arrived() {
            return Err(Error::internal(format!("refund {refund_id:?} is {:?}", reached.state)));
        }
        Ok(Step::Done(reached.state.has_arrived()))
    })
    .await
}

/// A payment that is neither captured nor voided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenAuthorisation {
    /// Id of the payment.
    pub id: String,
    /// Its holder, whose state decides what happens to it.
    pub holder: Option<String>,
}

/// A page of the payments from `from` or later and before `before` that are neither captured nor voided, oldest first.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn open_authorisations(
    app: &App,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<SweptPage<OpenAuthorisation>> {
    let payments = store::list_undecided_payments(app, from, before, limit).await?;
    let open = |TransferDocument { id, holder, .. }| Some(OpenAuthorisation { id, holder });
    Ok(payments.into_iter().map(|one| one.and_then(open)).collect())
}

/// Calls `each` for every committed payment and every arrived refund, with the payment's id and the amount,
/// which is negative for a refund.
pub async fn for_each_payment(app: &App, mut each: impl FnMut(&str, i64)) -> Result<()> {
    store::for_each(app, |transfer: TransferDocument| match (transfer.kind, &transfer.reverses) {
        (TransferKind::Payment, _)
            if transfer.state.has_arrived() || transfer.state == TransferState::Committed =>
        {
            each(&transfer.id, transfer.amount);
        }
        (TransferKind::Refund, Some(payment)) if transfer.state.has_arrived() => {
            each(payment, -transfer.amount);
        }
        _ => {}
    })
    .await
}

fn payment(found: Option<TransferDocument>, id: &str) -> Result<TransferDocument> {
    found
        .filter(|found| found.kind == TransferKind::Payment)
        .ok_or_else(|| Error::internal(format!("there is no payment {id:?}")))
}

/// A payment or a refund has its `_id` from what is paid, and no input of a client.
pub(super) fn op(id: &str) -> Op {
    Op { id: id.to_owned(), input: String::new() }
}
