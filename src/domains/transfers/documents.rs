//! What MongoDB sees of accounts and transfers.

use async_graphql::Enum;
use mongodb::bson::{Bson, DateTime, serialize_to_bson};
use serde::{Deserialize, Serialize};

use crate::{
    graphql::scalars::CurrencyCode,
    mongo::{
        Stored, Version,
        indexes::{Index, Key, Kind},
    },
};

/// Largest amount of one transfer, and most money that there is of one currency: the world's account
/// can't fall further below zero, so no sum of balances leaves 64 bits.
pub(super) const LARGEST: i64 = 1_000_000_000_000_000_000;

/// Transfers of one account that may be under way at a time.
pub(super) const MOST_PENDING: usize = 1_000;

/// One account.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountDocument {
    /// Random; `world:EUR` and the like for the outside world.
    #[serde(rename = "_id")]
    pub id: String,
    /// Subject whose it is; nobody owns the world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// What it is for.
    pub kind: AccountKind,
    /// Its one currency.
    pub currency: CurrencyCode,
    /// Whether it takes part in transfers.
    pub state: AccountState,
    /// What is in it, in minor units: what is set aside for transfers under way has already left.
    pub balance: i64,
    /// Largest balance that it takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<i64>,
    /// Transfers that have moved its balance and may still be repeated or undone.
    pub pending: Vec<Pending>,
    /// Server time of opening.
    pub opened_at: DateTime,
    /// Digest of the input with which it was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Version of the shape.
    pub v: Version<1>,
}

/// The mark of one transfer on an account.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pending {
    /// The transfer.
    pub id: String,
    /// By how much it moved the balance.
    pub amount: i64,
}

/// What an account is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AccountKind {
    /// Opened by its owner.
    Personal,
    /// Where the ledger provider receives payments; can't be closed.
    Receiving,
    /// Where deposits come from and withdrawals go; its balance is below zero.
    World,
}

/// Whether an account takes part in transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Enum)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[graphql(name = "AccountState")]
pub enum AccountState {
    /// Takes part in transfers.
    Open,
    /// Closed for good. Refunds of payments still reach it.
    Closed,
}

/// One transfer: the decider of its own flow.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TransferDocument {
    /// Made of the op id, the original's id, or the id of what is paid.
    #[serde(rename = "_id")]
    pub id: String,
    /// What it is for.
    pub kind: TransferKind,
    /// Subject who may ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Account that gives.
    pub source: String,
    /// Account that gets.
    pub destination: String,
    /// Both, for statements.
    pub accounts: Vec<String>,
    /// Minor units.
    pub amount: i64,
    /// Currency of both accounts.
    pub currency: CurrencyCode,
    /// See the room's `mod.rs`.
    pub state: TransferState,
    /// Why it didn't go through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<TransferReason>,
    /// The transfer or payment that this one gives back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reverses: Option<String>,
    /// Of a payment, the cart or order that is paid; nobody is shown it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Digest of what was asked.
    pub input: String,
    /// Gateway that holds the claim.
    pub worker: String,
    /// Number of the claim: who has a lower one decides nothing any more.
    pub fence: i64,
    /// Until when, on the server's clock, the claim's holder moves money.
    pub deadline: DateTime,
    /// Server time of the call that began it.
    pub at: DateTime,
    /// The states it went through.
    pub history: Vec<TransferStep>,
    /// Version of the shape.
    pub v: Version<1>,
}

/// A state and when it was reached.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TransferStep {
    /// The state.
    pub state: TransferState,
    /// Server time.
    pub at: DateTime,
}

/// What a transfer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Enum)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[graphql(name = "TransferKind")]
pub enum TransferKind {
    /// From one account to another, by the owner of the first.
    Transfer,
    /// From the outside world into an account.
    Deposit,
    /// From an account to the outside world.
    Withdrawal,
    /// Gives another transfer back.
    Reversal,
    /// Pays a checkout: set aside first, captured when the order stands.
    Payment,
    /// Gives a payment back, or a part of it.
    Refund,
}

