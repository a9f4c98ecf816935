//! Payments of checkouts: transfers to the merchant that wait for their checkout's decision, and
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
    graphql::scalars::{CurrencyCode, Money},
    mongo::{Run, Version, flow::Op},
};

/// What became of an authorisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The money is set aside.
    Authorised,
    /// It isn't and won't be; why, in words that are safe to show.
    Declined(&'static str),
}

/// Sets the money for the payment `id` of that holder aside, on its way from `payer` to the
/// merchant. Repeated it says the same.
///
/// # Errors
/// The outcome is unknown: the money may be set aside or may yet be.
pub async fn authorise(
    app: &App,
    id: &str,
    holder: &str,
    payer: &str,
    amount: Money,
) -> Result<Verdict, Error> {
    let receiving = receiving_account(app, amount.currency);
    let ((run, from), to) =
        tokio::try_join!(store::open_account(app, payer), store::find_account(app, &receiving),)?;
    let owner = match from {
        Some(AccountDocument {
            kind: AccountKind::Personal, currency, owner: Some(owner), ..
        }) if currency == amount.currency => owner,
        _ => return Ok(Verdict::Declined("the account can't pay in this currency")),
    };
    if to.is_none() {
        open_receiving(app, &receiving, amount.currency, &run).await?;
    }
    let asked = Asked {
        kind: TransferKind::Payment,
        source: payer,
        destination: &receiving,
        amount: amount.minor_units,
    };
    let op = Op { id: id.to_owned(), input: String::new() };
    let mut payment = asked.document(app, &owner, amount.currency, &op, &run);
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
    Ok(verdict(&answerable(app, begun, &run).await?))
}

/// Hands the merchant the money that was set aside.
///
/// # Errors
/// The outcome is unknown, or another run is at it: capture again.
pub async fn capture(app: &App, id: &str) -> Result<(), Error> {
    let (run, found) = store::open_transfer(app, id).await?;
    let found = payment(found, id)?;
    let claimed = match found.state {
        TransferState::Credited | TransferState::Done => return Ok(()),
        TransferState::Authorised | TransferState::Committed => {
            claim(app, &found, TransferState::Committed, None, &run).await?
        }
        state => return Err(Error::internal(format!("capture of payment {id:?} in {state:?}"))),
    };
    let reached = answerable(app, Begun::Claimed(claimed), &run).await?;
    if reached.state.has_arrived() {
        return Ok(());
    }
    Err(Error::internal(format!("payment {id:?} was captured and is {:?}", reached.state)))
}

/// Gives the payment up: what was set aside goes back, and nothing is set aside under this id any
/// more, also where it is authorised only later. Where an authorisation is under way at this moment
/// the money goes back behind the answer.
///
/// # Errors
/// The outcome is unknown: void again.
pub async fn void(app: &App, id: &str) -> Result<(), Error> {
    let reason = TransferReason::CheckoutGivenUp;
    let (run, found) = store::open_transfer(app, id).await?;
    let Some(found) = found else {
        let tombstone = tombstone(app, id, &run);
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
    // By a claim of its own where no other claim may still take the money; else the holder of that
    // one undoes it, or the sweep does when it has ended.
    if let Some(claimed) = store::claim(app, &found, to, Some(reason), &run).await.decided()? {
        drive(app, claimed, &run, TransferState::is_final).await?;
        return Ok(());
    }
    match store::mark_cancelling(app, id, None, reason).await.decided()? {
        Some(_) => Ok(()),
        None => Err(Error::unavailable("the payment moved on at this moment")),
    }
}

/// Gives a part of a captured payment back, once per `refund_id`; says whether the money has
/// arrived. While the merchant's account is short the refund stays due, and the sweep makes it.
///
/// # Errors
/// The outcome is unknown: refund again.
pub async fn refund(app: &App, id: &str, refund_id: &str, amount: Money) -> Result<bool, Error> {
    let (run, found) = store::open_transfer(app, id).await?;
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
    let mut transfer = asked.document(app, merchant, amount.currency, &op, &run);
    transfer.reverses = Some(paid.id);
    let begun = begin(app, transfer).await?;
    if matches!(&begun, Begun::Found(found) if found.amount != amount.minor_units) {
        return Err(Error::internal(format!("refund {refund_id:?} was made of another amount")));
    }
    let (Reached::Here(reached) | Reached::UnderWay(reached)) = advance(app, begun, &run).await?;
    if reached.state.is_final() && !reached.state.has_arrived() {
        return Err(Error::internal(format!("refund {refund_id:?} is {:?}", reached.state)));
    }
    Ok(reached.state.has_arrived())
}

/// Payments begun before `before` that are neither captured nor given up, oldest first, each with
/// its holder: that decides what becomes of them.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn open_authorisations(
    app: &App,
    before: DateTime,
    limit: i64,
) -> Result<Vec<(String, Option<String>)>, Error> {
    let payments = store::list_undecided_payments(app, before, limit).await?;
    Ok(payments.into_iter().map(|payment| (payment.id, payment.holder)).collect())
}

/// Calls `each` for every payment that was captured and every refund that arrived, with the
/// payment's id and the amount: a refund's is below zero.
///
/// # Errors
/// `Unavailable` or `Internal`.
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

/// `_id` of the account on which the merchant receives payments in that currency.
fn receiving_account(app: &App, currency: CurrencyCode) -> String {
    app.ids().derived(&["merchant", &app.config().payments_merchant, currency.code()])
}

async fn open_receiving(
    app: &App,
    id: &str,
    currency: CurrencyCode,
    run: &Run,
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
        opened_at: run.now(),
        input: None,
        v: Version,
    };
    // Opened by another at the same moment is as good.
    store::insert_account(app, account).await.decided()?;
    Ok(())
}

/// What stands in the way of an authorisation that comes after its void.
fn tombstone(app: &App, id: &str, run: &Run) -> TransferDocument {
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
        deadline: run.deadline(),
        at: run.now(),
        history: vec![TransferStep { state, at: run.now() }],
        v: Version,
    }
}

fn is_tombstone(payment: &TransferDocument) -> bool {
    payment.accounts.is_empty()
}
