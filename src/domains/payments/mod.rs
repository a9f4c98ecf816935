//! Payments: one interface over the payment providers. The configuration selects one of them.
//!
//! Every call is repeatable under its id. `void` leaves a tombstone at the provider, so that a late
//! authorisation is refused. A total of zero isn't sent to a provider: [`operations`] answers it, and no
//! provider knows its id afterwards.
//!
//! - `ledger`: docgate's own accounts; an authorisation is a transfer that waits for its checkout
//! - `http`: a service of the operator; `docs/PAYMENTS.md` has its contract
//! - `none`: only a total of zero can be checked out. What another provider authorised stays to be captured or voided, and
//!   refunds of what it captured stay due

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
            (config.payments_timeout_millis > 0, "payments_timeout_millis must be above zero"),
            // No token has another subject, so nobody could withdraw the money.
            (
                (1..=128).contains(&config.payments_merchant.len()),
                "payments_merchant must be the subject of a token, 1 to 128 bytes",
            ),
        ])
    }),
    ..Room::new("payments")
};
