//! GraphQL types of accounts and transfers.

mod results;

use async_graphql::{ID, Object, OneofObject, SimpleObject};

use super::documents::{AccountDocument, LARGEST, TransferDocument, TransferStep};
pub use super::documents::{AccountState, TransferKind, TransferReason, TransferState};
use crate::graphql::{
    declared::input,
    node_id::NodeKind,
    scalars::{CurrencyCode, DateTime, Long, Money},
};
pub use results::*;

/// An account.
#[derive(Debug)]
pub struct Account(pub AccountDocument);

impl From<AccountDocument> for Account {
    fn from(account: AccountDocument) -> Self {
        Self(account)
    }
}

/// An account that holds money in one currency.
#[Object]
impl Account {
    /// Global id of the account. Whoever knows it can transfer money to the account, and nothing else.
    pub async fn id(&self) -> ID {
        NodeKind::Account.id(&self.0.id)
    }

    /// Currency of the account.
    async fn currency(&self) -> CurrencyCode {
        self.0.currency
    }

    /// Whether the account takes part in transfers.
    async fn state(&self) -> AccountState {
        self.0.state
    }

    /// Money in the account that is free to be used.
    async fn balance(&self) -> Money {
        Money::new(self.0.balance, self.0.currency)
    }

    /// Money that has left the balance for transfers that aren't finished: payments whose checkout is under
    /// way, and for a moment also money that has just arrived at its destination.
    async fn set_aside(&self) -> Money {
        Money::new(self.aside(), self.0.currency)
    }

    /// Upper limit of the balance; null if the account has none. A transfer that would exceed it is refused
    /// or returned to its source.
    async fn largest_balance(&self) -> Option<Money> {
        self.0.cap.map(|cap| Money::new(cap, self.0.currency))
    }

    /// Time at which the account was opened.
    async fn opened_at(&self) -> DateTime {
        self.0.opened_at.into()
    }
}

impl Account {
    /// State that is compared to detect changes: balance, money set aside, account state.
    pub(super) fn face(&self) -> (i64, i64, AccountState) {
        (self.0.balance, self.aside(), self.0.state)
    }

    fn aside(&self) -> i64 {
        let debits = self.0.pending.iter().map(|pending| pending.amount.min(0).saturating_neg());
        debits.fold(0, i64::saturating_add)
    }
}

/// A transfer.
#[derive(Debug)]
pub struct Transfer(pub TransferDocument);

impl From<TransferDocument> for Transfer {
    fn from(transfer: TransferDocument) -> Self {
        Self(transfer)
    }
}

/// A transfer of money from one account to another.
#[Object]
impl Transfer {
    /// Global id of the transfer.
    pub async fn id(&self) -> ID {
        NodeKind::Transfer.id(&self.0.id)
    }

    /// Kind of transfer.
    async fn kind(&self) -> TransferKind {
        self.0.kind
    }

    /// State of the transfer. The money has arrived in the states `CREDITED` and `DONE`.
    async fn state(&self) -> TransferState {
        self.0.state
    }

    /// Reason why the transfer didn't go through; null if it did or if it isn't decided yet.
    async fn failure_reason(&self) -> Option<TransferReason> {
        self.0.reason
    }

    /// Amount of money.
    async fn amount(&self) -> Money {
        Money::new(self.0.amount, self.0.currency)
    }

    /// Global id of the account that pays. Deposits come from an account that stands for the outside world;
    /// there is one for each currency.
    async fn source_id(&self) -> ID {
        NodeKind::Account.id(&self.0.source)
    }

    /// Global id of the account that receives. Withdrawals go to an account that stands for the outside
    /// world; there is one for each currency.
    async fn destination_id(&self) -> ID {
        NodeKind::Account.id(&self.0.destination)
    }

    /// Global id of the transfer or payment that this one gives back, wholly or in part; null for every other
    /// transfer.
    async fn reverses(&self) -> Option<ID> {
        self.0.reverses.as_deref().map(|id| NodeKind::Transfer.id(id))
    }

    /// Time at which the transfer was requested.
    async fn created_at(&self) -> DateTime {
        self.0.at.into()
    }

    /// States of the transfer, oldest first.
    async fn history(&self) -> Vec<HistoryStep> {
        self.0.history.iter().map(HistoryStep::from).collect()
    }
}

