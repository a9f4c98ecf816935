//! GraphQL types of accounts and transfers.

use std::ops::RangeInclusive;

use async_graphql::{Context, OneofObject, Value};

pub use super::documents::{AccountState, TransferKind, TransferReason, TransferState};
use super::{
    documents::{AccountDocument, LARGEST, TransferDocument, TransferStep},
    operations,
};
use crate::graphql::{prelude::*, refusals::CurrencyMismatch, scalars::DateTime};

object! {
    /// An account that holds money in one currency.
    pub type Account = AccountDocument as account {
        /// Global id of the account. Whoever knows it can transfer money to the account, and nothing else.
        pub id: ID = NodeKind::ACCOUNT.id(&account.id),
        /// Name that the owner gave the account; null without one. Payers don't see it.
        name: Option<&str> = account.name.as_deref(),
        /// Currency of the balance. It never changes; money moves only between accounts with the same
        /// currency.
        currency: CurrencyCode = account.currency,
        /// Whether the account takes part in transfers.
        state: AccountState = account.state,
        /// Money in the account that is free to be used.
        balance: Money = Money::new(account.balance, account.currency),
        /// Money that has left the balance for unfinished transfers: payments whose checkout is in progress, and
        /// for a moment also money that has just arrived at its destination.
        set_aside: Money = Money::new(account.aside(), account.currency),
        /// Upper limit of the balance; null if the account has none. A transfer that would exceed it is refused
        /// or returned to its source.
        largest_balance: Option<Money> = account.cap.map(|cap| Money::new(cap, account.currency)),
        /// Time at which the account was opened.
        opened_at: DateTime = account.opened_at.into(),
        /// Transfers from and to the account, newest first. A transfer or reversal that paid nobody is only in the statement of
        /// the account that was to pay.
        statement(context)?: Connection<StatementEntry> =
            operations::statement(cx(context), &account.id, paging(context)?).await?,
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

object! {
    /// A transfer of money from one account to another.
    pub type Transfer = TransferDocument as transfer {
        /// Global id of the transfer.
        pub id: ID = NodeKind::TRANSFER.id(&transfer.id),
        /// What the transfer is for, such as a deposit or the payment of an order.
        kind: TransferKind = transfer.kind,
        /// State of the transfer. The money has arrived in the states `CREDITED` and `DONE`.
        state: TransferState = transfer.state,
        /// Reason why the transfer didn't go through; null if it did or if it isn't decided yet.
        failure_reason: Option<TransferReason> = transfer.reason,
        /// Money that moves from the source to the destination. It is never negative.
        amount: Money = Money::new(transfer.amount, transfer.currency),
        /// What the money is for, in the words of the caller who requested the transfer; null if nothing was given. The
        /// owners of both accounts see it.
        purpose: Option<&str> = transfer.purpose.as_deref(),
        /// Global id of the account that pays. Deposits come from an account that stands for the outside world;
        /// there is one for each currency.
        source_id: ID = NodeKind::ACCOUNT.id(&transfer.source),
        /// Account that pays. Null unless the caller owns it or has the role `service`.
        source(context)?: Option<Account> = account(context, &transfer.source).await?,
        /// Global id of the account that receives. Withdrawals go to an account that stands for the outside
        /// world; there is one for each currency.
        destination_id: ID = NodeKind::ACCOUNT.id(&transfer.destination),
        /// Account that receives. Null unless the caller owns it or has the role `service`.
        destination(context)?: Option<Account> = account(context, &transfer.destination).await?,
        /// Global id of the transfer or payment that this one returns, wholly or in part. Null for every other
        /// transfer.
        reverses_id: Option<ID> = transfer.reverses.as_deref().map(|id| NodeKind::TRANSFER.id(id)),
        /// Transfer or payment that this one returns, wholly or in part. Null unless the caller requested that
        /// transfer or has the role `service`.
        reverses(context)?: Option<Self> = {
            let Some(id) = &transfer.reverses else { return Ok(None) };
            let by = TransferBy::Id(NodeKind::TRANSFER.id(id));
            operations::transfer_status(cx(context), by).await?.map(Self::from)
        },
        /// Time at which the transfer was requested.
        created_at: DateTime = transfer.at.into(),
        /// States of the transfer, oldest first.
        history: &[TransferStep] = &transfer.history,
    }
}

/// The account with this `_id`, if the caller may see it.
async fn account(context: &Context<'_>, id: &str) -> Result<Option<Account>> {
    let id = NodeKind::ACCOUNT.id(id);
    Ok(operations::account(cx(context), &id).await?.map(Account::from))
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

    /// `_id` of the other account.
    fn other_account(&self) -> &str {
        let TransferDocument { source, destination, .. } = &self.transfer;
        if self.is_outgoing() { destination } else { source }
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

object! {
    /// A transfer from or to an account, as the statement of that account lists it.
    impl StatementEntry as entry {
        /// Change of the balance that the transfer has caused so far. Negative for money that left the account;
        /// zero for a transfer that is undecided, was cancelled or came back.
        effect: Money = Money::new(entry.effect_minor_units(), entry.transfer.currency),
        /// Global id of the other account of the transfer.
        counterparty_id: ID = NodeKind::ACCOUNT.id(entry.other_account()),
        /// The other account of the transfer. Null unless the caller owns it or has the role `service`: others see no
        /// more of an account than its id.
        counterparty(context)?: Option<Account> = account(context, entry.other_account()).await?,
        /// The transfer that the entry is about, in its current state.
        transfer: Transfer = entry.transfer.clone().into(),
    }
}

/// Key of a transfer. Exactly one field must be set.
#[derive(Debug, OneofObject)]
pub enum TransferBy {
    /// Global id of the transfer.
    Id(ID),
    /// `idempotencyKey` of the caller's mutation that requested the transfer.
    IdempotencyKey(ID),
}

/// A text of one line, without the white space at its ends.
fn shown_line(
    length: RangeInclusive<usize>,
) -> impl Fn(&str, &mut String) -> Result<(), InvalidInput> {
    move |field, text| {
        *text = input::line(field, &input::text(field, text, length.clone())?, length.clone())?;
        Ok(())
    }
}

input! {
    /// Input of `openAccount`: the currency and the highest balance of the new account.
    pub struct OpenAccountInput {
        /// Currency of the balance. It can't be changed later.
        pub currency: CurrencyCode,
        /// Upper limit of the balance in minor units of the currency, 1 to 10^18. Default: no limit of its own.
        pub largest_balance: Option<Long> where optional(within(1..=LARGEST)),
        /// Name that only the owner and services see, a line of 1 to 100 characters. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub name: Option<String> where optional(shown_line(1..=100)),
        /// Idempotency key, 1 to 128 characters. A repeat with the same key returns the account that the first
        /// call opened.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `renameAccount`: the account and its new name.
    pub struct RenameAccountInput {
        /// Global id of the account.
        pub account_id: ID where id(NodeKind::ACCOUNT),
        /// New name, a line of 1 to 100 characters. Default: the account has no name any more.
        pub name: Option<String> where optional(shown_line(1..=100)),
    }

    /// Input of `closeAccount`: the empty account to close.
    pub struct CloseAccountInput {
        /// Global id of the account.
        pub account_id: ID where id(NodeKind::ACCOUNT),
    }

    /// Input of `transfer`: the two accounts and the amount to move between them.
    pub struct TransferInput {
        /// Global id of the account that pays. The caller must own it.
        pub source_id: ID where id(NodeKind::ACCOUNT),
        /// Global id of the account that receives. Anyone may own it, but it can't be the source.
        pub destination_id: ID where id(NodeKind::ACCOUNT),
        /// Amount in minor units of the accounts' currency, 1 to 10^18.
        pub amount: Long where within(1..=LARGEST),
        /// What the money is for, a line of 1 to 140 characters that the owners of both accounts see. Default: nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub purpose: Option<String> where optional(shown_line(1..=140)),
        /// Idempotency key, 1 to 128 characters. The transfer is made once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `deposit`: the account and the amount that is credited to it.
    pub struct DepositInput {
        /// Global id of the account that receives.
        pub account_id: ID where id(NodeKind::ACCOUNT),
        /// Amount in minor units of the account's currency, 1 to 10^18.
        pub amount: Long where within(1..=LARGEST),
        /// Idempotency key, 1 to 128 characters. The deposit is made once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `withdraw`: the account and the amount that is debited from it.
    pub struct WithdrawInput {
        /// Global id of the account that pays.
        pub account_id: ID where id(NodeKind::ACCOUNT),
        /// Amount in minor units of the account's currency, 1 to 10^18.
        pub amount: Long where within(1..=LARGEST),
        /// Idempotency key, 1 to 128 characters. The withdrawal is made once, however often the call is repeated
        /// with the same key.
        pub idempotency_key: Option<ID> where optional(idempotency_key()),
    }

    /// Input of `cancelTransfer`: the transfer to cancel before it is decided.
    pub struct CancelTransferInput {
        /// Global id of the transfer.
        pub transfer_id: ID where id(NodeKind::TRANSFER),
    }

    /// Input of `reverseTransfer`: the transfer whose money is returned.
    pub struct ReverseTransferInput {
        /// Global id of the transfer to reverse.
        pub transfer_id: ID where id(NodeKind::TRANSFER),
    }
}

result! {
    /// Result of `openAccount`: the account, or a refusal. `Conflict`: this `idempotencyKey` was used with another input.
    pub enum OpenAccountResult:
        AccountDocument => Account | Conflict | InvalidInput;

    /// Result of `renameAccount`: the account with its new name, or a refusal.
    pub enum RenameAccountResult:
        AccountDocument => Account | NotFound | AccountClosed | InvalidInput;

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
        /// Amount that can be debited from the account.
        pub available: Money,
    }

    /// An account of the transfer is closed.
    struct AccountClosed as "ACCOUNT_CLOSED" {
        /// Global id of the closed account.
        pub account_id: ID,
    }

    /// The amount would raise the balance above the account's upper limit.
    struct AccountFull as "ACCOUNT_FULL" {
        /// Global id of the account that can't receive the amount.
        pub account_id: ID,
    }

    /// The account can't be closed: it holds money, or some of its transfers aren't finished.
    struct AccountNotEmpty as "ACCOUNT_NOT_EMPTY" {
        /// Money in the account that is free to be used.
        pub balance: Money,
        /// Number of transfers of the account that aren't finished. A transfer that has just arrived counts for a
        /// moment.
        pub under_way: usize,
    }

    /// The transfer can't be cancelled or reversed in its present state: it is decided already, or, for a
    /// reversal, hasn't arrived. Payments and refunds belong to an order and can't be reversed at all; cancel the
    /// order instead.
    struct TransferNotCancellable as "TRANSFER_NOT_CANCELLABLE" {
        /// Global id of the transfer.
        pub transfer_id: ID,
        /// State in which the transfer can't be cancelled.
        pub state: TransferState,
    }
}

impl TransferNotCancellable {
    /// The refusal to cancel this transfer.
    pub fn cancelling(transfer: &TransferDocument) -> Self {
        Self::of(transfer, "can't be cancelled: it is already committed")
    }

    /// The refusal to reverse this transfer.
    pub fn reversing(transfer: &TransferDocument) -> Self {
        Self::of(transfer, "can't be reversed: its money hasn't arrived")
    }

    fn of(transfer: &TransferDocument, why: &str) -> Self {
        let message = match transfer.kind {
            TransferKind::Payment | TransferKind::Refund => {
                "payments and refunds belong to an order: cancel the order".to_owned()
            }
            _ => format!("a transfer in the state {} {why}", Value::from(transfer.state)),
        };
        let (transfer_id, state) = (NodeKind::TRANSFER.id(&transfer.id), transfer.state);
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
        Error::internal("a reversal with another input").into()
    }
}
