//! Vouchers: a code that takes a percentage or an amount off the goods of a cart, within a budget and a limit per
//! customer.
//!
//! The voucher's document is a *receiver* of the checkout's flow, like the stock of a SKU. If the voucher has a limit per
//! customer, so is a document for each customer. Both have the same fields, and each step changes both:
//!
//! ```text
//!            reserve(tag)              spend(tag)
//!   budget ───────────────▶ reserved ────────────▶ spent
//!      ▲    release(tag)       │                     │
//!      └───────────────────────┘◀── give back(tag) ──┘ (to the budget)
//! ```
//!
//! - `applyVoucher` copies the voucher's terms to the cart, and reserves nothing. The terms of a voucher never change. So
//!   the cart's discount follows from the cart alone. Only its end does, by `endVoucher`, and the cart has no copy of it.
//! - The checkout *reserves* the discount under its own tag, before the stock. The guard has the dates, the budget and the
//!   customer's limit, so any number of callers can't overspend them. The decision of the checkout is guarded by the
//!   voucher's code as it was read.
//! - When the checkout has decided, the reservation is *spent*. A checkout that fails *releases* it, after its tag was
//!   voided on the cart.
//! - An order that is cancelled *gives* the discount *back*, by an entry of its outbox. What is taken off at a checkout
//!   counts as one use, also if lines of the order are lowered later. Only a cancellation gives a use back.
//!
//! Each step leaves a mark with its tag, so that a repeat changes nothing. The sweep releases reservations whose checkout
//! didn't decide, and drops the marks of spent ones two grace periods later. The mark of a give-back stays until the
//! order has retired its entry.
//!
//! A voucher that has [`MAX_MARKS`] marks reserves nothing until the sweep has dropped some.
//!
//! Invariants: the budget equals what is left, reserved and spent; what is reserved is the sum of the marks. The room of
//! orders checks that what is spent and reserved equals what orders have.

mod documents;
pub mod invariants;
pub mod operations;
mod store;
mod sweep;
pub mod types;

pub use documents::{
    AppliedVoucher, VoucherCustomerDocument, VoucherDocument, VoucherHold, VoucherMark,
};
pub(super) use sweep::sweep;
pub use types::{Voucher, VoucherFault, VoucherRefused};

/// Maximum number of marks of a voucher: checkouts within about two grace periods.
pub const MAX_MARKS: u32 = 2_000;
