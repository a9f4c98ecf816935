//! The documents of accounts and transfers as MongoDB stores them.

use async_graphql::{Enum, SimpleObject};

use crate::{
    config::Config,
    graphql::scalars::{self, CurrencyCode},
    mongo::{derived::Derived, prelude::*},
};

/// Maximum amount of one transfer, and maximum amount of money in one currency. The balance of the world
/// account can't fall further below zero, so no sum of balances exceeds 64 bits.
pub(super) const LARGEST: i64 = 1_000_000_000_000_000_000;

/// Maximum number of unfinished transfers of one account.
pub(super) const MAX_PENDING: usize = 1_000;

document! {
    /// One account.
    pub struct AccountDocument {
        /// Random; `world:EUR` and the like for the outside world.
        pub id as "_id": String,
        /// Subject of the owner. World accounts have none.
        pub owner?: String,
        /// Name that the owner gave it.
        pub name?: String,
        pub kind: AccountKind,
        pub currency: CurrencyCode,
        /// Whether the account takes part in transfers.
        pub state: AccountState,
        /// Balance in minor units. Amounts of debited, unfinished transfers have already been subtracted.
        pub balance: i64,
        /// Maximum balance.
        pub cap?: i64,
        /// Marks of the transfers that have changed the balance and may still be repeated or undone.
        pub pending: Vec<Pending>,
        /// Server time of opening.
        pub opened_at: DateTime,
        /// Digest of the input of the op that opened it.
        pub input?: String,
        pub v: Version<1>,
    }

    /// The part of an account that the sweep of holds reads.
    pub(super) struct SweptAccount {
        pub id as "_id": String,
        pub pending: Vec<Pending>,
    } in AccountDocument: ["pending", HOLDS_AT];

    /// The mark of one transfer on an account.
    pub struct Pending {
        /// Id of the transfer.
        pub id: String,
        /// Signed change of the balance.
        pub amount: i64,
        /// Of a hold for a checkout without a claim: the cart. The transfer is inserted once the cart has decided.
        pub cart?: String,
        /// Of a hold: tag of the checkout.
        pub tag?: String,
        /// Of a hold: server time of the hold.
        pub at?: DateTime,
    }

    /// Purpose of an account.
    pub enum AccountKind {
        /// An account that its owner opened.
        Personal,
        /// The account on which the ledger provider receives payments. It can't be closed.
        Receiving,
        /// The account of the outside world: source of deposits and destination of withdrawals. Its balance is
        /// negative or zero.
        World,
    }

    /// Whether an account takes part in transfers. A closed account is never opened again.
    #[derive(Enum)]
    pub enum AccountState {
        /// The account takes part in transfers.
        Open,
        /// The account is closed for good. Refunds of payments still reach it.
        Closed,
    }

    /// One transfer: the decider of its own flow.
    pub struct TransferDocument {
        /// Derived from the idempotency key, the original's id, or the id of what is paid.
        pub id as "_id": String,
        pub kind: TransferKind,
        /// Subject who requested it and may read it.
        pub by?: String,
        /// Account that is debited.
        pub source: String,
        /// Account that is credited.
        pub destination: String,
        /// The accounts in whose statements it is: both, or the source alone if it was refused or cancelled.
        pub accounts: Vec<String>,
        /// Amount in minor units.
        pub amount: i64,
        /// What the money is for, in the words of the subject who requested it.
        pub purpose?: String,
        /// Currency of both accounts.
        pub currency: CurrencyCode,
        /// State; the diagram is in the room's `mod.rs`.
        pub state: TransferState,
        /// Why it didn't go through.
        pub reason?: TransferReason,
        /// Id of the transfer or payment that this one reverses or refunds.
        pub reverses?: String,
        /// Payments: holder name of the cart or order that is paid. It isn't shown to anyone.
        pub holder?: String,
        /// Digest of the op's input.
        pub input: String,
        /// Name of the gateway that holds the claim. In the first claim a random text follows, so that no two attempts
        /// insert equal documents: if an insert is sent twice, the document tells whose it is.
        pub worker: String,
        /// Number of the claim. The holder of a lower number can't commit any more.
        pub fence: i64,
        /// Deadline of the claim's debits, credits and commits, on the server's clock.
        pub deadline: DateTime,
        /// Server time of the request.
        pub at: DateTime,
        /// States that it went through.
        pub history: Vec<TransferStep>,
        pub v: Version<1>,
    } in "transfers" {
        plain("accounts_at", "accounts -at -_id", "statements"),
        plain("state_at", "state -at -_id",
            "the transfers in one state, and the sweep of those that were cut"),
    }

    /// The part of a transfer by which the sweep finds it.
    pub(super) struct SweptTransfer {
        pub id as "_id": String,
    } in TransferDocument: ["at"];

    /// State that a transfer reached, with the time.
    #[derive(SimpleObject)]
    pub struct TransferStep {
        /// State that the transfer reached.
        pub state: TransferState,
        /// Time at which it was reached.
        pub at: scalars::DateTime,
    }

    /// What a transfer is for. It determines who may request it and who may cancel it.
    #[derive(Enum)]
    pub enum TransferKind {
        /// A transfer from an account to another, requested by the owner of the source.
        Transfer,
        /// A deposit from the outside world.
        Deposit,
        /// A withdrawal to the outside world.
        Withdrawal,
        /// The reversal of another transfer.
        Reversal,
        /// The payment of a checkout. It is authorised first, and captured when the checkout is committed.
        Payment,
        /// The refund of a payment or of a part of it.
        Refund,
    }

    /// How far a transfer has come. `DONE`, `CANCELLED` and `RETURNED` are final.
    #[derive(Enum)]
    pub enum TransferState {
        /// The source is being debited. The transfer isn't committed yet.
        Pending,
        /// The source is debited, and the money is reserved for a checkout in progress.
        Authorised,
        /// The transfer is committed. The destination is credited next; if it can't accept the money, the money
        /// is returned.
        Committed,
        /// The destination is credited. Only marks on the accounts are still to be removed.
        Credited,
        /// The destination is credited, and nothing remains to be done.
        Done,
        /// The transfer was cancelled. Debited money is being returned to the source.
        Cancelling,
        /// The transfer was cancelled. The source has all of its money.
        Cancelled,
        /// The destination can't accept the money. It is being returned to the source.
        Returning,
        /// The destination couldn't accept the money. The source has it again.
        Returned,
    }

    /// Why a transfer didn't go through.
    #[derive(Enum)]
    pub enum TransferReason {
        /// The source held less than the amount.
        InsufficientFunds,
        /// The account that was to pay is closed.
        SourceClosed,
        /// The account that was to be paid is closed.
        DestinationClosed,
        /// The transfer would have raised the destination's balance above its maximum.
        DestinationFull,
        /// The owner cancelled the transfer.
        CancelledByOwner,
        /// The checkout that the payment was for was aborted.
        #[serde(rename = "CHECKOUT_GIVEN_UP")]
        CheckoutAborted,
    }
}

