//! Compares the payments of a room with the provider's records, for `docgate check`.

use std::collections::HashMap;

use super::operations;
use crate::{app::App, error::Result, invariants::Report};

/// The payments of a room, by id.
#[derive(Debug, Default)]
pub struct Books(HashMap<String, Entry>);

/// Comparison of one payment.
#[derive(Debug, Default)]
struct Entry {
    /// Paid less refunded according to the room, minus the same according to the provider.
    difference: i64,
    /// Refunds still due. The provider may have paid them already.
    due: i64,
}

impl Books {
    /// Notes a payment: `kept` is what was paid less what was refunded, `due` what is still to be refunded. All amounts are in
    /// minor units.
    pub fn note(&mut self, payment: &str, kept: i64, due: i64) {
        self.0.insert(payment.to_owned(), Entry { difference: kept, due });
    }

    /// Adds a rule to the report: these payments equal those records of the provider of which `is_own` holds.
    ///
    /// # Errors
    /// `Unavailable` or `Internal`.
    pub async fn check(
        mut self,
        app: &App,
        is_own: fn(&str) -> bool,
        rule: &str,
        report: &mut Report,
    ) -> Result<()> {
        let has_records = operations::for_each(app, |payment, amount| {
            if is_own(payment) {
                self.0.entry(payment.to_owned()).or_default().difference -= amount;
            }
        })
        .await?;
        if has_records {
            let broken = self.0.iter().filter(|(_, own)| !(-own.due..=0).contains(&own.difference));
            let broken = broken.map(|(payment, Entry { difference, due })| {
                format!("payment {payment}: differs by {difference}, {due} are due")
            });
            report.add(rule, broken);
        }
        Ok(())
    }
}
