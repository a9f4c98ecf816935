//! What mutations of accounts and transfers answer, and how they refuse.

use async_graphql::{ID, SimpleObject, Union, Value};

use super::{
    super::documents::{AccountDocument, TransferDocument, TransferState},
    Account, Transfer,
};
use crate::{
    error::Error,
    graphql::{
        node_id::NodeKind,
        refusals::{
            Conflict, CurrencyMismatch, ErrorCode, InUse, InvalidInput, NotFound, Refusal, Stop,
        },
        scalars::Money,
    },
};

/// What became of an opening.
#[derive(Union)]
pub enum OpenAccountResult {
    Account(Account),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// What became of a closing.
#[derive(Union)]
pub enum CloseAccountResult {
    Account(Account),
    NotFound(NotFound),
    AccountNotEmpty(AccountNotEmpty),
    InUse(InUse),
    InvalidInput(InvalidInput),
}

/// What became of a transfer.
#[derive(Union)]
pub enum TransferResult {
    Transfer(Transfer),
    NotFound(NotFound),
    InsufficientFunds(InsufficientFunds),
    AccountClosed(AccountClosed),
    AccountFull(AccountFull),
    CurrencyMismatch(CurrencyMismatch),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// What became of a deposit.
#[derive(Union)]
pub enum DepositResult {
    Transfer(Transfer),
    NotFound(NotFound),
    InsufficientFunds(InsufficientFunds),
    AccountClosed(AccountClosed),
    AccountFull(AccountFull),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// What became of a withdrawal.
#[derive(Union)]
pub enum WithdrawResult {
    Transfer(Transfer),
    NotFound(NotFound),
    InsufficientFunds(InsufficientFunds),
    Conflict(Conflict),
    InvalidInput(InvalidInput),
}

/// What became of a reversal.
#[derive(Union)]
pub enum ReverseTransferResult {
    Transfer(Transfer),
    NotFound(NotFound),
    TransferNotCancellable(TransferNotCancellable),
    InsufficientFunds(InsufficientFunds),
    AccountClosed(AccountClosed),
    AccountFull(AccountFull),
    InvalidInput(InvalidInput),
}

/// What became of a cancelling.
#[derive(Union)]
pub enum CancelTransferResult {
    Transfer(Transfer),
    NotFound(NotFound),
    TransferNotCancellable(TransferNotCancellable),
    InvalidInput(InvalidInput),
}

/// The account holds less than asked for.
#[derive(Debug, Clone, SimpleObject)]
pub struct InsufficientFunds {
    /// `INSUFFICIENT_FUNDS`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The account that was to give.
    pub account_id: ID,
    /// How much was asked for.
    pub requested: Money,
    /// How much can be taken from it.
    pub available: Money,
}

impl InsufficientFunds {
    /// The transfer's source holds only `available`.
    pub fn new(transfer: &TransferDocument, available: i64) -> Self {
        let TransferDocument { source, amount, currency, .. } = transfer;
        let message = format!(
            "{amount} minor units of {} are needed and {available} are there",
            currency.code()
        );
        Self {
            code: ErrorCode::InsufficientFunds,
            message,
            account_id: NodeKind::Account.id(source),
            requested: Money::new(*amount, *currency),
            available: Money::new(available, *currency),
        }
    }
}

/// A side of a transfer.
#[derive(Debug, Clone, Copy)]
pub enum Side {
    /// The account that gives.
    Source,
    /// The account that gets.
    Destination,
}

impl Side {
    /// What its account does, for people.
    const fn does(self) -> &'static str {
        match self {
            Self::Source => "gives",
            Self::Destination => "gets the money",
        }
    }

