//! The payment provider `ledger`: docgate's own accounts. A payment is a transfer to the merchant, and its
//! authorisation is a transfer that waits for the checkout's commit.

use super::{Authorisation, Charge, Refund};
use crate::{
    domains::transfers::{
        AccountDocument, TransferDocument,
        operations::{self as transfers, PayerAccount},
    },
    graphql::prelude::*,
};

pub(super) use transfers::{capture, void};

/// Checks the payer's account, which was read as `payer`.
pub(super) fn check<U>(
    cx: Cx<'_>,
    charge: &Charge,
    payer: Option<&AccountDocument>,
) -> Result<(), Stop<U>>
where
    U: From<InvalidInput> + From<NotFound>,
{
    let invalid = |reason: &str| Err(InvalidInput::new("payment.accountId", reason).into());
    // A guest who names no account lacks the sign-in, not the account.
    let Some(subject) = cx.requester.subject.as_deref() else {
        return invalid("sign in to pay from one of your accounts");
    };
    let Some(id) = &charge.account else { return invalid("name the account that pays") };
    let needed = charge.amount.currency;
    match transfers::may_pay(payer, subject, needed) {
        PayerAccount::Usable => Ok(()),
        PayerAccount::NotFound => Err(NotFound::of(NodeKind::ACCOUNT, id).into()),
        PayerAccount::Closed => invalid("is closed"),
        PayerAccount::OtherCurrency(own) => {
            invalid(&format!("is in {}, and {} is to be paid", own.code(), needed.code()))
        }
    }
}

pub(super) async fn authorise(app: &App, charge: &Charge) -> Result<Authorisation> {
    let Charge { id, holder, amount, account, .. } = charge;
    match account {
        Some(payer) => transfers::authorise(app, id, holder, payer, *amount).await,
        None => Ok(Authorisation::Declined("name the account that pays".into())),
    }
}

/// The payment of the charge of a checkout without a claim.
fn payment<'a>(charge: &'a Charge, payer: &'a str, tag: &'a str) -> transfers::Payment<'a> {
    let Charge { id, holder, amount, .. } = charge;
    transfers::Payment { id, cart: holder, tag, payer, amount: *amount }
}

pub(super) async fn hold(
    app: &App,
    charge: &Charge,
    tag: &str,
    attempt: &Attempt,
) -> Result<Authorisation> {
    match &charge.account {
        Some(payer) => transfers::hold(app, payment(charge, payer, tag), attempt).await,
        None => Ok(Authorisation::Declined("name the account that pays".into())),
    }
}

pub(super) async fn release(app: &App, charge: &Charge) -> Result<()> {
    match &charge.account {
        Some(payer) => transfers::release(app, payer, &charge.id).await,
        None => Ok(()),
    }
}

pub(super) async fn record(
    app: &App,
    charge: &Charge,
    tag: &str,
    by: Option<&str>,
    attempt: &Attempt,
) -> Result<Option<TransferDocument>> {
    let payer = charge.account.as_deref();
    let payer = payer.ok_or_else(|| Error::internal("a payment without an account"))?;
    let by = by.map(str::to_owned);
    transfers::insert_payment(app, &payment(charge, payer, tag), by, attempt).await
}

pub(super) async fn refund(app: &App, id: &str, refund_id: &str, amount: Money) -> Result<Refund> {
    let has_arrived = transfers::refund(app, id, refund_id, amount).await?;
    Ok(if has_arrived { Refund::Made } else { Refund::Due })
}
