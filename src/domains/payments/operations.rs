//! Hands each call to the provider that the configuration names.

use super::{
    Authorisation, Charge, Provider, http::HttpProvider, ledger::Ledger, none::NoProvider,
};
use crate::{app::App, config::PaymentProvider, error::Error, graphql::scalars::Money};

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
        PaymentProvider::None => NoProvider.authorise(app, charge).await,
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
        PaymentProvider::None => NoProvider.capture(app, id).await,
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
        PaymentProvider::None => NoProvider.void(app, id).await,
    }
}

/// Gives back a part of the captured payment `id`, once per `refund_id`. Nothing needs to be done
/// for an amount of zero.
///
/// # Errors
/// The outcome is unknown, or the provider can't now: refund again.
pub async fn refund(app: &App, id: &str, refund_id: &str, amount: Money) -> Result<(), Error> {
    if amount.minor_units == 0 {
        return Ok(());
    }
    match app.config().payments {
        PaymentProvider::Ledger => Ledger.refund(app, id, refund_id, amount).await,
        PaymentProvider::Http => HttpProvider.refund(app, id, refund_id, amount).await,
        PaymentProvider::None => NoProvider.refund(app, id, refund_id, amount).await,
    }
}
