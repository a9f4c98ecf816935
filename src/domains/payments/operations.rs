//! Dispatch of each call to the configured payment provider.

use super::{Authorisation, Charge, Refund, http, ledger};
use crate::{
    app::App,
    config::PaymentProvider,
    domains::transfers,
    error::Error,
    graphql::{
        cx::Cx,
        refusals::{InvalidInput, NotFound, Stop},
        scalars::Money,
    },
};

/// The configured provider's result of a call. Without a provider no records are kept, and the result is `none`.
macro_rules! call {
    ($app:ident, $call:ident($($argument:expr),+), none: $none:expr) => {
        match $app.config().payments {
            PaymentProvider::Ledger => ledger::$call($app, $($argument),+).await,
            PaymentProvider::Http => http::$call($app, $($argument),+).await,
            PaymentProvider::None => Ok($none),
            #[cfg(feature = "bench")]
            PaymentProvider::Approving => Ok($none),
        }
    };
}

/// Checks whether the caller can pay the charge, as far as that is known before the authorisation. A refusal
/// is about `input.payment`.
pub async fn check<U>(cx: Cx<'_>, charge: &Charge) -> Result<(), Stop<U>>
where
    U: From<InvalidInput> + From<NotFound>,
{
    match cx.config().payments {
        PaymentProvider::Ledger if charge.amount.minor_units != 0 => {
            ledger::check(cx, charge).await
        }
        _ => Ok(()),
    }
}

/// Reserves the money for a charge. A repeat with the same id has the same result. A total of zero reserves
/// nothing.
///
/// # Errors
/// The outcome is unknown: the money may be reserved now or later.
pub async fn authorise(app: &App, charge: &Charge) -> Result<Authorisation, Error> {
    #[cfg(feature = "bench")]
    if app.config().payments == PaymentProvider::Approving {
        return Ok(Authorisation::Authorised);
    }
    if charge.amount.minor_units == 0 {
        return Ok(Authorisation::Authorised);
    }
    let none = || Authorisation::Declined("this shop takes no payments".into());
    call!(app, authorise(charge), none: none())
}

/// Captures the reserved money of the payment `id`, whose total is above zero.
///
/// # Errors
/// The outcome is unknown: capture again.
pub async fn capture(app: &App, id: &str) -> Result<(), Error> {
    call!(app, capture(id), none: ())
}

/// Aborts the payment `id`: reserved money is released, and nothing can be reserved under this id any more.
///
/// # Errors
/// The outcome is unknown: void again.
pub async fn void(app: &App, id: &str) -> Result<(), Error> {
    call!(app, void(id), none: ())
}

/// Refunds a part of the captured payment `id`, once per `refund_id`. An amount of zero needs no call.
///
/// # Errors
/// The outcome is unknown: refund again.
pub async fn refund(app: &App, id: &str, refund_id: &str, amount: Money) -> Result<Refund, Error> {
    if amount.minor_units == 0 {
        return Ok(Refund::Made);
    }
    call!(app, refund(id, refund_id, amount), none: Refund::Made)
}

/// Calls `each` for every captured payment and every paid refund, with the payment's id and the amount, which
/// is negative for a refund. Returns whether the provider has this information.
pub async fn for_each(app: &App, each: impl FnMut(&str, i64)) -> Result<bool, Error> {
    if app.config().payments != PaymentProvider::Ledger {
        return Ok(false);
    }
    transfers::operations::for_each_payment(app, each).await?;
    Ok(true)
}