/// Where a transfer stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Enum)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[graphql(name = "TransferState")]
pub enum TransferState {
    /// Being taken from the source; nothing is decided.
    Pending,
    /// Taken from the source and set aside for a checkout that is under way.
    Authorised,
    /// Decided: it will reach the destination, or come back if that can't take it.
    Committed,
    /// In the destination, for good.
    Credited,
    /// In the destination, and nothing is left to be done.
    Done,
    /// Given up; what was taken goes back to the source.
    Cancelling,
    /// Given up; the source has what was taken.
    Cancelled,
    /// The destination can't take it; it goes back to the source.
    Returning,
    /// The destination couldn't take it; the source has it again.
    Returned,
}

/// Why a transfer didn't go through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Enum)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[graphql(name = "TransferReason")]
pub enum TransferReason {
    /// The source held less.
    InsufficientFunds,
    /// The source is closed.
    SourceClosed,
    /// The destination is closed.
    DestinationClosed,
    /// It would have lifted the destination above its largest balance.
    DestinationFull,
    /// Its owner cancelled it.
    CancelledByOwner,
    /// The checkout that it was to pay was given up.
    CheckoutGivenUp,
}

/// A value of one of the enums above as it is stored. Their names always serialise; what didn't
/// would match nothing.
pub(super) fn stored(value: impl Serialize) -> Bson {
    serialize_to_bson(&value).unwrap_or(Bson::Null)
}

impl AccountDocument {
    /// Whether the transfer has moved this balance.
    pub fn has_pending(&self, transfer: &str) -> bool {
        self.pending.iter().any(|pending| pending.id == transfer)
    }

    /// Whether that subject owns it.
    pub fn is_of(&self, subject: &str) -> bool {
        self.owner.as_deref() == Some(subject)
    }

    /// How much can be taken from it. Only the world may fall below zero.
    pub fn available(&self) -> i64 {
        self.balance - least_balance(&self.id, 0)
    }

    /// Whether as much can be added to it.
    pub fn has_room_for(&self, amount: i64) -> bool {
        self.balance.saturating_add(amount) <= self.cap.unwrap_or(LARGEST)
    }
}

/// What an account must hold for that amount to be taken from it.
pub(super) fn least_balance(account: &str, amount: i64) -> i64 {
    if is_world(account) { amount - LARGEST } else { amount }
}

/// `_id` of the world's account of a currency.
pub(super) fn world(currency: CurrencyCode) -> String {
    format!("world:{}", currency.code())
}

/// Whether it is an account of the world. No id that is drawn or derived holds a colon.
pub(super) fn is_world(account: &str) -> bool {
    account.starts_with("world:")
}

impl TransferState {
    /// Nothing changes any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled | Self::Returned)
    }

    /// The caller can be told how it went. What is credited is only tidied up after.
    pub fn is_answerable(self) -> bool {
        self.is_final() || matches!(self, Self::Authorised | Self::Credited)
    }

    /// The money is with the destination.
    pub fn has_arrived(self) -> bool {
        matches!(self, Self::Credited | Self::Done)
    }
}

impl TransferDocument {
    /// Whether it came to nothing for a reason that may have passed, so that its op can be tried
    /// again. One that was cancelled on purpose stays cancelled.
    pub fn was_refused(&self) -> bool {
        self.state.is_final() && self.hindrance().is_some()
    }

    /// What hindered it, if it came or will come to nothing for something other than a wish.
    pub fn hindrance(&self) -> Option<TransferReason> {
        self.reason.filter(|reason| {
            !matches!(reason, TransferReason::CancelledByOwner | TransferReason::CheckoutGivenUp)
        })
    }
}

impl Stored for AccountDocument {
    const COLLECTION: &'static str = "accounts";
    const INDEXES: &'static [Index] = &[Index {
        name: "owner_opened",
        keys: &[("owner", Key::Up), ("openedAt", Key::Up), ("_id", Key::Up)],
        kind: Kind::Plain,
        serves: "the accounts of one subject",
    }];
}

impl Stored for TransferDocument {
    const COLLECTION: &'static str = "transfers";
    const INDEXES: &'static [Index] = &[
        Index {
            name: "accounts_at",
            keys: &[("accounts", Key::Up), ("at", Key::Down), ("_id", Key::Down)],
            kind: Kind::Plain,
            serves: "statements",
        },
        Index {
            name: "state_at",
            keys: &[("state", Key::Up), ("at", Key::Down), ("_id", Key::Down)],
            kind: Kind::Plain,
            serves: "the transfers in one state, and the sweep of those that were cut",
        },
    ];
}
