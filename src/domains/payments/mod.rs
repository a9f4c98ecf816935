//! Payments: one interface over the payment providers. The configuration selects one of them.
//!
//! Every call is repeatable under its id. `void` leaves a tombstone at the provider, so that a late
//! authorisation is refused. A total of zero isn't sent to a provider: [`operations`] answers it, and no
//! provider knows its id afterwards.
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
//! `id` identifies the payment in all four. `amount` (integer, minor units) and `currency` (ISO 4217) are
//! sent with `authorise` and `refund`; `token` (what the provider's own page gave the shopper) with
//! `authorise` if there is one; `refundId` with `refund`. `sentAt` (RFC 3339, UTC) lets the provider refuse
//! old requests. Headers:
//!
//! - `idempotency-key`: id and action, for a refund also the refund's id. If a response is lost, docgate
//!   sends the same key again. The call must take effect once and have the same response.
//! - `x-docgate-signature: sha256=<hex>`: HMAC-SHA256 of the body's bytes under `payments_signing_secret`.
//!   The provider must check it.
//!
//! The response is `2xx` with `{"status": "…", "reason": "…"}`:
//!
//! | action | status |
//! |---|---|
//! | `authorise` | `authorised`, or `declined` with a `reason` that the shopper may read |
//! | `capture` | `captured` |
//! | `void` | `voided`, also where nothing was authorised under the id |
//! | `refund` | `refunded`, or `due` while the money can't be paid |
//!
//! An `authorise` after the `void` of its id must be `declined`; a `void` after a decline is still `voided`.
//! A refund that is `due` is sent again under the same key until the response is `refunded`. After `5xx`,
//! 408, 425 and 429, timeouts and broken connections the outcome is unknown, also if the body of a response breaks
//! off: docgate sends the call a few times more, and later again under the same key. Any other status, and a body
//! that isn't such JSON or is larger than 64 KiB, is a fault of the set-up and is logged as such; the flow waits
//! until it is corrected.

mod books;
mod http;
mod ledger;
pub mod operations;

pub use super::transfers::operations::Authorisation;
use super::{Room, paying::Payment, room::unmet};
use crate::{
    config::{PaymentProvider, is_web_address},
    graphql::scalars::Money,
};
pub use books::Books;

/// A charge: what is to be paid, for what, and by which means.
#[derive(Debug, Clone)]
pub struct Charge {
    /// Id of the payment. Others see it, so it must not reveal anything about what is paid.
    pub id: String,
    /// Holder name of the cart or order that is paid. No provider reveals it.
    pub holder: String,
    pub amount: Money,
    /// Ledger provider: the account that pays. Its owner was checked.
    pub account: Option<String>,
    /// HTTP provider: token that the shopper got from the provider's own page.
    pub token: Option<String>,
}

impl Charge {
    /// The charge with this id, of this holder.
    pub fn new(id: &str, holder: String, amount: Money, payment: Payment) -> Self {
        let Payment { account, token } = payment;
        Self { id: id.to_owned(), holder, amount, account, token }
    }
}

/// Beginning of the names of payments for seats, and of their holders.
const SEATS: &str = "seats:";

/// The name of a payment for seats, or of its holder. The provider's records are those of all rooms; the name tells to
/// which of them one belongs.
pub fn for_seats(name: &str) -> String {
    format!("{SEATS}{name}")
}

/// What [`for_seats`] made the name of; `None` if it belongs to another room.
pub fn of_seats(name: &str) -> Option<&str> {
    name.strip_prefix(SEATS)
}

/// Result of a refund.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refund {
    /// The refund is paid.
    Made,
    /// The refund can't be paid now. The call has to be repeated later.
    Due,
}

pub const ROOM: Room = Room {
    needs: &["transfers"],
    faults: Some(|config| {
        let secret = config.payments_signing_secret.as_deref();
        unmet([
            (
                config.payments != PaymentProvider::Http
                    || (config.payments_url.is_some() && secret.is_some()),
                "payments = \"http\" needs payments_url and payments_signing_secret",
            ),
            (
                config.payments_url.as_deref().is_none_or(is_web_address),
                "payments_url isn't a URL that begins with https:// or http://",
            ),
            (
                secret.is_none_or(|secret| secret.len() >= 32),
                "payments_signing_secret needs 32 bytes or more",
            ),
        ])
    }),
    ..Room::new("payments")
};
