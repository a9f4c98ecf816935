//! The payment provider `ledger`: docgate's own accounts.

use super::{Authorisation, Charge, Hindrance, Provider, Refund};
use crate::{
    app::App,
    domains::transfers::operations::{self as transfers, PayerAccount, Verdict},
    error::Error,
    graphql::scalars::Money,
};

/// Payments as transfers to the merchant. An authorisation is a transfer that waits for the checkout's
/// commit.
pub(super) struct Ledger;

impl Provider for Ledger {
    async fn authorise(&self, app: &App, charge: &Charge) -> Result<Authorisation, Error> {
        let Some(payer) = &charge.account else {
            return Ok(Authorisation::Declined("name the account that pays".into()));
        };
        let Charge { id, holder, amount, .. } = charge;
        Ok(match transfers::authorise(app, id, holder, payer, *amount).await? {
            Verdict::Authorised => Authorisation::Authorised,
            Verdict::Declined(reason) => Authorisation::Declined(reason.into()),
        })
    }

    async fn capture(&self, app: &App, id: &str) -> Result<(), Error> {
        transfers::capture(app, id).await
    }

    async fn void(&self, app: &App, id: &str) -> Result<(), Error> {
        transfers::void(app, id).await
    }

    async fn refund(
        &self,
        app: &App,
        id: &str,
        refund_id: &str,
        amount: Money,
    ) -> Result<Refund, Error> {
        let arrived = transfers::refund(app, id, refund_id, amount).await?;
        Ok(if arrived { Refund::Made } else { Refund::Due })
    }
}

/// Why the account can't pay, if it can't.
pub(super) async fn hindrance(
    app: &App,
    subject: Option<&str>,
    charge: &Charge,
) -> Result<Option<Hindrance>, Error> {
    let Some(id) = &charge.account else {
        return Ok(Some(Hindrance::because("name the account that pays")));
    };
    let Some(subject) = subject else {
        return Ok(Some(Hindrance::because("sign in to pay from one of your accounts")));
    };
    let account = transfers::payer_account(app, subject, id, charge.amount.currency).await?;
    Ok(match account {
        PayerAccount::Usable => None,
        PayerAccount::NotFound => Some(Hindrance::Missing(id.clone())),
        PayerAccount::Closed => Some(Hindrance::because("is closed")),
        PayerAccount::OtherCurrency(own) => {
            let needed = charge.amount.currency.code();
            Some(Hindrance::Because(format!("is in {}, and {needed} is to be paid", own.code())))
        }
    })
}
