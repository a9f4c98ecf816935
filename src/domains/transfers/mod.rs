//! Accounts and transfers: money moves between documents in two phases, without a transaction of the
//! database.
//!
//! A transfer is the decider of its own flow. Its document is written first, as PENDING and claimed by the
//! attempt that writes it. Then the source is debited, the transfer is committed (COMMITTED), the destination
//! is credited, and the marks on both accounts are removed:
//!
//! ```text
//!   insert          debit, commit         credit                 retire
//!  ───────▶ PENDING ───────────▶ COMMITTED ──────▶ CREDITED ──────────▶ DONE
//!             │ │ │                  ▲  │ destination closed or full
//!             │ │ │ debit, mark      │  └─────▶ RETURNING ── undo ──▶ RETURNED
//!             │ │ └─────▶ AUTHORISED ┘ capture
//!   no funds, │ │ cancelled    │
//!    closed   │ └───┬──────────┘ void
//!             │     ▼
//!             │ CANCELLING ── undo ──▶ CANCELLED
//!             └──────────────────────────▲
//! ```
//!
//! Money reaches the destination only after the commit, so it never has to be recovered from an account that
//! may have spent it. An account records in `pending` which transfers have changed its balance, in the same
//! update. A repeated debit or credit therefore changes nothing.
//!
//! **Claims.** A transfer carries the number of its claim (`fence`) and its `deadline`, which is the
//! attempt's. Every step of the claim's holder on the transfer is guarded by state and fence, and each of its steps on
//! an account by the transfer's mark. Debit, credit and commit are also guarded by the deadline. Another attempt
//! (a repeat, the sweep) can claim the transfer only when the deadline, the time limit of a command and the clocks'
//! skew have passed: no debit or credit of the former holder can be applied then, and a late undo finds no mark or
//! does what the new holder would do. A holder that doesn't know the outcome of a command stops at once and leaves the
//! transfer to the next claim. So it never undoes, returns or retires while one of its own steps is unknown.
//! If an op is repeated while its first attempt still holds the claim, the repeat waits for that attempt and
//! returns its result. It waits no longer than its own attempt, and then fails as unavailable.
//!
//! Simplifications of the pattern of MongoDB's former tutorial "Perform Two Phase Commits", and why they are safe:
//! - There is no state before PENDING: the insert writes state, first claim and deadline at once. A late insert
//!   carries a deadline that has passed, and the next claim drives the transfer.
//! - A transfer whose debit is refused (no funds, closed) goes from PENDING to CANCELLED in one write. Every
//!   debit of this claim was answered, and those of earlier claims are past their deadline. So there is
//!   nothing to undo, and the fence excludes former holders.
//! - AUTHORISED can be claimed at any time: the state is written after the debit is known to be applied, by a
//!   holder that sends nothing afterwards. So capture and void needn't wait.
//! - Marks are removed at once, since CREDITED is only written by a holder all of whose commands were answered. If the
//!   connection broke and a debit or a credit was sent twice, the first copy may still arrive. Its guard, that the account
//!   has no mark, must not hold before the deadline has passed. So the marks are then left to the next claim, and so is
//!   the undoing of a debit.
//!
//! **Cancelling.** `cancelTransfer`, and a void of a payment that is still PENDING, write CANCELLING whoever
//! holds the claim. The holder's commit is then refused, and the holder undoes its debit. If the claim has ended,
//! a void claims the transfer and undoes the debit itself; else the sweep does.
//!
//! **Holds.** The payment of a checkout without a claim begins as a hold: the payer's account is debited, with the cart and
//! the checkout's tag in the mark, and no transfer yet. When the cart has decided, the transfer is inserted as COMMITTED,
//! claimed by the attempt that inserts it, and credited. The merchant's mark is retired at once. The payer's mark is
//! retired under a later claim; `operations/holds.rs` has the reason. `holdsAt` of an account is the time of its oldest
//! hold. By it the sweep of orders finds holds whose checkout never decided, and releases them.
//!
//! **Payments** of the ledger provider are otherwise transfers to the merchant's receiving account. Their end is up to
//! the checkout, by capture or void; the sweep leaves PENDING and AUTHORISED ones alone. A void that finds no document
//! leaves a tombstone, so that a late authorisation is refused. **Refunds** go the other way and always arrive, also at
//! an account that was closed or is full. If the merchant's account can't cover a refund, the refund stays PENDING, and
//! the sweep tries it again each time its claim has ended.
//!
//! **Refusals and repeats.** A transfer that is refused leaves a CANCELLED or RETURNED document, also if it is refused
//! because of what was read: the insert of another call with the same idempotency key may still be on its way, and must
//! be refused as well. If its op is sent again, the next transfer
//! gets an `_id` derived from the idempotency key and the number of the try. The next try begins only when the former
//! has failed for good. The `_id` of a reversal is derived from the original's in the same way. A cancelled transfer stays
//! cancelled, whoever repeats it; a reversal, which has no idempotency key, gives way to the next try. There are at most 100
//! tries with one idempotency key, and any number of tries of a reversal. The newest one is found by few reads.
//!
//! Invariants: in each currency, all balances and all amounts that are debited and not yet credited add up to
//! zero; only the account of the outside world may have a balance below zero; every mark on an account belongs to
//! an unfinished transfer, or is a hold.

mod documents;
pub mod invariants;
pub mod operations;
mod person;
pub mod resolvers;
mod store;
mod sweep;
pub mod types;

use super::{Room, broadcasts::broadcasts, nodes::node_type, room::documented};
use crate::graphql::node_id::NodeKind;
pub use documents::{AccountDocument, TransferDocument};
use types::{Account, Transfer, TransferBy};

impl NodeKind {
    /// An account for transfers.
    pub const ACCOUNT: Self = Self::new("account");
    /// A transfer of money.
    pub const TRANSFER: Self = Self::new("transfer");
}

pub const ROOM: Room = Room {
    nodes: &[
        node_type!(ACCOUNT: Account, |cx, id| operations::account(cx, id)),
        node_type!(TRANSFER: Transfer, |cx, id| {
            operations::transfer_status(cx, TransferBy::Id(id.clone()))
        }),
    ],
    documents: &[documented::<AccountDocument>(), documented::<TransferDocument>()],
    broadcasts: broadcasts! {
        "accounts" {
            find "owner" = "list: the accounts of their owner",
            find "holdsAt" = "sweep: holds whose checkout was cut",
        }
        "transfers" {
            find "accounts" = "list: the transfers of an account, which are of two accounts each",
            find "state" = "sweep: transfers that were cut; list: transfers in a state",
        }
    },
    personal: person::PERSONAL,
    erase: Some(|app, erasing| Box::pin(person::erase(app, erasing))),
    sweep: Some(|app, sweep| Box::pin(sweep::sweep(app, sweep))),
    check: Some(|app, report| Box::pin(invariants::check(app, report))),
    ..Room::new("transfers")
};
