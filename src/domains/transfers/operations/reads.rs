//! Reads of accounts and transfers for clients.

use async_graphql::connection::Connection;
use mongodb::bson::Bson;

use super::{
    super::{
        documents::{AccountDocument, TransferDocument, TransferState},
        store,
        types::{Account, StatementEntry, Transfer, TransferBy},
    },
    transfers::{SCOPE, latest_try},
};
use crate::{
    error::Error,
    graphql::{
        cx::Cx,
        input,
        node_id::NodeKind,
        page::{Order, Page, Paging},
        requester::Role,
    },
};

/// An account, for its owner and for services.
pub async fn account(cx: Cx<'_>, id: &str) -> Result<Option<AccountDocument>, Error> {
    let Ok(id) = input::id(NodeKind::Account, id) else { return Ok(None) };
    let found = store::find_account(&cx, &id).await?;
    Ok(found.filter(|account| may_see(cx, account.owner.as_deref())))
}

/// The accounts of the caller, oldest first.
pub async fn my_accounts(cx: Cx<'_>, paging: Paging) -> Result<Connection<String, Account>, Error> {
    let subject = cx.requester.subject()?;
    let order =
        Order { list: format!("myAccounts:{subject}"), keys: vec![("openedAt", 1), ("_id", 1)] };
    let page = Page::new(&cx, order, paging)?;
    let accounts = store::list_accounts(&cx, subject, &page).await?;
    let values = |account: &AccountDocument| {
        vec![Bson::DateTime(account.opened_at), Bson::String(account.id.clone())]
    };
    Ok(page.connection(accounts, values, Account))
}

/// A transfer, for its requester and for services.
pub async fn transfer_status(
    cx: Cx<'_>,
    by: &TransferBy,
) -> Result<Option<TransferDocument>, Error> {
    let found = match by {
        TransferBy::Id(id) => match input::id(NodeKind::Transfer, id) {
            Ok(id) => store::find_transfer(&cx, &id).await?,
            Err(_) => None,
        },
        TransferBy::IdempotencyKey(idempotency_key) => {
            let scope = [cx.requester.subject()?, SCOPE];
            let op = input::op(&cx, &scope, Some(idempotency_key), &())?;
            latest_try(&cx, &op.id).await?
        }
    };
    Ok(found.filter(|transfer| may_see(cx, transfer.by.as_deref())))
}

/// The transfers in one state, newest first.
pub async fn transfers(
    cx: Cx<'_>,
    state: TransferState,
    paging: Paging,
) -> Result<Connection<String, Transfer>, Error> {
    let page = newest_first(cx, format!("transfers:{state:?}"), paging)?;
    let transfers = store::list_in_state(&cx, state, &page).await?;
    Ok(page.connection(transfers, place, Transfer))
}

/// The transfers of an account, newest first; for its owner and for services.
pub async fn statement(
    cx: Cx<'_>,
    id: &str,
    paging: Paging,
) -> Result<Option<Connection<String, StatementEntry>>, Error> {
    let Ok(id) = &input::id(NodeKind::Account, id) else { return Ok(None) };
    let page = newest_first(cx, format!("statement:{id}"), paging)?;
    let (account, transfers) =
        tokio::try_join!(store::find_account(&cx, id), store::list_statement(&cx, id, &page))?;
    let mine = account.filter(|account| may_see(cx, account.owner.as_deref()));
    let entry = |transfer| StatementEntry { account: id.clone(), transfer };
    Ok(mine.map(|_mine| page.connection(transfers, place, entry)))
}

fn newest_first(cx: Cx<'_>, list: String, paging: Paging) -> Result<Page, Error> {
    Page::new(&cx, Order { list, keys: vec![("at", -1), ("_id", -1)] }, paging)
}

fn place(transfer: &TransferDocument) -> Vec<Bson> {
    vec![Bson::DateTime(transfer.at), Bson::String(transfer.id.clone())]
}

fn may_see(cx: Cx<'_>, owner: Option<&str>) -> bool {
    cx.requester.has(Role::Service) || owner.is_some_and(|owner| cx.requester.is(owner))
}