    fn account_id(self, transfer: &TransferDocument) -> ID {
        NodeKind::Account.id(match self {
            Self::Source => &transfer.source,
            Self::Destination => &transfer.destination,
        })
    }
}

/// The account is closed.
#[derive(Debug, Clone, SimpleObject)]
pub struct AccountClosed {
    /// `ACCOUNT_CLOSED`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The account that is closed.
    pub account_id: ID,
}

impl AccountClosed {
    /// The account that is to give, or to get, is closed.
    pub fn new(transfer: &TransferDocument, side: Side) -> Self {
        let message = format!("the account that {} is closed", side.does());
        let account_id = side.account_id(transfer);
        Self { code: ErrorCode::AccountClosed, message, account_id }
    }
}

/// The amount would lift the account above the largest balance that it takes.
#[derive(Debug, Clone, SimpleObject)]
pub struct AccountFull {
    /// `ACCOUNT_FULL`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The account that can't take it.
    pub account_id: ID,
}

impl AccountFull {
    /// The account that is to get the transfer can't take it.
    pub fn new(transfer: &TransferDocument) -> Self {
        let message = format!("the account that {} can't take so much", Side::Destination.does());
        let account_id = Side::Destination.account_id(transfer);
        Self { code: ErrorCode::AccountFull, message, account_id }
    }
}

/// The account can't be closed while something is in it or under way.
#[derive(Debug, Clone, SimpleObject)]
pub struct AccountNotEmpty {
    /// `ACCOUNT_NOT_EMPTY`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// What is in it.
    pub balance: Money,
    /// How many of its transfers are under way. One that has just arrived counts for a moment.
    pub under_way: usize,
}

impl AccountNotEmpty {
    /// What is still in that account.
    pub fn new(account: &AccountDocument) -> Self {
        Self {
            code: ErrorCode::AccountNotEmpty,
            message: "withdraw what is in it, and wait for what is under way".into(),
            balance: Money::new(account.balance, account.currency),
            under_way: account.pending.len(),
        }
    }
}

/// The transfer can't be cancelled or reversed as it stands: it is past its decision or not there
/// yet, or it belongs to an order, which is cancelled instead.
#[derive(Debug, Clone, SimpleObject)]
pub struct TransferNotCancellable {
    /// `TRANSFER_NOT_CANCELLABLE`.
    pub code: ErrorCode,
    /// For people.
    pub message: String,
    /// The transfer.
    pub transfer_id: ID,
    /// Where it stands.
    pub state: TransferState,
}

impl TransferNotCancellable {
    /// That transfer can't be.
    pub fn new(transfer: &TransferDocument) -> Self {
        let stands = Value::from(transfer.state);
        let message = format!("as it stands ({stands}) that can't be done");
        let (transfer_id, state) = (NodeKind::Transfer.id(&transfer.id), transfer.state);
        Self { code: ErrorCode::TransferNotCancellable, message, transfer_id, state }
    }
}

/// What an account had against a transfer.
#[derive(Debug)]
pub enum Hindrance {
    /// It holds too little.
    Short(InsufficientFunds),
    /// It is closed.
    Closed(AccountClosed),
    /// It holds too much.
    Full(AccountFull),
}

impl<U> From<Hindrance> for Stop<U>
where
    U: From<InsufficientFunds> + From<AccountClosed> + From<AccountFull>,
{
    fn from(hindrance: Hindrance) -> Self {
        match hindrance {
            Hindrance::Short(short) => short.into(),
            Hindrance::Closed(closed) => closed.into(),
            Hindrance::Full(full) => full.into(),
        }
    }
}

impl From<Hindrance> for Stop<WithdrawResult> {
    fn from(hindrance: Hindrance) -> Self {
        match hindrance {
            Hindrance::Short(short) => short.into(),
            // A closed account may be emptied, and the world is never full.
            hindrance => Error::internal(format!("a withdrawal met {hindrance:?}")).into(),
        }
    }
}

impl From<AccountDocument> for OpenAccountResult {
    fn from(account: AccountDocument) -> Self {
        Self::Account(Account(account))
    }
}

impl From<AccountDocument> for CloseAccountResult {
    fn from(account: AccountDocument) -> Self {
        Self::Account(Account(account))
    }
}

impl From<TransferDocument> for TransferResult {
    fn from(transfer: TransferDocument) -> Self {
        Self::Transfer(Transfer(transfer))
    }
}

impl From<TransferDocument> for DepositResult {
    fn from(transfer: TransferDocument) -> Self {
        Self::Transfer(Transfer(transfer))
    }
}

impl From<TransferDocument> for WithdrawResult {
    fn from(transfer: TransferDocument) -> Self {
        Self::Transfer(Transfer(transfer))
    }
}

impl From<TransferDocument> for ReverseTransferResult {
    fn from(transfer: TransferDocument) -> Self {
        Self::Transfer(Transfer(transfer))
    }
}

impl From<TransferDocument> for CancelTransferResult {
    fn from(transfer: TransferDocument) -> Self {
        Self::Transfer(Transfer(transfer))
    }
}

impl Refusal for InsufficientFunds {}
impl Refusal for AccountClosed {}
impl Refusal for AccountFull {}
impl Refusal for AccountNotEmpty {}
impl Refusal for TransferNotCancellable {}
