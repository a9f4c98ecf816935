//! Opening and closing of accounts, and the check of a payer's account.

use super::super::{
    documents::{AccountDocument, AccountKind, AccountState, LARGEST},
    store,
    types::{AccountNotEmpty, CloseAccountResult, OpenAccountResult},
};
use crate::{
    app::App,
    error::Error,
    graphql::{
        input,
        node_id::NodeKind,
        refusals::{Conflict, InUse, NotFound, Stop},
        scalars::CurrencyCode,
    },
    mongo::Version,
};

/// Whether an account can pay for a checkout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PayerAccount {
    /// It can, if it holds enough.
    Usable,
    /// There is no such account, or it isn't the subject's.
    NotFound,
    /// The account is closed.
    Closed,
    /// The account has this other currency.
    OtherCurrency(CurrencyCode),
}

/// Opens an account for `subject`. Once per idempotency key.
pub async fn open(
    app: &App,
    subject: &str,
    currency: CurrencyCode,
    largest_balance: Option<i64>,
    idempotency_key: Option<&async_graphql::ID>,
) -> Result<AccountDocument, Stop<OpenAccountResult>> {
    let cap = largest_balance
        .map(|largest| input::within("largestBalance", largest, 1..=LARGEST))
        .transpose()?;
    let op = input::op(app, &[subject, "openAccount"], idempotency_key, &(currency, cap))?;
    let attempt = app.begin().await?;
    let account = AccountDocument {
        id: op.id.clone(),
        owner: Some(subject.to_owned()),
        kind: AccountKind::Personal,
        currency,
        state: AccountState::Open,
        balance: 0,
        cap,
        pending: Vec::new(),
        opened_at: attempt.now(),
        input: Some(op.input.clone()),
        v: Version,
    };
    if store::insert_account(app, account.clone()).await.decided()?.is_some() {
        return Ok(account);
    }
    match store::find_account(app, &op.id).await? {
        Some(opened) if opened.input.as_ref() == Some(&op.input) => Ok(opened),
        Some(_) => Err(Conflict::other_input().into()),
        None => Err(Error::internal("an account that was there is gone").into()),
    }
}

/// Closes an account of `subject` for good. Closing a closed account changes nothing.
pub async fn close(
    app: &App,
    subject: &str,
    id: &str,
) -> Result<AccountDocument, Stop<CloseAccountResult>> {
    let id = &input::id(NodeKind::Account, id)?;
    if let Some(closed) = store::close_account(app, id, subject).await.decided()? {
        return Ok(closed);
    }
    let found = store::find_account(app, id).await?.filter(|account| account.is_of(subject));
    match found.ok_or_else(|| NotFound::of(NodeKind::Account, id))? {
        account if account.state == AccountState::Closed => Ok(account),
        account if account.kind == AccountKind::Receiving => {
            Err(InUse::because("payments arrive on this account").into())
        }
        account if account.balance == 0 && account.pending.is_empty() => {
            Err(Error::unavailable("it became empty at this moment").into())
        }
        account => Err(AccountNotEmpty::new(&account).into()),
    }
}

/// Whether `subject` can pay in `currency` from that account. Only permanent reasons are reported. The
/// balance is checked by the authorisation.
pub async fn payer_account(
    app: &App,
    subject: &str,
    id: &str,
    currency: CurrencyCode,
) -> Result<PayerAccount, Error> {
    let found = store::find_account(app, id).await?;
    Ok(match found.filter(|account| account.is_of(subject)) {
        // The receiving account can't pay itself.
        Some(account) if account.kind != AccountKind::Personal => PayerAccount::NotFound,
        Some(account) if account.currency != currency => {
            PayerAccount::OtherCurrency(account.currency)
        }
        Some(account) if account.state == AccountState::Closed => PayerAccount::Closed,
        Some(_) => PayerAccount::Usable,
        None => PayerAccount::NotFound,
    })
}
