//! Payments of orders: the input of clients, and the calls to the payment provider.

use super::super::types::{PaymentInput, ShippingAddressInput};
use crate::{
    app::App,
    domains::{
        carts::{Address, Payment},
        payments::{self, Charge},
    },
    error::Error,
    graphql::scalars::Money,
};

impl From<&ShippingAddressInput> for Address {
    fn from(input: &ShippingAddressInput) -> Self {
        let ShippingAddressInput { name, street, city, country } = input.clone();
        Self { name, street, city, country }
    }
}

impl From<&PaymentInput> for Payment {
    fn from(input: &PaymentInput) -> Self {
        let PaymentInput { account, token } = input.clone();
        Self { account: account.map(|account| account.0), token }
    }
}

/// The charge with that id, for the cart or order that holds stock as `holder`.
pub(super) fn charge(id: &str, holder: String, amount: Money, payment: &Payment) -> Charge {
    Charge {
        id: id.to_owned(),
        holder,
        amount,
        account: payment.account.clone(),
        token: payment.token.clone(),
    }
}

/// Captures the payment. A payment of zero doesn't exist at the provider.
pub(super) async fn capture(app: &App, id: &str, amount: i64) -> Result<(), Error> {
    if amount == 0 { Ok(()) } else { payments::operations::capture(app, id).await }
}

/// Voids the payment. A payment of zero doesn't exist at the provider.
pub(super) async fn void(app: &App, id: &str, amount: i64) -> Result<(), Error> {
    if amount == 0 { Ok(()) } else { payments::operations::void(app, id).await }
}
