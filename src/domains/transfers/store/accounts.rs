//! MongoDB access of the collection `accounts`.

use mongodb::bson::{Document, doc};

use super::super::documents::{
    AccountDocument, AccountKind, AccountState, LARGEST, MOST_PENDING, TransferDocument,
    TransferKind, least_balance, stored,
};
use crate::{app::App, error::Error, flow::Attempt, graphql::page::Page, mongo::Outcome};

pub(in super::super) async fn find_account(
    app: &App,
    id: &str,
) -> Result<Option<AccountDocument>, Error> {
    app.collection::<AccountDocument>().get_settled(id).await
}

/// Begins an attempt with the account as its first read.
pub(in super::super) async fn open_account(
    app: &App,
    id: &str,
) -> Result<(Attempt, Option<AccountDocument>), Error> {
    app.collection::<AccountDocument>().open(app.bounds(), id).await
}

pub(in super::super) async fn list_accounts(
    app: &App,
    owner: &str,
    page: &Page,
) -> Result<Vec<AccountDocument>, Error> {
    app.collection::<AccountDocument>().list(page.list(doc! { "owner": owner })).await
}

pub(in super::super) async fn insert_account(app: &App, account: AccountDocument) -> Outcome<()> {
    app.collection().insert(account).await
}

/// Closes the owner's account, guarded by a balance of zero and no unfinished transfer.
pub(in super::super) async fn close_account(
    app: &App,
    id: &str,
    owner: &str,
) -> Outcome<AccountDocument> {
    let guard = doc! {
        "_id": id,
        "owner": owner,
        "kind": stored(AccountKind::Personal),
        "state": stored(AccountState::Open),
        "balance": 0_i64,
        "pending": [],
    };
    let update = doc! { "$set": { "state": stored(AccountState::Closed) } };
    app.collection::<AccountDocument>().guarded(guard, update).apply().await
}

/// The reserve: subtracts the amount from the source, once per transfer. A withdrawal is also possible from a
/// closed account, which a refund may have reached later.
pub(in super::super) async fn debit(
    app: &App,
    transfer: &TransferDocument,
    attempt: &Attempt,
) -> Outcome<()> {
    let TransferDocument { id, source, amount, .. } = transfer;
    let mut guard = unmarked(source, id);
    guard.insert("balance", doc! { "$gte": least_balance(source, *amount) });
    guard.insert(format!("pending.{}", MOST_PENDING - 1), doc! { "$exists": false });
    if transfer.kind != TransferKind::Withdrawal {
        guard.insert("state", stored(AccountState::Open));
    }
    let update = moved(id, -amount);
    app.collection::<AccountDocument>().guarded(guard, update).within(attempt).done().await
}

/// The apply: adds the amount to the destination, once per transfer. A refund always arrives.
pub(in super::super) async fn credit(
    app: &App,
    transfer: &TransferDocument,
    attempt: &Attempt,
) -> Outcome<()> {
    let TransferDocument { id, destination, amount, .. } = transfer;
    let mut guard = unmarked(destination, id);
    if transfer.kind != TransferKind::Refund {
        guard.insert("state", stored(AccountState::Open));
        let after = doc! { "$add": ["$balance", *amount] };
        guard.insert("$expr", doc! { "$lte": [after, { "$ifNull": ["$cap", LARGEST] }] });
    }
    let update = moved(id, *amount);
    app.collection::<AccountDocument>().guarded(guard, update).within(attempt).done().await
}

/// Undoes the debit: mark and money change in the same update. It needs no deadline, because it is sent only
/// after the transfer was CANCELLING or RETURNING. Nothing else may be done with the debit then.
pub(in super::super) async fn undo(app: &App, transfer: &TransferDocument) -> Outcome<()> {
    let TransferDocument { id, source, amount, .. } = transfer;
    let update = doc! { "$inc": { "balance": amount }, "$pull": { "pending": { "id": id } } };
    app.collection::<AccountDocument>().guarded(marked(source, id), update).done().await
}

/// Removes the mark of a credited transfer.
pub(in super::super) async fn retire(app: &App, account: &str, transfer: &str) -> Outcome<()> {
    let update = doc! { "$pull": { "pending": { "id": transfer } } };
    app.collection::<AccountDocument>().guarded(marked(account, transfer), update).done().await
}

/// Calls `each` for every account.
pub(in super::super) async fn each_account(
    app: &App,
    each: impl FnMut(AccountDocument) -> Result<(), Error>,
) -> Result<(), Error> {
    app.collection::<AccountDocument>().for_each(each).await
}

/// Guard: the transfer has no mark on this account.
fn unmarked(account: &str, transfer: &str) -> Document {
    doc! { "_id": account, "pending.id": { "$ne": transfer } }
}

/// Guard: the transfer has a mark on this account.
fn marked(account: &str, transfer: &str) -> Document {
    doc! { "_id": account, "pending.id": transfer }
}

/// The update that changes the balance and adds the mark.
fn moved(transfer: &str, amount: i64) -> Document {
    doc! {
        "$inc": { "balance": amount },
        "$push": { "pending": { "id": transfer, "amount": amount } },
    }
}
