//! Sends each call to the configured payment provider.

use super::{Authorisation, Charge, Refund, http, ledger};
use crate::{
    config::PaymentProvider,
    domains::{
        paying::PaymentDeclined,
        transfers::{self, AccountDocument, TransferDocument},
    },
    graphql::prelude::*,
};

/// Why nothing can be paid without a provider.
const TAKES_NONE: &str = "this shop takes no payments";

/// The configured provider's result of a call. Without a provider no records are kept, and the result is `none`.
macro_rules! call {
    ($app:ident, $call:ident($($argument:expr),+), none: $none:expr) => {
        match $app.config().payments {
            PaymentProvider::Ledger => ledger::$call($app, $($argument),+).await,
            PaymentProvider::Http => http::$call($app, $($argument),+).await,
            PaymentProvider::None => $none,
        }
    };
}

/// Without a provider nothing is authorised. So another one authorised this payment, before the setting was changed, and knows
/// it.
fn of_another_provider() -> Error {
    Error::unavailable("another provider authorised the payment, and `payments` is `none` now")
}

/// Checks whether the caller can pay the charge, as far as that is known before the authorisation. A refusal
/// is about `input.payment`. Without a provider nobody can, so there is nothing to void later.
pub async fn check<U>(cx: Cx<'_>, charge: &Charge) -> Result<(), Stop<U>>
where
    U: From<InvalidInput> + From<NotFound> + From<PaymentDeclined>,
{
    if cx.config().payments == PaymentProvider::None && charge.amount.minor_units != 0 {
        return Err(declined(TAKES_NONE.to_owned()));
    }
    let account = charge.account.as_deref().filter(|_| charge.amount.minor_units != 0);
    check_payer(cx, charge, payer(&cx, account).await?.as_ref())
}

/// The account that pays, for [`check_payer`]. It is none if the provider isn't the ledger.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn payer(app: &App, account: Option<&str>) -> Result<Option<AccountDocument>> {
    match account {
        Some(account) if app.config().payments == PaymentProvider::Ledger => {
            transfers::operations::payer(app, account).await
        }
        _ => Ok(None),
    }
}

/// As [`check`], with the account that pays as it was read before.
pub fn check_payer<U>(
    cx: Cx<'_>,
    charge: &Charge,
    payer: Option<&AccountDocument>,
) -> Result<(), Stop<U>>
where
    U: From<InvalidInput> + From<NotFound>,
{
    match cx.config().payments {
        PaymentProvider::Ledger if charge.amount.minor_units != 0 => {
            ledger::check(cx, charge, payer)
        }
        _ => Ok(()),
    }
}

/// Whether a checkout of this amount needs no outside provider, so that it can be decided without a claim.
pub fn needs_no_provider(app: &App, amount: i64) -> bool {
    amount == 0 || app.config().payments != PaymentProvider::Http
}

/// Holds the money for the charge of a checkout without a claim, under its tag; a repeat changes nothing.
///
/// # Errors
/// The outcome is unknown, or the attempt is over.
pub async fn hold(
    app: &App,
    charge: &Charge,
    tag: &str,
    attempt: &Attempt,
) -> Result<Authorisation> {
    match app.config().payments {
        _ if charge.amount.minor_units == 0 => Ok(Authorisation::Authorised),
        PaymentProvider::Ledger => ledger::hold(app, charge, tag, attempt).await,
        PaymentProvider::None => Ok(Authorisation::Declined(TAKES_NONE.into())),
        PaymentProvider::Http => Err(Error::internal("a hold at an outside provider")),
    }
}

/// Returns what is held for the charge. Its tag must be void.
///
/// # Errors
/// The outcome is unknown.
pub async fn release(app: &App, charge: &Charge) -> Result<()> {
    match app.config().payments {
        PaymentProvider::Ledger if charge.amount.minor_units != 0 => {
            ledger::release(app, charge).await
        }
        _ => Ok(()),
    }
}

/// Whether the payment of a decided checkout is recorded, and who credits the merchant.
#[derive(Debug)]
pub enum Recorded {
    /// Nothing is to be recorded.
    Unneeded,
    /// This call recorded it, and its attempt has the claim on it.
    Now(Box<TransferDocument>),
    /// It was recorded before.
    Before,
}

