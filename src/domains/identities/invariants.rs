//! Invariants of identities, for `docgate check`.

use super::{documents::IdentityDocument, normal};
use crate::{app::App, error::Result, invariants::Report};

/// Checks that each name is stored under its own key and in its normal form, and that no change is
/// unfinished.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let (mut odd, mut pending, mut moved) = (Vec::new(), Vec::new(), Vec::new());
    report.rule("identities: each name is stored under its own key");
    let each = |identity: IdentityDocument| {
        let key = &identity.key;
        if *key != identity.name.key() {
            report.broken(format!("{key:?} is {:?}", identity.name));
        }
        if !normal::is_normal(&identity.name) {
            odd.push(format!("{key:?} isn't"));
        }
        let is_released = identity.released_at.is_some();
        if is_released && identity.pending.is_some() || identity.moved_to.is_some() && !is_released
        {
            report.broken(format!("{key:?} is held and let go at once"));
        }
        if let Some(mark) = &identity.pending {
            pending.push(format!("{key:?} waits to come instead of {:?}", mark.instead_of));
        }
        if let Some(to) = &identity.moved_to {
            moved.push(format!("{key:?} went to {to:?}"));
        }
    };
    app.collection().for_each(each).await?;
    for (rule, broken) in [
        ("identities: each name is written in its normal form", odd),
        ("identities: no name waits for a change that is over", pending),
        ("identities: every change that was decided is finished", moved),
    ] {
        report.add(rule, broken);
    }
    Ok(())
}
