//! Hands each call to the provider that the configuration names.

use super::{
    Authorisation, Charge, Hindrance, Provider, Refund,
    http::HttpProvider,
    ledger::{self, Ledger},
    none::NoProvider,
};
use crate::{
    app::App, config::PaymentProvider, domains::transfers, error::Error, graphql::scalars::Money,
};

/// Says no to whatever costs something.
const NO_PROVIDER: NoProvider = NoProvider { approves: false };
/// Says yes to everything.
#[cfg(feature = "bench")]
const APPROVING: NoProvider = NoProvider { approves: true };

/// Why a charge can't be paid by that caller, as far as that can be told before the money is asked
/// for; `None` where nothing speaks against it.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn hindrance(
    app: &App,
    subject: Option<&str>,
    charge: &Charge,
) -> Result<Option<Hindrance>, Error> {
    match app.config().payments {
        _ if charge.amount.minor_units == 0 => Ok(None),
        PaymentProvider::Ledger => ledger::hindrance(app, subject, charge).await,
        PaymentProvider::Http | PaymentProvider::None => Ok(None),
        #[cfg(feature = "bench")]
        PaymentProvider::Approving => Ok(None),
    }
}

/// Sets the money for a charge aside. Repeated with the same id it says the same. Nothing needs to
/// be set aside for a total of zero.
///
/// # Errors
/// The outcome is unknown: the money may be set aside or may yet be.
pub async fn authorise(app: &App, charge: &Charge) -> Result<Authorisation, Error> {
    if charge.amount.minor_units == 0 {
        return Ok(Authorisation::Authorised);
    }
    match app.config().payments {
        PaymentProvider::Ledger => Ledger.authorise(app, charge).await,
        PaymentProvider::Http => HttpProvider.authorise(app, charge).await,
        PaymentProvider::None => NO_PROVIDER.authorise(app, charge).await,
        #[cfg(feature = "bench")]
        PaymentProvider::Approving => APPROVING.authorise(app, charge).await,
    }
}

/// Takes the money that was set aside for the payment `id` of a total above zero.
///
/// # Errors
/// The outcome is unknown: capture again.
pub async fn capture(app: &App, id: &str) -> Result<(), Error> {
    match app.config().payments {
        PaymentProvider::Ledger => Ledger.capture(app, id).await,
        PaymentProvider::Http => HttpProvider.capture(app, id).await,
        PaymentProvider::None => NO_PROVIDER.capture(app, id).await,
        #[cfg(feature = "bench")]
        PaymentProvider::Approving => APPROVING.capture(app, id).await,
    }
}

/// Gives the payment `id` up, for now and for later.
///
/// # Errors
/// The outcome is unknown: void again.
pub async fn void(app: &App, id: &str) -> Result<(), Error> {
    match app.config().payments {
        PaymentProvider::Ledger => Ledger.void(app, id).await,
        PaymentProvider::Http => HttpProvider.void(app, id).await,
        PaymentProvider::None => NO_PROVIDER.void(app, id).await,
        #[cfg(feature = "bench")]
        PaymentProvider::Approving => APPROVING.void(app, id).await,
    }
}

/// Gives back a part of the captured payment `id`, once per `refund_id`. Nothing needs to be done
/// for an amount of zero.
///
/// # Errors
/// The outcome is unknown: refund again.
pub async fn refund(app: &App, id: &str, refund_id: &str, amount: Money) -> Result<Refund, Error> {
    if amount.minor_units == 0 {
        return Ok(Refund::Made);
    }
    match app.config().payments {
        PaymentProvider::Ledger => Ledger.refund(app, id, refund_id, amount).await,
        PaymentProvider::Http => HttpProvider.refund(app, id, refund_id, amount).await,
        PaymentProvider::None => NO_PROVIDER.refund(app, id, refund_id, amount).await,
        #[cfg(feature = "bench")]
        PaymentProvider::Approving => APPROVING.refund(app, id, refund_id, amount).await,
    }
}

/// Calls `each` for every payment that the provider captured and every refund that it made, with
/// the payment's id and the amount: a refund's is below zero. Says whether the provider can tell.
///
/// # Errors
/// `Unavailable` or `Internal`.
pub async fn for_each(app: &App, each: impl FnMut(&str, i64)) -> Result<bool, Error> {
    match app.config().payments {
        PaymentProvider::Ledger => {
            transfers::operations::for_each_payment(app, each).await?;
            Ok(true)
        }
        PaymentProvider::Http | PaymentProvider::None => Ok(false),
        #[cfg(feature = "bench")]
        PaymentProvider::Approving => Ok(false),
    }
}
