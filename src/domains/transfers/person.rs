//! The personal data in the collections of this room. An erasure also closes the person's empty accounts.

use super::{
    operations::close_account,
    types::{CloseAccountInput, CloseAccountResult},
};
use crate::{
    domains::persons::{self, Erasing},
    graphql::prelude::*,
    mongo::personal::{Blank, Field, Find, Owned, Personal},
};

/// See [`Room::personal`](crate::domains::Room::personal).
pub(super) const PERSONAL: &[Personal] = &[
    Personal::of(
        "accounts",
        Find::Index("owner", "owner_opened"),
        &[Field::blanks("owner", &[("name", Blank::Nothing)])],
    )
    // One that is empty is closed first. It waits as long as transfers from it or to it aren't settled. The balance isn't among
    // the fields: that of a busy account would be another one by the time of the update, in each run.
    .unless(&["state"], |account, _| {
        let has = |field: &str, value: &str| account.get_str(field).is_ok_and(|own| own == value);
        let is_empty = account.get_i64("balance").is_ok_and(|balance| balance == 0);
        has("state", "OPEN") && has("kind", "PERSONAL") && is_empty
    }),
    Personal::of("transfers", Find::Walk, &[Field::blanks("by", &[("purpose", Blank::Nothing)])])
        .and_owned(Owned {
            collection: "accounts",
            owner: "owner",
            field: "accounts",
            // Who requested it is another person, and what it paid is theirs.
            without: &["by", "holder", "input", "worker"],
        }),
];

/// Closes the person's empty accounts. The others stay open under the pseudonym: their money belongs to somebody.
pub(super) async fn erase(app: &App, erasing: &mut Erasing) -> Result<()> {
    let requester = erasing.requester.clone();
    for id in persons::ids(app, "accounts", "owner", &erasing.subject).await? {
        let cx = Cx { app, requester: &requester };
        let input = CloseAccountInput { account_id: NodeKind::ACCOUNT.id(&id) };
        match close_account(cx, input).await {
            Ok(_) => erasing.ends("accounts"),
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Refused(CloseAccountResult::AccountNotEmpty(refusal)))
                if refusal.balance.minor_units == 0 =>
            {
                erasing.waits.push(format!("account {id} is empty, but has unfinished transfers"));
            }
            Err(Stop::Refused(_)) => {
                let remark = format!("account {id} isn't empty: it stays open under the pseudonym");
                erasing.remarks.push(remark);
            }
        }
    }
    Ok(())
}
