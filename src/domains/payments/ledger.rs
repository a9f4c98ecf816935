//! The payment provider `ledger`: docgate's own accounts. A payment is a transfer to the merchant, and its
//! authorisation is a transfer that waits for the checkout's commit.

use super::{Authorisation, Charge, Refund};
use crate::{
    app::App,
    domains::transfers::operations::{self as transfers, PayerAccount},
    error::Error,
    graphql::{
        cx::Cx,
        node_id::NodeKind,
        refusals::{InvalidInput, NotFound, Stop},
        scalars::Money,
    },
};

pub(super) use transfers::{capture, void};

pub(super) async fn check<U>(cx: Cx<'_>, charge: &Charge) -> Result<(), Stop<U>>
where
    U: From<InvalidInput> + From<NotFound>,
{
    let invalid = |reason: &str| Err(InvalidInput::new("payment.accountId", reason).into());
    let Some(id) = &charge.account else { return invalid("name the account that pays") };
    let Some(subject) = cx.requester.subject.as_deref() else {
        return invalid("sign in to pay from one of your accounts");
    };
    let needed = charge.amount.currency;
    match transfers::payer_account(&cx, subject, id, needed).await? {
        PayerAccount::Usable => Ok(()),
        PayerAccount::NotFound => Err(NotFound::of(NodeKind::ACCOUNT, id).into()),
        PayerAccount::Closed => invalid("is closed"),
        PayerAccount::OtherCurrency(own) => {
            invalid(&format!("is in {}, and {} is to be paid", own.code(), needed.code()))
        }
    }
}

pub(super) async fn authorise(app: &App, charge: &Charge) -> Result<Authorisation, Error> {
    let Charge { id, holder, amount, account, .. } = charge;
    match account {
        Some(payer) => transfers::authorise(app, id, holder, payer, *amount).await,
        None => Ok(Authorisation::Declined("name the account that pays".into())),
    }
}

pub(super) async fn refund(
    app: &App,
    id: &str,
    refund_id: &str,
    amount: Money,
) -> Result<Refund, Error> {
    let has_arrived = transfers::refund(app, id, refund_id, amount).await?;
    Ok(if has_arrived { Refund::Made } else { Refund::Due })
}
