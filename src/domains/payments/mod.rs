//! Payments: who takes the money at checkout, chosen by configuration.
//!
//! Every call is repeatable under its id. `void` leaves a tombstone with the provider, so that an
//! authorisation which comes late is refused. A total of zero is nobody's business: [`operations`]
//! answers it without a provider, and no provider knows its id afterwards.
//!
//! - `ledger`: docgate's own accounts; an authorisation is a transfer that waits for its checkout
//! - `http`: a service of the operator, see below
//! - `none`: only a total of zero can be checked out
//!
//! # The contract of the HTTP provider
//!
//! docgate sends `POST {payments_url}/authorise`, `/capture`, `/void` and `/refund` with a JSON body:
//!
//! ```json
//! {"id": "…", "amount": 1999, "currency": "EUR", "token": "…", "refundId": "…", "sentAt": "…"}
//! ```
//!
//! `id` names the payment in all four. `amount` (integer, minor units) and `currency` (ISO 4217) come
//! with `authorise` and `refund`, `token` (what the provider's own page gave the shopper) with
//! `authorise` if there is one, `refundId` with `refund`. `sentAt` (RFC 3339, UTC) lets the provider
//! refuse what is old. Headers:
//!
//! - `idempotency-key`: id and action, for a refund also the refund's id. The same key is sent again
//!   when an answer was lost, and must have the same effect once and the same answer.
//! - `x-docgate-signature: sha256=<hex>`: HMAC-SHA256 of the body's bytes under
//!   `payments_signing_secret`. The provider must check it.
//!
//! The answer is `2xx` with `{"status": "…", "reason": "…"}`:
//!
//! | action | status |
//! |---|---|
//! | `authorise` | `authorised`, or `declined` with a `reason` that the shopper may read |
//! | `capture` | `captured` |
//! | `void` | `voided`, also where nothing was authorised under the id |
//! | `refund` | `refunded`, or `due` while the money can't be paid |
//!
//! An `authorise` that comes after the `void` of its id must be `declined`; a `void` after it was
//! declined is still `voided`. A refund that is `due` comes again under the same key, until it is
//! answered `refunded`. `5xx`, 408, 425 and 429, timeouts and broken connections mean that
//! nobody knows: docgate sends the call a few times more, and later again under the same key. Any
//! other status is a fault of the set-up and logged as such; the flow waits until it is mended.

mod http;
mod ledger;
mod none;
pub mod operations;

use crate::{app::App, error::Error, graphql::scalars::Money};

/// What is to be charged.
#[derive(Debug, Clone)]
pub struct Charge {
    /// Id of the payment. Others see it: it must not tell anything of what is paid.
    pub id: String,
    /// The cart or the order that is paid, by the name under which it holds stock; no provider tells
    /// it anyone.
    pub holder: String,
    /// How much.
    pub amount: Money,
    /// For the ledger: the account that pays; its owner was checked.
    pub account: Option<String>,
    /// For an HTTP provider: what its own page gave the shopper.
    pub token: Option<String>,
}

/// Why a charge can't be paid by who asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hindrance {
    /// There is no such account, or not for the caller; its `_id`.
    Missing(String),
    /// Something else, in words that are safe to show.
    Because(String),
}

impl Hindrance {
    fn because(reason: &str) -> Self {
        Self::Because(reason.to_owned())
    }
}

/// What the provider said to an authorisation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorisation {
    /// The money is set aside for the payment.
    Authorised,
    /// It isn't, and won't be under this id; why, in words that are safe to show.
    Declined(String),
}

/// What the provider said to a refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refund {
    /// The money has moved.
    Made,
    /// The money can't move now, and will later: refund again.
    Due,
}

/// One provider.
pub trait Provider {
    /// Sets the money aside. Repeated with the same id it says the same.
    ///
    /// # Errors
    /// The outcome is unknown: the money may be set aside or may yet be.
    fn authorise(
        &self,
        app: &App,
        charge: &Charge,
    ) -> impl Future<Output = Result<Authorisation, Error>> + Send;

    /// Takes the money that was set aside.
    ///
    /// # Errors
    /// The outcome is unknown: capture again.
    fn capture(&self, app: &App, id: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// Gives up: what was set aside is free again, and nothing is set aside under this id any more.
    ///
    /// # Errors
    /// The outcome is unknown: void again.
    fn void(&self, app: &App, id: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// Gives back a part of the captured payment `id`, once per `refund_id`.
    ///
    /// # Errors
    /// The outcome is unknown: refund again.
    fn refund(
        &self,
        app: &App,
        id: &str,
        refund_id: &str,
        amount: Money,
    ) -> impl Future<Output = Result<Refund, Error>> + Send;
}
