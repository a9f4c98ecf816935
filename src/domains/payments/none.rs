//! The payment provider `none`: it decides without calling a service.

use super::{Authorisation, Charge, Provider, Refund};
use crate::{app::App, error::Error, graphql::scalars::Money};

/// It keeps no records, so capture, void and refund have nothing to do.
pub(super) struct NoProvider {
    /// Whether it authorises amounts above zero. Only benchmarks do.
    pub(super) approves: bool,
}

impl Provider for NoProvider {
    async fn authorise(&self, _app: &App, charge: &Charge) -> Result<Authorisation, Error> {
        if self.approves || charge.amount.minor_units == 0 {
            return Ok(Authorisation::Authorised);
        }
        Ok(Authorisation::Declined("this shop takes no payments".into()))
    }

    async fn capture(&self, _app: &App, _id: &str) -> Result<(), Error> {
        Ok(())
    }

    async fn void(&self, _app: &App, _id: &str) -> Result<(), Error> {
        Ok(())
    }

    async fn refund(
        &self,
        _app: &App,
        _id: &str,
        _refund_id: &str,
        _amount: Money,
    ) -> Result<Refund, Error> {
        Ok(Refund::Made)
    }
}