impl AccountDocument {
    /// An account as it is opened: empty, and without an upper limit.
    pub fn new(
        id: &str,
        kind: AccountKind,
        owner: Option<&str>,
        currency: CurrencyCode,
        opened_at: DateTime,
    ) -> Self {
        Self {
            id: id.to_owned(),
            owner: owner.map(str::to_owned),
            name: None,
            kind,
            currency,
            state: AccountState::Open,
            balance: 0,
            cap: None,
            pending: Vec::new(),
            opened_at,
            input: None,
            v: Version,
        }
    }

    /// Whether the subject owns the account.
    pub fn is_of(&self, subject: &str) -> bool {
        self.owner.as_deref() == Some(subject)
    }

    /// Amount that can be debited. Only the world account may fall below zero.
    pub fn available(&self) -> i64 {
        self.balance - least_balance(&self.id, 0)
    }
}

/// Minimum balance of an account from which the amount can be debited.
pub(super) fn least_balance(account: &str, amount: i64) -> i64 {
    if is_world(account) { amount - LARGEST } else { amount }
}

/// `_id` of the world account of a currency.
pub(super) fn world(currency: CurrencyCode) -> String {
    format!("world:{}", currency.code())
}

/// Whether it is a world account. No random or derived id contains a colon.
pub(super) fn is_world(account: &str) -> bool {
    account.starts_with("world:")
}

impl TransferState {
    /// Whether nothing changes any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled | Self::Returned)
    }

    /// Whether the caller can get a result. After CREDITED only marks are removed.
    pub fn is_answerable(self) -> bool {
        self.is_final() || matches!(self, Self::Authorised | Self::Credited)
    }

    /// Whether the next step removes marks from accounts.
    pub fn removes_marks(self) -> bool {
        matches!(self, Self::Credited | Self::Cancelling | Self::Returning)
    }

    /// Whether the destination has the money.
    pub fn has_arrived(self) -> bool {
        matches!(self, Self::Credited | Self::Done)
    }
}

impl TransferDocument {
    /// Whether it failed for a reason that may be temporary, so that its op can be tried again. A cancelled
    /// transfer stays cancelled.
    pub fn was_refused(&self) -> bool {
        self.state.is_final() && self.failure().is_some()
    }

    /// Whether another try of its op may follow it: it was refused, or it is a reversal that was cancelled. A reversal has no
    /// idempotency key that could be another one, so without that its original could never be reversed.
    pub fn gives_way(&self) -> bool {
        let is_cancelled = self.state == TransferState::Cancelled;
        self.was_refused() || (is_cancelled && self.kind == TransferKind::Reversal)
    }

    /// Makes a transfer that isn't inserted yet one that was refused.
    pub fn refuse(&mut self, reason: TransferReason) {
        let state = TransferState::Cancelled;
        (self.state, self.reason) = (state, Some(reason));
        self.accounts = self.unpaid_accounts();
        self.history = vec![TransferStep { state, at: self.at.into() }];
    }

    /// The accounts in whose statements it is if nobody is paid. Who was to get money of another user isn't told that the
    /// other one couldn't or didn't pay, nor what they wrote.
    pub fn unpaid_accounts(&self) -> Vec<String> {
        if matches!(self.kind, TransferKind::Transfer | TransferKind::Reversal) {
            return vec![self.source.clone()];
        }
        self.accounts.clone()
    }

    /// Why the transfer fails, unless it was cancelled.
    pub fn failure(&self) -> Option<TransferReason> {
        self.reason.filter(|reason| {
            !matches!(reason, TransferReason::CancelledByOwner | TransferReason::CheckoutAborted)
        })
    }
}

impl Stored for AccountDocument {
    const COLLECTION: &'static str = "accounts";
    const INDEXES: &'static [Index] = &[
        Index::plain("owner_opened", "owner openedAt _id", "the accounts of one subject"),
        Index::of_field("holds_at", HOLDS_AT, "the sweep of holds whose checkout was cut"),
    ];

    fn derived(_config: &Config) -> Option<Derived> {
        Some(Derived { field: HOLDS_AT, value: holds_at, delay: 0 })
    }
}

/// The field by which the sweep finds accounts with holds.
pub(super) const HOLDS_AT: &str = "holdsAt";

/// Expression: the time of the oldest hold. Other marks have no time.
fn holds_at(_delay: i64) -> Bson {
    doc! { "$min": "$pending.at" }.into()
}
