//! docgate's own accounts as provider.

use super::{Authorisation, Charge, Provider};
use crate::{
    app::App,
    domains::transfers::operations::{self as transfers, Verdict},
    error::Error,
    graphql::scalars::Money,
};

/// An authorisation is a transfer to the merchant that waits for its checkout's decision.
pub(super) struct Ledger;

impl Provider for Ledger {
    async fn authorise(&self, app: &App, charge: &Charge) -> Result<Authorisation, Error> {
        let Some(payer) = &charge.account else {
            return Ok(Authorisation::Declined("name the account that pays".into()));
        };
        Ok(match transfers::authorise(app, &charge.id, payer, charge.amount).await? {
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
    ) -> Result<(), Error> {
        transfers::refund(app, id, refund_id, amount).await
    }
}
