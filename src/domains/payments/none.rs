//! No provider at all: who decides asks nobody.

use super::{Authorisation, Charge, Provider, Refund};
use crate::{app::App, error::Error, graphql::scalars::Money};

/// Remembers nothing, so that there is nothing to capture, void or refund.
pub(super) struct NoProvider {
    /// What it says to whatever costs something: no, but in measurements.
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
