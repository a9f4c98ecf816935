//! Payments: who takes the money at checkout, chosen by configuration.
//!
//! Every call is repeatable under its id. `void` leaves a tombstone with the provider, so that an
//! authorisation which comes late is refused.

use crate::{app::App, error::Error, graphql::scalars::Money};

/// What is to be charged.
#[derive(Debug, Clone)]
pub struct Charge {
    /// Id of the payment: the checkout's id.
    pub id: String,
    /// How much.
    pub amount: Money,
    /// For the ledger: the account that pays; its owner was checked.
    pub account: Option<String>,
    /// For an HTTP provider: what its own page gave the shopper.
    pub token: Option<String>,
}

/// What the provider said to an authorisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorisation {
    /// The money is set aside for the payment.
    Authorised,
    /// It isn't, and won't be under this id; why, in words that are safe to show.
    Declined(String),
}

/// One provider.
pub trait Provider {
    /// Sets the money aside. Repeated with the same id it says the same.
    ///
    /// # Errors
    /// The outcome is unknown: the money may be set aside or may yet be.
    async fn authorise(&self, app: &App, charge: &Charge) -> Result<Authorisation, Error>;

    /// Takes the money that was set aside.
    ///
    /// # Errors
    /// The outcome is unknown: capture again.
    async fn capture(&self, app: &App, id: &str) -> Result<(), Error>;

    /// Gives up: what was set aside is free again, and nothing is set aside under this id any more.
    ///
    /// # Errors
    /// The outcome is unknown: void again.
    async fn void(&self, app: &App, id: &str) -> Result<(), Error>;

    /// Gives back a part of the captured payment `id`, once per `refund_id`.
    ///
    /// # Errors
    /// The outcome is unknown, or the provider can't now: refund again.
    async fn refund(
        &self,
        app: &App,
        id: &str,
        refund_id: &str,
        amount: Money,
    ) -> Result<(), Error>;
}
