//! Accounts and transfers: money moves between documents in two phases, without a transaction of
//! the database.
//!
//! A transfer decides its own flow. Its document is written first, as PENDING and claimed by the run
//! that writes it; then the source is debited, the transfer decides (COMMITTED), the destination is
//! credited, and both accounts forget the transfer:
//!
//! ```text
//!   insert          debit, decide         credit                 retire
//!  ───────▶ PENDING ───────────▶ COMMITTED ──────▶ CREDITED ──────────▶ DONE
//!             │ │ │                  ▲  │ destination closed or full
//!             │ │ │ debit, mark      │  └─────▶ RETURNING ── undo ──▶ RETURNED
//!             │ │ └─────▶ AUTHORISED ┘ capture
//!   no funds, │ │ given up     │
//!    closed   │ └───┬──────────┘ void
//!             │     ▼
//!             │ CANCELLING ── undo ──▶ CANCELLED
//!             └──────────────────────────▲
//! ```
//!
//! Money reaches the destination only after the decision, so nothing ever has to be taken back from
//! an account that may have spent it. An account remembers in `pending` which transfers have moved
//! its balance, in the same update, so that a repeated debit or credit changes nothing.
//!
//! **Claims.** A transfer carries the number of its claim (`fence`) and its `deadline`, which is the
//! run's. Every step guards on state and fence; debit, credit and decision also on the server's
//! clock being before the deadline. Another run (a repeat, the sweep) claims it only when the
//! deadline, the time of a command and the clocks' skew have passed: nothing that the former holder
//! sent can move money then. A holder that doesn't know what became of a command stops at once and
//! leaves the transfer to the next claim, so it never undoes, returns or retires while a step of
//! its own is unknown. A repeat of an op whose first run still holds the claim waits for that run,
//! and answers as it does.
//!
//! What is simpler here than in the textbook's pattern, and why that is safe:
//! - There is no INITIAL: the insert is state, first claim and deadline in one write. An insert that
//!   arrives late carries a deadline that has passed and is driven by whoever claims it next.
//! - A transfer whose debit is refused (no funds, closed) goes from PENDING to CANCELLED in one
//!   write. Every debit of this claim was answered, those of earlier claims are past their deadline:
//!   there is nothing to undo, and the fence keeps out who is no longer the holder.
//! - AUTHORISED can be claimed at any time: the state was written after the debit was known to be
//!   applied, by a holder that sends nothing after. So capture and void needn't wait.
//! - Marks are retired at once, since CREDITED is only written by a holder all of whose commands
//!   were answered.
//!
//! **Cancelling.** `cancelTransfer`, and a void of a payment that is still PENDING, only write
//! CANCELLING. The claim's holder finds that when it wants to decide and undoes its debit; if it has
//! gone, the sweep undoes it past the deadline.
//!
//! **Payments** of the ledger provider are transfers to the merchant's receiving account. They have
//! no deadline of their own: the checkout decides by capture or void, and the sweep leaves PENDING
//! and AUTHORISED ones alone. A void that finds nothing leaves a tombstone, so that a late
//! authorisation is refused. **Refunds** go the other way and always arrive, also at an account that
//! was closed or is full; one for which the merchant's account is short stays PENDING, and the sweep
//! tries again each time its claim has ended.
//!
//! **Refused and tried again.** A transfer that was refused by what was read leaves nothing. One
//! that was refused by a write leaves a CANCELLED or RETURNED document, and its op, sent again, goes
//! on under an `_id` made of op id and attempt; the next attempt begins only where the former has
//! come to nothing for good. A reversal's `_id` comes from the original's in the same way.
//!
//! Invariants: per currency, all balances (the world's is below zero) and what is debited and not
//! credited add up to nothing; no other balance is below zero; every mark on an account belongs to a
//! transfer that is under way.

mod documents;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::{AccountDocument, TransferDocument};
