//! Checks of the payment and shipping input of clients, and the calls to the payment provider.

use super::super::types::{PaymentInput, ShippingAddressInput};
use crate::{
    app::App,
    domains::{
        carts::{Address, Payment},
        payments::{self, Charge, Hindrance},
    },
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{InvalidInput, NotFound, Stop, Unusable},
        requester::Requester,
        scalars::Money,
    },
};

/// Checks a shipping address.
///
/// # Errors
/// Names the invalid field.
pub(super) fn address(field: &str, given: ShippingAddressInput) -> Result<Address, InvalidInput> {
    let ShippingAddressInput { name, street, city, country } = given;
    let text =
        |part: &str, value: &str, most| input::text(&format!("{field}.{part}"), value, 1..=most);
    Ok(Address {
        name: text("name", &name, 200)?,
        street: text("street", &street, 300)?,
        city: text("city", &city, 200)?,
        country: input::country(&format!("{field}.country"), &country)?,
    })
}

/// Checks a means of payment.
///
/// # Errors
/// The account's id or the token is invalid.
pub(super) fn payment(field: &str, given: PaymentInput) -> Result<Payment, Unusable> {
    let account = given.account.map(|id| input::id(NodeKind::Account, &id));
    let token =
        given.token.map(|token| input::verbatim(&format!("{field}.token"), &token, 1..=1_000));
    Ok(Payment { account: account.transpose()?, token: token.transpose()? })
}

/// Checks whether the caller may pay the charge, as far as that is known before the authorisation.
pub(super) async fn check<U>(
    app: &App,
    requester: &Requester,
    charge: &Charge,
) -> Result<(), Stop<U>>
where
    U: From<InvalidInput> + From<NotFound>,
{
    let subject = requester.subject.as_deref();
    match payments::operations::hindrance(app, subject, charge).await? {
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
