//! Reads of accounts and transfers for clients.

use async_graphql::connection::Connection;
use mongodb::bson::Bson;

use super::{
    super::{
        documents::{AccountDocument, TransferDocument, TransferState},
        store,
        types::{Account, StatementEntry, Transfer, TransferBy},
    },
    transfers::latest_attempt,
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        page::{Order, Page},
        requester::{Requester, Role},
    },
};

/// An account, for its owner and for services.
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn account(
    app: &App,
    requester: &Requester,
    id: &str,
) -> Result<Option<AccountDocument>, Error> {
    let Ok(id) = input::id(NodeKind::Account, id) else { return Ok(None) };
    let found = store::find_account(app, &id).await?;
    Ok(found.filter(|account| may_see(requester, account.owner.as_deref())))
}

/// The accounts of `subject`, oldest first.
///
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn my_accounts(
    app: &App,
    subject: &str,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Connection<String, Account>, Error> {
    let order =
        Order { list: format!("myAccounts:{subject}"), keys: vec![("openedAt", 1), ("_id", 1)] };
    let page = Page::new(app, order, first, after)?;
    let accounts = store::list_accounts(app, subject, &page).await?;
    let values = |account: &AccountDocument| {
        vec![Bson::DateTime(account.opened_at), Bson::String(account.id.clone())]
    };
    Ok(page.connection(accounts, values, Account))
}

/// A transfer, for its requester and for services.
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn transfer_status(
    app: &App,
    requester: &Requester,
    by: &TransferBy,
) -> Result<Option<TransferDocument>, Error> {
    let found = match by {
        TransferBy::Id(id) => match input::id(NodeKind::Transfer, id) {
            Ok(id) => store::find_transfer(app, &id).await?,
            Err(_) => None,
        },
        TransferBy::IdempotencyKey(idempotency_key) => {
            let scope = [requester.subject()?, "transfer"];
            let op = input::op(app, &scope, Some(idempotency_key), &())?;
            latest_attempt(app, &op.id).await?
        }
    };
    Ok(found.filter(|transfer| may_see(requester, transfer.by.as_deref())))
}

/// The transfers in one state, newest first.
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn transfers(
    app: &App,
    state: TransferState,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Connection<String, Transfer>, Error> {
    let page = newest_first(app, format!("transfers:{state:?}"), first, after)?;
    let transfers = store::list_in_state(app, state, &page).await?;
    Ok(page.connection(transfers, place, Transfer))
}

/// The transfers of an account, newest first; for its owner and for services.
///
/// # Errors
/// `BadInput`, `Unavailable` or `Internal`.
pub async fn statement(
    app: &App,
    requester: &Requester,
    id: &str,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Option<Connection<String, StatementEntry>>, Error> {
    let Ok(id) = &input::id(NodeKind::Account, id) else { return Ok(None) };
    let page = newest_first(app, format!("statement:{id}"), first, after)?;
    let (account, transfers) =
        tokio::try_join!(store::find_account(app, id), store::list_statement(app, id, &page))?;
    let mine = account.filter(|account| may_see(requester, account.owner.as_deref()));
    let entry = |transfer| StatementEntry { account: id.clone(), transfer };
    Ok(mine.map(|_mine| page.connection(transfers, place, entry)))
}

fn newest_first(
    app: &App,
    list: String,
    first: Option<i32>,
    after: Option<&str>,
) -> Result<Page, Error> {
    Page::new(app, Order { list, keys: vec![("at", -1), ("_id", -1)] }, first, after)
}

fn place(transfer: &TransferDocument) -> Vec<Bson> {
    vec![Bson::DateTime(transfer.at), Bson::String(transfer.id.clone())]
}

fn may_see(requester: &Requester, owner: Option<&str>) -> bool {
    requester.has(Role::Service) || owner.is_some_and(|owner| requester.is(owner))
}
