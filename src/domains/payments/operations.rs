//! Dispatch of each call to the configured payment provider.

use super::{
    Authorisation, Charge, Hindrance, Provider, Refund,
    http::HttpProvider,
    ledger::{self, Ledger},
    none::NoProvider,
};
use crate::{
    app::App, config::PaymentProvider, domains::transfers, error::Error, graphql::scalars::Money,
};

/// Declines everything above zero.
const NO_PROVIDER: NoProvider = NoProvider { approves: false };
/// Authorises everything.
#[cfg(feature = "bench")]
const APPROVING: NoProvider = NoProvider { approves: true };

/// Why the caller can't pay a charge, as far as that is known before the authorisation. `None` if nothing is
/// known.
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

/// Reserves the money for a charge. A repeat with the same id has the same result. A total of zero reserves
/// nothing.
///
/// # Errors
/// The outcome is unknown: the money may be reserved now or later.
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

/// Captures the money of the payment `id`, whose total is above zero.
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

/// Voids the payment `id`, also for authorisations that come later.
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

/// Refunds a part of the captured payment `id`, once per `refund_id`. An amount of zero needs no call.
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

/// Calls `each` for every captured payment and every paid refund, with the payment's id and the amount, which
/// is negative for a refund. Returns whether the provider has this information.
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
