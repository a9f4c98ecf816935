//! What clients see of accounts and transfers.

use async_graphql::{ID, InputObject, Object, OneofObject, SimpleObject};

mod results;

use super::documents::{AccountDocument, TransferDocument, TransferStep};
pub use super::documents::{AccountState, TransferKind, TransferReason, TransferState};
use crate::graphql::{
    node_id::NodeKind,
    scalars::{CurrencyCode, DateTime, Long, Money},
};
pub use results::*;

/// An account.
#[derive(Debug)]
pub struct Account(pub AccountDocument);

/// An account of one currency.
#[Object]
impl Account {
    /// Its global id. Whoever knows it can transfer to it; nothing else.
    pub async fn id(&self) -> ID {
        NodeKind::Account.id(&self.0.id)
    }

    /// Its one currency.
    async fn currency(&self) -> CurrencyCode {
        self.0.currency
    }

    /// Whether it takes part in transfers.
    async fn state(&self) -> AccountState {
        self.0.state
    }

    /// What is in it and free to be used.
    async fn balance(&self) -> Money {
        Money::new(self.0.balance, self.0.currency)
    }

    /// What has left the balance for transfers that are under way: payments that wait for their
    /// checkout, and for a moment also what has just arrived at its destination.
    async fn set_aside(&self) -> Money {
        Money::new(self.aside(), self.0.currency)
    }

    /// The largest balance that it takes, when it has a bound: transfers beyond are refused or
    /// come back.
    async fn largest_balance(&self) -> Option<Money> {
        self.0.cap.map(|cap| Money::new(cap, self.0.currency))
    }

    /// When it was opened.
    async fn opened_at(&self) -> DateTime {
        self.0.opened_at.into()
    }
}

impl Account {
    /// What clients see change.
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

/// Money on its way from one account to another.
#[Object]
impl Transfer {
    /// Its global id.
    pub async fn id(&self) -> ID {
        NodeKind::Transfer.id(&self.0.id)
    }

    /// What it is for.
    async fn kind(&self) -> TransferKind {
        self.0.kind
    }

    /// Where it stands. `CREDITED` and `DONE` mean that the money has arrived.
    async fn state(&self) -> TransferState {
        self.0.state
    }

    /// Why it didn't go through, when it didn't.
    async fn reason(&self) -> Option<TransferReason> {
        self.0.reason
    }

    /// How much.
    async fn amount(&self) -> Money {
        Money::new(self.0.amount, self.0.currency)
    }

    /// The account that gives; the outside world has one for each currency.
    async fn source_id(&self) -> ID {
        NodeKind::Account.id(&self.0.source)
    }

    /// The account that gets; the outside world has one for each currency.
    async fn destination_id(&self) -> ID {
        NodeKind::Account.id(&self.0.destination)
    }

    /// The transfer or payment that this one gives back, wholly or in part.
    async fn reverses(&self) -> Option<ID> {
        self.0.reverses.as_deref().map(|id| NodeKind::Transfer.id(id))
    }

    /// When it was asked for.
    async fn created_at(&self) -> DateTime {
        self.0.at.into()
    }

    /// The states it went through, oldest first.
    async fn history(&self) -> Vec<HistoryStep> {
        self.0.history.iter().map(HistoryStep::from).collect()
    }
}

/// A state of a transfer and when it was reached.
#[derive(Debug, SimpleObject)]
#[graphql(name = "TransferStep")]
pub struct HistoryStep {
    /// The state.
    pub state: TransferState,
    /// When it was reached.
    pub at: DateTime,
}

impl From<&TransferStep> for HistoryStep {
    fn from(step: &TransferStep) -> Self {
        Self { state: step.state, at: step.at.into() }
    }
}

/// One line of a statement.
#[derive(Debug)]
pub struct StatementEntry {
    /// Whose statement it is.
    pub account: String,
    /// The transfer.
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

/// One line of an account's statement.
#[Object]
impl StatementEntry {
    /// By how much the transfer, as it stands, has changed the balance: below zero for what left
    /// the account, zero for what is undecided, was cancelled or came back.
    async fn effect(&self) -> Money {
        Money::new(self.effect_minor_units(), self.transfer.currency)
    }

    /// The account on the other side.
    async fn counterparty_id(&self) -> ID {
        let TransferDocument { source, destination, .. } = &self.transfer;
        NodeKind::Account.id(if self.is_outgoing() { destination } else { source })
    }

    /// The transfer.
    async fn transfer(&self) -> Transfer {
        Transfer(self.transfer.clone())
    }
}

/// How a transfer can be named.
#[derive(Debug, OneofObject)]
pub enum TransferBy {
    /// Its id.
    Id(ID),
    /// The op id with which you asked for it.
    OpId(ID),
}

/// A new account.
#[derive(Debug, InputObject)]
pub struct OpenAccountInput {
    /// Its currency.
    pub currency: CurrencyCode,
    /// Largest balance that it takes, in minor units; without it there is no bound of its own.
    pub largest_balance: Option<Long>,
    /// Your idempotency key: sent again under it, the same account is opened once.
    pub op_id: Option<ID>,
}

/// An account to be closed.
#[derive(Debug, InputObject)]
pub struct CloseAccountInput {
    /// The account.
    pub account_id: ID,
}

/// A transfer between accounts.
#[derive(Debug, InputObject)]
pub struct TransferInput {
    /// Your account that gives.
    pub source_id: ID,
    /// The account that gets, anyone's.
    pub destination_id: ID,
    /// How much, in minor units of the accounts' currency, from 1 on.
    pub amount: Long,
    /// Your idempotency key: sent again under it, the same transfer is made once.
    pub op_id: Option<ID>,
}

/// Money from the outside world.
#[derive(Debug, InputObject)]
pub struct DepositInput {
    /// The account that gets it.
    pub account_id: ID,
    /// How much, in minor units of the account's currency, from 1 on.
    pub amount: Long,
    /// Your idempotency key: sent again under it, the same deposit is made once.
    pub op_id: Option<ID>,
}

/// Money to the outside world.
#[derive(Debug, InputObject)]
pub struct WithdrawInput {
    /// The account that gives it.
    pub account_id: ID,
    /// How much, in minor units of the account's currency, from 1 on.
    pub amount: Long,
    /// Your idempotency key: sent again under it, the same withdrawal is made once.
    pub op_id: Option<ID>,
}

/// A transfer to be given up.
#[derive(Debug, InputObject)]
pub struct CancelTransferInput {
    /// The transfer.
    pub transfer_id: ID,
}

/// A transfer to be given back.
#[derive(Debug, InputObject)]
pub struct ReverseTransferInput {
    /// The transfer.
    pub transfer_id: ID,
}
