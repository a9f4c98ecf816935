//! Invariants of identities, for `docgate check`.

use std::collections::HashMap;

use super::{documents::IdentityDocument, normal};
use crate::{app::App, error::Error, invariants::Report};

/// Checks that each name is stored under its own key and in its normal form, and that no change is
/// unfinished.
pub async fn check(app: &App, report: &mut Report) -> Result<(), Error> {
    let mut odd = Vec::new();
    let mut waiting = HashMap::new();
    let mut moved = Vec::new();
    report.rule("identities: each name is stored under its own key");
    let each = |identity: IdentityDocument| {
        if identity.key != identity.name.key() {
            report.broken(format!("{:?} is {:?}", identity.key, identity.name));
        }
        if !normal::is_normal(&identity.name) {
            odd.push(identity.key.clone());
        }
        let both = identity.released_at.is_some() && identity.pending.is_some();
        if both || (identity.moved_to.is_some() && identity.released_at.is_none()) {
            report.broken(format!("{:?} is held and let go at once", identity.key));
        }
        if let Some(pending) = identity.pending {
            waiting.insert(identity.key.clone(), pending.instead_of);
        }
        if let Some(to) = identity.moved_to {
            moved.push((identity.key, to));
        }
        Ok(())
    };
    app.collection().for_each(each).await?;

    report.rule("identities: each name is written in its normal form");
    for key in odd {
        report.broken(format!("{key:?} isn't"));
    }
    report.rule("identities: no name waits for a change that is over");
    for (key, instead_of) in waiting {
        report.broken(format!("{key:?} waits to come instead of {instead_of:?}"));
    }
    report.rule("identities: every change that was decided is finished");
    for (from, to) in moved {
        report.broken(format!("{from:?} went to {to:?}"));
    }
    Ok(())
}
