//! The business rules of accounts and transfers, and their reads for clients.

mod accounts;
mod drive;
mod holds;
mod payments;
mod transfers;

use async_graphql::OutputType;
use mongodb::bson::Bson;

pub use self::{accounts::*, drive::finish, holds::*, payments::*, transfers::*};
pub use super::store::Payment;
use super::{
    documents::{AccountDocument, TransferDocument, TransferState},
    store,
    types::{Account, StatementEntry, Transfer, TransferBy},
};
use crate::{
    graphql::{declared, page::page_of, prelude::*},
    mongo::expression::stored,
};

/// An account, for its owner and for services.
pub async fn account(cx: Cx<'_>, id: &str) -> Result<Option<AccountDocument>> {
    let Ok(id) = input::id(NodeKind::ACCOUNT, id) else { return Ok(None) };
    let found = store::accounts(&cx).get_settled(&id).await?;
    Ok(found.filter(|account| may_see(cx, account.owner.as_deref())))
}

/// The accounts of the caller, oldest first.
pub async fn my_accounts(cx: Cx<'_>, paging: Paging) -> Result<Connection<Account>> {
    let subject = cx.requester.subject()?;
    let (list, keys) = (format!("myAccounts:{subject}"), vec![("openedAt", 1), ("_id", 1)]);
    let values = |account: &AccountDocument| vec![account.opened_at.into(), (&account.id).into()];
    page_of(&cx, Order { list, keys }, paging, ("owner", subject.into()), values, Account::from)
        .await
}

/// A transfer, for its requester and for services.
pub async fn transfer_status(cx: Cx<'_>, by: TransferBy) -> Result<Option<TransferDocument>> {
    let found = match by {
        TransferBy::Id(id) => match input::id(NodeKind::TRANSFER, &id) {
            Ok(id) => store::transfers(&cx).get_settled(&id).await?,
            Err(_) => None,
        },
        TransferBy::IdempotencyKey(mut idempotency_key) => {
            declared::idempotency_key()("idempotencyKey", &mut idempotency_key)?;
            let scope = [cx.requester.subject()?, SCOPE];
            latest_try(&cx, &cx.ids().op(&scope, Some(idempotency_key.as_str()), &()).id).await?
        }
    };
    Ok(found.filter(|transfer| may_see(cx, transfer.by.as_deref())))
}

/// The transfers in one state, newest first.
pub async fn transfers(
    cx: Cx<'_>,
    state: TransferState,
    paging: Paging,
) -> Result<Connection<Transfer>> {
    let list = format!("transfers:{state:?}");
    newest_first(cx, list, paging, ("state", stored(&state)), Transfer::from).await
}

/// The transfers of an account, newest first. The caller may see the account.
pub(super) async fn statement(
    cx: Cx<'_>,
    account: &str,
    paging: Paging,
) -> Result<Connection<StatementEntry>> {
    let entry = |transfer| StatementEntry { account: account.to_owned(), transfer };
    newest_first(cx, format!("statement:{account}"), paging, ("accounts", account.into()), entry)
        .await
}

/// The transfers that have this value in a field.
async fn newest_first<N: OutputType>(
    cx: Cx<'_>,
    list: String,
    paging: Paging,
    of: (&str, Bson),
    node: impl Fn(TransferDocument) -> N,
) -> Result<Connection<N>> {
    let order = Order { list, keys: vec![("at", -1), ("_id", -1)] };
    let values = |transfer: &TransferDocument| vec![transfer.at.into(), (&transfer.id).into()];
    page_of(&cx, order, paging, of, values, node).await
}

fn may_see(cx: Cx<'_>, owner: Option<&str>) -> bool {
    cx.requester.has(Role::Service) || owner.is_some_and(|owner| cx.requester.is(owner))
}
