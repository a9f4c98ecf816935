//! Results of the mutations of accounts and transfers, and their refusals.

use async_graphql::{ID, Value};

use super::{
    super::documents::{AccountDocument, TransferDocument, TransferState},
    Account, Transfer,
};
use crate::{
    error::Error,
    flow::OtherInput,
    graphql::{
        codes::refusal,
        declared::result,
        node_id::NodeKind,
        refusals::{Conflict, CurrencyMismatch, InUse, InvalidInput, NotFound, Stop},
        scalars::Money,
    },
};

result! {
    /// Result of `openAccount`: the account, or a refusal. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum OpenAccountResult:
        AccountDocument => Account | Conflict | InvalidInput;

    /// Result of `closeAccount`: the closed account, or a refusal. `InUse`: the account receives the merchant's
    /// payments.
    pub enum CloseAccountResult:
        AccountDocument => Account | NotFound | AccountNotEmpty | InUse | InvalidInput;

    /// Result of `transfer`: the transfer, or a refusal. `NotFound`: the caller doesn't own the source, or there
    /// is no such destination. `AccountClosed`, `AccountFull`: see `accountId` for the account. `Conflict`: this
    /// `idempotencyKey` was used with another input.
    pub enum TransferResult:
        TransferDocument => Transfer | NotFound | InsufficientFunds | AccountClosed | AccountFull |
        CurrencyMismatch | Conflict | InvalidInput;

    /// Result of `deposit`: the transfer, or a refusal. `InsufficientFunds`: the amount exceeds the money that
    /// there can be of this currency. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum DepositResult:
        TransferDocument => Transfer | NotFound | InsufficientFunds | AccountClosed | AccountFull |
        Conflict | InvalidInput;

    /// Result of `withdraw`: the transfer, or a refusal. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum WithdrawResult:
        TransferDocument => Transfer | NotFound | InsufficientFunds | Conflict | InvalidInput;

    /// Result of `reverseTransfer`: the reversing transfer, or a refusal.
    pub enum ReverseTransferResult:
        TransferDocument => Transfer | NotFound | TransferNotCancellable | InsufficientFunds |
        AccountClosed | AccountFull | InvalidInput;

    /// Result of `cancelTransfer`: the transfer, `CANCELLING` or `CANCELLED`, or a refusal.
    pub enum CancelTransferResult:
        TransferDocument => Transfer | NotFound | TransferNotCancellable | InvalidInput;
}

refusal! {
    /// The account that pays holds less than the amount.
    struct InsufficientFunds as "INSUFFICIENT_FUNDS" {
        /// Global id of the account that was to pay.
        pub account_id: ID,
        /// Amount of the transfer.
        pub requested: Money,
        /// Amount that can be taken from the account.
        pub available: Money,
    }
}

impl InsufficientFunds {
    /// The source of the transfer holds only `available` minor units.
    pub fn new(transfer: &TransferDocument, available: i64) -> Self {
        let TransferDocument { source, amount, currency, .. } = transfer;
        let message = format!(
            "{amount} minor units of {} are needed and {available} are there",
            currency.code()
        );
        Self::because(
            message,
            NodeKind::Account.id(source),
            Money::new(*amount, *currency),
            Money::new(available, *currency),
        )
    }
}

refusal! {
    /// An account of the transfer is closed.
    struct AccountClosed as "ACCOUNT_CLOSED" {
        /// Global id of the closed account.
        pub account_id: ID,
    }
}

impl AccountClosed {
    /// The account is closed. `does` is its part in the transfer.
    pub fn new(account: &str, does: &str) -> Self {
        let message = format!("the account that {does} is closed");
        let account_id = NodeKind::Account.id(account);
        Self::because(message, account_id)
    }
}

refusal! {
    /// The amount would raise the balance above the account's upper limit.
    struct AccountFull as "ACCOUNT_FULL" {
        /// Global id of the account that can't receive the amount.
        pub account_id: ID,
    }
}

impl AccountFull {
    /// The account can't receive the amount.
    pub fn new(account: &str) -> Self {
        let message = "the account that gets the money can't take so much";
        let account_id = NodeKind::Account.id(account);
        Self::because(message, account_id)
    }
}

refusal! {
    /// The account can't be closed: it holds money, or some of its transfers aren't finished.
    struct AccountNotEmpty as "ACCOUNT_NOT_EMPTY" {
        /// Money in the account that is free to be used.
        pub balance: Money,
        /// Number of transfers of the account that aren't finished. A transfer that has just arrived counts for a
        /// moment.
        pub under_way: usize,
    }
}

impl AccountNotEmpty {
    /// The refusal for this account.
    pub fn new(account: &AccountDocument) -> Self {
        Self::because(
            "withdraw what is in it, and wait for what is under way",
            Money::new(account.balance, account.currency),
            account.pending.len(),
        )
    }
}

refusal! {
    /// The transfer can't be cancelled or reversed in its present state: it is decided already, or, for a
    /// reversal, hasn't arrived. Payments and refunds belong to an order and can't be reversed at all; cancel the
    /// order instead.
    struct TransferNotCancellable as "TRANSFER_NOT_CANCELLABLE" {
        /// Global id of the transfer.
        pub transfer_id: ID,
        /// State of the transfer.
        pub state: TransferState,
    }
}

impl TransferNotCancellable {
    /// The refusal for this transfer.
    pub fn new(transfer: &TransferDocument) -> Self {
        let stands = Value::from(transfer.state);
        let message = format!("as it stands ({stands}) that can't be done");
        let (transfer_id, state) = (NodeKind::Transfer.id(&transfer.id), transfer.state);
        Self::because(message, transfer_id, state)
    }
}

// A withdrawal from a closed account is allowed, and the account of the outside world has no upper limit.
impl From<AccountClosed> for Stop<WithdrawResult> {
    fn from(refusal: AccountClosed) -> Self {
        Error::internal(format!("a withdrawal met {refusal:?}")).into()
    }
}

impl From<AccountFull> for Stop<WithdrawResult> {
    fn from(refusal: AccountFull) -> Self {
        Error::internal(format!("a withdrawal met {refusal:?}")).into()
    }
}

impl From<OtherInput> for Stop<ReverseTransferResult> {
    fn from(_: OtherInput) -> Self {
        Error::internal("a reversal of another input").into()
    }
}
