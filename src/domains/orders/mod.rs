//! Orders, and the checkout that makes them: `orders`, and the flow over carts, inventory and
//! payments.
//!
//! **Checkout.** The cart decides; the order's `_id` is the checkout's, which is made of op id and
//! attempt.
//!
//! ```text
//!            claim                 pay                    complete
//!   ACTIVE ─────────▶ PENDING ──────────────▶ PAID ─────────────────────▶ COMPLETE
//!     ▲                  │ short, declined,     the order, stock to sold,
//!     │                  ▼ timed out            the money captured
//!     └────────────── VOIDING
//!       money voided,
//!       stock released
//! ```
//!
//! *Take*: in PENDING, stock that the cart doesn't hold (tag: the checkout's id), then the money (an
//! authorisation with an id of its own that the claim notes: who sees a payment must not be able to
//! tell the order's id). *Decide*: PENDING → PAID, or PENDING → VOIDING. *Give*: what stands
//! beside PAID. *Settle*: COMPLETE; then what the cart's reservations still hold goes back. Who is
//! unsure about a take of stock stops there, for it may still come; past the checkout's deadline it
//! can't, and the sweep or a repeat undoes it. An authorisation that may still come may be undone
//! at once: its void is a tombstone.
//!
//! **Whose it is.** A cart without an owner becomes whoever's is signed in and checks it out. The
//! claim notes that in the checkout, guarded by the cart's owner as it was read; the decision makes
//! it the cart's owner, and the order has the cart's. A checkout that is undone leaves the cart as
//! it was.
//!
//! **An order** is decided by itself:
//!
//! ```text
//!   PLACED ──cancel──▶ CANCELLING ──all given──▶ CANCELLED ──delete──▶ (stone)
//! ```
//!
//! Every decision (cancelling, lowering, raising) is computed from the order as read and guarded by
//! its `revision`, which every decision raises; refused, it is computed again. What it owes stands
//! in the outbox: stock to `sold`, a capture, restocks, refunds. An entry that was given stays, with
//! the time of that note, until whoever read it before can't give it any more; then the sweep
//! retires its marks from the inventory, and the entry goes.
//!
//! *Refunds that can't be paid yet.* The provider may be unable to pay a refund: with docgate's own
//! accounts, while the merchant's account holds less. The order is decided all the same and is the
//! answer; the entry stays owed, and `deferred` says since when. The caller's run and repeats of its
//! op leave such an entry to the sweep, which asks the provider in each pass. `refunded` of an order
//! leaves out what is owed, and `refundDue` is that. Each refund is paid as a whole or not at all,
//! and one that is covered doesn't wait for a larger one. Whether the payer's account is closed or
//! full doesn't matter: a refund always arrives there.
//!
//! Raising a line takes first. It begins with a record in `raises`, so that a sweep knows what may
//! have been taken whoever took it; the raise is given up by marking that record (`voiding`, after
//! which no decision finds it), undone, and removed. A line that is lowered to zero stays in the
//! document and isn't shown; raising it again is then like raising any other, at its old price. Its
//! payment has an id of its own, as that of a checkout has. The ledger remembers for which cart or
//! order a payment is, so that the sweep voids only an authorisation that is nobody's.
//!
//! A deleted order leaves a stone with its `_id`: the checkout's late insert must find it taken.
//!
//! Invariants: stock that is sold equals the lines of placed orders; each completed cart has its
//! order, and each order its cart, one to one, and both the same owner; totals are the sums of lines, and equal what was paid
//! less what is to be refunded (nothing is left of it once an order is cancelled); what the provider
//! captured and refunded is the same, but for refunds that are due.

mod documents;
pub mod invariants;
pub mod operations;
pub mod resolvers;
mod store;
pub mod sweep;
pub mod types;

pub use documents::OrderDocument;
