//! Payments of checkouts without a claim. The payer's money is held under the checkout's tag before the cart decides.
//! After the decision the payment is inserted as COMMITTED, and is credited by the attempt that inserted it.
//!
//! The payer's mark stays longer than the merchant's. A repeat of the checkout may have read the cart before the
//! decision. It may still hold the money under the same tag, and nothing would release that hold, because the tag has
//! decided. So the claim on the payment ends one grace period later than the checkout. Only another claim removes the
//! mark, and such a repeat is past its deadline then.

use mongodb::bson::DateTime;

use super::{
    super::{
        documents::{
            HOLDS_AT, SweptAccount, TransferDocument, TransferKind, TransferState, TransferStep,
        },
        store::{self, NotHeld, Payment},
    },
    drive::{Driver, receiving_account},
    payments::{Authorisation, op},
};
use crate::{
    flow::later,
    graphql::prelude::*,
    mongo::{guarded::Sends, swept::SweptPage},
};

/// Holds the money of a payment on the payer's account; a repeat changes nothing.
///
/// # Errors
/// The outcome is unknown, or the attempt is over.
pub async fn hold(app: &App, payment: Payment<'_>, attempt: &Attempt) -> Result<Authorisation> {
    let reason = match store::accounts(app).write(&store::hold(&payment), attempt).await? {
        Verdict::Applied(_) | Verdict::Refused(NotHeld::Already, _) => {
            return Ok(Authorisation::Authorised);
        }
        Verdict::Missing | Verdict::Refused(NotHeld::Other, _) => {
            "the account can't pay in this currency"
        }
        Verdict::Refused(NotHeld::Closed, _) => "the account is closed",
        Verdict::Refused(NotHeld::Short, _) => "the account holds less than the total",
        Verdict::Refused(NotHeld::Busy, _) => {
            return Err(Error::unavailable("the account has too many pending transfers"));
        }
    };
    Ok(Authorisation::Declined(reason.into()))
}

/// Returns what was held under the id of a payment. The tag must be void: it never decides.
///
/// # Errors
/// The outcome is unknown.
pub async fn release(app: &App, account: &str, payment: &str) -> Result<()> {
    store::release(app, account, payment).held().await.map(|_was_held| ())
}

/// Inserts the payment of a checkout that has decided, of which the money is held. Returns it if this call inserted it:
/// the attempt then has the claim on it. `by` is the subject who pays.
///
/// # Errors
/// The outcome is unknown.
pub async fn insert_payment(
    app: &App,
    payment: &Payment<'_>,
    by: Option<String>,
    attempt: &Attempt,
) -> Result<Option<TransferDocument>> {
    let (driver, state) = (Driver { app, attempt }, TransferState::Committed);
    let receiving = receiving_account(app, payment.amount.currency);
    let accounts = [payment.payer, &receiving];
    let transfer = TransferDocument {
        by,
        holder: Some(payment.cart.to_owned()),
        state,
        deadline: later(attempt.deadline(), app.bounds().grace_period()),
        history: vec![TransferStep { state, at: attempt.now().into() }],
        ..driver.pending(&op(payment.id), TransferKind::Payment, accounts, payment.amount)
    };
    let inserted = store::transfers(app).insert(&transfer).await.decided()?;
    Ok(inserted.map(|()| transfer))
}

/// Credits the merchant with a payment that the attempt inserted, and retires the merchant's mark.
///
/// # Errors
/// The outcome is unknown: the sweep carries on.
pub async fn credit_payment(app: &App, payment: TransferDocument, attempt: &Attempt) -> Result<()> {
    let (driver, mut sends) = (Driver { app, attempt }, Sends::Once);
    let reached = driver.drive(payment, TransferState::is_answerable, &mut sends).await?;
    let TransferDocument { id, destination, state, .. } = &reached;
    if !state.has_arrived() {
        return Err(Error::internal(format!("payment {id:?} was captured and is {state:?}")));
    }
    if sends == Sends::Once {
        store::retire(app, destination, id).held().await?;
    }
    Ok(())
}

/// A hold on an account.
#[derive(Debug, Clone)]
pub struct Held {
    /// The account.
    pub account: String,
    /// Id of the payment.
    pub payment: String,
    /// The cart that is checked out.
    pub cart: String,
    /// Tag of the checkout.
    pub tag: String,
}

/// An account with holds.
#[derive(Debug, Clone)]
pub struct Holding {
    /// The account.
    pub account: String,
    /// Its holds that are old enough.
    pub holds: Vec<Held>,
}

/// A page of the accounts whose oldest hold is from `from` or later and before `before`, with their holds from before `before`.
/// The carts of these tell what becomes of them.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn holdings(
    app: &App,
    from: DateTime,
    before: DateTime,
    limit: i64,
) -> Result<SweptPage<Holding>> {
    let by = (HOLDS_AT, "holds_at");
    let found = app.collection::<SweptAccount>().list_between(by, from, before, limit).await?;
    let holding = |SweptAccount { id, pending }| {
        let mut holds = Vec::new();
        for mark in pending {
            if let (Some(cart), Some(tag), Some(_)) =
                (mark.cart, mark.tag, mark.at.filter(|at| *at < before))
            {
                holds.push(Held { account: id.clone(), payment: mark.id, cart, tag });
            }
        }
        Some(Holding { account: id, holds })
    };
    Ok(found.into_iter().map(|one| one.and_then(holding)).collect())
}

/// Corrects the time by which an account is found, of one that was found without an old hold.
///
/// # Errors
/// The outcome is unknown.
pub async fn correct_holding(app: &App, account: &str) -> Result<()> {
    store::derive_holds_at(app, account).held().await.map(|_is_there| ())
}
