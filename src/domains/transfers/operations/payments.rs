//! Payments of checkouts as transfers to the merchant, which wait for the checkout's commit, and their
//! refunds.

use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{
            AccountDocument, AccountKind, AccountState, TransferDocument, TransferKind,
            TransferReason, TransferState, TransferStep,
        },
        store,
    },
    claim::{Begun, Reached, advance, answerable, begin, claim},
    drive::drive,
    transfers::Asked,
};
use crate::{
    app::App,
    error::Error,
    flow::{Attempt, Op},
    graphql::scalars::{CurrencyCode, Money},
    mongo::Version,
};

/// Result of an authorisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The money is reserved.
    Authorised,
    /// The money isn't and won't be reserved. The reason is safe to show.
    Declined(&'static str),
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
) -> Result<Verdict, Error> {
    let receiving = receiving_account(app, amount.currency);
    let ((attempt, from), to) =
        tokio::try_join!(store::open_account(app, payer), store::find_account(app, &receiving),)?;
    let owner = match from {
        Some(AccountDocument {
            kind: AccountKind::Personal, currency, owner: Some(owner), ..
        }) if currency == amount.currency => owner,
        _ => return Ok(Verdict::Declined("the account can't pay in this currency")),
    };
    if to.is_none() {
        open_receiving(app, &receiving, amount.currency, &attempt).await?;
    }
    let asked = Asked {
        kind: TransferKind::Payment,
        source: payer,
        destination: &receiving,
        amount: amount.minor_units,
    };
    let op = Op { id: id.to_owned(), input: String::new() };
    let mut payment = asked.document(app, &owner, amount.currency, &op, &attempt);
    payment.holder = Some(holder.to_owned());
    let begun = begin(app, payment.clone()).await?;
    match &begun {
        Begun::Found(found) if is_tombstone(found) => return Ok(declined(found)),
        Begun::Found(found)
            if (&found.source, found.amount) != (&payment.source, payment.amount) =>
        {
            return Err(Error::internal(format!(
                "payment {id:?} was authorised for another charge"
            )));
        }
        Begun::Found(found) if found.state != TransferState::Pending => return Ok(verdict(found)),
        _ => {}
    }
    Ok(verdict(&answerable(app, begun, &attempt).await?))
}

/// Credits the merchant with the reserved money.
///
/// # Errors
/// The outcome is unknown, or another attempt holds the claim: capture again.
pub async fn capture(app: &App, id: &str) -> Result<(), Error> {
    let (attempt, found) = store::open_transfer(app, id).await?;
    let found = payment(found, id)?;
    let claimed = match found.state {
        TransferState::Credited | TransferState::Done => return Ok(()),
        TransferState::Authorised | TransferState::Committed => {
            claim(app, &found, TransferState::Committed, None, &attempt).await?
        }
        state => return Err(Error::internal(format!("capture of payment {id:?} in {state:?}"))),
    };
    let reached = answerable(app, Begun::Claimed(claimed), &attempt).await?;
    if reached.state.has_arrived() {
        return Ok(());
    }
    Err(Error::internal(format!("payment {id:?} was captured and is {:?}", reached.state)))
}

