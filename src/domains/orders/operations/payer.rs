//! Payments of orders: the input of clients, and the calls to the payment provider.

use super::super::types::{PaymentInput, ShippingAddressInput};
use crate::{
    app::App,
    domains::{
        carts::{Address, Payment},
        payments::{self, Charge, Hindrance},
    },
    error::Error,
    graphql::{
        cx::Cx,
        node_id::NodeKind,
        refusals::{InvalidInput, NotFound, Stop},
        scalars::Money,
    },
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

/// Checks whether the caller may pay the charge, as far as that is known before the authorisation.
pub(super) async fn check<U>(cx: Cx<'_>, charge: &Charge) -> Result<(), Stop<U>>
where
    U: From<InvalidInput> + From<NotFound>,
{
    let subject = cx.requester.subject.as_deref();
    match payments::operations::hindrance(&cx, subject, charge).await? {
        None => Ok(()),
        Some(Hindrance::Missing(account)) => Err(NotFound::of(NodeKind::Account, &account).into()),
        Some(Hindrance::Because(reason)) => {
            Err(InvalidInput::new("payment.account", reason).into())
        }
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
