//! Opening and closing of accounts, and the check of a payer's account.

use super::super::{
    documents::{AccountDocument, AccountKind, AccountState},
    store::{self, NotClosed, NotRenamed},
    types::{
        AccountClosed, AccountNotEmpty, CloseAccountInput, CloseAccountResult, OpenAccountInput,
        OpenAccountResult, RenameAccountInput, RenameAccountResult,
    },
};
use crate::graphql::prelude::*;

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

/// Opens an account for the caller. Once per idempotency key.
pub async fn open_account(cx: Cx<'_>, input: OpenAccountInput) -> Answer<OpenAccountResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let op = cx.op(&[subject, "openAccount"], &input);
    let (kind, currency, now) = (AccountKind::Personal, input.currency, cx.begin().await?.now());
    let account = AccountDocument {
        cap: input.largest_balance.map(|largest| largest.0),
        name: input.name.clone(),
        input: Some(op.input),
        ..AccountDocument::new(&op.id, kind, Some(subject), currency, now)
    };
    if store::accounts(&cx).insert(&account).await.decided()?.is_some() {
        return Ok(account);
    }
    match store::accounts(&cx).get_settled(&account.id).await? {
        Some(opened) if opened.input == account.input => Ok(opened),
        Some(_) => Err(OtherInput.into()),
        None => Err(Error::internal("an account vanished").into()),
    }
}

/// Closes an account of the caller for good. Closing a closed account changes nothing.
pub async fn close_account(cx: Cx<'_>, input: CloseAccountInput) -> Answer<CloseAccountResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let (id, attempt) = (&input.account_id, cx.begin().await?);
    let close = store::close_account(id, subject);
    match store::accounts(&cx).write_and_read(&close, &attempt).await? {
        Verdict::Applied(account) | Verdict::Refused(NotClosed::Already, account) => Ok(account),
        Verdict::Missing | Verdict::Refused(NotClosed::NotOwn, _) => {
            Err(NotFound::of(NodeKind::ACCOUNT, id).into())
        }
        Verdict::Refused(NotClosed::Receiving, _) => {
            Err(InUse::because("a receiving account can't be closed").into())
        }
        Verdict::Refused(NotClosed::NotEmpty, account) => {
            let balance = Money::new(account.balance, account.currency);
            let unfinished = account.pending.len();
            let message = format!(
                "the account isn't empty: balance {balance}, {unfinished} unfinished transfers"
            );
            Err(AccountNotEmpty::because(message, balance, unfinished).into())
        }
    }
}

/// Gives an account of the caller another name, or none. The same name once more changes nothing.
pub async fn rename_account(cx: Cx<'_>, input: RenameAccountInput) -> Answer<RenameAccountResult> {
    let (subject, input) = (cx.requester.subject()?, input.checked()?);
    let (id, attempt) = (&input.account_id, cx.begin().await?);
    let rename = store::rename_account(id, subject, input.name.as_deref());
    match store::accounts(&cx).write_and_read(&rename, &attempt).await? {
        Verdict::Applied(account) => Ok(account),
        Verdict::Missing | Verdict::Refused(NotRenamed::NotOwn, _) => {
            Err(NotFound::of(NodeKind::ACCOUNT, id).into())
        }
        Verdict::Refused(NotRenamed::Closed, account) => {
            let id = NodeKind::ACCOUNT.id(&account.id);
            Err(AccountClosed::because("a closed account keeps its name", id).into())
        }
    }
}

/// An account from which a caller wants to pay, whoever owns it; [`may_pay`] judges it.
pub async fn payer(app: &App, id: &str) -> Result<Option<AccountDocument>> {
    store::accounts(app).get_settled(id).await
}

/// Whether `subject` can pay in `currency` from that account. Only permanent reasons are reported. The
/// balance is checked when the money is reserved.
pub fn may_pay(
    account: Option<&AccountDocument>,
    subject: &str,
    currency: CurrencyCode,
) -> PayerAccount {
    match account.filter(|account| account.is_of(subject)) {
        // The receiving account can't pay itself.
        Some(account) if account.kind != AccountKind::Personal => PayerAccount::NotFound,
        Some(account) if account.currency != currency => {
            PayerAccount::OtherCurrency(account.currency)
        }
        Some(account) if account.state == AccountState::Closed => PayerAccount::Closed,
        Some(_) => PayerAccount::Usable,
        None => PayerAccount::NotFound,
    }
}