/// Records the payment of a checkout that has decided, of which the money is held. `by` is the subject who pays.
///
/// # Errors
/// The outcome is unknown.
pub async fn record(
    app: &App,
    charge: &Charge,
    tag: &str,
    by: Option<&str>,
    attempt: &Attempt,
) -> Result<Recorded> {
    match app.config().payments {
        PaymentProvider::Ledger if charge.amount.minor_units != 0 => {
            let recorded = ledger::record(app, charge, tag, by, attempt).await?;
            Ok(recorded.map_or(Recorded::Before, |payment| Recorded::Now(Box::new(payment))))
        }
        PaymentProvider::Http if charge.amount.minor_units != 0 => {
            Err(Error::internal("the checkout was decided with another payment provider"))
        }
        PaymentProvider::None if charge.amount.minor_units != 0 => Err(of_another_provider()),
        _ => Ok(Recorded::Unneeded),
    }
}

/// Credits the merchant with a recorded payment. One that another attempt recorded is claimed first.
///
/// # Errors
/// The outcome is unknown, or another attempt has the claim: the sweep carries on.
pub async fn credit(app: &App, id: &str, recorded: Recorded, attempt: &Attempt) -> Result<()> {
    match recorded {
        Recorded::Unneeded => Ok(()),
        Recorded::Now(payment) => {
            transfers::operations::credit_payment(app, *payment, attempt).await
        }
        Recorded::Before => ledger::capture(app, id).await,
    }
}

/// Reserves the money for a charge. A repeat with the same id has the same result. A total of zero reserves
/// nothing.
///
/// # Errors
/// The outcome is unknown: the money may be reserved now or later.
pub async fn authorise(app: &App, charge: &Charge) -> Result<Authorisation> {
    if charge.amount.minor_units == 0 {
        return Ok(Authorisation::Authorised);
    }
    call!(app, authorise(charge), none: Ok(Authorisation::Declined(TAKES_NONE.into())))
}

/// Captures the reserved money of the payment `id`, whose total is above zero.
///
/// # Errors
/// The outcome is unknown, or no provider is configured: capture again.
pub async fn capture(app: &App, id: &str) -> Result<()> {
    call!(app, capture(id), none: Err(of_another_provider()))
}

/// Aborts the payment `id`: reserved money is released, and nothing can be reserved under this id any more.
///
/// # Errors
/// The outcome is unknown, or no provider is configured: void again.
pub async fn void(app: &App, id: &str) -> Result<()> {
    call!(app, void(id), none: Err(of_another_provider()))
}

/// Like [`void`], for a charge of this amount. A payment of zero doesn't exist at the provider.
///
/// # Errors
/// The outcome is unknown: void again.
pub async fn void_charge(app: &App, id: &str, amount: i64) -> Result<()> {
    if amount == 0 { Ok(()) } else { void(app, id).await }
}

/// Why a flow has to be aborted after this result of its authorisation; `None` if it is authorised. If the
/// outcome is unknown, the void makes the provider refuse the authorisation from then on.
pub fn refused<U: From<PaymentDeclined>>(result: Result<Authorisation>) -> Option<Stop<U>> {
    match result {
        Ok(Authorisation::Authorised) => None,
        Ok(Authorisation::Declined(reason)) => Some(declined(reason)),
        Err(error) => Some(error.into()),
    }
}

fn declined<U: From<PaymentDeclined>>(reason: String) -> Stop<U> {
    let message = format!("the payment was declined: {reason}");
    PaymentDeclined::because(message, reason).into()
}

/// Refunds a part of the captured payment `id`, once per `refund_id`. An amount of zero needs no call. Without a provider the
/// refund is due: another one captured the payment, before the setting was changed.
///
/// # Errors
/// The outcome is unknown: refund again.
pub async fn refund(app: &App, id: &str, refund_id: &str, amount: Money) -> Result<Refund> {
    if amount.minor_units == 0 {
        return Ok(Refund::Made);
    }
    call!(app, refund(id, refund_id, amount), none: Ok(Refund::Due))
}

/// As [`refund`], for the payment of a checkout that has decided and may not be captured yet: an outside provider is asked
/// to capture it first, so that no capture follows the refund.
///
/// # Errors
/// The outcome is unknown: refund again.
pub async fn refund_decided(app: &App, id: &str, refund_id: &str, amount: Money) -> Result<Refund> {
    if app.config().payments == PaymentProvider::Http && amount.minor_units != 0 {
        capture(app, id).await?;
    }
    refund(app, id, refund_id, amount).await
}

/// Calls `each` for every captured payment and every paid refund, with the payment's id and the amount, which
/// is negative for a refund. Returns whether the provider has this information.
pub async fn for_each(app: &App, each: impl FnMut(&str, i64)) -> Result<bool> {
    if app.config().payments != PaymentProvider::Ledger {
        return Ok(false);
    }
    transfers::operations::for_each_payment(app, each).await?;
    Ok(true)
}