/// State that a transfer reached, with the time.
#[derive(Debug, SimpleObject)]
#[graphql(name = "TransferStep")]
pub struct HistoryStep {
    /// State of the transfer.
    pub state: TransferState,
    /// Time at which it was reached.
    pub at: DateTime,
}

impl From<&TransferStep> for HistoryStep {
    fn from(step: &TransferStep) -> Self {
        Self { state: step.state, at: step.at.into() }
    }
}

/// Entry of an account's statement.
#[derive(Debug)]
pub struct StatementEntry {
    /// `_id` of the account whose statement this is.
    pub account: String,
    /// Transfer from or to the account.
    pub transfer: TransferDocument,
}

impl StatementEntry {
    fn is_outgoing(&self) -> bool {
        self.transfer.source == self.account
    }

    fn effect_minor_units(&self) -> i64 {
        use TransferState::{Authorised, Committed, Credited, Done, Returning};
        let TransferDocument { state, amount, .. } = &self.transfer;
        match state {
            Credited | Done if !self.is_outgoing() => *amount,
            Authorised | Committed | Returning | Credited | Done if self.is_outgoing() => -amount,
            _ => 0,
        }
    }
}

/// Entry of an account's statement.
#[Object]
impl StatementEntry {
    /// Change of the balance that the transfer has caused so far. Negative for money that left the account;
    /// zero for a transfer that is undecided, was cancelled or came back.
    async fn effect(&self) -> Money {
        Money::new(self.effect_minor_units(), self.transfer.currency)
    }

    /// Global id of the other account of the transfer.
    async fn counterparty_id(&self) -> ID {
        let TransferDocument { source, destination, .. } = &self.transfer;
        NodeKind::Account.id(if self.is_outgoing() { destination } else { source })
    }

    /// The transfer.
    async fn transfer(&self) -> Transfer {
        Transfer(self.transfer.clone())
    }
}

/// Key of a transfer; exactly one field is given.
#[derive(Debug, OneofObject)]
pub enum TransferBy {
    /// Global id of the transfer.
    Id(ID),
    /// `idempotencyKey` of the caller's mutation that requested the transfer.
    IdempotencyKey(ID),
}

input! {
    /// Input of `openAccount`.
    pub struct OpenAccountInput {
        /// Currency of the account.
        pub currency: CurrencyCode,
        /// Upper limit of the balance in minor units of the currency, 1 to 10^18. Default: no limit of its own.
        pub largest_balance: Option<Long> where optional(within(1..=LARGEST)),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the account that the first
        /// call opened.
        pub idempotency_key: Option<ID> where optional(key()),
    }

    /// Input of `closeAccount`.
    pub struct CloseAccountInput {
        /// Global id of the account.
        pub account_id: ID where id(NodeKind::Account),
    }

    /// Input of `transfer`.
    pub struct TransferInput {
        /// Global id of the account that pays. The caller must own it.
        pub source_id: ID where id(NodeKind::Account),
        /// Global id of the account that receives. Anyone may own it, but it can't be the source.
        pub destination_id: ID where id(NodeKind::Account),
        /// Amount in minor units of the accounts' currency, 1 to 10^18.
        pub amount: Long where within(1..=LARGEST),
        /// Idempotency key, 1 to 128 characters. The transfer is made once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(key()),
    }

    /// Input of `deposit`.
    pub struct DepositInput {
        /// Global id of the account that receives.
        pub account_id: ID where id(NodeKind::Account),
        /// Amount in minor units of the account's currency, 1 to 10^18.
        pub amount: Long where within(1..=LARGEST),
        /// Idempotency key, 1 to 128 characters. The deposit is made once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(key()),
    }

    /// Input of `withdraw`.
    pub struct WithdrawInput {
        /// Global id of the account that pays.
        pub account_id: ID where id(NodeKind::Account),
        /// Amount in minor units of the account's currency, 1 to 10^18.
        pub amount: Long where within(1..=LARGEST),
        /// Idempotency key, 1 to 128 characters. The withdrawal is made once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(key()),
    }

    /// Input of `cancelTransfer`.
    pub struct CancelTransferInput {
        /// Global id of the transfer.
        pub transfer_id: ID where id(NodeKind::Transfer),
    }

    /// Input of `reverseTransfer`.
    pub struct ReverseTransferInput {
        /// Global id of the transfer to give back.
        pub transfer_id: ID where id(NodeKind::Transfer),
    }
}
