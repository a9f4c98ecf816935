//! Opening and closing of accounts, and the check of a payer's account.

use super::super::{
    documents::{AccountDocument, AccountKind, AccountState},
    store,
    types::{
        AccountNotEmpty, CloseAccountInput, CloseAccountResult, OpenAccountInput, OpenAccountResult,
    },
};
use crate::{
    app::App,
    error::Error,
    flow::OtherInput,
    graphql::{
        cx::Cx,
        declared::Input,
        node_id::NodeKind,
        refusals::{InUse, NotFound, Stop},
        scalars::{CurrencyCode, Money},
    },
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

/// What a mutation of an account returns.
type Changed<U> = Result<AccountDocument, Stop<U>>;

/// Opens an account for the caller. Once per idempotency key.
pub async fn open_account(cx: Cx<'_>, input: OpenAccountInput) -> Changed<OpenAccountResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "openAccount"], input.idempotency_key.as_ref(), &*input);
    let (kind, currency, now) = (AccountKind::Personal, input.currency, cx.begin().await?.now());
    let account = AccountDocument {
        cap: input.largest_balance.map(|largest| largest.0),
        input: Some(op.input),
        ..AccountDocument::new(&op.id, kind, Some(subject), currency, now)
    };
    if store::accounts(&cx).insert(account.clone()).await.decided()?.is_some() {
        return Ok(account);
    }
    match store::accounts(&cx).get_settled(&account.id).await? {
        Some(opened) if opened.input == account.input => Ok(opened),
        Some(_) => Err(OtherInput.into()),
        None => Err(Error::internal("an account vanished").into()),
    }
}

/// Closes an account of the caller for good. Closing a closed account changes nothing.
pub async fn close_account(cx: Cx<'_>, input: CloseAccountInput) -> Changed<CloseAccountResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let id = &input.account_id;
    if let Some(closed) = store::close_account(&cx, id, subject).then_read().await? {
        return Ok(closed);
    }
    let found = store::accounts(&cx).get_settled(id).await?;
    let found = found.filter(|account| account.is_of(subject));
    match found.ok_or_else(|| NotFound::of(NodeKind::ACCOUNT, id))? {
        account if account.state == AccountState::Closed => Ok(account),
        account if account.kind == AccountKind::Receiving => {
            Err(InUse::because("a receiving account can't be closed").into())
        }
        account if account.balance == 0 && account.pending.is_empty() => {
            Err(Error::unavailable("the account became empty at the same time").into())
        }
        AccountDocument { balance, currency, pending, .. } => Err(AccountNotEmpty::because(
            format!(
                "the account isn't empty: balance {balance} minor units of {}, {} unfinished transfers",
                currency.code(),
                pending.len(),
            ),
            Money::new(balance, currency),
            pending.len(),
        )
        .into()),
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
    let found = store::accounts(app).get_settled(id).await?;
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
