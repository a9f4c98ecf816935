//! Invariants of accounts and transfers, for `docgate check`.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    mem,
};

use super::{
    documents::{AccountDocument, AccountKind, Pending, TransferDocument, TransferState},
    store,
};
use crate::{app::App, error::Result, invariants::Report};

/// The unfinished transfers, and the balances of the accounts.
#[derive(Default)]
struct Books {
    live: HashMap<String, TransferDocument>,
    /// Accounts that take part in an unfinished transfer.
    busy: HashSet<String>,
    /// Unfinished transfers whose mark is on the source, or on the destination.
    debited: HashSet<String>,
    credited: HashSet<String>,
    /// Per currency: balances, plus what is debited and not credited.
    totals: BTreeMap<&'static str, i128>,
    /// Per account: sum of its finished transfers.
    booked: HashMap<String, i128>,
    /// Accounts whose balance differs from that sum.
    otherwise: Vec<String>,
    below_zero: Vec<String>,
    stray_marks: Vec<String>,
    /// Holds without an unfinished transfer, with their account.
    held: Vec<(String, Pending)>,
}

impl Books {
    fn note(&mut self, transfer: TransferDocument) {
        if transfer.state == TransferState::Done {
            let amount = i128::from(transfer.amount);
            *self.booked.entry(transfer.source).or_default() -= amount;
            *self.booked.entry(transfer.destination).or_default() += amount;
        } else if !transfer.state.is_final() {
            self.busy.extend([transfer.source.clone(), transfer.destination.clone()]);
            self.live.insert(transfer.id.clone(), transfer);
        }
    }

    fn enter(&mut self, account: AccountDocument) {
        let total = self.totals.entry(account.currency.code()).or_default();
        *total += i128::from(account.balance);
        let booked = self.booked.remove(&account.id).unwrap_or_default();
        let has_holds = account.pending.iter().any(|mark| mark.tag.is_some());
        let is_busy = has_holds || self.busy.contains(&account.id);
        if booked != i128::from(account.balance) && !is_busy {
            let (id, balance) = (&account.id, account.balance);
            self.otherwise.push(format!("account {id:?}: {balance}, of transfers {booked}"));
        }
        if account.balance < 0 && account.kind != AccountKind::World {
            self.below_zero.push(format!("account {:?}: {}", account.id, account.balance));
        }
        for mark in account.pending {
            match self.live.get(&mark.id) {
                None if mark.tag.is_some() && mark.amount < 0 => {
                    // What it holds is debited and not credited, unless its transfer is over.
                    *self.totals.entry(account.currency.code()).or_default() -=
                        i128::from(mark.amount);
                    self.held.push((account.id.clone(), mark));
                }
                Some(live) if live.source == account.id && mark.amount == -live.amount => {
                    self.debited.insert(mark.id);
                }
                Some(live) if live.destination == account.id && mark.amount == live.amount => {
                    self.credited.insert(mark.id);
                }
                _ => self.stray_marks.push(format!("account {:?}: {:?}", account.id, mark.id)),
            }
        }
    }

    fn add_what_is_on_its_way(&mut self) {
        for (id, transfer) in &self.live {
            let arrived = transfer.state == TransferState::Credited || self.credited.contains(id);
            if self.debited.contains(id) && !arrived {
                *self.totals.entry(transfer.currency.code()).or_default() +=
                    i128::from(transfer.amount);
            }
        }
    }

    /// Transfers that are committed or authorised although the source wasn't debited.
    fn undebited(&self) -> Vec<String> {
        use TransferState::{Authorised, Committed, Returning};
        let undebited = self.live.values().filter(|TransferDocument { id, state, .. }| {
            matches!(state, Authorised | Committed | Returning) && !self.debited.contains(id)
        });
        undebited.map(|found| format!("transfer {:?} ({:?})", found.id, found.state)).collect()
    }
}

/// Checks that no money is made or lost, that nothing is below zero, and that every mark belongs to a
/// transfer.
pub async fn check(app: &App, report: &mut Report) -> Result<()> {
    let mut books = Books::default();
    store::for_each(app, |transfer| books.note(transfer)).await?;
    store::for_each(app, |account| books.enter(account)).await?;
    books.add_what_is_on_its_way();
    for (account, mark) in mem::take(&mut books.held) {
        // A transfer that began after the transfers were read isn't over.
        let transfer = store::transfers(app).get_settled(&mark.id).await?;
        if transfer.is_some_and(|transfer| transfer.state.is_final()) {
            books.stray_marks.push(format!("account {account:?}: {:?}", mark.id));
        }
    }
    let late = store::accounts(app).list_late().await?.into_iter().map(|late| late.to_string());
    report.add("accounts: the sweep finds each hold in time (`holdsAt`)", late);

    let undebited = books.undebited();
    let totals = books.totals.into_iter().filter(|(_, total)| *total != 0);
    let totals = totals.map(|(currency, total)| format!("{currency}: {total}")).collect();
    let rules: [(&str, Vec<String>); 5] = [
        ("accounts: all balances of a currency and what is on its way add up to nothing", totals),
        ("accounts: each balance is what its transfers brought and took", books.otherwise),
        ("accounts: no balance but the world's is below zero", books.below_zero),
        ("accounts: every mark belongs to a transfer that is under way", books.stray_marks),
        ("transfers: what is authorised or committed was taken from its source", undebited),
    ];
    for (rule, broken) in rules {
        report.add(rule, broken);
    }
    Ok(())
}