/// Voids the payment: reserved money is returned, and nothing can be reserved under this id any more, not
/// even by a later authorisation. If an authorisation is in progress, its money is returned in the
/// background.
/// # Errors
/// The outcome is unknown: void again.
pub async fn void(app: &App, id: &str) -> Result<(), Error> {
    let reason = TransferReason::CheckoutGivenUp;
    let (attempt, found) = store::open_transfer(app, id).await?;
    let Some(found) = found else {
        let tombstone = tombstone(app, id, &attempt);
        return match store::insert_transfer(app, tombstone).await.decided()? {
            Some(()) => Ok(()),
            None => Err(Error::unavailable("the payment began at this moment")),
        };
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
    if let Some(claimed) = store::claim(app, &found, to, Some(reason), &attempt).await.decided()? {
        drive(app, claimed, &attempt, TransferState::is_final).await?;
        return Ok(());
    }
    match store::mark_cancelling(app, id, None, reason).await.decided()? {
        Some(_) => Ok(()),
        None => Err(Error::unavailable("the payment moved on at this moment")),
    }
}

/// Refunds a part of a captured payment, once per `refund_id`. Returns whether the money has arrived. While
/// the merchant's account can't cover it, the refund stays due and the sweep tries again.
/// # Errors
/// The outcome is unknown: refund again.
pub async fn refund(app: &App, id: &str, refund_id: &str, amount: Money) -> Result<bool, Error> {
    let (attempt, found) = store::open_transfer(app, id).await?;
    let paid = payment(found, id)?;
    if !paid.state.has_arrived() {
        return Err(Error::unavailable(format!("payment {id:?} isn't captured yet")));
    }
    let asked = Asked {
        kind: TransferKind::Refund,
        source: &paid.destination,
        destination: &paid.source,
        amount: amount.minor_units,
    };
    let op = Op { id: app.ids().derived(&["refund", id, refund_id]), input: String::new() };
    let merchant = &app.config().payments_merchant;
    let mut transfer = asked.document(app, merchant, amount.currency, &op, &attempt);
    transfer.reverses = Some(paid.id);
    let begun = begin(app, transfer).await?;
    if matches!(&begun, Begun::Found(found) if found.amount != amount.minor_units) {
        return Err(Error::internal(format!("refund {refund_id:?} was made of another amount")));
    }
    let (Reached::Here(reached) | Reached::UnderWay(reached)) =
        advance(app, begun, &attempt).await?;
    if reached.state.is_final() && !reached.state.has_arrived() {
        return Err(Error::internal(format!("refund {refund_id:?} is {:?}", reached.state)));
    }
    Ok(reached.state.has_arrived())
}

/// Payments begun before `before` that are neither captured nor voided, oldest first. Each comes with its
/// holder, whose state decides what happens to it.
pub async fn open_authorisations(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<(String, Option<String>)>, Error> {
    let payments = store::list_undecided_payments(app, before, limit).await?;
    Ok(payments.into_iter().map(|payment| (payment.id, payment.holder)).collect())
}

/// Calls `each` for every captured payment and every arrived refund, with the payment's id and the amount,
/// which is negative for a refund.
pub async fn for_each_payment(app: &App, mut each: impl FnMut(&str, i64)) -> Result<(), Error> {
    store::each_transfer(app, |transfer| {
        match (transfer.kind, &transfer.reverses) {
            _ if !transfer.state.has_arrived() => {}
            (TransferKind::Payment, _) => each(&transfer.id, transfer.amount),
            (TransferKind::Refund, Some(payment)) => each(payment, -transfer.amount),
            _ => {}
        }
        Ok(())
    })
    .await
}

fn payment(found: Option<TransferDocument>, id: &str) -> Result<TransferDocument, Error> {
    found
        .filter(|found| found.kind == TransferKind::Payment)
        .ok_or_else(|| Error::internal(format!("there is no payment {id:?}")))
}

fn verdict(payment: &TransferDocument) -> Verdict {
    match payment.state {
        TransferState::Cancelling | TransferState::Cancelled => declined(payment),
        _ => Verdict::Authorised,
    }
}

fn declined(payment: &TransferDocument) -> Verdict {
    Verdict::Declined(match payment.reason {
        Some(TransferReason::InsufficientFunds) => "the account holds less than the total",
        Some(TransferReason::SourceClosed) => "the account is closed",
        _ => "the payment was given up",
    })
}

/// `_id` of the account on which the merchant receives payments in the currency.
fn receiving_account(app: &App, currency: CurrencyCode) -> String {
    app.ids().derived(&["merchant", &app.config().payments_merchant, currency.code()])
}

async fn open_receiving(
    app: &App,
    id: &str,
    currency: CurrencyCode,
    attempt: &Attempt,
) -> Result<(), Error> {
    let account = AccountDocument {
        id: id.to_owned(),
        owner: Some(app.config().payments_merchant.clone()),
        kind: AccountKind::Receiving,
        currency,
        state: AccountState::Open,
        balance: 0,
        cap: None,
        pending: Vec::new(),
        opened_at: attempt.now(),
        input: None,
        v: Version,
    };
    // An account that was opened concurrently serves as well.
    store::insert_account(app, account).await.decided()?;
    Ok(())
}

/// The document that refuses an authorisation after its void.
fn tombstone(app: &App, id: &str, attempt: &Attempt) -> TransferDocument {
    let state = TransferState::Cancelled;
    TransferDocument {
        id: id.to_owned(),
        kind: TransferKind::Payment,
        by: None,
        source: String::new(),
        destination: String::new(),
        accounts: Vec::new(),
        amount: 0,
        currency: CurrencyCode::NONE,
        state,
        reason: Some(TransferReason::CheckoutGivenUp),
        reverses: None,
        holder: None,
        input: String::new(),
        worker: app.name().to_owned(),
        fence: 1,
        deadline: attempt.deadline(),
        at: attempt.now(),
        history: vec![TransferStep { state, at: attempt.now() }],
        v: Version,
    }
}

fn is_tombstone(payment: &TransferDocument) -> bool {
    payment.accounts.is_empty()
}
